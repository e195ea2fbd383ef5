//! The published schemas of what this crate writes.

use serde_json::Value;

use crate::Plan;
use crate::render::Summary;

/// Every published schema: the name of its file in `schemas/`, and its text.
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![
        ("plan.v1.json", text(schemars::schema_for!(Plan).to_value())),
        (
            "plan-summary.v1.json",
            text(schemars::schema_for!(Summary<'_>).to_value()),
        ),
    ]
}

fn text(schema: Value) -> String {
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}
