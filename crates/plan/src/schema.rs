//! The published schemas of what this crate writes.

use schemars::JsonSchema;

use crate::Plan;
use crate::render::Summary;

/// Every published schema: the name of its file in `schemas/`, and its text.
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![
        ("plan.v1.json", schema_of::<Plan>()),
        ("plan-summary.v1.json", schema_of::<Summary<'_>>()),
    ]
}

/// The text of a schema as it is published.
pub fn schema_of<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T).to_value();
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}
