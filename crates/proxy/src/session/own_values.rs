//! What a client asks of its connection and the proxy decides: `CONNECTION_ID()` becomes the number that the client knows, and
//! `@@max_allowed_packet` in a SELECT no more than the proxy takes.
//!
//! The number stays the server's where it is compared with other numbers of the server: beside `IS_USED_LOCK()` and in the
//! process list.

use std::borrow::Cow;

use shardwright_rules::{Besides, Statement};
use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{LexMode, Lexer, SessionEffects, Span, Token, TokenKind};

use super::Session;
use super::statement_words::mentions;

const NUMBER: &[u8] = b"CONNECTION_ID";
const PACKET: &[u8] = b"MAX_ALLOWED_PACKET";
/// What the server's numbers are compared with.
const OF_SERVERS: [&[u8]; 2] = [b"IS_USED_LOCK", b"PROCESSLIST"];

impl Session {
    /// The text for the server; `None` where it is the client's.
    pub(super) fn sent_text<'a>(
        &self,
        statement: &Statement<'_>,
        besides: &'a Besides,
    ) -> Option<Cow<'a, [u8]>> {
        let routed = besides.rewritten.as_deref();
        if statement
            .shape()
            .effects
            .intersects(SessionEffects::READS_SESSION | SessionEffects::READS_SYSTEM_VARIABLE)
            && let Some(text) = self
                .own_values()
                .put_in(routed.unwrap_or(statement.text()), statement.mode())
        {
            return Some(Cow::Owned(text));
        }
        routed.map(Cow::Borrowed)
    }

    fn own_values(&self) -> OwnValues {
        OwnValues {
            connection_id: self.login.connection_id,
            max_packet: self.worker.shared.limits.max_packet,
        }
    }
}

/// What the proxy decides about a client's connection.
#[derive(Clone, Copy)]
struct OwnValues {
    connection_id: u32,
    max_packet: usize,
}

impl OwnValues {
    /// `None` where nothing is to be replaced.
    fn put_in(self, text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
        let asks_number = mentions(text, NUMBER) && !OF_SERVERS.iter().any(|name| mentions(text, name));
        if !asks_number && !mentions(text, PACKET) {
            return None;
        }
        let tokens: Vec<Token> = Lexer::new(text, mode).significant().collect();
        let reads = tokens.first().is_some_and(|token| token.is_word(text, "SELECT"));
        let value = |at: usize| {
            let number = || Some((call(text, &tokens, at)?, self.connection_id.to_string(), 3));
            let packet = || Some((packet_limit(text, &tokens[at])?, self.packet(), 1));
            let number = asks_number.then(number).flatten();
            number.or_else(|| reads.then(packet).flatten())
        };
        put_in(text, &tokens, value)
    }

    /// The smaller limit of the two: the server's holds for what passes the proxy.
    fn packet(self) -> String {
        let limit = self.max_packet;
        format!(
            "CAST(CASE WHEN @@max_allowed_packet < {limit} THEN @@max_allowed_packet ELSE {limit} END AS UNSIGNED)"
        )
    }
}

/// The text with values in place of what stands at some tokens: `value` tells the span, the expression and the number of tokens.
fn put_in(
    text: &[u8],
    tokens: &[Token],
    value: impl Fn(usize) -> Option<(Span, String, usize)>,
) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let Some((span, mut expression, taken)) = value(at) else {
            continue;
        };
        if depth == 0 && is_whole_item(text, tokens, at, taken) {
            expression += " AS `";
            expression += &String::from_utf8_lossy(span.of(text)).replace('`', "``");
            expression.push('`');
        }
        edits.push(Edit {
            span,
            text: expression.into_bytes(),
        });
    }
    (!edits.is_empty()).then(|| rewrite::apply(text, &edits))
}

/// The call of the function that begins at this token.
fn call(text: &[u8], tokens: &[Token], at: usize) -> Option<Span> {
    let [name, left, right] = tokens.get(at..at + 3)? else {
        return None;
    };
    let is_named = name.kind == TokenKind::Word && name.span.of(text).eq_ignore_ascii_case(NUMBER);
    let is_qualified = at > 0 && tokens[at - 1].kind == TokenKind::Dot;
    let is_empty = left.kind == TokenKind::LeftParen && right.kind == TokenKind::RightParen;
    (is_named && is_empty && !is_qualified).then_some(Span {
        start: name.span.start,
        end: right.span.end,
    })
}

/// `@@max_allowed_packet` and `@@session.max_allowed_packet`.
fn packet_limit(text: &[u8], token: &Token) -> Option<Span> {
    let name = token.span.of(text).strip_prefix(b"@@")?;
    let scopes: [&[u8]; 2] = [b"session.", b"local."];
    let of_session = scopes.into_iter().find_map(|scope| {
        let (first, rest) = name.split_at_checked(scope.len())?;
        first.eq_ignore_ascii_case(scope).then_some(rest)
    });
    let is_limit =
        token.kind == TokenKind::SystemVariable && of_session.unwrap_or(name).eq_ignore_ascii_case(PACKET);
    is_limit.then_some(token.span)
}

/// Whether the tokens from here on are a column of the result by themselves, so that the column has their name.
fn is_whole_item(text: &[u8], tokens: &[Token], at: usize, taken: usize) -> bool {
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
    let ends = tokens.get(at + taken).is_none_or(|token| {
        matches!(token.kind, TokenKind::Comma | TokenKind::Semicolon) || is(token, &["FROM"])
    });
    begins && is_in_list && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: OwnValues = OwnValues {
        connection_id: 77,
        max_packet: 1024,
    };

    #[test]
    fn what_the_proxy_decides_is_put_in() {
        for (text, expected) in [
            (
                "SELECT @@max_allowed_packet, @@session.Max_Allowed_Packet AS m, @@wait_timeout",
                "SELECT CAST(CASE WHEN @@max_allowed_packet < 1024 THEN @@max_allowed_packet ELSE 1024 END AS UNSIGNED) AS `@@max_allowed_packet`, \
                 CAST(CASE WHEN @@max_allowed_packet < 1024 THEN @@max_allowed_packet ELSE 1024 END AS UNSIGNED) AS m, @@wait_timeout",
            ),
            (
                "SELECT @@max_allowed_packet - 1",
                "SELECT CAST(CASE WHEN @@max_allowed_packet < 1024 THEN @@max_allowed_packet ELSE 1024 END AS UNSIGNED) - 1",
            ),
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
            let sent = OWN.put_in(text.as_bytes(), LexMode::default()).expect(text);
            assert_eq!(String::from_utf8(sent).unwrap(), expected);
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "SELECT 1",
            "SELECT @@global.max_allowed_packet",
            "SET @a = @@max_allowed_packet",
            "SELECT '@@max_allowed_packet'",
            "SELECT 'CONNECTION_ID()'",
            "SELECT `CONNECTION_ID`()",
            "SELECT s.CONNECTION_ID()",
            "SELECT CONNECTION_ID FROM t",
            "SELECT IS_USED_LOCK('a') = CONNECTION_ID()",
            "SELECT * FROM information_schema.processlist WHERE id = CONNECTION_ID()",
        ] {
            assert_eq!(OWN.put_in(text.as_bytes(), LexMode::default()), None, "{text}");
        }
    }
}
