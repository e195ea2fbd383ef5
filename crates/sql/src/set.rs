//! What a `SET` statement sets.

mod read;
mod sql_mode;

pub use sql_mode::{UnknownMode, lex_mode_after};

use std::borrow::Cow;

use crate::lex::Span;

pub use read::items;

/// Where a variable is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This session.
    Session,
    /// The server: `GLOBAL`, `PERSIST`, `PERSIST_ONLY`.
    Global,
    /// The next transaction only: `SET TRANSACTION …`, `SET @@tx_isolation = …`.
    NextTransaction,
}

/// The right side of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `DEFAULT`
    Default,
    /// A number as written, sign included.
    Number(Cow<'a, [u8]>),
    /// A string, unescaped; or a quoted name, which servers take for one.
    Text(Cow<'a, [u8]>),
    /// A bare word: `ON`, `utf8mb4`, `NULL`.
    Word(&'a [u8]),
    /// Anything else.
    Expression(Span),
}

impl Value<'_> {
    /// The bytes of a text or word.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Value::Text(text) => Some(text),
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    /// True for `1`, `ON`, `TRUE`; false for `0`, `OFF`, `FALSE`.
    pub fn switch(&self) -> Option<bool> {
        let text = match self {
            Value::Number(number) => number.as_ref(),
            other => other.text()?,
        };
        let is_any = |words: [&str; 3]| {
            words
                .iter()
                .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
        };
        match text {
            _ if is_any(["1", "ON", "TRUE"]) => Some(true),
            _ if is_any(["0", "OFF", "FALSE"]) => Some(false),
            _ => None,
        }
    }
}

/// One assignment of a `SET` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetItem<'a> {
    /// `NAMES charset [COLLATE collation]`; `None` is `DEFAULT`.
    Names {
        /// The character set.
        charset: Option<Cow<'a, [u8]>>,
        /// The collation.
        collation: Option<Cow<'a, [u8]>>,
    },
    /// `CHARACTER SET x`, `CHARSET x`; `None` is `DEFAULT`.
    CharacterSet(Option<Cow<'a, [u8]>>),
    /// `autocommit = 0 | 1` of the session.
    Autocommit(bool),
    /// A system variable. Names are in lower case.
    Variable {
        /// Where it is set.
        scope: Scope,
        /// Its name, lower case.
        name: String,
        /// What it is set to.
        value: Value<'a>,
    },
    /// `[SESSION | GLOBAL] TRANSACTION …`
    Transaction {
        /// For whom.
        scope: Scope,
        /// `REPEATABLE READ` and kin, in upper case with single blanks.
        isolation: Option<String>,
        /// `READ ONLY` is true, `READ WRITE` is false.
        read_only: Option<bool>,
    },
    /// `@name = …`
    UserVariable(Span),
    /// `ROLE`, `PASSWORD`, `DEFAULT ROLE`, `RESOURCE GROUP`, or a text that this reader does not follow.
    Unknown,
}

/// True for character sets in which every byte below 0x80 is the ASCII character, never half of another one. The
/// lexer's answers hold for these only.
pub fn charset_is_ascii_safe(name: &[u8]) -> bool {
    let unsafe_sets: [&[u8]; 11] = [
        b"big5",
        b"cp932",
        b"filename",
        b"gb18030",
        b"gbk",
        b"sjis",
        b"swe7",
        b"ucs2",
        b"utf16",
        b"utf16le",
        b"utf32",
    ];
    !unsafe_sets.iter().any(|set| name.eq_ignore_ascii_case(set))
}
