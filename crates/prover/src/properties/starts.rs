//! How plain statements of a kind begin, and what that says about a pattern.

use std::cell::RefCell;
use std::collections::HashMap;

use shardwright_patterns::{Automaton, Dialect, Flags, Limits, Literal, Pattern, witness};
use shardwright_rules::StatementKind;

/// As for findings (`languages.rs`): patterns that read a statement whole have some thousand states.
const LIMITS: Limits = Limits {
    bytes: 1 << 24,
    states: 4_000,
    tuples: 30_000,
};

/// The text that a pattern reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// The digest text.
    Digest,
    /// The statement.
    Text,
}

/// Whether the statements of a set satisfy a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// None does.
    Never,
    /// Some may.
    Maybe,
    /// Every one does.
    Always,
}

impl Certainty {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Always } else { Self::Never }
    }

    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, _) | (_, Self::Never) => Self::Never,
            (Self::Always, Self::Always) => Self::Always,
            _ => Self::Maybe,
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Never => Self::Always,
            Self::Maybe => Self::Maybe,
            Self::Always => Self::Never,
        }
    }
}

/// What was found out about patterns, by pattern, side and kind.
#[derive(Debug, Default)]
pub(super) struct Starts {
    known: RefCell<HashMap<(String, Flags, Side, StatementKind), Certainty>>,
}

impl Starts {
    /// Whether statements of this kind satisfy the pattern, or its negation.
    pub(super) fn certainty_of(
        &self,
        pattern: &Pattern,
        negated: bool,
        side: Side,
        kind: StatementKind,
    ) -> Certainty {
        // A pattern that can begin anywhere says nothing about how statements begin.
        let anchored = pattern.text().contains('^') || pattern.text().contains("\\A");
        if !anchored {
            let certainty = if matches!(pattern.text(), ".*" | "") {
                Certainty::Always
            } else {
                Certainty::Maybe
            };
            return if negated { certainty.negated() } else { certainty };
        }
        let key = (pattern.text().to_owned(), pattern.flags(), side, kind);
        let mut known = self.known.borrow_mut();
        let certainty = *known
            .entry(key)
            .or_insert_with(|| decide(pattern, side, kind).unwrap_or(Certainty::Maybe));
        if negated { certainty.negated() } else { certainty }
    }
}

fn decide(pattern: &Pattern, side: Side, kind: StatementKind) -> Option<Certainty> {
    let kind = Automaton::of(&beginning(side, kind)?, &LIMITS).ok()?;
    let pattern = Automaton::of(pattern, &LIMITS).ok()?;
    let some = |positive: bool| {
        let literals = [
            Literal {
                automaton: &kind,
                positive: true,
            },
            Literal {
                automaton: &pattern,
                positive,
            },
        ];
        witness(&literals, &LIMITS).map(|found| found.is_some())
    };
    match (some(true).ok()?, some(false).ok()?) {
        (false, _) => Some(Certainty::Never),
        (true, false) => Some(Certainty::Always),
        (true, true) => Some(Certainty::Maybe),
    }
}

/// A pattern that every plain statement of the kind matches, in its text or digest text; `None` for kinds whose first
/// words are too many.
pub(super) fn beginning(side: Side, kind: StatementKind) -> Option<Pattern> {
    let words = first_words(kind)?.join("|");
    let word = format!(r"(?:{words})(?:[^0-9A-Za-z_$\x80-\xff]|\z)");
    let text = match side {
        Side::Digest => format!(r"\A[\x0b\x0c(; ]*{word}"),
        Side::Text => format!(r"\A(?:[\x01-\x20(;]|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/)*{word}"),
    };
    let flags = Flags {
        caseless: true,
        global: false,
    };
    Some(Pattern::compile(&text, flags, Dialect::Pcre).expect("a constant that the tests compile"))
}

/// The words that statements of a kind begin with: those of `sql::classify`.
pub(super) fn first_words(kind: StatementKind) -> Option<&'static [&'static str]> {
    match kind {
        StatementKind::Select => Some(&["SELECT", "VALUES", "TABLE", "WITH"]),
        StatementKind::Insert => Some(&["INSERT"]),
        StatementKind::Update => Some(&["UPDATE", "WITH"]),
        StatementKind::Delete => Some(&["DELETE", "WITH"]),
        StatementKind::Replace => Some(&["REPLACE"]),
        StatementKind::Ddl => Some(&["CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"]),
        StatementKind::Call => Some(&["CALL"]),
        StatementKind::Set => Some(&["SET"]),
        StatementKind::Begin => Some(&["BEGIN", "START"]),
        StatementKind::Lock => Some(&["LOCK", "UNLOCK", "BACKUP"]),
        StatementKind::Prepare => Some(&["PREPARE", "EXECUTE", "DEALLOCATE"]),
        StatementKind::Show | StatementKind::Commit | StatementKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_rules::Statement;

    use super::super::statements::is_plain;
    use super::*;

    /// What does not begin as its kind does.
    fn begins_otherwise(text: &str) -> Option<String> {
        let statement = Statement::new(text.as_bytes(), Default::default());
        if !is_plain(&statement) {
            return None;
        }
        let kind = statement.kind();
        [
            (Side::Digest, statement.digest_text()),
            (Side::Text, text.as_bytes()),
        ]
        .into_iter()
        .find_map(|(side, subject)| {
            let pattern = beginning(side, kind)?;
            (!pattern.is_match(subject)).then(|| {
                format!(
                    "{kind:?} {side:?} {text:?}: {:?}",
                    String::from_utf8_lossy(subject)
                )
            })
        })
    }

    #[test]
    fn comments_do_not_join_words() {
        for text in [
            "INSERT/**/x",
            "INSERT/*a*/ x",
            "/*a*/INSERT x",
            "/*a*//*b*/ (/*c*/SELECT 1)",
            "SELECT/*\n*/1",
            "UPDATE`t`",
            "DELETE\x0bFROM t",
            "SET@a=1",
            "INSERT'x'",
            "(/**/(/**/SELECT 1))",
            ";/*a*/;INSERT x",
            "/ *a*/INSERT",
        ] {
            assert_eq!(begins_otherwise(text), None);
        }
    }

    proptest! {
        #[test]
        fn every_plain_statement_begins_as_its_kind_does(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "INSERT", "insert", "UPDATE", "DELETE", "REPLACE", "SELECT", "WITH", "SET", "DROP", "BEGIN", "LOCK",
                "CALL", "TABLE", "x", " ", "  ", "(", ")", ";", "'", "\"", "`", "/*", "*/", "/", "*", "-", "\n", "\t",
                "1", ".", "0x", "é", "?", "\\", "e5", "AS", ",", "\x0b", "\x0c", "\r", "@", "=", "+",
            ]), 0..10)
        ) {
            prop_assert_eq!(begins_otherwise(&pieces.concat()), None);
        }
    }

    #[test]
    fn anchored_patterns_are_decided() {
        let starts = Starts::default();
        let flags = Flags {
            caseless: true,
            global: false,
        };
        let certainty_of = |text: &str, kind| {
            let pattern = Pattern::compile(text, flags, Dialect::Pcre).unwrap();
            starts.certainty_of(&pattern, false, Side::Digest, kind)
        };
        assert_eq!(certainty_of("^SELECT", StatementKind::Insert), Certainty::Never);
        assert_eq!(certainty_of("^SELECT", StatementKind::Select), Certainty::Maybe);
        assert_eq!(
            certainty_of("^[\\x0b\\x0c(; ]*INSERT", StatementKind::Insert),
            Certainty::Always
        );
        assert_eq!(
            certainty_of("^SELECT|orders", StatementKind::Insert),
            Certainty::Maybe
        );
        assert_eq!(certainty_of("orders", StatementKind::Insert), Certainty::Maybe);
        assert_eq!(certainty_of(".*", StatementKind::Commit), Certainty::Always);
    }
}
