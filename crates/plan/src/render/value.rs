//! Values on one line. Whatever stands in a file cannot move a reader's cursor or hide the rest of a line.

use serde_json::Value;

use crate::plan::short;

/// More characters than this of one value are cut.
const MAX_CHARS: usize = 80;

/// Longer lists than this are shown by their ends.
const MAX_ITEMS: usize = 8;

/// A value as people write it: words bare, other text quoted, long lists by their ends.
pub fn show(value: &Value) -> String {
    let text = match value {
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if is_digest(text) => format!("{}…", short(text)),
        Value::String(text) if is_word(text) => text.clone(),
        Value::String(text) => plain(&Value::String(text.clone()).to_string()),
        Value::Array(items) => list(items),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", plain(key), show(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    };
    cut(text)
}

fn list(items: &[Value]) -> String {
    let text = |items: &[Value]| items.iter().map(show).collect::<Vec<_>>().join(", ");
    if items.len() <= MAX_ITEMS {
        return format!("[{}]", text(items));
    }
    let last = &items[items.len() - 1..];
    format!(
        "[{} … {}] ({} values)",
        text(&items[..3]),
        text(last),
        items.len()
    )
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-:/@%*".contains(c);
    !text.is_empty() && text.chars().all(fits)
}

/// Text with control characters, and those that reorder or hide text, written as escapes.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if c.is_control() || hides {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values() {
        let cases = [
            json!("shop-14"),
            json!("North America"),
            json!(""),
            json!(null),
            json!([1, 2, 3]),
            json!((0..512).collect::<Vec<_>>()),
            json!({"env": "APP_PASSWORD"}),
            json!("\u{1b}[2J\u{202e}evil\n"),
            json!("x".repeat(200)),
        ];
        let shown: Vec<String> = cases.iter().map(show).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        shop-14
        "North America"
        ""
        none
        [1, 2, 3]
        [0, 1, 2 … 511] (512 values)
        {env: APP_PASSWORD}
        "\u001b[2J\u{202e}evil\n"
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        "#);
    }
}
