//! Collects problems; a place that the structure check has complained about is not complained about again.

use rustc_hash::{FxHashMap, FxHashSet};
use shardwright_diagnostics::{Code, Diagnostic, FileId, Label, Problems, Severity, Span};
use shardwright_documents::Node;

use crate::codes::YAML_1_1;

/// Problems, each instance of a generator counted, after which nothing more is looked at: a mistake in a generator
/// of a million objects is understood long before.
const MAX_REPORTED: usize = 100_000;

/// The problems of a load.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    pub(crate) problems: Problems,
    flagged: FxHashSet<Span>,
    /// Problems of generator instances by kind and place: what the first instance said.
    templates: FxHashMap<(Code, Span), FirstWords>,
    reported: usize,
    /// Files that instances are made from, and places whose text depends on the instance.
    data_files: FxHashSet<FileId>,
    templates_of_data: FxHashSet<Span>,
    error_in_project_file: bool,
    error_in_options: bool,
    project_file: Option<FileId>,
}

/// What the first instance with a problem of one kind at one place said; the rest are counted with it.
#[derive(Debug)]
struct FirstWords {
    instance: String,
    messages: Vec<String>,
}

impl Reporter {
    pub(crate) fn set_project_file(&mut self, file: FileId) {
        self.project_file = Some(file);
    }

    /// Notes the files that instances are made from.
    pub(crate) fn set_data_files(&mut self, files: FxHashSet<FileId>) {
        self.data_files = files;
    }

    /// Notes a place whose text comes from data: what is wrong with it stands in the data.
    pub(crate) fn note_template_of_data(&mut self, span: Span) {
        if self.templates_of_data.len() < MAX_REPORTED {
            self.templates_of_data.insert(span);
        }
    }

    /// Adds an error of what was asked for besides the files.
    pub(crate) fn push_of_options(&mut self, diagnostic: Diagnostic) {
        self.error_in_options = true;
        self.push(diagnostic);
    }

    /// Whether something is wrong with what was asked for besides the files.
    pub(crate) fn faults_options(&self) -> bool {
        self.error_in_options
    }

    /// Adds a problem of a later stage, unless its place is known to be wrong.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let depends = diagnostic
            .primary
            .as_ref()
            .is_some_and(|label| self.templates_of_data.contains(&label.span));
        if depends {
            return self.push_at_cell(diagnostic);
        }
        self.push_unless_flagged(diagnostic);
    }

    /// Adds a problem of the values of an instance: at the cell that it was made from, if it was made from data.
    pub(crate) fn push_at_cell(&mut self, mut diagnostic: Diagnostic) {
        let is_cell = |label: &Label| self.data_files.contains(&label.span.file);
        let cell = diagnostic.secondary.iter().rposition(is_cell);
        let known = diagnostic
            .primary
            .as_ref()
            .is_some_and(|label| self.flagged.contains(&label.span));
        if let (Some(cell), Some(place), false) = (cell, &mut diagnostic.primary, known) {
            std::mem::swap(&mut diagnostic.secondary[cell].span, &mut place.span);
            let label = std::mem::take(&mut place.text);
            let used = if label.is_empty() {
                "used here".to_owned()
            } else {
                label
            };
            diagnostic.secondary[cell].text = used;
        }
        self.push_unless_flagged(diagnostic);
    }

    fn push_unless_flagged(&mut self, diagnostic: Diagnostic) {
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

    /// Later stages say nothing more about a place.
    pub(crate) fn flag(&mut self, span: Span) {
        self.flagged.insert(span);
    }

    /// Whether there are so many problems that nothing more is to be looked at.
    pub(crate) fn is_full(&self) -> bool {
        self.reported >= MAX_REPORTED
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

    /// Instances of one generator have the same problem in other words (`no cluster is named shard-7`): the words
    /// of the first instance stand for all, so that they count as one.
    fn in_the_words_of_the_first(&mut self, diagnostic: &mut Diagnostic) {
        let (Some(label), Some(instance)) = (&diagnostic.primary, &diagnostic.instance) else {
            return;
        };
        let key = (diagnostic.code, label.span);
        match self.templates.get_mut(&key) {
            None => {
                let first = FirstWords {
                    instance: instance.clone(),
                    messages: vec![diagnostic.message.clone()],
                };
                self.templates.insert(key, first);
            }
            Some(first) if first.messages.contains(&diagnostic.message) => {}
            Some(first) if first.instance == *instance => first.messages.push(diagnostic.message.clone()),
            Some(first) => diagnostic.message.clone_from(&first.messages[0]),
        }
    }

    fn add(&mut self, mut diagnostic: Diagnostic) {
        // What follows may only be wrong because objects are missing that were not looked at.
        if self.is_full() {
            return;
        }
        self.reported += 1;
        self.in_the_words_of_the_first(&mut diagnostic);
        let file = diagnostic.primary.as_ref().map(|label| label.span.file);
        if diagnostic.severity == Severity::Error && file.is_some() && file == self.project_file {
            self.error_in_project_file = true;
        }
        self.problems.push(diagnostic);
    }
}

/// The warning of an unquoted word that means something else to other YAML tools.
pub(crate) fn yaml_1_1_warning(node: &Node) -> Option<Diagnostic> {
    let reading = node.yaml_1_1_reading()?;
    let raw = node.raw()?;
    let diagnostic = Diagnostic::warning(YAML_1_1, format!("YAML 1.1 tools read `{raw}` as {reading}"))
        .at(node.span, "")
        .help(format!("put it in quotes: \"{raw}\""));
    Some(diagnostic)
}
