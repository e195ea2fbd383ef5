//! A YAML document whose lines are known: each value, and each key of a mapping, has a line of its own.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where a value stands in a document: keys, and positions of lists.
pub(super) type Pointer = Vec<String>;

#[derive(Clone)]
pub(super) struct Document(pub(super) Value);

impl Document {
    pub(super) fn read(text: &str) -> Self {
        Self(serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
    }

    /// The text, and the value that stands at each of its lines, counted from 0.
    pub(super) fn render(&self) -> (String, BTreeMap<usize, Pointer>) {
        let mut rendered = Rendered::default();
        rendered.value(&self.0, 0, &mut Pointer::new());
        (rendered.text, rendered.lines)
    }

    pub(super) fn get(&self, at: &[String]) -> Option<&Value> {
        at.iter().try_fold(&self.0, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            value => value.get(step),
        })
    }

    fn get_mut(&mut self, at: &[String]) -> Option<&mut Value> {
        at.iter().try_fold(&mut self.0, |value, step| match value {
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            value => value.get_mut(step),
        })
    }

    /// The same document with another value in one place.
    pub(super) fn with(&self, at: &[String], value: Value) -> Self {
        let mut other = self.clone();
        *other.get_mut(at).expect("the place is in the document") = value;
        other
    }

    /// The same document without one value.
    pub(super) fn without(&self, at: &[String]) -> Self {
        let mut other = self.clone();
        other.remove(at);
        other
    }

    /// Removes a value. Lists and mappings that become empty go as well.
    pub(super) fn remove(&mut self, at: &[String]) {
        let Some((last, around)) = at.split_last() else {
            return;
        };
        let is_empty = match self.get_mut(around) {
            Some(Value::Object(fields)) => {
                fields.remove(last);
                fields.is_empty()
            }
            Some(Value::Array(items)) => {
                items.remove(last.parse().expect("a position"));
                items.is_empty()
            }
            _ => false,
        };
        if is_empty {
            self.remove(around);
        }
    }
}

#[derive(Default)]
struct Rendered {
    text: String,
    lines: BTreeMap<usize, Pointer>,
    line: usize,
}

impl Rendered {
    fn value(&mut self, value: &Value, indent: usize, at: &mut Pointer) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (key, value) in fields {
                    let key_text = format!("{}:", Value::String(key.clone()));
                    self.entry(&key_text, key.clone(), value, indent, at);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (position, value) in items.iter().enumerate() {
                    self.entry("-", position.to_string(), value, indent, at);
                }
            }
            scalar => self.write(&format!("{}{scalar}", " ".repeat(indent)), at),
        }
    }

    fn entry(&mut self, head: &str, step: String, value: &Value, indent: usize, at: &mut Pointer) {
        at.push(step);
        let is_nested = match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        };
        let margin = " ".repeat(indent);
        if is_nested {
            self.write(&format!("{margin}{head}"), at);
            self.value(value, indent + 2, at);
        } else {
            self.write(&format!("{margin}{head} {value}"), at);
        }
        at.pop();
    }

    fn write(&mut self, line: &str, at: &Pointer) {
        self.lines.insert(self.line, at.clone());
        self.text.push_str(line);
        self.text.push('\n');
        self.line += 1;
    }
}
