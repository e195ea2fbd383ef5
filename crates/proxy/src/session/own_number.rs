//! `CONNECTION_ID()` in a statement becomes the number that the client knows; the server has another one.
//!
//! It stays the server's where it is compared with other numbers of the server: beside `IS_USED_LOCK()` and in the process
//! list.

use std::borrow::Cow;

use shardwright_rules::{Destination, Statement};
use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{LexMode, Lexer, SessionEffects, Span, Token, TokenKind};

use super::Session;
use super::statement_words::mentions;

const NAME: &[u8] = b"CONNECTION_ID";
/// What the server's numbers are compared with.
const OF_SERVERS: [&[u8]; 2] = [b"IS_USED_LOCK", b"PROCESSLIST"];

impl Session {
    /// The text for the server; `None` where it is the client's.
    pub(super) fn sent_text<'a>(
        &self,
        statement: &Statement<'_>,
        route: &'a Destination,
    ) -> Option<Cow<'a, [u8]>> {
        let routed = route.rewritten.as_deref();
        if statement
            .shape()
            .effects
            .intersects(SessionEffects::READS_SESSION)
            && let Some(text) = with_number(
                routed.unwrap_or(statement.text()),
                statement.mode(),
                self.login.connection_id,
            )
        {
            return Some(Cow::Owned(text));
        }
        routed.map(Cow::Borrowed)
    }
}

/// `None` where nothing is to be replaced.
fn with_number(text: &[u8], mode: LexMode, number: u32) -> Option<Vec<u8>> {
    if !mentions(text, NAME) || OF_SERVERS.iter().any(|name| mentions(text, name)) {
        return None;
    }
    let tokens: Vec<Token> = Lexer::new(text, mode).significant().collect();
    let mut edits = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let Some(span) = call(text, &tokens, at) else {
            continue;
        };
        let mut literal = number.to_string();
        if depth == 0 && is_whole_item(text, &tokens, at) {
            literal += " AS `";
            literal += &String::from_utf8_lossy(span.of(text)).replace('`', "``");
            literal.push('`');
        }
        edits.push(Edit {
            span,
            text: literal.into_bytes(),
        });
    }
    (!edits.is_empty()).then(|| rewrite::apply(text, &edits))
}

/// The call of the function that begins at this token.
fn call(text: &[u8], tokens: &[Token], at: usize) -> Option<Span> {
    let [name, left, right] = tokens.get(at..at + 3)? else {
        return None;
    };
    let is_named = name.kind == TokenKind::Word && name.span.of(text).eq_ignore_ascii_case(NAME);
    let is_qualified = at > 0 && tokens[at - 1].kind == TokenKind::Dot;
    let is_empty = left.kind == TokenKind::LeftParen && right.kind == TokenKind::RightParen;
    (is_named && is_empty && !is_qualified).then_some(Span {
        start: name.span.start,
        end: right.span.end,
    })
}

/// Whether the call at this token is a column of the result by itself, so that the column has its name.
fn is_whole_item(text: &[u8], tokens: &[Token], at: usize) -> bool {
    let is = |token: &Token, words: &[&str]| {
        words
            .iter()
            .any(|word| token.span.of(text).eq_ignore_ascii_case(word.as_bytes()))
    };
    let leads = |token: &Token| is(token, &["SELECT"]);
    let begins = at > 0 && (leads(&tokens[at - 1]) || tokens[at - 1].kind == TokenKind::Comma);
    // Behind FROM a comma separates tables, sort keys and assignments.
    let is_in_list = tokens.first().is_some_and(leads)
        && !tokens[..at]
            .iter()
            .any(|token| is(token, &["FROM", "INTO", "WHERE", "ORDER", "GROUP"]));
    let ends = tokens.get(at + 3).is_none_or(|token| {
        matches!(token.kind, TokenKind::Comma | TokenKind::Semicolon) || is(token, &["FROM"])
    });
    begins && is_in_list && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_number_is_put_in() {
        for (text, expected) in [
            (
                "SELECT CONNECTION_ID(), connection_id ( ) FROM t",
                "SELECT 77 AS `CONNECTION_ID()`, 77 AS `connection_id ( )` FROM t",
            ),
            ("SELECT CONNECTION_ID() AS a", "SELECT 77 AS a"),
            ("SELECT CONNECTION_ID() + 1", "SELECT 77 + 1"),
            ("SELECT f(CONNECTION_ID())", "SELECT f(77)"),
            (
                "INSERT INTO log VALUES (1, CONNECTION_ID())",
                "INSERT INTO log VALUES (1, 77)",
            ),
            (
                "SELECT 1 FROM t ORDER BY a, CONNECTION_ID()",
                "SELECT 1 FROM t ORDER BY a, 77",
            ),
            (
                "SELECT 'CONNECTION_ID()', CONNECTION_ID()",
                "SELECT 'CONNECTION_ID()', 77 AS `CONNECTION_ID()`",
            ),
        ] {
            let sent = with_number(text.as_bytes(), LexMode::default(), 77).expect(text);
            assert_eq!(String::from_utf8(sent).unwrap(), expected);
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "SELECT 1",
            "SELECT 'CONNECTION_ID()'",
            "SELECT `CONNECTION_ID`()",
            "SELECT s.CONNECTION_ID()",
            "SELECT CONNECTION_ID FROM t",
            "SELECT IS_USED_LOCK('a') = CONNECTION_ID()",
            "SELECT * FROM information_schema.processlist WHERE id = CONNECTION_ID()",
        ] {
            assert_eq!(
                with_number(text.as_bytes(), LexMode::default(), 77),
                None,
                "{text}"
            );
        }
    }
}
