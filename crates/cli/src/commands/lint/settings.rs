//! Which findings count and how grave they are: the command line, then the file that a finding is in, then the project.

use std::sync::Arc;

use shardwright_diagnostics::{Code, Diagnostic, Severity, Sources};
use shardwright_topology::model::{LintPath, LintSettings};

use crate::args::Lint;

/// What was asked for.
pub(super) struct Settings<'s> {
    pub(super) args: &'s Lint,
    pub(super) project: &'s LintSettings,
}

impl Settings<'_> {
    /// The finding with its configured severity; none if it is ignored.
    pub(super) fn graded(&self, mut diagnostic: Diagnostic, sources: &Sources) -> Option<Diagnostic> {
        let path = diagnostic
            .primary
            .as_ref()
            .map(|label| sources.path(label.span.file));
        let here: Vec<&LintPath> = self
            .project
            .paths
            .iter()
            .filter(|entry| path.is_some_and(|path| entry.path.matches(path)))
            .collect();
        if !self.counts(diagnostic.code, &here) {
            return None;
        }
        let own = here
            .iter()
            .rev()
            .find_map(|entry| of_code(&entry.severity, diagnostic.code));
        if let Some(severity) = own.or_else(|| of_code(&self.project.severity, diagnostic.code)) {
            diagnostic.severity = severity;
        }
        Some(diagnostic)
    }

    fn counts(&self, code: Code, here: &[&LintPath]) -> bool {
        let own = here
            .iter()
            .rev()
            .map(|entry| &entry.select)
            .find(|select| !select.is_empty());
        let selected = if self.args.select.is_empty() {
            let select = own.unwrap_or(&self.project.select);
            select.is_empty() || begins(select, code)
        } else {
            begins(&self.args.select, code)
        };
        let ignored = if self.args.ignore.is_empty() {
            begins(&self.project.ignore, code) || here.iter().any(|entry| begins(&entry.ignore, code))
        } else {
            begins(&self.args.ignore, code)
        };
        selected && !ignored
    }

    /// Whether findings of this code are looked for anywhere.
    pub(super) fn looks_for(&self, code: Code) -> bool {
        self.args.engine.is_empty() && self.counts(code, &[])
    }
}

fn begins<T: AsRef<str>>(listed: &[T], code: Code) -> bool {
    listed
        .iter()
        .any(|prefix| code.as_str().starts_with(prefix.as_ref()))
}

/// The word of the longest beginning.
fn of_code(severities: &[(Arc<str>, Severity)], code: Code) -> Option<Severity> {
    severities
        .iter()
        .filter(|(prefix, _)| code.as_str().starts_with(&**prefix))
        .max_by_key(|(prefix, _)| prefix.len())
        .map(|(_, severity)| *severity)
}
