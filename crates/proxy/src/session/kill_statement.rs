//! `KILL [HARD | SOFT] [CONNECTION | QUERY] number`, and `CONNECTION_ID()` in the number's place.

use shardwright_sql::{LexMode, Lexer, TokenKind};

use crate::kill::KillScope;

/// A KILL statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KillStatement {
    pub(super) scope: KillScope,
    /// `None`: the session's own connection.
    pub(super) id: Option<u64>,
}

impl KillStatement {
    /// `None` where it names something else, such as a user.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        // Nothing that a mode changes can stand in it.
        let tokens = Lexer::new(text, LexMode::default()).significant();
        let mut words: Vec<&[u8]> = tokens
            .filter(|token| token.kind != TokenKind::Semicolon)
            .map(|token| token.span.of(text))
            .collect();
        let mut take = |expected: &[&str]| {
            let first = words.first()?;
            let at = expected
                .iter()
                .position(|word| first.eq_ignore_ascii_case(word.as_bytes()))?;
            words.remove(0);
            Some(at)
        };
        take(&["KILL"])?;
        // They differ for some storage engines only.
        take(&["HARD", "SOFT"]);
        let scope = match take(&["QUERY", "CONNECTION"]) {
            Some(0) => KillScope::Query,
            _ => KillScope::Connection,
        };
        let id = match words[..] {
            [number] => Some(std::str::from_utf8(number).ok()?.parse().ok()?),
            [function, b"(", b")"] if function.eq_ignore_ascii_case(b"CONNECTION_ID") => None,
            _ => return None,
        };
        Some(Self { scope, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_forms_are_known() {
        use KillScope::{Connection, Query};
        for (text, expected) in [
            ("KILL 5", Some((Connection, Some(5)))),
            ("kill query 5", Some((Query, Some(5)))),
            ("KILL CONNECTION 5 ;", Some((Connection, Some(5)))),
            (
                "KILL /* c */ SOFT QUERY 18446744073709551615",
                Some((Query, Some(u64::MAX))),
            ),
            ("KILL HARD connection_id()", Some((Connection, None))),
            ("KILL QUERY connection_id ( )", Some((Query, None))),
            ("KILL QUERY ID 5", None),
            ("KILL USER app", None),
            ("KILL -5", None),
            ("KILL 5 6", None),
            ("KILL '5'", None),
            ("KILL QUERY", None),
            ("KILL", None),
        ] {
            let read = KillStatement::read(text.as_bytes());
            assert_eq!(read.map(|kill| (kill.scope, kill.id)), expected, "{text}");
        }
    }
}
