//! The published schema: the paths of its fields, and the fields of a document with other values for them.
//!
//! A path has the names of fields, `*` for the names of objects and `[]` for the items of a list. What is used in several places
//! has a path of its own, which begins with `$`: `clusters.*.servers.*` holds `$server.host`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::document::{Document, Pointer};

pub(super) struct Schema(Value);

/// A value of a document that holds no others.
pub(super) struct Leaf {
    pub(super) path: String,
    at: Pointer,
    words: Vec<Value>,
    is_needed: bool,
}

/// A part of the schema with its path.
#[derive(Clone)]
struct Part<'s> {
    node: &'s Value,
    path: String,
}

impl Schema {
    pub(super) fn of(schema: Value) -> Self {
        Self(schema)
    }

    pub(super) fn published(name: &str) -> Self {
        let file = format!("../../schemas/{name}.v1.json");
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        Self(serde_json::from_str(&text).unwrap())
    }

    fn root(&self) -> Part<'_> {
        Part {
            node: &self.0,
            path: String::new(),
        }
    }

    /// The part with all alternatives that it names.
    fn alternatives<'s>(&'s self, part: Part<'s>) -> Vec<Part<'s>> {
        let mut all = Vec::new();
        let mut waiting = vec![part];
        while let Some(part) = waiting.pop() {
            let part = match part.node.get("$ref").and_then(Value::as_str) {
                Some(reference) => {
                    let name = reference.rsplit('/').next().unwrap_or_default();
                    Part {
                        node: &self.0["$defs"][name],
                        path: format!("${name}"),
                    }
                }
                None => part,
            };
            let nested = ["anyOf", "oneOf", "allOf"].iter();
            let nested = nested.filter_map(|key| part.node.get(key)?.as_array()).flatten();
            let branches = ["then", "else"].iter().filter_map(|key| part.node.get(key));
            for node in nested.chain(branches) {
                waiting.push(Part {
                    node,
                    path: part.path.clone(),
                });
            }
            all.push(part);
        }
        all
    }

    fn fields<'s>(part: &Part<'s>) -> Vec<Part<'s>> {
        let prefix = match part.path.is_empty() {
            true => String::new(),
            false => format!("{}.", part.path),
        };
        let named = part.node.get("properties").and_then(Value::as_object);
        let named = named.into_iter().flatten().map(|(name, node)| Part {
            node,
            path: format!("{prefix}{name}"),
        });
        let others = part
            .node
            .get("additionalProperties")
            .filter(|node| node.is_object());
        let others = others.map(|node| Part {
            node,
            path: format!("{prefix}*"),
        });
        named.chain(others).collect()
    }

    fn items<'s>(part: &Part<'s>) -> Option<Part<'s>> {
        let node = part.node.get("items").filter(|node| node.is_object())?;
        Some(Part {
            node,
            path: format!("{}[]", part.path),
        })
    }

    /// The paths of all values that hold no others.
    pub(super) fn paths(&self) -> BTreeSet<String> {
        let (mut paths, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting = vec![self.root()];
        while let Some(part) = waiting.pop() {
            let all = self.alternatives(part);
            if all[0].path.starts_with('$') && !all[0].path.contains('.') && !seen.insert(all[0].path.clone())
            {
                continue;
            }
            let inner = |part: &Part<'_>| !Self::fields(part).is_empty() || Self::items(part).is_some();
            let alternatives_hold = all.iter().any(inner);
            for part in &all {
                waiting.extend(Self::fields(part));
                waiting.extend(Self::items(part));
                let is_word = part.node.get("enum").is_some();
                if (!alternatives_hold || is_word) && !part.path.is_empty() {
                    paths.insert(part.path.clone());
                }
            }
        }
        paths
    }

    /// The values of a document that hold no others.
    pub(super) fn leaves(&self, document: &Document) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let parts = self.alternatives(self.root());
        self.collect(&document.0, &parts, false, &mut Pointer::new(), &mut leaves);
        leaves
    }

    fn collect(
        &self,
        value: &Value,
        parts: &[Part<'_>],
        is_needed: bool,
        at: &mut Pointer,
        leaves: &mut Vec<Leaf>,
    ) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    let field = parts.iter().find_map(|part| {
                        let named = part.node.get("properties").and_then(|named| named.get(name));
                        let all = Self::fields(part);
                        let dotted = |part: &Part<'_>| part.path.rsplit('.').next() == Some(name);
                        match named {
                            Some(_) => all.into_iter().find(dotted),
                            None => all.into_iter().find(|part| part.path.ends_with('*')),
                        }
                    });
                    let field = field.unwrap_or_else(|| panic!("no field {name} at {at:?}"));
                    let required = parts
                        .iter()
                        .filter_map(|part| part.node.get("required")?.as_array());
                    let is_needed = required.flatten().any(|one| one.as_str() == Some(name));
                    at.push(name.clone());
                    self.collect(value, &self.alternatives(field), is_needed, at, leaves);
                    at.pop();
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let item = parts.iter().find_map(Self::items);
                let item = item.unwrap_or_else(|| panic!("no list at {at:?}"));
                let item = self.alternatives(item);
                for (position, value) in items.iter().enumerate() {
                    at.push(position.to_string());
                    self.collect(value, &item, items.len() == 1, at, leaves);
                    at.pop();
                }
            }
            value => leaves.push(self.leaf(value, parts, is_needed, at)),
        }
    }

    fn leaf(&self, value: &Value, parts: &[Part<'_>], is_needed: bool, at: &Pointer) -> Leaf {
        // One value may stand in the place of a list of one.
        let single = parts.iter().find_map(Self::items);
        let all = single.map_or_else(|| parts.to_vec(), |item| self.alternatives(item));
        let words = all.iter().filter_map(|part| part.node.get("enum")?.as_array());
        let words: Vec<Value> = words.flatten().filter(|word| *word != value).cloned().collect();
        Leaf {
            path: all[0].path.clone(),
            at: at.clone(),
            words,
            is_needed,
        }
    }
}

/// A change that must have an effect, in one of the ways in which it can be made.
pub(super) struct Change {
    pub(super) what: String,
    pub(super) ways: Vec<Document>,
}

impl Leaf {
    /// Changes of this value: to each other word; or, where it is no word, to another value or to none.
    pub(super) fn changes(&self, document: &Document) -> Vec<Change> {
        let value = document.get(&self.at).expect("the leaf is in the document");
        let place = self.at.join("/");
        if self.words.is_empty() {
            let other = another(value);
            let what = format!("{place} from {value} to {other}");
            let mut ways = vec![document.with(&self.at, other)];
            if !self.is_needed {
                ways.push(document.without(&self.at));
            }
            return vec![Change { what, ways }];
        }
        let words = self.words.iter().map(|word| Change {
            what: format!("{place} from {value} to {word}"),
            ways: vec![document.with(&self.at, word.clone())],
        });
        words.collect()
    }
}

/// Another value that may stand in the place of this one.
fn another(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(number) => match number.as_u64() {
            Some(0) => json!(1),
            Some(1) => json!(0),
            Some(number) => json!(number + 1),
            None => json!(number.as_f64().unwrap_or(0.0) + 0.1),
        },
        Value::String(text) => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let number: Option<u64> = text[..digits].parse().ok();
            let is_duration = matches!(&text[digits..], "ms" | "s" | "m" | "h");
            match number {
                Some(number) if is_duration => json!(format!("{}{}", number + 1, &text[digits..])),
                _ if text == "allow/batch.txt" => json!("allow/other.txt"),
                _ if text == "data.csv" => json!("other.csv"),
                _ => json!(format!("{text}x")),
            }
        }
        other => other.clone(),
    }
}
