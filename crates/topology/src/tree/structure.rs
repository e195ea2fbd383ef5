//! Checks one file against its published schema, and says what is wrong in the words of the language.

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};
use shardwright_documents::{Node, side_by_side, to_json};

use crate::codes::{BAD_VALUE, UNKNOWN_KEY, UNKNOWN_WORD, WRONG_TYPE};
use crate::fields::EXPECTS;
use crate::reporter::Reporter;

/// Problems of structure that are looked at in one file; more help nobody.
const MAX_ERRORS: usize = 1_000;

/// Bytes of a file that is checked beside others.
const LARGE: usize = 100_000;

/// A schema, ready to check files.
#[derive(Debug)]
pub(crate) struct Checker {
    schema: Value,
    validator: Validator,
}

/// A key that earlier versions took and that nothing ever made effective.
struct NotYet {
    key: &'static str,
    /// A key of the same mapping.
    beside: &'static str,
    instead: &'static str,
}

const NOT_YET: [NotYet; 3] = [
    NotYet {
        key: "waves",
        beside: "targets",
        instead: "there are no waves yet: an apply changes one target after the other without a pause; apply to some of them with \
                  --target, look, and go on",
    },
    NotYet {
        key: "gates",
        beside: "targets",
        instead: "nothing is measured between targets yet: apply to some of them with --target, look, and go on",
    },
    NotYet {
        key: "traffic_moved",
        beside: "plan_expiry",
        instead: "no apply is measured by its traffic yet: review what the plan says of its meaning",
    },
];

impl Checker {
    /// `schema` is one of [`crate::schema`].
    pub(crate) fn new(schema: Value) -> Self {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .expect("the published schemas are valid, which a test holds");
        Self { schema, validator }
    }

    pub(crate) const fn schema(&self) -> &Value {
        &self.schema
    }

    /// Reports what is wrong with the structure of files.
    pub(crate) fn check_all(&self, roots: &[&Node], report: &mut Reporter) {
        let worth_threads = |root: &&Node| root.span.range().len() >= LARGE;
        let large = roots.iter().any(worth_threads);
        let sound = side_by_side(roots, large, |root| self.validator.is_valid(&to_json(root)));
        for (root, sound) in roots.iter().zip(sound) {
            if !sound {
                self.report(root, report);
            }
        }
    }

    /// Reports what is wrong with the structure of a file.
    pub(crate) fn check(&self, root: &Node, report: &mut Reporter) {
        self.check_all(&[root], report);
    }

    fn report(&self, root: &Node, report: &mut Reporter) {
        let json = to_json(root);
        for error in self.validator.iter_errors(&json).take(MAX_ERRORS) {
            // A problem of nothing stands at its key.
            let found = root.pointer(error.instance_path().as_str());
            if let Some(found) = found.filter(|found| found.node.is_null()) {
                report.flag(found.node.span);
            }
            for diagnostic in self.diagnostics(&error, root) {
                report.push_structural(diagnostic);
            }
        }
    }

    fn diagnostics(&self, error: &ValidationError<'_>, root: &Node) -> Vec<Diagnostic> {
        let path = error.instance_path().as_str();
        let Some(found) = root.pointer(path) else {
            return vec![Diagnostic::error(BAD_VALUE, error.to_string()).at(root.span, "")];
        };
        let node = found.node;
        let span = if node.is_null() {
            found.key_span()
        } else {
            node.span
        };
        match error.kind() {
            Kind::AdditionalProperties { unexpected } => unexpected
                .iter()
                .map(|key| self.unknown_key(error, node, key))
                .collect(),
            Kind::Enum { options } => {
                let diagnostic = unknown_word(options, node, span);
                let fields = self.fields_beside(error);
                vec![match fields.is_empty() || !diagnostic.notes.is_empty() {
                    true => diagnostic,
                    false => diagnostic.help(format!("or a mapping with {}", one_of(&fields))),
                }]
            }
            Kind::Type { .. } => vec![self.wrong_type(error, node, span)],
            _ => {
                let message = format!("expected {}, found {}", self.expectation(error), shown(node));
                vec![Diagnostic::error(BAD_VALUE, message).at(span, "")]
            }
        }
    }

    fn unknown_key(&self, error: &ValidationError<'_>, node: &Node, key: &str) -> Diagnostic {
        let candidates: Vec<&str> = self
            .schema_around(error)
            .and_then(|schema| schema.get("properties"))
            .and_then(Value::as_object)
            .map_or_else(Vec::new, |properties| {
                properties.keys().map(String::as_str).collect()
            });
        let span = node
            .as_mapping()
            .and_then(|mapping| mapping.entry(key))
            .map_or(node.span, |entry| entry.key.span);
        let diagnostic = Diagnostic::error(UNKNOWN_KEY, format!("unknown key `{key}`")).at(span, "");
        if key == "except" && candidates.contains(&"for_each") {
            return diagnostic.help("write it inside `for_each`: {n: 1..200, except: [113]}");
        }
        if key == "ranges" && candidates.contains(&"remainders") {
            return diagnostic.help("write ranges under `keys`: keys: [1..200]");
        }
        let not_yet = NOT_YET
            .iter()
            .find(|not_yet| not_yet.key == key && candidates.contains(&not_yet.beside));
        if let Some(not_yet) = not_yet {
            return diagnostic.help(not_yet.instead);
        }
        match did_you_mean(key, candidates.iter().copied()) {
            Some(near) => diagnostic.did_you_mean(Some(near)),
            None => diagnostic.note(format!("keys here: {}", candidates.join(", "))),
        }
    }

    /// The keys of the mapping that may stand in the place of a word.
    fn fields_beside(&self, error: &ValidationError<'_>) -> Vec<String> {
        let fields = error
            .schema_path()
            .as_str()
            .strip_suffix("/else/enum")
            .and_then(|around| self.schema.pointer(&format!("{around}/then/properties")))
            .and_then(Value::as_object);
        fields.map_or_else(Vec::new, |fields| fields.keys().cloned().collect())
    }

    fn wrong_type(&self, error: &ValidationError<'_>, node: &Node, span: Span) -> Diagnostic {
        let expected = self.expectation(error);
        let message = format!("expected {expected}, found {}", node.value.type_name());
        let diagnostic = Diagnostic::error(WRONG_TYPE, message).at(span, "");
        // Only where nothing but text is meant: the value may be a secret in the place of a reference.
        let takes_text = expected == "text";
        match node.raw() {
            Some(raw) if takes_text && !raw.is_empty() && !node.is_null() => {
                diagnostic.help(format!("if you mean text, put it in quotes: \"{raw}\""))
            }
            _ => diagnostic,
        }
    }

    fn expectation(&self, error: &ValidationError<'_>) -> String {
        self.schema_around(error)
            .and_then(|schema| schema.get(EXPECTS))
            .and_then(Value::as_str)
            .map_or_else(|| error.to_string(), ToOwned::to_owned)
    }

    /// The schema that holds the keyword which failed.
    fn schema_around(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let keyword = error.schema_path().as_str();
        let (around, _) = keyword.rsplit_once('/')?;
        self.schema.pointer(around)
    }
}

fn unknown_word(options: &Value, node: &Node, span: Span) -> Diagnostic {
    let texts: Vec<String> = options.as_array().map_or_else(Vec::new, |options| {
        let text = |option: &Value| {
            option
                .as_str()
                .map_or_else(|| option.to_string(), ToOwned::to_owned)
        };
        options.iter().map(text).collect()
    });
    let message = format!("expected {}, found {}", one_of(&texts), shown(node));
    let diagnostic = Diagnostic::error(UNKNOWN_WORD, message).at(span, "");
    let near = node
        .raw()
        .and_then(|raw| did_you_mean(raw, texts.iter().map(String::as_str)));
    diagnostic.did_you_mean(near)
}

/// Words as a phrase: `a`, `b` or `c`.
pub(crate) fn one_of(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            if word.is_empty() {
                "\"\"".to_owned()
            } else {
                format!("`{word}`")
            }
        })
        .collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// A value as people see it in a message.
pub(crate) fn shown(node: &Node) -> String {
    match node.raw() {
        Some(raw) if !node.is_null() => {
            let mut short: String = raw.chars().take(60).collect();
            if short.len() < raw.len() {
                short.push('…');
            }
            format!("`{short}`")
        }
        _ => node.value.type_name().to_owned(),
    }
}
