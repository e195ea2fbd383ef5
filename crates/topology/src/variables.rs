//! `variables`: values that templates use as `$(var.NAME)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_diagnostics::{Diagnostic, did_you_mean};

use crate::codes::{BAD_VALUE, VARIABLE_VALUE};
use crate::report::Report;
use crate::template::Value;
use crate::units::is_name;
use crate::view::{Field, View};

/// The value of each variable; none for one without a value, which has been reported.
pub(crate) type Variables = BTreeMap<String, Option<Value>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Integer,
}

/// Reads the section, with values given from outside in place of defaults.
pub(crate) fn variables(
    section: Option<&View<'_>>,
    given: &BTreeMap<String, String>,
    report: &mut Report,
) -> Variables {
    let fields = section.map_or_else(Vec::new, View::fields);
    let mut variables = Variables::new();
    for field in &fields {
        if !is_name(&field.key.text) {
            let message = format!("`{}` is not a name", field.key.text);
            report.push(Diagnostic::error(crate::codes::BAD_NAME, message).at(field.key.span, ""));
        }
        let value = variable(field, given.get(&*field.key.text), report);
        variables.insert(field.key.text.to_string(), value);
    }
    for name in given.keys().filter(|name| !variables.contains_key(*name)) {
        let message = format!("a value is given for the variable `{name}`, which does not exist");
        let near = did_you_mean(name, variables.keys().map(String::as_str));
        report.push(Diagnostic::error(VARIABLE_VALUE, message).did_you_mean(near));
    }
    variables
}

fn variable(field: &Field<'_>, given: Option<&String>, report: &mut Report) -> Option<Value> {
    if !field.value.is_map() {
        return None;
    }
    let kind = match field
        .value
        .get("type")
        .as_ref()
        .and_then(|kind| kind.value.node()?.as_text())
    {
        Some("integer") => Type::Integer,
        Some("text") | None => Type::Text,
        // Another word is a problem of the structure.
        Some(_) => return None,
    };
    if let Some(given) = given {
        let value = typed(kind, given);
        if value.is_none() {
            let message = format!(
                "the value `{given}` given for `{}` is not an integer",
                field.key.text
            );
            report.push(Diagnostic::error(VARIABLE_VALUE, message).at(field.key.span, "its type is integer"));
        }
        return value;
    }
    let Some(default) = field.value.get("default") else {
        let message = format!("the variable `{}` has no value", field.key.text);
        let help = format!("give it a `default`, or pass --var {}=VALUE", field.key.text);
        report.push(
            Diagnostic::error(VARIABLE_VALUE, message)
                .at(field.key.span, "")
                .help(help),
        );
        return None;
    };
    let node = default.value.node()?;
    let value = typed(kind, node.raw()?);
    if value.is_none() {
        let message = format!("expected an integer, found {}", crate::structure::shown(node));
        report.push(Diagnostic::error(BAD_VALUE, message).at(node.span, ""));
    }
    value
}

fn typed(kind: Type, text: &str) -> Option<Value> {
    match kind {
        Type::Text => Some(Value::Text(Arc::from(text))),
        Type::Integer => crate::model::parse_integer_key(text).map(Value::Integer),
    }
}
