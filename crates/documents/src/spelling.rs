//! How text is written in YAML, so that every reader takes it for that text.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::Value;
use crate::node::core_schema::{resolve, yaml_1_1_reading};

/// A text as a scalar of one line that may stand anywhere: as it is where that is plain text to YAML 1.1 and 1.2
/// alike, else in double quotes.
#[must_use]
pub fn spelled(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_printable(character) => quoted.push(character),
            _ => write!(quoted, "\\U{:08x}", u32::from(character)).expect("writing to a string cannot fail"),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

fn is_plain(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./$()%+=^ ".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && !text.ends_with(' ')
        && text.bytes().all(allowed)
        && matches!(resolve(text), Value::Text { .. })
        && yaml_1_1_reading(text).is_none()
}

/// YAML 1.2 §5.1 without the line breaks that YAML 1.1 knows, which would fold.
const fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}')
        || matches!(character, '\u{ff00}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_diagnostics::Sources;

    use super::*;
    use crate::read;

    #[test]
    fn text_is_quoted_where_it_could_be_something_else() {
        for (text, expected) in [
            ("last_resort", "last_resort"),
            ("s017-1.eu.db", "s017-1.eu.db"),
            ("$(key:03)", "\"$(key:03)\""),
            ("5s", "5s"),
            ("17", "\"17\""),
            ("017", "\"017\""),
            ("NO", "\"NO\""),
            ("1..200", "1..200"),
            ("", "\"\""),
            ("- a", "\"- a\""),
            ("a: b", "\"a: b\""),
            ("a\nb\u{85}", "\"a\\nb\\U00000085\""),
            ("^SELECT", "\"^SELECT\""),
        ] {
            assert_eq!(spelled(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_spelled_is_read_back(text in "[ -~]{0,20}|\\PC{0,20}|(?s).{0,20}") {
            for file in [format!("a: {}\n", spelled(&text)), format!("[{}]\n", spelled(&text))] {
                let (document, problems) = read(&mut Sources::new(), "f", file.as_bytes());
                prop_assert!(problems.is_empty(), "{}", file);
                let root = document.root.expect("it holds something");
                let node = root.get("a").or_else(|| root.as_sequence()?.first());
                prop_assert_eq!(node.and_then(|node| node.as_text()), Some(text.as_str()));
                let comment = format!("{} # a comment\n", file.trim_end_matches('\n'));
                let (again, _) = read(&mut Sources::new(), "f", comment.as_bytes());
                prop_assert_eq!(again.comments.len(), 1);
            }
        }
    }
}
