//! A tree as JSON, for checking it against a schema.

use serde_json::{Map, Number};

use crate::{Node, Value};

/// The tree as JSON. Integers beyond 64 bits become floating point; `.inf` and `.nan`, which JSON lacks, become
/// the text that was written.
#[must_use]
pub fn to_json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null { .. } => serde_json::Value::Null,
        Value::Bool { value, .. } => serde_json::Value::Bool(*value),
        Value::Integer { value, .. } => integer(*value).into(),
        Value::Float { value, raw } => match Number::from_f64(*value) {
            Some(number) => number.into(),
            None => serde_json::Value::String(raw.to_string()),
        },
        Value::Text { text, .. } => serde_json::Value::String(text.to_string()),
        Value::Sequence(items) => items.iter().map(to_json).collect(),
        Value::Mapping(mapping) => {
            let entries = mapping
                .iter()
                .map(|entry| (entry.key.text.to_string(), to_json(&entry.value)));
            serde_json::Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

fn integer(value: i128) -> Number {
    if let Ok(value) = i64::try_from(value) {
        value.into()
    } else if let Ok(value) = u64::try_from(value) {
        value.into()
    } else {
        #[expect(
            clippy::cast_precision_loss,
            reason = "past 64 bits JSON numbers are floating point"
        )]
        Number::from_f64(value as f64).expect("a 128-bit integer is a finite number")
    }
}
