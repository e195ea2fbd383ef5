//! What statements do to the schema of their session, as far as a log tells.

use std::borrow::Cow;

use shardwright_sql::lex::identifier;
use shardwright_sql::{LexMode, Lexer, Token, TokenKind};

use crate::traffic::Schema;

/// A session's schema, as far as a log tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionSchema {
    /// The log does not have what the client chose.
    #[default]
    Unknown,
    /// The client has chosen none.
    NoSchema,
    Is(String),
    /// It is this one, or the client has none.
    OrNone(String),
}

impl SessionSchema {
    /// The one of a name that may be empty.
    pub(super) fn named(name: &str) -> Self {
        if name.is_empty() {
            Self::NoSchema
        } else {
            Self::Is(name.to_owned())
        }
    }

    pub(super) fn as_record(&self) -> Schema<'_> {
        match self {
            Self::Unknown => Schema::Unknown,
            Self::NoSchema => Schema::NoSchema,
            Self::Is(name) => Schema::Is(name),
            Self::OrNone(name) => Schema::OrNone(name),
        }
    }

    /// After the statements of a text: `USE` names another, and who drops the own one has none. Logs do not tell errors:
    /// USE counts as successful, and a DROP may have failed.
    pub(super) fn follow(&mut self, text: &[u8]) {
        if !may_change(text) {
            return;
        }
        let mut tokens = Lexer::new(text, LexMode::default()).significant().peekable();
        while let Some(first) = tokens.next() {
            let statement: Vec<Token> = std::iter::once(first)
                .chain(std::iter::from_fn(|| {
                    tokens.next_if(|token| token.kind != TokenKind::Semicolon)
                }))
                .filter(|token| token.kind != TokenKind::Semicolon)
                .take(MOST_TOKENS)
                .collect();
            self.follow_statement(&statement, text);
            while tokens
                .next_if(|token| token.kind != TokenKind::Semicolon)
                .is_some()
            {}
        }
    }

    fn follow_statement(&mut self, statement: &[Token], text: &[u8]) {
        let is_word = |token: &Token, word| token.is_word(text, word);
        match statement {
            [verb, name] if is_word(verb, "USE") => {
                if let Some(name) = name_of(name, text) {
                    *self = Self::Is(name.into_owned());
                }
            }
            [verb, what, between @ .., name]
                if is_word(verb, "DROP")
                    && (is_word(what, "DATABASE") || is_word(what, "SCHEMA"))
                    && (between.is_empty() || between.len() == 2) =>
            {
                let name = name_of(name, text);
                if let (Self::Is(own), Some(name)) = (&*self, name)
                    && *own == *name
                {
                    *self = Self::OrNone(own.clone());
                }
            }
            _ => {}
        }
    }
}

/// No statement about schemas has more: `DROP DATABASE IF EXISTS name`, and one more to see that it ends.
const MOST_TOKENS: usize = 6;

fn name_of<'t>(token: &Token, text: &'t [u8]) -> Option<Cow<'t, str>> {
    Some(match identifier(token, text)? {
        Cow::Borrowed(name) => String::from_utf8_lossy(name),
        Cow::Owned(name) => Cow::Owned(String::from_utf8_lossy(&name).into_owned()),
    })
}

/// Whether a text may hold USE or DROP at the beginning of a statement; few do.
fn may_change(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins = |word: &[u8]| text.len() > word.len() && text[..word.len()].eq_ignore_ascii_case(word);
    begins(b"USE")
        || begins(b"DROP")
        || text.starts_with(b"/*")
        || text.starts_with(b"-")
        || text.starts_with(b"#")
        || memchr::memchr(b';', text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_the_schema() {
        let is = |name: &str| SessionSchema::Is(name.to_owned());
        for (text, after) in [
            ("SELECT 1", is("shop")),
            ("USE arch", is("arch")),
            ("/* c */ use /* d */ `my ``db`", is("my `db")),
            ("-- note\nuse arch ;", is("arch")),
            ("SELECT 1; USE arch; SELECT 2", is("arch")),
            ("SELECT ';use x'", is("shop")),
            ("USE a b", is("shop")),
            ("used", is("shop")),
            ("DROP DATABASE arch", is("shop")),
            ("DROP DATABASE shop", SessionSchema::OrNone("shop".to_owned())),
            (
                "drop schema if exists `shop`",
                SessionSchema::OrNone("shop".to_owned()),
            ),
            ("DROP TABLE shop", is("shop")),
        ] {
            let mut schema = is("shop");
            schema.follow(text.as_bytes());
            assert_eq!(schema, after, "{text}");
        }
    }
}
