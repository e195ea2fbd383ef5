//! `--baseline FILE`: findings that were there when the linter was adopted, and count no more.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shardwright_diagnostics::{Diagnostic, Problems, Sources};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::replace_file;

const VERSION: u32 = 1;
/// A file of more is none.
const MAX_BYTES: u64 = 64 << 20;

/// Findings by message and address, not by line, which changes with other edits.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    version: u32,
    findings: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    code: String,
    file: Option<String>,
    address: Option<String>,
    message: String,
    /// How many findings are equal.
    count: usize,
}

type Identity = (String, Option<String>, Option<String>, String);

fn identity(diagnostic: &Diagnostic, sources: &Sources) -> Identity {
    let file = diagnostic
        .primary
        .as_ref()
        .map(|label| sources.path(label.span.file).to_owned());
    (
        diagnostic.code.as_str().to_owned(),
        file,
        diagnostic.address.clone(),
        diagnostic.message.clone(),
    )
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// If there is none, or it is not a baseline.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let cannot = |error: io::Error| {
            let failed = CommandError::failed(format!("cannot read {}: {error}", path.display()));
            if error.kind() == io::ErrorKind::NotFound {
                failed.hint("write it with --update-baseline")
            } else {
                failed
            }
        };
        let wrong = |why: String| {
            CommandError::new(
                Exit::BadDocument,
                format!("{} is not a baseline: {why}", path.display()),
            )
        };
        let size = std::fs::metadata(path).map_err(cannot)?.len();
        if size > MAX_BYTES {
            return Err(wrong(format!("it has {size} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(cannot)?;
        let baseline: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if baseline.version != VERSION {
            return Err(wrong(format!("its version is {}", baseline.version)));
        }
        Ok(baseline)
    }

    /// Of these findings.
    pub(super) fn of(problems: &Problems, sources: &Sources) -> Self {
        let mut counts: BTreeMap<Identity, usize> = BTreeMap::new();
        for diagnostic in problems.sorted() {
            *counts.entry(identity(diagnostic, sources)).or_default() += 1;
        }
        let findings = counts
            .into_iter()
            .map(|((code, file, address, message), count)| Entry {
                code,
                file,
                address,
                message,
                count,
            });
        Self {
            version: VERSION,
            findings: findings.collect(),
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), CommandError> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| CommandError::internal(format!("cannot write the baseline: {error}")))?;
        text.push('\n');
        replace_file(path, text.as_bytes())
    }

    /// How many findings it holds.
    pub(super) fn len(&self) -> usize {
        self.findings.iter().map(|known| known.count).sum()
    }

    /// The findings that are not in it, and how many of its findings no longer exist.
    pub(super) fn new_ones(&self, problems: &Problems, sources: &Sources) -> (Problems, usize) {
        let mut left: BTreeMap<Identity, usize> = BTreeMap::new();
        for known in &self.findings {
            let Entry {
                code,
                file,
                address,
                message,
                count,
            } = known.clone();
            left.insert((code, file, address, message), count);
        }
        let mut new = Problems::new();
        for diagnostic in problems.sorted() {
            match left.get_mut(&identity(diagnostic, sources)) {
                Some(count) if *count > 0 => *count -= 1,
                _ => new.push(diagnostic.clone()),
            }
        }
        (new, left.values().sum())
    }
}
