//! Every default of the language, in one table: what holds where nothing is written.
//!
//! They become `default` in the published schemas, and values in `validate --show resolved`; a test holds them to
//! what resolution does. A default that depends on others (`read_weight` is `weight`) is not in the table.

use serde_json::{Value, json};

use super::WHERE;

/// When a default holds.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// Another key of the object has one of these words.
    Is(&'static str, &'static [&'static str]),
    /// Another key of the object is given.
    Has(&'static str),
}

use When::{Always, Has, Is};

/// Path in the schema (`*` is any name, `[]` any item), default, condition.
fn topology() -> Vec<(&'static str, Value, When)> {
    vec![("variables.*.type", json!("text"), Always)]
}

fn project() -> Vec<(&'static str, Value, When)> {
    let ids = crate::model::IdRanges::default();
    let range = |range: &std::ops::RangeInclusive<u32>| json!(format!("{}-{}", range.start(), range.end()));
    vec![
        ("ids", json!({}), Always),
        ("ids.hostgroups", range(&ids.hostgroups), Always),
        ("ids.rules", range(&ids.rules), Always),
        ("ids.flags", range(&ids.flags), Always),
        ("unmanaged", json!("keep"), Always),
        ("state", json!({}), Always),
        (
            "state.dir",
            json!(crate::model::StateSettings::default().dir.as_ref()),
            Always,
        ),
        ("safety", json!({}), Always),
        ("safety.unreachable", json!("fail"), Always),
        ("lint", json!({}), Always),
        (
            "lint.require_reason",
            json!(crate::model::LintSettings::default().require_reason),
            Always,
        ),
    ]
}

/// Writes the defaults of the topology into its schema. Gives paths that lead nowhere.
pub(super) fn apply_topology(schema: &mut Value) -> Vec<&'static str> {
    apply(schema, topology())
}

/// Writes the defaults of the project file into its schema. Gives paths that lead nowhere.
pub(super) fn apply_project(schema: &mut Value) -> Vec<&'static str> {
    apply(schema, project())
}

fn apply(schema: &mut Value, table: Vec<(&'static str, Value, When)>) -> Vec<&'static str> {
    let mut lost = Vec::new();
    for (path, default, when) in table {
        match place(schema, path).and_then(|pointer| schema.pointer_mut(&pointer)) {
            Some(property) => set(property, default, when),
            None => lost.push(path),
        }
    }
    lost
}

/// A section that brings its own default keeps it.
fn set(property: &mut Value, default: Value, when: When) {
    if property.get("default").is_none() {
        property["default"] = default;
    }
    match when {
        Always => {}
        Is(key, words) => property[WHERE] = json!({ key: words }),
        Has(key) => property[WHERE] = json!({ key: null }),
    }
}

/// The JSON pointer of a path, through references and choices.
fn place(schema: &Value, path: &str) -> Option<String> {
    let mut pointer = String::new();
    for step in path.split('.') {
        let mut forms = vec![pointer.clone()];
        while let Some(target) = forms
            .last()
            .and_then(|last| schema.pointer(last)?.get("$ref")?.as_str())
        {
            forms.push(target.strip_prefix('#')?.to_owned());
        }
        let last = forms.last().cloned().unwrap_or_default();
        forms.extend([format!("{last}/then"), format!("{last}/else")]);
        let part = match step {
            "*" => "additionalProperties".to_owned(),
            "[]" => "items".to_owned(),
            name => format!("properties/{name}"),
        };
        pointer = forms
            .into_iter()
            .map(|form| format!("{form}/{part}"))
            .find(|pointer| schema.pointer(pointer).is_some_and(Value::is_object))?;
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::super::{bare_project, bare_topology};

    #[test]
    fn every_default_has_its_place() {
        assert_eq!(super::apply_topology(&mut bare_topology()), [""; 0]);
        assert_eq!(super::apply_project(&mut bare_project()), [""; 0]);
    }
}
