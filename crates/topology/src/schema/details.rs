//! Examples of fields, for editors; and descriptions in the form that they render.

use serde_json::{Map, Value, json};

use super::{EXPECTS, WHERE};

/// A field of a schema by its path, with JSON. `*` is any name, `[]` any item, and `$NAME` a definition.
type Details = &'static [(&'static str, &'static str)];

const TOPOLOGY_EXAMPLES: Details = &[];

const PROJECT_EXAMPLES: Details = &[
    ("engines", r#"[["bundled", "proxysql-2.7"]]"#),
    ("targets.*.admin", r#"["127.0.0.1:6032"]"#),
    ("targets.*.labels", r#"[{"zone": "a"}]"#),
    ("waves.[].parallel", "[8]"),
    ("safety.deletes.max", "[5]"),
    ("safety.traffic_moved", r#"["2%"]"#),
    ("safety.protect", r#"[["users.*", "clusters.pay"]]"#),
    ("lint.select", r#"[["SW2", "SW301"]]"#),
    ("environments", r#"[["staging", "prod"]]"#),
];

const TESTS_EXAMPLES: Details = &[
    ("$session.client", r#"["10.0.0.7"]"#),
    ("$expect.shard", r#"["tenants/t017"]"#),
    ("$expect.error", r#"["SW351"]"#),
    ("$expect.rule", r#"["query_rules.legacy"]"#),
    ("$expect.cluster", r#"["shard-001"]"#),
];

/// Adds examples to the schema of topology files.
pub(super) fn topology(schema: &mut Value) {
    add(schema, TOPOLOGY_EXAMPLES);
}

/// Adds examples to the schema of the project file.
pub(super) fn project(schema: &mut Value) {
    add(schema, PROJECT_EXAMPLES);
}

/// Adds examples to the schema of route tests.
pub(super) fn tests(schema: &mut Value) {
    add(schema, TESTS_EXAMPLES);
}

fn add(schema: &mut Value, details: Details) {
    for (path, detail) in details {
        let field =
            find(schema, path).expect("the tables name fields that the schemas have, which tests see");
        field["examples"] = serde_json::from_str(detail).expect("the tables hold JSON, which tests see");
    }
}

/// The schema of a field. Objects that stand beside words are looked into.
fn find<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Value> {
    let mut at = schema;
    for step in path.split('.') {
        if at.get("then").is_some() {
            at = at.get_mut("then")?;
        }
        at = match step {
            "*" => at.get_mut("additionalProperties")?,
            "[]" => at.get_mut("items")?,
            _ => match step.strip_prefix('$') {
                Some(definition) => at.get_mut("$defs")?.get_mut(definition)?,
                None => at.get_mut("properties")?.get_mut(step)?,
            },
        };
    }
    Some(at)
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
    let is_told = ["where not given", "when absent"]
        .iter()
        .any(|said| text.contains(said));
    if is_told || parts.contains_key(WHERE) {
        return None;
    }
    let value = default
        .as_str()
        .map_or_else(|| default.to_string(), ToOwned::to_owned);
    Some(json!(format!("{text} Where not given: `{value}`.")))
}
