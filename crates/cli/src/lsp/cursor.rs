//! What is being typed: the path to the cursor in a text that is not complete yet.
//!
//! The word at the cursor is replaced by a mark, and the text is read; where that fails the mark is written as a key,
//! or what is open before it is closed.

use std::ops::Range;

use shardwright_diagnostics::Sources;
use shardwright_documents::{Node, Value, read};

/// Stands for the word at the cursor; no user writes it.
const MARK: &str = "cursor0shardwright0cursor";

/// One step of the path to the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item,
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// A key of the mapping at the path, in addition to these.
    Key { present: Vec<String>, has_colon: bool },
    /// The value at the path.
    Value { is_quoted: bool },
    /// A name in a `$( … )`.
    Template,
}

/// The position of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) path: Vec<Step>,
    pub(super) typing: Typing,
    /// The bytes of the word around the cursor.
    pub(super) word: Range<usize>,
    /// Whether it is between brackets.
    pub(super) in_flow: bool,
}

impl Cursor {
    /// The position of a byte in a text; none where nothing can be completed.
    pub(super) fn at(text: &str, offset: usize) -> Option<Self> {
        let line_start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[offset..]
            .find(['\r', '\n'])
            .map_or(text.len(), |at| offset + at);
        let word = word(text, line_start, offset, line_end);
        let before = &text[line_start..word.start];
        let after = &text[word.end..line_end];
        let open = open_brackets(before)?;
        if text[line_start..offset]
            .rfind("$(")
            .is_some_and(|at| !text[line_start + at..offset].contains(')'))
        {
            return Some(Self {
                path: Vec::new(),
                typing: Typing::Template,
                word,
                in_flow: !open.is_empty(),
            });
        }
        let has_colon = after.trim_start().starts_with(':');
        let is_quoted = before.ends_with(['"', '\'']);
        let starts_line = before.trim_start_matches([' ', '-']).is_empty();
        let closing: String = open.chars().rev().collect();
        let quote = if is_quoted && !after.contains(&before[before.len() - 1..]) {
            &before[before.len() - 1..]
        } else {
            ""
        };
        let endings = match (starts_line, has_colon) {
            (true, false) => [": ".to_owned(), String::new()],
            _ => [quote.to_owned(), format!("{quote}{closing}")],
        };
        endings.iter().find_map(|ending| {
            let marked = [&text[..word.start], MARK, ending, &text[word.end..]].concat();
            let (document, _) = read(&mut Sources::new(), "", marked.as_bytes());
            let mut path = Vec::new();
            let present = find(document.root.as_ref()?, &mut path)?;
            let typing = match present {
                Some(present) => Typing::Key { present, has_colon },
                None => Typing::Value { is_quoted },
            };
            Some(Self {
                path,
                typing,
                word: word.clone(),
                in_flow: !open.is_empty(),
            })
        })
    }
}

/// The letters of names and words around a byte.
fn word(text: &str, from: usize, offset: usize, to: usize) -> Range<usize> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let before = &text[from..offset];
    let kept = before.trim_end_matches(is_part);
    // `- ` of a list is not part of a word; neither is a single dash.
    let start = from + kept.len();
    let rest = &text[offset..to];
    let end = offset + (rest.len() - rest.trim_start_matches(is_part).len());
    let start = if text[start..end].starts_with('-') && kept.trim_end().is_empty() {
        start + 1
    } else {
        start
    };
    start.min(offset)..end.max(offset)
}

/// What must follow to close the brackets that are open on a line, in the order of opening. None in a comment.
fn open_brackets(line: &str) -> Option<String> {
    let mut open = String::new();
    let mut quote = None;
    let mut previous = ' ';
    for letter in line.chars() {
        match (quote, letter) {
            (Some(quoted), _) if quoted == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if !previous.is_ascii_alphanumeric() => quote = Some(letter),
            (None, '#') if previous.is_whitespace() => return None,
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '}' | ']') => {
                open.pop();
            }
            _ => {}
        }
        previous = letter;
    }
    Some(open)
}

/// The path to the mark: `Some(Some(keys))` where it is a key in addition to these, `Some(None)` where it is a value.
fn find(node: &Node, path: &mut Vec<Step>) -> Option<Option<Vec<String>>> {
    match &node.value {
        Value::Mapping(mapping) => {
            if mapping.entry(MARK).is_some() {
                let others = mapping.keys().filter(|key| *key != MARK);
                return Some(Some(others.map(ToOwned::to_owned).collect()));
            }
            mapping.iter().find_map(|entry| {
                path.push(Step::Key(entry.key.text.to_string()));
                let found = find(&entry.value, path);
                if found.is_none() {
                    path.pop();
                }
                found
            })
        }
        Value::Sequence(items) => {
            path.push(Step::Item);
            let found = items.iter().find_map(|item| find(item, path));
            if found.is_none() {
                path.pop();
            }
            found
        }
        _ => (node.raw() == Some(MARK)).then_some(None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The cursor is written `|`.
    fn at(text: &str) -> Option<String> {
        let offset = text.find('|').unwrap();
        let text = text.replace('|', "");
        let cursor = Cursor::at(&text, offset)?;
        let path: Vec<&str> = cursor
            .path
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.as_str(),
                Step::Item => "[]",
            })
            .collect();
        let typing = match cursor.typing {
            Typing::Key { present, .. } => format!("key beside {}", present.join(",")),
            Typing::Value { .. } => "value".to_owned(),
            Typing::Template => "template".to_owned(),
        };
        Some(format!("{} {typing} `{}`", path.join("/"), &text[cursor.word]))
    }

    #[test]
    fn the_way_to_the_cursor_is_found_in_unfinished_texts() {
        for (text, expected) in [
            ("|", " key beside  ``"),
            ("cl|", " key beside  `cl`"),
            ("version: 1\ncl|", " key beside version `cl`"),
            (
                "clusters:\n  pay:\n    |\nusers: {}\n",
                "clusters/pay key beside  ``",
            ),
            (
                "clusters:\n  pay:\n    type: galera\n    wr|\n",
                "clusters/pay key beside type `wr`",
            ),
            ("clusters:\n  pay:\n    wr|: 1\n", "clusters/pay key beside  `wr`"),
            (
                "clusters:\n  pay:\n    type: |\nusers: {}\n",
                "clusters/pay/type value ``",
            ),
            ("users:\n  app: {clu|}\n", "users/app key beside  `clu`"),
            (
                "users:\n  app: {schema: a, cluster: sh|}\n",
                "users/app/cluster value `sh`",
            ),
            (
                "users:\n  app: {schema: a, cluster: sh|\n",
                "users/app/cluster value `sh`",
            ),
            (
                "users:\n  app: {schema: a, clu|\nmoves: {}\n",
                "users/app key beside schema `clu`",
            ),
            (
                "users:\n  app: {cluster: \"sh|\"}\n",
                "users/app/cluster value `sh`",
            ),
            (
                "users:\n  app:\n    cluster: \"sh|\n",
                "users/app/cluster value `sh`",
            ),
            ("a:\n  - x\n  - y|\n", "a/[] key beside  `y`"),
            ("a:\n  clusters: [x, y|]\n", "a/clusters/[] value `y`"),
            ("a: x$(var.re|)\n", " template `var.re`"),
        ] {
            assert_eq!(at(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["a: b # c|", "# |", "a: some t|", "a: |\n\tb: [}"] {
            assert!(at(text).is_none_or(|found| found.contains("value")), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a:\\-{}\\[\\]\"'# \n$()ü,]{0,60}", at in 0usize..70) {
            let mut at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let _ = Cursor::at(&text, at);
        }
    }
}
