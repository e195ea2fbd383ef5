//! The shapes that schemas are built from. Any text may hold `$( … )`, so numbers may be texts with one.

use serde_json::{Value, json};

use super::{FOR_EACH, Fields};

/// The annotation that says in words what is expected; messages use it.
pub(crate) const EXPECTS: &str = "x-expects";

const TEMPLATE: &str = r"\$\(";

/// What an entry of a map or an item of a list is.
#[derive(Clone, Copy)]
pub(crate) enum Shaped {
    /// An object.
    Object(&'static Fields),
    /// An object that a generator may make.
    Generated(&'static Fields),
    /// What the schema defines under this name.
    Definition(&'static str),
    /// Something with a schema of its own.
    Custom(fn() -> Value),
}

impl Shaped {
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Object(fields) => fields.schema(),
            Self::Generated(fields) => fields.generated(),
            Self::Definition(name) => reference(name),
            Self::Custom(schema) => schema(),
        }
    }
}

pub(crate) fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string", EXPECTS: "text" })
}

pub(crate) fn int(description: &str, minimum: i64, maximum: i64) -> Value {
    json!({
        "description": description,
        "type": ["integer", "string"],
        "pattern": TEMPLATE,
        "minimum": minimum,
        "maximum": maximum,
        EXPECTS: format!("an integer from {minimum} to {maximum}"),
    })
}

pub(crate) fn duration(description: &str) -> Value {
    json!({
        "description": format!("{description} A whole number with its unit: ms, s, m, h or d."),
        "type": "string",
        "pattern": r"^[0-9]+(ms|s|m|h|d)$|\$\(",
        "examples": ["500ms", "5s", "10m"],
        EXPECTS: "a duration with its unit, such as 500ms, 5s or 10m",
    })
}

pub(crate) fn list(description: &str, expects: &str, item: Value) -> Value {
    mapping([
        ("description", description.into()),
        ("type", "array".into()),
        (EXPECTS, expects.into()),
        ("items", item),
    ])
}

pub(crate) fn texts(description: &str, expects: &str) -> Value {
    list(description, expects, json!({ "type": "string", EXPECTS: "text" }))
}

/// A text, or a list of alternatives.
pub(crate) fn text_or_list(description: &str) -> Value {
    json!({
        "description": description,
        "type": ["string", "array"],
        EXPECTS: "text or a list of texts",
        "items": { "type": "string", EXPECTS: "text" },
    })
}

/// Objects by name.
pub(crate) fn map(description: &str, value: Value) -> Value {
    mapping([
        ("description", description.into()),
        ("type", "object".into()),
        (EXPECTS, "a mapping of names".into()),
        ("additionalProperties", value),
    ])
}

pub(crate) fn object(description: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    mapping([
        ("description", description.into()),
        ("type", "object".into()),
        (EXPECTS, "a mapping".into()),
        ("properties", mapping(fields)),
        ("additionalProperties", false.into()),
    ])
}

/// A JSON object of parts that move into it; `json!` copies what it is given, at every level again.
pub(crate) fn mapping(parts: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let parts = parts.into_iter().map(|(name, part)| (name.to_owned(), part));
    Value::Object(parts.collect())
}

/// An object that a generator may make.
pub(crate) fn generated(description: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut schema = object(description, fields);
    schema["properties"][FOR_EACH] = reference(FOR_EACH);
    schema
}

pub(crate) fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

/// A definition with a description of its own, which editors show in place of the definition's.
pub(crate) fn described(definition: &str, description: &str) -> Value {
    let form = match definition {
        "secret" => " A reference: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, …]}`.",
        "scope" => " All keys must match. A list matches when one of its items does. `except_…` excludes.",
        _ => "",
    };
    json!({ "description": format!("{description}{form}"), "$ref": format!("#/$defs/{definition}") })
}

/// One of some words, or an object.
pub(crate) fn word_or(
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
