//! The tables of fields in `docs/language`, written from the declarations.
//!
//! A page says where: `<!-- fields: clusters.*.servers.* -->`, up to the next `<!-- end -->`. The path leads through the
//! schema: `*` is any name, `[]` any item. `project`, `tests` or `environment` before it names another kind of file.

use serde_json::{Map, Value};

use crate::fields::{ABSENT, FOR_EACH, NEEDED, PAGE};
use crate::fields::{EXPECTS, WHERE};
use crate::tree::shape::Shape;

const BEGIN: &str = "<!-- fields:";
/// Kinds of files besides those of the topology.
const FILES: [&str; 3] = ["project", "tests", "environment"];
const MARK: &str = " -->\n";
const END: &str = "<!-- end -->";
const HEAD: &str = "| field | meaning | default |\n|---|---|---|\n";
/// Keys of an object that are listed beside the words in whose place it stands.
const MAX_KEYS: usize = 3;
/// What every duration says of its unit in the schema.
const UNITS: &str = " A whole number with its unit: ms, s, m, h or d.";

/// A page with its tables written anew.
///
/// # Errors
/// A place that the schemas do not have, or one without its end.
pub fn fill(page: &str) -> Result<String, String> {
    let headings: Vec<&str> = page
        .split(BEGIN)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(MARK)?.0.trim()))
        .collect();
    let mut filled = String::new();
    let mut rest = page;
    for heading in &headings {
        let broken = || format!("`{heading}` has no `{END}`");
        let (before, after) = rest.split_once(BEGIN).ok_or_else(broken)?;
        let (_, after) = after.split_once(END).ok_or_else(broken)?;
        filled.push_str(&format!(
            "{before}{BEGIN} {heading}{MARK}{}{END}",
            table(heading, &headings)?
        ));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The table of the object at a place. Objects inside it that have no table on the page are listed in this one.
fn table(heading: &str, others: &[&str]) -> Result<String, String> {
    let (file, path) = match heading.split_once(' ') {
        Some((file, path)) => (file, path),
        None if FILES.contains(&heading) => (heading, ""),
        None => ("", heading),
    };
    let schema = match file {
        "project" => super::bare_project(),
        "tests" => super::bare_tests(),
        "environment" => super::bare_environment(),
        _ => super::bare_topology(),
    };
    let unknown = || format!("the schemas have no object at `{heading}`");
    let mut shape = Shape::root(&schema);
    for step in path.split('.').filter(|step| !step.is_empty()) {
        shape = match step {
            "*" => shape.entry(),
            "[]" => shape.item(),
            key => shape.key(key),
        }
        .ok_or_else(unknown)?;
    }
    let mut rows = HEAD.to_owned();
    add_rows(shape, heading, "", others, &mut rows).ok_or_else(unknown)?;
    Ok(rows)
}

fn add_rows(shape: Shape<'_>, heading: &str, prefix: &str, others: &[&str], rows: &mut String) -> Option<()> {
    for (name, property) in shape.properties()? {
        if name == FOR_EACH || name.starts_with("except_") {
            continue;
        }
        let inner = property.get("properties").and_then(Value::as_object);
        let has_table = |heading: &str| others.iter().any(|other| other.starts_with(heading));
        let dot = if FILES.contains(&heading) { " " } else { "." };
        let inner_path = format!("{heading}{dot}{name}");
        let (says, absent) = (says(property), absent(property));
        rows.push_str(&format!("| `{prefix}{name}` | {says} | {absent} |\n"));
        if inner.is_some_and(|inner| !inner.is_empty()) && !has_table(&inner_path) {
            add_rows(
                shape.key(name)?,
                &inner_path,
                &format!("{prefix}{name}."),
                others,
                rows,
            )?;
        }
    }
    Some(())
}

/// The sentence of a field, the values that it takes, and what the page adds.
fn says(property: &Value) -> String {
    let text = |key: &str| property.get(key).and_then(Value::as_str);
    let sentence = text("description").unwrap_or_default().replace(UNITS, "");
    let mut says = without_default(&sentence);
    let expects = text(EXPECTS).unwrap_or_default();
    let words = words(property);
    if !words.is_empty() && !words.iter().all(|word| says.contains(word.as_str())) {
        let one_of = if words.len() > 1 { "One of " } else { "" };
        says.push_str(&format!(" {one_of}{}.", words.join(", ")));
    } else if let Some(range) = expects
        .strip_prefix("an integer from ")
        .filter(|_| is_bounded(property))
    {
        says.push_str(&format!(" From {range}."));
    } else if expects.starts_with("a duration") {
        says.push_str(" A duration.");
    }
    if let Some(added) = text(PAGE) {
        says.push_str(&format!(" {added}"));
    }
    says.trim().replace('|', "\\|")
}

/// The words that a field may be, and the keys of the object that may stand in their place.
fn words(property: &Value) -> Vec<String> {
    let of_branch = |branch: &str, key: &str| property.get(branch)?.get(key);
    let words = property.get("enum").or_else(|| of_branch("else", "enum"));
    let Some(words) = words.and_then(Value::as_array) else {
        return Vec::new();
    };
    let keys = of_branch("then", "properties").and_then(Value::as_object);
    let keys = keys.filter(|keys| keys.len() <= MAX_KEYS);
    let keys = keys.into_iter().flat_map(Map::keys);
    let keys = keys.map(|key| format!("`{{{key}: …}}`"));
    words.iter().map(shown).chain(keys).collect()
}

/// Whether the greatest number means something, and is not what the engine's column holds.
fn is_bounded(property: &Value) -> bool {
    let most = property.get("maximum").and_then(Value::as_i64);
    most.is_some_and(|most| most < i64::from(i32::MAX))
}

/// A sentence without what it says of the default, which has a column of its own.
fn without_default(sentence: &str) -> String {
    let mut text = sentence.to_owned();
    while let Some(at) = text.find(" by default") {
        let end = at + " by default".len();
        let start = text[..at].rfind([';', '(']).map_or(0, |start| start + 1);
        // `(by default)` goes with its brackets, `; 1 by default` with its semicolon.
        let (start, end) = match text[..start].ends_with('(') && text[end..].starts_with(')') {
            true => (start - 1, end + 1),
            false => (start.saturating_sub(1), end),
        };
        let before = text[..start].trim_end().to_owned();
        text = format!("{before}{}", &text[end..]);
    }
    text.replace("; by default", "").replace(" (by default)", "")
}

/// What holds where the field is not given.
fn absent(property: &Value) -> String {
    let words = property.get(ABSENT).and_then(Value::as_str);
    if property.get(NEEDED).is_some() {
        return "required".to_owned();
    }
    let default = property.get("default").filter(|default| !default.is_object());
    let Some(default) = default else {
        return words.unwrap_or("–").to_owned();
    };
    let only = property.get(WHERE).and_then(Value::as_object).and_then(condition);
    let mut absent = shown(default);
    if let Some(only) = only {
        absent.push_str(&format!(" ({only})"));
    }
    if let Some(words) = words {
        absent.push_str(&format!(", {words}"));
    }
    absent
}

fn condition(condition: &Map<String, Value>) -> Option<String> {
    let (_, words) = condition.iter().next()?;
    let words: Vec<&str> = words.as_array()?.iter().filter_map(Value::as_str).collect();
    Some(words.join(", "))
}

fn shown(value: &Value) -> String {
    match value.as_str() {
        Some("") => "`\"\"`".to_owned(),
        Some(text) => format!("`{text}`"),
        None => format!("`{value}`"),
    }
}
