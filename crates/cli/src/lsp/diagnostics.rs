//! Problems as editors show them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range, Url,
};
use shardwright_diagnostics::{Problems, Severity};
use shardwright_topology::PROJECT_FILE;

use super::analysis::Analysis;
use super::open_documents::OpenDocuments;
use crate::allow_comments::without_allowed;

impl Analysis {
    /// The problems of all files, without those that comments allow.
    pub(super) fn problems(&self) -> Problems {
        let mut problems = Problems::new();
        for (_, compiled) in self.compiled() {
            problems.append(compiled.problems.clone());
        }
        problems.append(self.loaded.problems.clone());
        let lint = self.loaded.project.as_ref().map(|project| &project.file.lint);
        let require_reason = lint.is_some_and(|lint| lint.require_reason);
        without_allowed(
            &problems,
            &self.loaded.documents,
            &self.loaded.sources,
            require_reason,
        )
    }

    /// The problems of all files, each file by its address. Problems without a span are at the start of the project file.
    pub(super) fn diagnostics(&self, documents: &OpenDocuments) -> BTreeMap<Url, Vec<Diagnostic>> {
        let problems = self.problems();
        let project_file = documents.url(&self.root, PROJECT_FILE);
        let mut found: BTreeMap<Url, Vec<Diagnostic>> = BTreeMap::new();
        for problem in problems.sorted() {
            let place = problem
                .primary
                .as_ref()
                .and_then(|label| self.location(label.span, documents));
            let start = project_file
                .clone()
                .map(|url| Location::new(url, Range::default()));
            if let Some(Location { uri, range }) = place.or(start) {
                found
                    .entry(uri)
                    .or_default()
                    .push(self.diagnostic(problem, range, documents));
            }
        }
        if problems.unkept() > 0
            && let Some(url) = project_file
        {
            let message = format!("{} more problems are not shown", problems.unkept());
            let mut more = Diagnostic::new_simple(Range::default(), message);
            more.severity = Some(DiagnosticSeverity::INFORMATION);
            found.entry(url).or_default().push(more);
        }
        found
    }

    fn diagnostic(
        &self,
        problem: &shardwright_diagnostics::Diagnostic,
        range: Range,
        documents: &OpenDocuments,
    ) -> Diagnostic {
        let related: Vec<DiagnosticRelatedInformation> = problem
            .secondary
            .iter()
            .filter_map(|label| {
                let location = self.location(label.span, documents)?;
                Some(DiagnosticRelatedInformation {
                    location,
                    message: label.text.clone(),
                })
            })
            .collect();
        Diagnostic {
            range,
            severity: Some(match problem.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
                Severity::Info => DiagnosticSeverity::INFORMATION,
            }),
            code: Some(NumberOrString::String(problem.code.to_string())),
            source: Some("shardwright".to_owned()),
            message: message(problem),
            related_information: (!related.is_empty()).then_some(related),
            ..Diagnostic::default()
        }
    }
}

/// The message with its label and notes.
fn message(problem: &shardwright_diagnostics::Diagnostic) -> String {
    let mut message = problem.message.clone();
    if let Some(label) = problem.primary.as_ref().filter(|label| !label.text.is_empty()) {
        write!(message, " ({})", label.text).expect("writing to a string cannot fail");
    }
    if let Some(instance) = &problem.instance {
        let more = match problem.more_instances {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        write!(message, "\nin the instance {instance}{more}").expect("writing to a string cannot fail");
    }
    for note in &problem.notes {
        write!(message, "\n{}: {}", note.kind.name(), note.text).expect("writing to a string cannot fail");
    }
    message
}
