//! Allow files of the firewall: lines of digests and example statements, read before anything is resolved.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, FileId, Sources};
use shardwright_documents::Node;

use crate::codes::BAD_DATA;
use crate::data::{Kind, ReadData, bytes};
use crate::environment::{Environment, Names};
use crate::report::Report;
use crate::template;
use crate::variables::Variables;

/// Allow files of one project.
const MAX_FILES: usize = 1_000;

/// The allow files that the firewall names, by path. None for one that cannot be read, which has been reported.
#[derive(Debug, Default)]
pub(crate) struct AllowFiles {
    by_path: FxHashMap<String, Option<(FileId, Arc<str>)>>,
}

impl AllowFiles {
    /// The file and its text.
    pub(crate) fn get(&self, path: &str) -> Option<(FileId, Arc<str>)> {
        self.by_path.get(path)?.clone()
    }
}

/// Reads the files that `firewall.NAME.allow.file` below `roots` name.
pub(crate) fn read_all<'n>(
    roots: impl Iterator<Item = &'n Node>,
    variables: &Variables,
    read: &mut ReadData<'_>,
    sources: &mut Sources,
    report: &mut Report,
) -> AllowFiles {
    let environment = Environment::default();
    let names = Names {
        environment: &environment,
        variables,
    };
    let mut files = AllowFiles::default();
    for node in roots.flat_map(named) {
        let Some(path) = node.raw().and_then(|raw| template::expand(raw, &names).ok()) else {
            continue;
        };
        if files.by_path.contains_key(&*path) {
            continue;
        }
        let text = if files.by_path.len() == MAX_FILES {
            Err(format!("a project has {MAX_FILES} allow files at most"))
        } else {
            bytes(&path, Kind::Allow, read)
        };
        let file = match text {
            Ok(text) => {
                let text: Arc<str> = text.into();
                Some((sources.add(&*path, &*text), text))
            }
            Err(why) => {
                report.push(Diagnostic::error(BAD_DATA, why).at(node.span, ""));
                None
            }
        };
        files.by_path.insert(path.into_owned(), file);
    }
    files
}

fn named(root: &Node) -> Vec<&Node> {
    let section = root.as_mapping().and_then(|root| root.entry("firewall"));
    let users = section.and_then(|section| section.value.as_mapping());
    users
        .into_iter()
        .flatten()
        .filter_map(|user| {
            let allow = user.value.as_mapping()?.entry("allow")?;
            Some(&allow.value.as_mapping()?.entry("file")?.value)
        })
        .collect()
}
