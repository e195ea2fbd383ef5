//! `variables`: values that templates use as `$(var.NAME)`.

use shardwright_vocabulary::parse_integer;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use shardwright_diagnostics::{Diagnostic, did_you_mean};
use shardwright_documents::{Entry, Node};

use crate::codes::{BAD_VALUE, VARIABLE_VALUE};
use crate::fields::{AnyField, EXPECTS, object};
use crate::model::Words;
use crate::reporter::{Reporter, yaml_1_1_warning};
use crate::template::Value;
use crate::tree::view::{Field, View};
use crate::units::is_name;

/// The value of each variable; none for one without a value, which has been reported.
pub(crate) type Variables = BTreeMap<String, Option<Value>>;

/// Where values come from beside the defaults, the stronger first.
#[derive(Clone, Copy)]
pub(crate) struct Given<'g> {
    /// `--var NAME=VALUE`
    pub(crate) options: &'g BTreeMap<String, String>,
    /// `variables` of the environment.
    pub(crate) environment: Option<&'g Node>,
    /// Names of environments, for who could give a value.
    pub(crate) environments: &'g [&'g str],
}

impl<'g> Given<'g> {
    /// The entry of the environment.
    fn entry(&self, name: &str) -> Option<&'g Entry> {
        self.environment?.as_mapping()?.entry(name)
    }
}

object! {
    pub(crate) mod declared = "A value that an environment or `--var` may set.";
    TYPE: Or<Word<Type>> = word("type", "What values it takes; text by default.").or(Type::Text)
        .page("Arithmetic needs an integer.");
    DEFAULT: Custom = custom("default", "Its value where none is given.", value_schema)
        .absent("none: an environment or `--var` must give a value");
    DESCRIPTION: Text = text("description", "What the variable is for.");
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Integer,
}

impl Words for Type {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("integer", Self::Integer)];
}

/// The schema of a value of a variable.
pub(crate) fn value_schema(says: &str) -> Json {
    json!({
        "description": says,
        "type": ["string", "integer"],
        EXPECTS: "text or an integer",
    })
}

/// Reads the section, with values given from outside in place of defaults.
pub(crate) fn variables(section: Option<&View<'_>>, given: Given<'_>, report: &mut Reporter) -> Variables {
    let fields = section.map_or_else(Vec::new, View::fields);
    let mut variables = Variables::new();
    for field in &fields {
        if !is_name(&field.key.text) {
            let message = format!("`{}` is not a name", field.key.text);
            report.push(Diagnostic::error(crate::codes::BAD_NAME, message).at(field.key.span, ""));
        }
        let value = variable(field, given, report);
        variables.insert(field.key.text.to_string(), value);
    }
    let unknown = |name: &str| {
        let message = format!("a value is given for the variable `{name}`, which does not exist");
        let near = did_you_mean(name, variables.keys().map(String::as_str));
        Diagnostic::error(VARIABLE_VALUE, message).did_you_mean(near)
    };
    for name in given.options.keys().filter(|name| !variables.contains_key(*name)) {
        report.push_of_options(unknown(name));
    }
    for entry in given.environment.and_then(Node::as_mapping).into_iter().flatten() {
        if !variables.contains_key(&*entry.key.text) {
            report.push(unknown(&entry.key.text).at(entry.key.span, ""));
        }
    }
    variables
}

fn variable(field: &Field<'_>, given: Given<'_>, report: &mut Reporter) -> Option<Value> {
    if !field.value.is_map() {
        return None;
    }
    let kind = field.value.get(declared::TYPE.name());
    let kind = match kind.as_ref().and_then(|kind| kind.value.node()?.as_text()) {
        // Another word is a problem of the structure.
        Some(word) => Type::of_word(word)?,
        None => declared::TYPE.kind.default,
    };
    let name = &*field.key.text;
    // A default is checked also where another value is given.
    let default = field.value.get(declared::DEFAULT.name());
    let from_default = default
        .as_ref()
        .and_then(|default| value(kind, default.value.node()?, report));
    let from_environment = given.entry(name).map(|entry| value(kind, &entry.value, report));
    if let Some(given) = given.options.get(name) {
        let value = typed(kind, given);
        if value.is_none() {
            let message = format!("the value `{given}` given for `{name}` is not an integer");
            report.push(Diagnostic::error(VARIABLE_VALUE, message).at(field.key.span, "its type is integer"));
        }
        return value;
    }
    if let Some(value) = from_environment {
        return value;
    }
    if default.is_none() {
        report.push(without_value(field, given.environments));
    }
    from_default
}

fn without_value(field: &Field<'_>, environments: &[&str]) -> Diagnostic {
    let name = &field.key.text;
    let choose = match environments {
        [] => String::new(),
        names => format!(
            "choose an environment that has one with -e ({}), ",
            names.join(", ")
        ),
    };
    Diagnostic::error(VARIABLE_VALUE, format!("the variable `{name}` has no value"))
        .at(field.key.span, "")
        .help(format!("give it a `default`, {choose}or pass --var {name}=VALUE"))
}

fn value(kind: Type, node: &Node, report: &mut Reporter) -> Option<Value> {
    let value = typed(kind, node.raw()?);
    if value.is_none() {
        let message = format!(
            "expected an integer, found {}",
            crate::tree::structure::shown(node)
        );
        report.push(Diagnostic::error(BAD_VALUE, message).at(node.span, ""));
    } else if kind == Type::Text
        && let Some(warning) = yaml_1_1_warning(node)
    {
        report.push(warning);
    }
    value
}

fn typed(kind: Type, text: &str) -> Option<Value> {
    match kind {
        Type::Text => Some(Value::Text(Arc::from(text))),
        Type::Integer => parse_integer(text).map(Value::Integer),
    }
}
