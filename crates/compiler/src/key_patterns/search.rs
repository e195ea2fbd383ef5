//! What a rule searches for a key: the patterns around its value, and the values themselves.

use shardwright_rules::KeyValue;

use super::integer::{self, Writing};
use super::single_word::SingleWord;
use super::text;
use crate::statement_patterns::Wording;

/// The patterns around a key's value, for one way of writing it in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPatterns {
    /// The key in a comment of its own at the start of the statement; `None` where only `accepts` tells what is a key.
    pub(super) alone: Option<String>,
    /// The rest of a statement without comments in which nothing looks like another key; `None` where no pattern asks for that.
    pub(super) rest_without: Option<String>,
    /// The key word stands somewhere: without it a statement has no key.
    pub word: String,
    /// The statement carries a key in a real comment.
    pub accepts: String,
    /// The key word stands a second time, with a `=` behind it.
    pub repeats: String,
    /// The statement may carry a key, and no pattern can prove it.
    pub doubtful: String,
    pub(super) before: String,
    pub(super) after: String,
    /// The key with its value, whatever it is.
    pub(super) keyed: String,
    pub(super) quotable: Quotable,
    /// The rest of a statement with the key word once; `None` where that takes a pattern of its own.
    pub(super) once: Option<SingleWord>,
    /// How an integer value is written.
    pub writing: Writing,
}

/// The pattern for usual statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usual {
    pub pattern: String,
    /// Nothing else in them looks like a key to the patterns for values.
    pub has_one_key: bool,
}

/// Whether the value may stand in quotes, and what tells that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotable {
    /// Never.
    No,
    /// `accepts` proves that no quoted value holds a separator.
    Simple,
    /// Quoted values hold separators: the quotes count.
    Spaced,
}

impl KeyPatterns {
    /// The pattern for the usual statement: its key alone in a comment in front, and behind it nothing that could be a comment
    /// or begin a second statement. What it matches, `accepts` matches as well, and no guard against hidden text refuses.
    pub(crate) fn usual(&self, wording: Wording) -> Option<Usual> {
        let alone = self.alone.as_ref()?;
        let rest = match &self.rest_without {
            Some(rest) => rest.clone(),
            None => wording.rest_without_comments(),
        };
        Some(Usual {
            pattern: format!("{alone}{rest}"),
            has_one_key: self.rest_without.is_some(),
        })
    }

    /// A pattern for a place behind the key and a quote that follows it; for statements that `accepts` matches.
    pub(crate) fn behind_quote(&self) -> String {
        format!(r#"{}[^'"]*['"](?s:.*)"#, self.keyed)
    }

    /// The pattern for a statement whose key is one of the numbers that `value` matches whole.
    pub(crate) fn number(&self, value: &str) -> String {
        let quote = if self.quotable == Quotable::No {
            ""
        } else {
            r#"['"]?"#
        };
        format!("{}{quote}{value}{quote}{}", self.before, self.after)
    }

    /// The pattern for a statement with this key; none where no pattern can tell the key from other text.
    pub(crate) fn one(&self, key: &KeyValue) -> Option<String> {
        match key {
            KeyValue::Integer(n) => Some(self.number(&integer::pattern(&[(*n, *n)], self.writing))),
            KeyValue::Text(text) => self.can_hold(text).then(|| self.texts(&[text])),
        }
    }

    /// The pattern for a statement whose key is one of these texts.
    pub(crate) fn texts(&self, values: &[&str]) -> String {
        let any = text::exactly(values);
        let value = match self.quotable {
            Quotable::No => any,
            Quotable::Simple => format!(r#"['"]?{any}['"]?"#),
            Quotable::Spaced => {
                let bare: Vec<&str> = values.iter().copied().filter(|value| !is_spaced(value)).collect();
                if bare.is_empty() {
                    format!(r#"['"]{any}['"]"#)
                } else {
                    format!(r#"(?:{}|['"]{any}['"])"#, text::exactly(&bare))
                }
            }
        };
        format!("{}{value}{}", self.before, self.after)
    }

    /// The pattern for a statement whose key belongs to a run of values.
    pub(crate) fn run(&self, run: &text::Run<'_>) -> Sought {
        let quote = if self.quotable == Quotable::No {
            ""
        } else {
            r#"['"]?"#
        };
        Sought {
            open: run
                .beginning
                .as_ref()
                .map(|beginning| format!("{}{quote}{beginning}", self.before)),
            closed: (!run.whole.is_empty()).then(|| self.texts(&run.whole)),
        }
    }

    /// Whether [`KeyPatterns::once`] can ask that the key word stands once.
    pub(crate) fn can_stand_once(&self) -> bool {
        self.once.is_some()
    }

    /// The pattern for what is sought where the key word stands once; the search alone where no pattern can ask for that.
    pub(crate) fn once(&self, sought: Sought) -> String {
        match &self.once {
            None => sought.pattern(),
            Some(once) => {
                let open = sought.open.map(|open| once.open(&open));
                let closed = sought.closed.map(|closed| once.closed(&closed));
                Sought { open, closed }.pattern()
            }
        }
    }

    /// Whether a pattern can tell a text value from the rest of the statement.
    pub(crate) fn can_hold(&self, value: &str) -> bool {
        !value.is_empty()
            && !value
                .chars()
                .any(|character| matches!(character, '\'' | '"' | '*' | '\\' | '`') || character.is_control())
            && value.trim() == value
    }
}

/// What a rule searches behind the key word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sought {
    /// Beginnings of values.
    pub open: Option<String>,
    /// Whole values, with what ends them.
    pub closed: Option<String>,
}

impl Sought {
    /// A search for whole values.
    pub(crate) fn whole(pattern: String) -> Self {
        Self {
            open: None,
            closed: Some(pattern),
        }
    }

    /// A search for either.
    pub(crate) fn or(self, other: Self) -> Self {
        let either = |a: Option<String>, b: Option<String>| match (a, b) {
            (Some(a), Some(b)) => Some(format!("{a}|{b}")),
            (a, b) => a.or(b),
        };
        Self {
            open: either(self.open, other.open),
            closed: either(self.closed, other.closed),
        }
    }

    /// As one pattern.
    pub(crate) fn pattern(self) -> String {
        match (self.open, self.closed) {
            (Some(open), Some(closed)) => format!("{open}|{closed}"),
            (open, closed) => open.or(closed).unwrap_or_default(),
        }
    }
}

/// Whether a text value holds what separates pairs, so that it can only stand in quotes.
pub(crate) fn is_spaced(value: &str) -> bool {
    value.contains(|character: char| matches!(character, '\t'..='\r' | ' ' | ',' | ';'))
}
