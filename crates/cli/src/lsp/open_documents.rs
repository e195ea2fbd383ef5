//! The texts that are open in the editor, by the paths of their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lsp_types::{TextDocumentContentChangeEvent, Url};
use shardwright_documents::MAX_FILE_BYTES;

use super::text::{Encoding, change};

/// Texts that are followed, in bytes of all of them.
const MAX_OPEN_BYTES: usize = 256 * 1024 * 1024;
/// A text that grows longer is not followed any more; a file of a quarter is refused by the reader.
const MAX_TEXT_BYTES: usize = 4 * MAX_FILE_BYTES;
/// A text as the editor has it.
struct OpenText {
    url: Url,
    version: i32,
    text: String,
}

/// Every text that is open.
#[derive(Default)]
pub(super) struct OpenDocuments {
    /// How the editor counts characters.
    pub(super) encoding: Encoding,
    open: BTreeMap<PathBuf, OpenText>,
}

impl OpenDocuments {
    /// Uses a text instead of its file.
    pub(super) fn open(&mut self, path: PathBuf, url: Url, version: i32, text: String) {
        self.open.insert(path, OpenText { url, version, text });
    }

    /// Changes a text; false where it is not open.
    pub(super) fn change(
        &mut self,
        path: &Path,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) -> bool {
        let Some(open) = self.open.get_mut(path) else {
            return false;
        };
        open.version = version;
        for event in changes {
            change(&mut open.text, event.range, &event.text, self.encoding);
            if open.text.len() > MAX_TEXT_BYTES {
                break;
            }
        }
        true
    }

    pub(super) fn close(&mut self, path: &Path) {
        self.open.remove(path);
    }

    pub(super) fn is_open(&self, path: &Path) -> bool {
        self.open.contains_key(path)
    }

    /// The texts below a directory, by their paths in it.
    pub(super) fn below(&self, root: &Path) -> BTreeMap<String, String> {
        self.open
            .iter()
            .filter_map(|(path, open)| Some((relative(root, path)?, open.text.clone())))
            .collect()
    }

    /// Drops a text that is too long, with the message for the editor.
    pub(super) fn check_size(&mut self, path: &Path) -> Result<(), String> {
        let length = |open: &OpenText| open.text.len();
        let all: usize = self.open.values().map(length).sum();
        if all <= MAX_OPEN_BYTES
            && self
                .open
                .get(path)
                .is_none_or(|open| length(open) <= MAX_TEXT_BYTES)
        {
            return Ok(());
        }
        self.open.remove(path);
        Err(format!(
            "{} is too large and is ignored: a document may have {MAX_TEXT_BYTES} bytes, all open ones {MAX_OPEN_BYTES}",
            path.display()
        ))
    }

    /// The text of an open document.
    pub(super) fn text(&self, url: &Url) -> Option<&str> {
        Some(&self.open.get(&path_of(url)?)?.text)
    }

    /// The address of a file of a project: as the editor wrote it where it is open.
    pub(super) fn url(&self, root: &Path, relative: &str) -> Option<Url> {
        let path = root.join(relative);
        match self.open.get(&path) {
            Some(open) => Some(open.url.clone()),
            None => Url::from_file_path(path).ok(),
        }
    }

    /// The version of an open document.
    pub(super) fn version(&self, url: &Url) -> Option<i32> {
        Some(self.open.get(&path_of(url)?)?.version)
    }
}

/// The path of a file that an editor names.
pub(super) fn path_of(url: &Url) -> Option<PathBuf> {
    (url.scheme() == "file").then(|| url.to_file_path().ok())?
}

/// The path of a file below a directory, with `/` between its parts.
pub(super) fn relative(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path
        .strip_prefix(root)
        .ok()?
        .iter()
        .map(|part| part.to_str())
        .collect();
    Some(parts?.join("/"))
}
