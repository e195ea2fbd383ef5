//! What a rule searches for a key: the patterns around its value, and the values themselves.

use shardwright_rules::KeyValue;

use super::integer::{self, Writing};
use super::single_word::{self, SingleWord};
use super::text;
use crate::statement_patterns::Wording;

/// A character that ends a value of a pair.
const ENDS_OF_VALUES: &str = r#"['"*\t-\r ,;]"#;
/// Any other.
const NO_ENDS_OF_VALUES: &str = r#"[^'"*\t-\r ,;]"#;

/// The patterns around a key's value, for one way of writing it in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPatterns {
    /// The key in a comment of its own at the start of the statement; `None` where only `accepts` tells what is a key.
    pub(super) alone: Option<String>,
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
    /// The first place where `before` stands decides, wherever others stand: PCRE ends its search there, with `(*COMMIT)`.
    pub(super) first_decides: bool,
    /// The key with its value, whatever it is.
    pub(super) keyed: String,
    /// The key of a real comment up to its value, for statements that have one key or none; `None` where no pattern tells
    /// the other values from one.
    pub(super) commented: Option<String>,
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
    /// Recognises those of them that are plain reads, matched without case.
    pub reads: String,
    /// The patterns for values look at this key, whatever else stands in the statement.
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
        let rest = wording.rest_without_comments();
        Some(Usual {
            pattern: format!("{alone}{rest}"),
            reads: format!(r"{alone}[\t-\r ]*{}{}", wording.more(), wording.select()),
            has_one_key: self.first_decides,
        })
    }

    /// A pattern for a word behind the key and a quote that follows it; for statements that `accepts` matches.
    pub(crate) fn behind_quote(&self, word: &str, wording: Wording) -> String {
        let more = wording.more();
        let forward = single_word::forward_to(word).filter(|_| wording.possessive);
        let forward = forward.unwrap_or_else(|| format!(r"(?s:.*)\b{}\b", text::escaped(word)));
        format!(r#"{}[^'"]*{more}['"]{forward}"#, self.keyed)
    }

    /// What is sought for a key that is one of the numbers that `value` matches whole.
    pub(crate) fn number(&self, value: &str) -> Sought {
        Sought::whole(format!("{}{value}{}", self.opening(), self.closing()))
    }

    /// What is sought for one key; none where no pattern can tell the key from other text.
    pub(crate) fn one(&self, key: &KeyValue) -> Option<Sought> {
        match key {
            KeyValue::Integer(n) => Some(self.number(&integer::pattern(&[(*n, *n)], self.writing))),
            KeyValue::Text(text) => self.can_hold(text).then(|| self.texts(&[text])),
        }
    }

    /// What is sought for a key that is one of these texts.
    pub(crate) fn texts(&self, values: &[&str]) -> Sought {
        let any = text::exactly(values);
        Sought::whole(match self.quotable {
            Quotable::No | Quotable::Simple => format!("{}{any}{}", self.opening(), self.closing()),
            Quotable::Spaced => {
                let bare: Vec<&str> = values.iter().copied().filter(|value| !is_spaced(value)).collect();
                let value = if bare.is_empty() {
                    format!(r#"['"]{any}['"]"#)
                } else {
                    format!(r#"(?:{}|['"]{any}['"])"#, text::exactly(&bare))
                };
                format!("{value}{}", self.after)
            }
        })
    }

    /// What is sought for a key that belongs to a run of values.
    pub(crate) fn run(&self, run: &text::Run<'_>) -> Sought {
        let beginning = run.beginning.as_ref();
        Sought {
            open: beginning
                .map(|beginning| format!("{}{beginning}", self.opening()))
                .into_iter()
                .collect(),
            ..match run.whole.as_slice() {
                [] => Sought::default(),
                whole => self.texts(whole),
            }
        }
    }

    /// What may stand before a value.
    fn opening(&self) -> &'static str {
        match self.quotable {
            Quotable::No => "",
            Quotable::Simple | Quotable::Spaced => r#"['"]?"#,
        }
    }

    /// What ends a value. Behind `accepts` a star ends its comment, and a quote the value that it began: one class tells them.
    fn closing(&self) -> String {
        match self.quotable {
            Quotable::Simple if self.first_decides => ENDS_OF_VALUES.to_owned(),
            _ => format!("{}{}", self.opening(), self.after),
        }
    }

    /// The pattern for what is sought.
    pub(crate) fn pattern(&self, sought: Sought) -> String {
        let commit = if self.first_decides { "(*COMMIT)" } else { "" };
        let values = sought.open.into_iter().chain(sought.closed).collect();
        format!("{}{commit}{}", self.before, any(values))
    }

    /// Whether [`KeyPatterns::once`] can ask that the key word stands once.
    pub(crate) fn can_stand_once(&self) -> bool {
        self.once.is_some()
    }

    /// The pattern for what is sought where the key word stands once; the search alone where no pattern can ask for that.
    pub(crate) fn once(&self, sought: Sought) -> String {
        let Some(once) = &self.once else {
            return self.pattern(sought);
        };
        let behind = |values: Vec<String>| match values.is_empty() {
            true => None,
            false => Some(format!("{}{}", self.before, any(values))),
        };
        let open = behind(sought.open).map(|open| once.open(&open));
        let closed = behind(sought.closed).map(|closed| once.closed(&closed));
        any(open.into_iter().chain(closed).collect())
    }

    /// What has a key in a real comment, if it has one key or none; `None` where no pattern tells the other values from one.
    pub(crate) fn commented(&self) -> Option<&str> {
        self.commented.as_deref()
    }

    /// What has another key than this one in a real comment, if it has one key or none.
    ///
    /// For 17, behind `=`: `(?:['"]?\+?0*(?:[^'"+01]|1(?:[^7]|7[^'"*\t-\r ,;]))|['"]\+?0*['"]|['"]?(?:\+0*|0+)\+)`. Up to the first
    /// digit the value is written as 17 may be, and goes on otherwise: with another digit, or with a quote or sign out of place.
    pub(crate) fn other_than(&self, key: &KeyValue) -> Option<String> {
        let commented = self.commented()?;
        let (text, zeros, signs) = match key {
            KeyValue::Integer(1..) if self.writing == Writing::Free => (key.to_string(), r"\+?0*", "+0"),
            KeyValue::Text(text) if self.can_differ(text) => (text.to_string(), "", ""),
            _ => return None,
        };
        let mut characters = text
            .chars()
            .map(|character| text::escaped(character.encode_utf8(&mut [0; 4])));
        let first = characters.next()?;
        let differs = characters.rev().fold(NO_ENDS_OF_VALUES.to_owned(), |rest, next| {
            format!("(?:[^{next}]|{next}{rest})")
        });
        let mut others = vec![
            format!(r#"['"]?{zeros}(?:[^'"{signs}{first}]|{first}{differs})"#),
            format!(r#"['"]{zeros}['"]"#),
        ];
        if !signs.is_empty() {
            others.push(r#"['"]?(?:\+0*|0+)\+"#.to_owned());
        }
        Some(format!("{commented}{}", any(others)))
    }

    /// Whether [`KeyPatterns::other_than`] can tell other values from this one: PCRE has bytes in its classes, and bounds how deep
    /// groups may be.
    fn can_differ(&self, value: &str) -> bool {
        self.can_hold(value) && !is_spaced(value) && value.is_ascii() && value.len() <= single_word::LONGEST
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

/// What a rule searches behind the key word: any of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sought {
    /// Beginnings of values.
    open: Vec<String>,
    /// Whole values, with what ends them.
    closed: Vec<String>,
}

impl Sought {
    /// Whole values.
    fn whole(closed: String) -> Self {
        Self {
            open: Vec::new(),
            closed: vec![closed],
        }
    }

    /// A search for either.
    pub(crate) fn or(mut self, other: Self) -> Self {
        self.open.extend(other.open);
        self.closed.extend(other.closed);
        self
    }
}

/// A pattern for any of these, of which none has branches outside of groups.
fn any(patterns: Vec<String>) -> String {
    match <[String; 1]>::try_from(patterns) {
        Ok([one]) => one,
        Err(many) => format!("(?:{})", many.join("|")),
    }
}

/// Whether a text value holds what separates pairs, so that it can only stand in quotes.
pub(crate) fn is_spaced(value: &str) -> bool {
    value.contains(|character: char| matches!(character, '\t'..='\r' | ' ' | ',' | ';'))
}
