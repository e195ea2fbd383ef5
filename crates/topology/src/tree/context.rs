//! What all of resolution shares: problems, origins, shared texts, variables and limits.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use shardwright_diagnostics::{Diagnostic, Sources, Span, did_you_mean};
use shardwright_documents::{Key, Node, Style, part_of_text};

use crate::codes::TOO_MANY_INSTANCES;
use crate::model::{DefinitionId, KeyTemplate, NamePattern, Origins};
use crate::reporter::{Reporter, yaml_1_1_warning};
use crate::template::{self, Expanded, Fault, TemplateError};
use crate::tree::data::{AllowFiles, Tables};
use crate::tree::environment::{Environment, Names};
use crate::tree::variables::Variables;

/// Objects that the generators of one project may make.
const MAX_INSTANCES: u64 = 2_000_000;
/// Bytes that templates may expand to in one project.
const MAX_EXPANDED_BYTES: usize = 1 << 30;

/// Items of lists that are read, counting a list again in each instance of the generator around it.
const MAX_ITEMS: usize = 10_000_000;
/// Generators whose lost names are remembered.
const MAX_LOST: usize = 100;
/// Names that are compared for a "did you mean" and for globs that match nothing. Past it problems are still
/// reported, without the nearest name.
const MAX_COMPARISONS: usize = 4_000_000;

/// What all of resolution shares.
pub(crate) struct Context<'s> {
    pub(crate) sources: &'s Sources,
    pub(crate) report: Reporter,
    pub(crate) origins: Origins,
    pub(crate) variables: Variables,
    pub(crate) tables: Tables,
    /// The time that expiries are compared with; none where they are not compared.
    pub(crate) now: Option<Timestamp>,
    pub(crate) allow_files: AllowFiles,
    all_variables_are_known: bool,
    /// Definitions inside generators by the place of their key.
    pub(crate) definitions: FxHashMap<Span, DefinitionId>,
    /// What the names looked like that generators which could not run would have given.
    lost_names: Vec<NamePattern>,
    texts: FxHashSet<Arc<str>>,
    instances_left: u64,
    bytes_left: usize,
    items_left: usize,
    comparisons_left: usize,
}

impl<'s> Context<'s> {
    pub(crate) fn new(sources: &'s Sources, report: Reporter, variables: Variables, tables: Tables) -> Self {
        Self {
            sources,
            report,
            origins: Origins::default(),
            variables,
            tables,
            now: None,
            allow_files: AllowFiles::default(),
            all_variables_are_known: true,
            definitions: FxHashMap::default(),
            lost_names: Vec::new(),
            texts: FxHashSet::default(),
            instances_left: MAX_INSTANCES,
            bytes_left: MAX_EXPANDED_BYTES,
            items_left: MAX_ITEMS,
            comparisons_left: MAX_COMPARISONS,
        }
    }

    /// A context for a project of which only a part could be read: its variables are not known.
    pub(crate) fn of_part(sources: &'s Sources, report: Reporter) -> Self {
        Self {
            all_variables_are_known: false,
            ..Self::new(sources, report, Variables::new(), Tables::default())
        }
    }

    /// The problems and origins, at the end.
    pub(crate) fn finish(self) -> (Reporter, Origins) {
        (self.report, self.origins)
    }

    /// The shared copy of a text.
    pub(crate) fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }

    /// Notes that a generator did not give all of its names, which has been reported: what refers to them is not wrong.
    pub(crate) fn lose_names(&mut self, key: &str) {
        if self.lost_names.len() < MAX_LOST {
            self.lost_names.push(NamePattern::new(template::as_glob(key)));
        }
    }

    pub(crate) const fn has_lost_names(&self) -> bool {
        !self.lost_names.is_empty()
    }

    /// Whether a generator that could not run may have given this name.
    pub(crate) fn may_be_lost(&self, name: &str) -> bool {
        self.lost_names.iter().any(|lost| lost.matches(name))
    }

    /// The number of instances, taken from what is left; none and a problem where that is too little.
    pub(crate) fn take_instances(&mut self, count: Option<u64>, span: Span) -> Option<u64> {
        match count.and_then(|count| self.instances_left.checked_sub(count)) {
            Some(left) => {
                self.instances_left = left;
                count
            }
            None => {
                self.report.push(too_many(span));
                None
            }
        }
    }

    /// Whether a list of so many items may still be read; a problem where not.
    pub(crate) fn take_items(&mut self, count: usize, span: Span) -> bool {
        if let Some(left) = self.items_left.checked_sub(count) {
            self.items_left = left;
            return true;
        }
        let message =
            format!("the lists of the project have more than {MAX_ITEMS} items, with generators expanded");
        self.report
            .push(Diagnostic::error(TOO_MANY_INSTANCES, message).at(span, "this one exceeds the limit"));
        false
    }

    /// Whether so many names may still be compared.
    pub(crate) fn take_comparisons(&mut self, count: usize) -> bool {
        let left = self.comparisons_left.checked_sub(count);
        self.comparisons_left = left.unwrap_or(self.comparisons_left);
        left.is_some()
    }

    /// The name nearest to a variable that does not exist.
    fn nearest_variable(&mut self, name: &str, environment: &Environment) -> Option<String> {
        if !self.take_comparisons(2 * self.variables.len() + 2) {
            return None;
        }
        let project = self.variables.keys().map(|variable| format!("var.{variable}"));
        let names: Vec<String> = environment.names().chain(project).collect();
        let names = || names.iter().map(String::as_str);
        // `region` for `var.region` is the usual slip.
        let near = did_you_mean(name, names()).or_else(|| did_you_mean(&format!("var.{name}"), names()));
        near.map(ToOwned::to_owned)
    }

    /// A scalar as text with its expressions replaced; none and a problem where that fails.
    pub(crate) fn expand_node<'a>(
        &mut self,
        node: &'a Node,
        environment: &Environment,
    ) -> Option<Cow<'a, str>> {
        let text = node.raw()?;
        if environment.is_of_data() && template::is_template(text) {
            self.report.note_template_of_data(node.span);
        }
        match self.expand(text, environment) {
            Ok(text) => self.take_bytes(text, node.span),
            Err(error) => {
                let span = part_of_text(self.sources, node, error.at.clone());
                self.push_template_error(&error, span, environment);
                None
            }
        }
    }

    /// A key with its expressions replaced; none and a problem where that fails.
    pub(crate) fn expand_key<'a>(&mut self, key: &'a Key, environment: &Environment) -> Option<Cow<'a, str>> {
        if environment.is_of_data() && template::is_template(&key.text) {
            self.report.note_template_of_data(key.span);
        }
        match self.expand(&key.text, environment) {
            Ok(text) => self.take_bytes(text, key.span),
            Err(error) => {
                let span = part_of_key(key, error.at.clone());
                self.push_template_error(&error, span, environment);
                None
            }
        }
    }

    /// A scalar with its expressions replaced, but for `$(key)`; none where that fails, which is not reported.
    pub(crate) fn expand_but_key(&self, text: &str, environment: &Environment) -> Option<Expanded> {
        let names = Names {
            environment,
            variables: &self.variables,
        };
        template::expand_but_key(text, &names).ok()
    }

    /// A text around `$(key)`; none and a problem where it is not one.
    pub(crate) fn around_key(&mut self, node: &Node, environment: &Environment) -> Option<KeyTemplate> {
        let text = node.as_text()?;
        let names = Names {
            environment,
            variables: &self.variables,
        };
        match template::around_key(text, &names) {
            Ok(template) => Some(KeyTemplate {
                prefix: self.intern(&template.prefix),
                width: template.width,
                suffix: self.intern(&template.suffix),
            }),
            Err(error) => {
                let span = part_of_text(self.sources, node, error.at.clone());
                self.push_template_error(&error, span, environment);
                None
            }
        }
    }

    /// Warns where an unquoted word means something else to other YAML tools.
    pub(crate) fn warn_yaml_1_1(&mut self, node: &Node, environment: &Environment) {
        if let Some(warning) = yaml_1_1_warning(node) {
            self.report.push(environment.mark(warning));
        }
    }

    fn expand<'t>(&self, text: &'t str, environment: &Environment) -> Result<Cow<'t, str>, TemplateError> {
        template::expand(
            text,
            &Names {
                environment,
                variables: &self.variables,
            },
        )
    }

    fn take_bytes<'t>(&mut self, text: Cow<'t, str>, span: Span) -> Option<Cow<'t, str>> {
        if let Cow::Owned(owned) = &text {
            match self.bytes_left.checked_sub(owned.len()) {
                Some(left) => self.bytes_left = left,
                None => {
                    let message = format!(
                        "the templates of the project expand to more than {MAX_EXPANDED_BYTES} bytes"
                    );
                    self.report
                        .push(Diagnostic::error(TOO_MANY_INSTANCES, message).at(span, ""));
                    return None;
                }
            }
        }
        Some(text)
    }

    fn push_template_error(&mut self, error: &TemplateError, span: Span, environment: &Environment) {
        if let Fault::UnknownVariable { name } = &error.fault
            && let Some(variable) = name.strip_prefix("var.")
        {
            // A variable without a value has been reported where it is defined.
            if !self.all_variables_are_known || self.variables.contains_key(variable) {
                return;
            }
        }
        let diagnostic = Diagnostic::error(error.fault.code(), error.fault.to_string()).at(span, "");
        let diagnostic = match &error.fault {
            Fault::UnknownVariable { name } => {
                diagnostic.did_you_mean(self.nearest_variable(name, environment).as_deref())
            }
            Fault::Unclosed => diagnostic.help("for a literal `$(`, write `$$(`"),
            _ => diagnostic,
        };
        self.report.push(environment.mark(diagnostic));
    }
}

/// The problem of a generator that goes past [`MAX_INSTANCES`].
fn too_many(span: Span) -> Diagnostic {
    let message = format!("the generators of the project make more than {MAX_INSTANCES} objects");
    Diagnostic::error(TOO_MANY_INSTANCES, message).at(span, "this one exceeds the limit")
}

/// Where a part of a key's text stands; the whole key where it was not written letter by letter.
pub(crate) fn part_of_key(key: &Key, part: Range<usize>) -> Span {
    let written = key.span.range().len();
    let shift = match key.style {
        Style::Plain => 0,
        _ => 1,
    };
    if written == key.text.len() + 2 * shift {
        key.span.within(part.start + shift, part.end + shift)
    } else {
        key.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_project_may_take_ends() {
        let mut sources = Sources::new();
        let file = sources.add("f", "");
        let span = Span::new(file, 0, 0);
        let mut context = Context::new(&sources, Reporter::default(), Variables::new(), Tables::default());
        assert!(context.take_items(MAX_ITEMS, span));
        assert_eq!(
            context.take_instances(Some(MAX_INSTANCES), span),
            Some(MAX_INSTANCES)
        );
        assert!(context.take_comparisons(MAX_COMPARISONS));
        assert!(context.report.problems.is_empty());
        assert!(!context.take_items(1, span));
        assert_eq!(context.take_instances(Some(1), span), None);
        assert_eq!(context.take_instances(None, span), None);
        assert!(!context.take_comparisons(1));
        assert_eq!(context.report.problems.counts().error, 2);
    }
}
