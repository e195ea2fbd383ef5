//! Collections in brackets on one line, and lists of plain values filled over lines.

use super::tree::{Form, Written};
use super::{INDENT, WIDTH, scalar};

/// A value on one line.
pub(super) fn inline(text: &str, node: &Written) -> String {
    let value = match &node.form {
        Form::Empty | Form::Block(_) => String::new(),
        Form::Flat => scalar::flat(&text[node.span.clone()], 0),
        Form::Sequence { items, .. } => {
            let items: Vec<String> = items.iter().map(|item| inline(text, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Form::Mapping { entries, .. } => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| pair(text, key, value))
                .collect();
            let entries = entries.join(", ");
            // `[a: 1]` holds a mapping without brackets.
            if text[node.span.start..].starts_with('{') {
                format!("{{{entries}}}")
            } else {
                entries
            }
        }
    };
    joined(&node.properties, &value)
}

fn pair(text: &str, key: &Written, value: &Written) -> String {
    let shown = key_text(text, key);
    match inline(text, value) {
        // `{a}` and `{a: }` are the same; without a colon an alias would be one too.
        value if value.is_empty() => format!("{shown}:"),
        value => format!("{shown}: {value}"),
    }
}

/// A key in front of its colon, which must not become part of the name of an alias, anchor or tag.
pub(super) fn key_text(text: &str, key: &Written) -> String {
    let shown = inline(text, key);
    let ends_with_name = shown.starts_with('*') || matches!(key.form, Form::Empty) && !shown.is_empty();
    let space = if ends_with_name { " " } else { "" };
    format!("{shown}{space}")
}

/// Two parts with a space where both are there.
pub(super) fn joined(properties: &str, value: &str) -> String {
    match (properties, value) {
        ("", value) => value.to_owned(),
        (properties, "") => properties.to_owned(),
        (properties, value) => format!("{properties} {value}"),
    }
}

/// A list of plain values, whose closing bracket needs no line of its own: on one line where it fits behind `used`
/// columns, else filled. None for other values.
pub(super) fn filled(text: &str, node: &Written, indent: usize, used: usize) -> Option<String> {
    let Form::Sequence { flow: true, items } = &node.form else {
        return None;
    };
    let plain = |item: &Written| matches!(item.form, Form::Flat) && !item.has_lines(text);
    if !items.iter().all(plain) {
        return None;
    }
    let line = inline(text, node);
    if used + line.chars().count() <= WIDTH {
        return Some(line);
    }
    let pad = " ".repeat(indent + INDENT);
    let mut lines = vec![joined(&node.properties, "[")];
    let mut current = String::new();
    for (number, item) in items.iter().enumerate() {
        let end = if number + 1 == items.len() { "]" } else { "," };
        let item = format!("{}{end}", inline(text, item));
        let width = pad.len() + current.chars().count() + 1 + item.chars().count();
        if !current.is_empty() && width > WIDTH {
            lines.push(format!("{pad}{current}"));
            current.clear();
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(&item);
    }
    lines.push(format!("{pad}{current}"));
    Some(lines.join("\n"))
}
