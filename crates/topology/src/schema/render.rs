//! Descriptions in the form that editors show.

use serde_json::{Map, Value, json};

use crate::fields::refers::DEFINES;
use crate::fields::{EXPECTS, INTERNAL, NOT_WITH, STRICT, WHERE};

/// Names of objects: letters, digits, `_` and `-`, and expressions.
const NAMES: &str = r"^(?:[A-Za-z0-9_-]|\$\([^)]*\))+$";

/// Adds what readers refuse of one file.
pub(super) fn with_what_readers_refuse(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            parts.values_mut().for_each(with_what_readers_refuse);
            if let Some(Value::Object(strict)) = parts.remove(STRICT) {
                parts.extend(strict);
            }
            if parts.contains_key(DEFINES) && parts.contains_key("additionalProperties") {
                parts.insert("propertyNames".to_owned(), json!({ "pattern": NAMES }));
            }
            if let Some(pairs) = exclusive(parts) {
                parts.insert("not".to_owned(), json!({ "anyOf": pairs }));
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(with_what_readers_refuse),
        _ => {}
    }
}

/// The pairs of fields that an object cannot have.
fn exclusive(object: &Map<String, Value>) -> Option<Vec<Value>> {
    let properties = object.get("properties")?.as_object()?;
    let pairs: Vec<Value> = properties
        .iter()
        .filter_map(|(field, schema)| Some((field, schema.get(NOT_WITH)?.as_str()?)))
        .flat_map(|(field, others)| others.split(' ').map(move |other| (field, other)))
        .filter(|(_, other)| properties.contains_key(*other))
        .map(|(field, other)| json!({ "required": [field, other] }))
        .collect();
    (!pairs.is_empty()).then_some(pairs)
}

/// Takes out what only we read.
pub(super) fn without_internal(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            parts.retain(|key, _| !INTERNAL.contains(&key.as_str()));
            parts.values_mut().for_each(without_internal);
        }
        Value::Array(parts) => parts.iter_mut().for_each(without_internal),
        _ => {}
    }
}

/// Adds what editors know beside JSON Schema: they show `description` letter by letter, and Markdown where there is
/// `markdownDescription`.
pub(super) fn render(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            if let Some(told) = with_default(parts) {
                parts.insert("description".to_owned(), told);
            }
            let markdown = parts
                .get("description")
                .and_then(Value::as_str)
                .filter(|text| text.contains('`'));
            let markdown = markdown.map(|text| json!(text));
            // Without it, an editor tells the regular expression that a text does not match.
            let expected = parts
                .get("pattern")
                .and(parts.get(EXPECTS))
                .and_then(Value::as_str);
            let expected = expected.map(|expected| json!(format!("expected {expected}")));
            let inner = parts
                .iter_mut()
                .filter(|(key, _)| !matches!(key.as_str(), "default" | "examples"));
            inner.for_each(|(_, part)| render(part));
            if let Some(expected) = expected {
                parts.insert("patternErrorMessage".to_owned(), expected);
            }
            if let Some(markdown) = markdown {
                parts.insert("markdownDescription".to_owned(), markdown);
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(render),
        _ => {}
    }
}

/// The description with the default, which not every editor shows.
fn with_default(parts: &Map<String, Value>) -> Option<Value> {
    let (text, default) = (parts.get("description")?.as_str()?, parts.get("default")?);
    if text.contains("by default") || parts.contains_key(WHERE) {
        return None;
    }
    let value = default
        .as_str()
        .map_or_else(|| default.to_string(), ToOwned::to_owned);
    Some(json!(format!("{text} Default: `{value}`.")))
}
