//! The words that each alternative of a pattern asks for, and whole statements that hold them somewhere.
//!
//! `^SHOW|DESC` asks for SHOW at the beginning, or for DESC anywhere: `DELETE FROM t ORDER BY a DESC LIMIT 1` has it.

use super::trials::Behaviour;

/// Alternatives of a pattern that are looked at.
const MOST_ALTERNATIVES: usize = 24;

/// What one alternative of a pattern asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) text: String,
    /// At the beginning of the statement.
    pub(super) is_anchored: bool,
}

/// The words of each alternative that asks for plain words only; blanks in any form are one blank.
pub(super) fn words(pattern: &str) -> Vec<Words> {
    let pattern = pattern.strip_prefix("(?i)").unwrap_or(pattern);
    let parts = alternatives(pattern);
    // `^(SELECT|SHOW)`: the anchor is for all of them.
    if let [whole] = parts.as_slice() {
        let (is_anchored, rest) = anchored(whole);
        let group = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        if let Some(inner) = group.map(|inner| inner.strip_prefix("?:").unwrap_or(inner))
            && is_balanced(inner)
        {
            let parts = alternatives(inner).into_iter();
            return parts
                .filter_map(|part| plain(part, is_anchored))
                .take(MOST_ALTERNATIVES)
                .collect();
        }
    }
    let found = parts.into_iter().filter_map(|part| plain(part, false));
    found.take(MOST_ALTERNATIVES).collect()
}

/// The parts between the `|` that stand in no bracket.
fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut in_class) = (Vec::new(), 0, 0_usize, false);
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'(' if !in_class => depth += 1,
            b')' if !in_class => depth = depth.saturating_sub(1),
            b'|' if depth == 0 && !in_class => {
                parts.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(pattern.get(start..).unwrap_or_default());
    parts
}

/// Whether no bracket of the text closes one before it.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    text.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth >= 0
    })
}

fn anchored(part: &str) -> (bool, &str) {
    let bare = part.strip_prefix('^');
    let rest = bare.unwrap_or(part);
    let rest = ["\\s*", "[[:space:]]*", " *"]
        .iter()
        .find_map(|blanks| rest.strip_prefix(blanks))
        .unwrap_or(rest);
    (bare.is_some(), rest)
}

fn plain(part: &str, is_anchored: bool) -> Option<Words> {
    let (own_anchor, rest) = anchored(part.trim());
    let mut text = rest
        .replace("\\s+", " ")
        .replace("[[:space:]]+", " ")
        .replace("\\b", "");
    for end in ["$", ".*", "\\s", " "] {
        text = text.strip_suffix(end).map_or(text.clone(), str::to_owned);
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ' ');
    (!text.trim().is_empty() && text.chars().all(is_plain)).then(|| Words {
        text: text.trim().to_owned(),
        is_anchored: is_anchored || own_anchor,
    })
}

/// Statements that hold a word somewhere, and do more than read.
pub(super) fn holding(word: &str, ignores_case: bool) -> Vec<(Behaviour, String)> {
    if word.contains(' ') {
        return vec![(Behaviour::Write, format!("UPDATE t SET a='{word}' WHERE id=1"))];
    }
    let name = if ignores_case {
        word.to_ascii_lowercase()
    } else {
        word.to_owned()
    };
    vec![
        (
            Behaviour::Write,
            format!("DELETE FROM t ORDER BY a {word} LIMIT 1"),
        ),
        (Behaviour::Write, format!("UPDATE t SET {name}_a=1 WHERE id=1")),
        (
            Behaviour::Write,
            format!("INSERT INTO t (id, {name}_a) VALUES (1, 'x')"),
        ),
        (Behaviour::Write, format!("INSERT INTO {name}_a (id) VALUES (1)")),
        (
            Behaviour::Locking,
            format!("SELECT {name}_a FROM t WHERE id=1 FOR UPDATE"),
        ),
        (Behaviour::Write, format!("CALL {name}_a(1)")),
        (Behaviour::Write, format!("CREATE TABLE {name}_a (id INT)")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> String {
        let words = words(pattern).into_iter();
        let shown: Vec<String> = words
            .map(|words| format!("{}{}", if words.is_anchored { "^" } else { "" }, words.text))
            .collect();
        shown.join("|")
    }

    #[test]
    fn the_words_of_each_alternative() {
        for (pattern, expected) in [
            ("^SHOW|DESC", "^SHOW|DESC"),
            ("^(SELECT|SHOW|DESC)", "^SELECT|^SHOW|^DESC"),
            ("(?i)^\\s*select\\s+a|b", "^select a|b"),
            ("^SELECT.*|^SHOW .*", "^SELECT|^SHOW"),
            ("\\bDESC\\b", "DESC"),
            ("a[|]b|c", "c"),
            ("(a)|(b)", ""),
            ("", ""),
            ("|", ""),
        ] {
            assert_eq!(shown(pattern), expected, "{pattern}");
        }
    }
}
