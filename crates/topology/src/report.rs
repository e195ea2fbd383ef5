//! Collects problems; a place that the structure check has complained about is not complained about again.

use rustc_hash::FxHashSet;
use shardwright_diagnostics::{Diagnostic, FileId, Problems, Severity, Span};

/// The problems of a load.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) problems: Problems,
    flagged: FxHashSet<Span>,
    error_in_project_file: bool,
    project_file: Option<FileId>,
}

impl Report {
    pub(crate) fn set_project_file(&mut self, file: FileId) {
        self.project_file = Some(file);
    }

    /// Adds a problem of a later stage, unless its place is known to be wrong.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let known = diagnostic
            .primary
            .as_ref()
            .is_some_and(|label| self.flagged.contains(&label.span));
        if !known {
            self.add(diagnostic);
        }
    }

    /// Adds a problem of the structure: later stages say nothing more about its place.
    pub(crate) fn push_structural(&mut self, diagnostic: Diagnostic) {
        if let Some(label) = &diagnostic.primary {
            self.flagged.insert(label.span);
        }
        self.add(diagnostic);
    }

    /// Whether the structure check has complained about the place.
    pub(crate) fn is_flagged(&self, span: Span) -> bool {
        self.flagged.contains(&span)
    }

    /// Whether an error stands in the project file or is about its absence.
    pub(crate) fn faults_project_file(&self) -> bool {
        self.error_in_project_file
    }

    pub(crate) fn fault_project_file(&mut self) {
        self.error_in_project_file = true;
    }

    fn add(&mut self, diagnostic: Diagnostic) {
        let file = diagnostic.primary.as_ref().map(|label| label.span.file);
        if diagnostic.severity == Severity::Error && file.is_some() && file == self.project_file {
            self.error_in_project_file = true;
        }
        self.problems.push(diagnostic);
    }
}
