//! The shapes that all sections are built from. Any text may hold `$( … )`, so numbers may be texts with one.

use serde_json::{Value, json};

/// The annotation that says in words what is expected; messages use it.
pub(crate) const EXPECTS: &str = "x-expects";

const TEMPLATE: &str = r"\$\(";

pub(super) fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string", EXPECTS: "text" })
}

pub(super) fn boolean(description: &str) -> Value {
    json!({ "description": description, "type": "boolean", EXPECTS: "true or false" })
}

/// 0 or 1, as the engine writes truth.
pub(super) fn bit(description: &str) -> Value {
    json!({ "description": description, "enum": [0, 1], EXPECTS: "0 or 1" })
}

pub(super) fn int(description: &str, minimum: i64, maximum: i64) -> Value {
    json!({
        "description": description,
        "type": ["integer", "string"],
        "pattern": TEMPLATE,
        "minimum": minimum,
        "maximum": maximum,
        EXPECTS: format!("an integer from {minimum} to {maximum}"),
    })
}

pub(super) fn number(description: &str) -> Value {
    json!({ "description": description, "type": "number", "minimum": 0, EXPECTS: "a number" })
}

pub(super) fn duration(description: &str) -> Value {
    json!({
        "description": format!("{description} A whole number with its unit: ms, s, m, h or d."),
        "type": "string",
        "pattern": r"^[0-9]+(ms|s|m|h|d)$|\$\(",
        "examples": ["500ms", "5s", "10m"],
        EXPECTS: "a duration with its unit, such as 500ms, 5s or 10m",
    })
}

pub(super) fn word(description: &str, words: &[&str]) -> Value {
    json!({ "description": description, "enum": words })
}

pub(super) fn list(description: &str, expects: &str, item: Value) -> Value {
    mapping([
        ("description", description.into()),
        ("type", "array".into()),
        (EXPECTS, expects.into()),
        ("items", item),
    ])
}

pub(super) fn texts(description: &str, expects: &str) -> Value {
    list(description, expects, json!({ "type": "string", EXPECTS: "text" }))
}

/// A text, or a list of alternatives.
pub(super) fn text_or_list(description: &str) -> Value {
    json!({
        "description": description,
        "type": ["string", "array"],
        EXPECTS: "text or a list of texts",
        "items": { "type": "string", EXPECTS: "text" },
    })
}

/// Objects by name.
pub(super) fn map(description: &str, value: Value) -> Value {
    mapping([
        ("description", description.into()),
        ("type", "object".into()),
        (EXPECTS, "a mapping of names".into()),
        ("additionalProperties", value),
    ])
}

pub(super) fn object(description: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    mapping([
        ("description", description.into()),
        ("type", "object".into()),
        (EXPECTS, "a mapping".into()),
        ("properties", mapping(fields)),
        ("additionalProperties", false.into()),
    ])
}

/// A JSON object of parts that move into it; `json!` copies what it is given, at every level again.
pub(super) fn mapping(parts: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let parts = parts.into_iter().map(|(name, part)| (name.to_owned(), part));
    Value::Object(parts.collect())
}

/// An object that a generator may make.
pub(super) fn generated(description: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut schema = object(description, fields);
    schema["properties"]["for_each"] = reference("for_each");
    schema
}

pub(super) fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

/// A definition with a description of its own, which editors show in place of the definition's.
pub(super) fn described(definition: &str, description: &str) -> Value {
    let form = match definition {
        "secret" => " A reference: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, …]}`.",
        "scope" => " Keys must all hold, the items of a list are alternatives, and `except_…` excludes.",
        _ => "",
    };
    json!({ "description": format!("{description}{form}"), "$ref": format!("#/$defs/{definition}") })
}

/// One of some words, or an object.
pub(super) fn word_or(
    description: &str,
    words: &[&str],
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    mapping([
        ("description", description.into()),
        ("if", json!({ "type": "object" })),
        ("then", object(description, fields)),
        ("else", json!({ "enum": words })),
    ])
}

/// A whole number of things.
pub(super) fn count(description: &str) -> Value {
    int(description, 0, 4_294_967_295)
}
