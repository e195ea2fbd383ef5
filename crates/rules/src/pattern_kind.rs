//! Kinds of patterns, by what one evaluation costs an engine.
//!
//! Patterns that the compiler writes are known by how they begin; a test of the compiler holds that each of them has the kind
//! that it is listed under. Others are told by their structure: what anchors a pattern, and whether all its matches begin with
//! one letter, so that the library can look for that letter.

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $name:literal,)+) => {
        /// What kind of pattern a rule has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum PatternKind {
            $($(#[$doc])* $kind,)+
        }

        impl PatternKind {
            /// All kinds.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind),+];
            /// How many there are.
            pub const COUNT: usize = [$($name),+].len();

            /// Its name in tables and files of prices.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// Whether the text ends outside literals and comments.
    Complete => "complete text",
    /// A usual statement: its key in front, and no other comment.
    Usual => "usual statement",
    /// An annotation of the engine in a comment.
    Annotations => "annotations",
    /// A word in a comment that keeps a statement on the writer.
    Hint => "hint in a comment",
    /// The word of a key.
    KeyWord => "key word",
    /// A key in a real comment.
    KeyComment => "key in a comment",
    /// A key that no pattern can prove.
    DoubtfulKey => "doubtful key",
    /// The word of a key for the second time.
    RepeatedKey => "second key",
    /// Any key but one.
    OtherKey => "another key",
    /// Values of a key.
    KeyRange => "values of a key",
    /// A whole statement with a key in a column.
    ColumnStatement => "statement with a key column",
    /// A logical schema behind a quote.
    LogicalSchema => "logical schema behind a quote",
    /// A logical schema that is rewritten.
    Rewrite => "rewritten schema",
    /// A quoted name that is called.
    QuotedCall => "quoted call",
    /// A whole SELECT, or session setup.
    Select => "read or setup",
    /// A whole statement that begins with another verb.
    Statement => "other statement",
    /// The first word behind any comments.
    Beginning => "first word",
    /// Anchored, and nothing repeats in it without a bound but blanks and parentheses.
    Start => "start of the text",
    /// Anchored, and it may go on to the end.
    Through => "anchored, to the end",
    /// A search for what begins with one letter.
    Letter => "search by a letter",
    /// Any other search: it is tried at each byte.
    Search => "search at each byte",
}

/// How the patterns that the compiler writes begin.
const BEGINNINGS: [(&str, PatternKind); 18] = [
    (r#"\A(?:[^'"`/#-]+"#, PatternKind::Complete),
    (r"\A/\*[\t-\r ]*", PatternKind::Usual),
    (r#"\A[^'"`/#\\;-]*"#, PatternKind::Usual),
    (r"/\*(?:(?:[^!+M*]|M[^!*])[^*]*?)?\b", PatternKind::OtherKey),
    (r"(\A|[\s", PatternKind::Rewrite),
    (r"(?<![^\s", PatternKind::Rewrite),
    (
        r"/\*[^*]*?(?:(?:\*+[^*/][^*]*?){0,16}?(?:\b|[0-9M])",
        PatternKind::Annotations,
    ),
    (r#"\A[^'"`/#-]*(?:(?:"#, PatternKind::KeyComment),
    (r"/\*(?:", PatternKind::DoubtfulKey),
    (r"\A[\t-\r ]*(?:/\*(?:[^*!+M]", PatternKind::ColumnStatement),
    (r#"\A[^`"]*[`"]"#, PatternKind::QuotedCall),
    (r#"\A[^`"]*+[`"]"#, PatternKind::QuotedCall),
    (r#"\A[^`"/]*"#, PatternKind::QuotedCall),
    (r"\ASELECT[\t\n\r ][\t-\r !%&", PatternKind::Select),
    (r"\A(?:[\t-\r (;]|/\*", PatternKind::Beginning),
    (r"\A(?:[\t-\r (]|/\*", PatternKind::Select),
    (r"\A(?:[\t-\r ]|/\*", PatternKind::Select),
    (r"/\*[\t\n\f\r ]*", PatternKind::KeyRange),
];

impl PatternKind {
    /// The kind of a pattern, by its text.
    pub fn of(text: &str) -> Self {
        let known = BEGINNINGS
            .iter()
            .find(|(beginning, _)| text.starts_with(beginning));
        match known {
            Some((_, Self::Select)) if !text.contains("SE(?:LECT") && !text.contains("SELECT") => {
                Self::Statement
            }
            Some((_, Self::Usual)) if text.contains("SELECT") => Self::Select,
            Some((_, kind)) => *kind,
            None if is_hint(text) => Self::Hint,
            None if text.contains(r#"[^'"]*['"](?s:.*)\b"#) || text.contains(r#"[^'"]*+['"](?:[^"#) => {
                Self::LogicalSchema
            }
            None => Self::by_structure(text),
        }
    }

    fn by_structure(text: &str) -> Self {
        if let Some(rest) = text.strip_prefix('^').or_else(|| text.strip_prefix(r"\A")) {
            return if goes_on(rest) { Self::Through } else { Self::Start };
        }
        let spelled = both_cases_once(text);
        let text = spelled.as_deref().unwrap_or(text);
        let search = text.strip_prefix(r"\b").unwrap_or(text);
        let word = search.strip_prefix("(?i:").unwrap_or(search);
        if top_level_branches(text) || !begins_with_a_letter(word) {
            return Self::Search;
        }
        if text.starts_with(r"\b") && (text.contains("(?s:.*)") || text.contains(r"++|\B")) {
            return Self::RepeatedKey;
        }
        match text.starts_with(r"\b").then(|| word.split_once('=')).flatten() {
            Some((_, "")) => Self::KeyWord,
            Some(_) => Self::KeyRange,
            None => Self::Letter,
        }
    }
}

/// `/\*[^*Pp]*+[^*]*` and so on: up to the first letter of a word, and then the word anywhere in a comment.
fn is_hint(text: &str) -> bool {
    let letters = text.strip_prefix(r"/\*[^*").and_then(|rest| rest.split_once(']'));
    letters.is_some_and(|(_, rest)| {
        let rest = rest.trim_start_matches(['*', '+']);
        rest.starts_with(r"[^*]*(?:(?:\*+[^*/][^*]*){0,16}")
    })
}

/// `\b[Tt]enant` as `\btenant`, which is how a word in any case is written for RE2; `None` for what begins otherwise.
fn both_cases_once(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix(r"\b").filter(|rest| rest.starts_with('['))?;
    let mut word = String::from(r"\b");
    while let [b'[', upper, lower, b']', ..] = rest.as_bytes() {
        if !upper.is_ascii_uppercase() || upper.to_ascii_lowercase() != *lower {
            return None;
        }
        word.push(char::from(*lower));
        rest = &rest[4..];
    }
    Some(word + rest)
}

/// Whether something other than blanks and parentheses repeats without a bound.
fn goes_on(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let escaped = at > 0 && bytes[at - 1] == b'\\' && !(at > 1 && bytes[at - 2] == b'\\');
        let before = text.get(..at).unwrap_or_default();
        let small = [r"\(", r"[\t-\r ]", r"\s", " "]
            .iter()
            .any(|end| before.ends_with(end));
        matches!(byte, b'*' | b'+') && !escaped && !small
    })
}

/// Whether a branch stands outside groups and classes.
fn top_level_branches(text: &str) -> bool {
    let (mut depth, mut class, mut escaped) = (0_u32, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b']' => class = false,
            _ if class => {}
            b'[' => class = true,
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// Whether the first thing that a pattern takes is one character that stands for itself, or that in both cases.
fn begins_with_a_letter(text: &str) -> bool {
    let mut bytes = text.bytes();
    let optional = |byte: Option<u8>| matches!(byte, Some(b'?' | b'*' | b'{'));
    match bytes.next() {
        Some(b'\\') => {
            bytes.next().is_some_and(|byte| !byte.is_ascii_alphanumeric()) && !optional(bytes.next())
        }
        Some(b'(' | b'[' | b'.' | b'^' | b'$' | b'|' | b'*' | b'+' | b'?') | None => false,
        Some(_) => !optional(bytes.next()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_written_by_hand_have_the_kind_of_their_structure() {
        for (text, kind) in [
            ("^SELECT", PatternKind::Start),
            (r"^\(*(?:INSERT|UPDATE)\b", PatternKind::Start),
            (r"^SELECT .* FOR UPDATE$", PatternKind::Through),
            (r"\A\) ", PatternKind::Start),
            ("FROM users", PatternKind::Letter),
            (r"\.users\b", PatternKind::Letter),
            ("FROM a|FROM b", PatternKind::Search),
            ("(?:FROM|JOIN) users", PatternKind::Search),
            ("[Ff]rom", PatternKind::Search),
            (r"\b[Tt][Ee]n_[Aa]=", PatternKind::KeyWord),
            (r"\b[tT]en=", PatternKind::Search),
            (".*FROM users", PatternKind::Search),
            ("x?y", PatternKind::Search),
            (r"\btenant=", PatternKind::KeyWord),
            (r"\btenant=(?:1|2)\b", PatternKind::KeyRange),
            ("", PatternKind::Search),
        ] {
            assert_eq!(PatternKind::of(text), kind, "{text}");
        }
    }
}
