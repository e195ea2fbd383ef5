//! The shape of engine variables.

use serde_json::{Value, json};

use crate::fields::EXPECTS;
use crate::resolve::engine_settings::proxysql;

pub(super) fn engine_settings() -> Value {
    let variables = json!({
        "description": "Variables of the engine by name, such as `mysql-threads: 8`.",
        "type": "object",
        EXPECTS: "a mapping of variables",
        "additionalProperties": {
            "description": "Its value.",
            "type": ["string", "integer", "boolean"],
            EXPECTS: "text, an integer, true or false",
        },
    });
    let mut proxysql = variables.clone();
    proxysql["properties"] = Value::Object(
        proxysql::FIELDS
            .properties()
            .map(|(name, schema)| (name.to_owned(), schema))
            .collect(),
    );
    json!({
        "description": "Variables of the engines themselves, by the name of the engine.",
        "type": "object",
        EXPECTS: "a mapping of engines",
        "properties": { "proxysql": proxysql, "bundled": variables.clone() },
        "additionalProperties": variables,
    })
}
