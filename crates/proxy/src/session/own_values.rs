//! What a client asks of its connection and the proxy decides: `CONNECTION_ID()` becomes the number that the client knows, and
//! `@@max_allowed_packet` in a SELECT no more than the proxy takes.
//!
//! # Idea
//!
//! A value is put in only where nobody can see that the text was another. The expressions in their place have the server's own
//! type, length and flags, as they have the original among their arguments. The items of select lists keep their names
//! ([`column_names`]). The kinds of statements are a closed list: what stores its text (a view, a default, a routine), shows it
//! (EXPLAIN) or keeps it in a string is sent as it is, and has the number of the server's connection then.
//!
//! The number stays the server's where it is compared with other numbers of the server: beside `IS_USED_LOCK()` and in tables
//! about the server's connections.

use shardwright_sql::names::mentions;
use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{LexMode, Lexer, Span, StatementClass, Token, TokenKind, column_names};

use super::Session;

const NUMBER: [&[u8]; 1] = [b"CONNECTION_ID"];
const PACKET: &[u8] = b"MAX_ALLOWED_PACKET";
/// What the server's numbers are compared with.
const OF_SERVERS: [&[u8]; 6] = [
    b"IS_USED_LOCK",
    b"PROCESSLIST",
    b"PERFORMANCE_SCHEMA",
    b"INFORMATION_SCHEMA",
    b"PS_THREAD_ID",
    b"TRX_MYSQL_THREAD_ID",
];

impl Session {
    pub(super) fn own_values(&self) -> OwnValues {
        OwnValues {
            connection_id: self.login.connection_id,
            max_packet: self.worker.shared.limits.max_packet,
        }
    }
}

/// What the proxy decides about a client's connection.
#[derive(Clone, Copy)]
pub(super) struct OwnValues {
    connection_id: u32,
    max_packet: usize,
}

impl OwnValues {
    /// `None` where nothing is to be replaced, or it could be seen.
    pub(super) fn put_in(self, text: &[u8], mode: LexMode, class: StatementClass) -> Option<Vec<u8>> {
        let asks_number = takes_number(class)
            && mentions(text, NUMBER[0])
            && !OF_SERVERS.iter().any(|name| mentions(text, name));
        let asks_packet = class == StatementClass::Select && mentions(text, PACKET);
        if !asks_number && !asks_packet {
            return None;
        }
        let tokens: Vec<Token> = Lexer::new(text, mode).significant().collect();
        if !is_unseen(text, &tokens, class) {
            return None;
        }
        let edit = |at: usize| {
            let number = || Some((call(text, &tokens, at, &NUMBER)?, self.number()));
            let packet = || Some((packet_limit(text, &tokens[at])?, self.packet()));
            let number = asks_number.then(number).flatten();
            let (span, text) = number.or_else(|| asks_packet.then(packet).flatten())?;
            Some(Edit {
                span,
                text: text.into_bytes(),
            })
        };
        let edits: Vec<Edit> = (0..tokens.len()).filter_map(edit).collect();
        let edits = column_names::keep(text, mode, edits).ok()?;
        (!edits.is_empty()).then(|| rewrite::apply(text, &edits))
    }

    /// The session's number, of the type of the server's.
    fn number(self) -> String {
        format!(
            "COALESCE(CAST({} AS UNSIGNED),CONNECTION_ID())",
            self.connection_id
        )
    }

    /// The smaller limit of the two: the server's holds for what passes the proxy.
    fn packet(self) -> String {
        format!(
            "LEAST(@@max_allowed_packet,CAST({} AS UNSIGNED))",
            self.max_packet
        )
    }
}

/// The kinds of statements that compute their expressions at once, and store or show no text of theirs.
fn takes_number(class: StatementClass) -> bool {
    use StatementClass as C;
    matches!(
        class,
        C::Select | C::Insert | C::Replace | C::Update | C::Delete | C::Load | C::Call | C::Do | C::Set
    )
}

/// False where the text of a value may be the name of a column without being an item of a select list: MariaDB names the columns
/// of `VALUES (…)` in place of a SELECT so. Also where the server's version decides what the text is.
pub(super) fn is_unseen(text: &[u8], tokens: &[Token], class: StatementClass) -> bool {
    let inserts = matches!(class, StatementClass::Insert | StatementClass::Replace);
    let mut depth = 0_usize;
    tokens.iter().enumerate().all(|(at, token)| {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::ExecutableComment => return false,
            _ => {}
        }
        let is_list = (token.is_word(text, "VALUES") || token.is_word(text, "VALUE"))
            && tokens
                .get(at + 1)
                .is_some_and(|next| next.kind == TokenKind::LeftParen);
        !is_list || (inserts && (depth == 0 || is_column(tokens, at)))
    })
}

/// Whether `VALUES` at this token is the function: it has the name of one column, and stands in no place of a SELECT.
fn is_column(tokens: &[Token], at: usize) -> bool {
    let Some([_, name, right]) = tokens.get(at + 1..at + 4) else {
        return false;
    };
    name.is_name() && right.kind == TokenKind::RightParen
}

/// The call of a function of one of these names that begins at this token.
pub(super) fn call(text: &[u8], tokens: &[Token], at: usize, names: &[&[u8]]) -> Option<Span> {
    let [name, left, right] = tokens.get(at..at + 3)? else {
        return None;
    };
    let is_one = |expected: &&[u8]| name.span.of(text).eq_ignore_ascii_case(expected);
    let is_named = name.kind == TokenKind::Word && names.iter().any(is_one);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Option<String> {
        let own = OwnValues {
            connection_id: 77,
            max_packet: 1024,
        };
        let class = shardwright_sql::classify(text.as_bytes(), LexMode::default());
        let sent = own.put_in(text.as_bytes(), LexMode::default(), class);
        sent.map(|sent| {
            let sent = String::from_utf8(sent).unwrap();
            sent.replace(&own.number(), "77").replace(&own.packet(), "1024")
        })
    }

    #[test]
    fn what_the_proxy_decides_is_put_in() {
        for (text, expected) in [
            (
                "SELECT @@max_allowed_packet, @@session.Max_Allowed_Packet AS m, @@wait_timeout",
                "SELECT 1024 AS `@@max_allowed_packet`, 1024 AS m, @@wait_timeout",
            ),
            (
                "SELECT @@max_allowed_packet - 1",
                "SELECT 1024 - 1 AS `@@max_allowed_packet - 1`",
            ),
            (
                "SELECT CONNECTION_ID(), connection_id ( ) FROM t",
                "SELECT 77 AS `CONNECTION_ID()`, 77 AS `connection_id ( )` FROM t",
            ),
            ("SELECT CONNECTION_ID() AS a", "SELECT 77 AS a"),
            (
                "SELECT (SELECT CONNECTION_ID()) UNION SELECT a FROM t WHERE b = CONNECTION_ID()",
                "SELECT (SELECT 77 AS `CONNECTION_ID()`) AS `(SELECT CONNECTION_ID())` UNION SELECT a FROM t WHERE b = 77",
            ),
            (
                "INSERT INTO log VALUES (1, CONNECTION_ID())",
                "INSERT INTO log VALUES (1, 77)",
            ),
            (
                "INSERT INTO log (a) VALUES (CONNECTION_ID()) ON DUPLICATE KEY UPDATE a = f(VALUES(a))",
                "INSERT INTO log (a) VALUES (77) ON DUPLICATE KEY UPDATE a = f(VALUES(a))",
            ),
            (
                "SELECT 1 FROM t ORDER BY a, CONNECTION_ID()",
                "SELECT 1 FROM t ORDER BY a, 77",
            ),
            (
                "SELECT 'CONNECTION_ID()', CONNECTION_ID()",
                "SELECT 'CONNECTION_ID()', 77 AS `CONNECTION_ID()`",
            ),
            ("SET @a = CONNECTION_ID()", "SET @a = 77"),
            ("CALL p(CONNECTION_ID())", "CALL p(77)"),
        ] {
            assert_eq!(sent(text).as_deref(), Some(expected), "{text}");
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
            "SELECT PS_THREAD_ID(CONNECTION_ID())",
            "CREATE VIEW v AS SELECT CONNECTION_ID()",
            "CREATE TABLE t (a INT DEFAULT (CONNECTION_ID()))",
            "CREATE TABLE t SELECT CONNECTION_ID() AS a",
            "ALTER TABLE t ADD CHECK (a <> CONNECTION_ID())",
            "CREATE PROCEDURE p() INSERT INTO t VALUES (CONNECTION_ID())",
            "CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET NEW.a = CONNECTION_ID()",
            "EXPLAIN SELECT CONNECTION_ID()",
            "PREPARE s FROM 'SELECT CONNECTION_ID()'",
            "SELECT * FROM (VALUES (CONNECTION_ID())) t",
            "VALUES (CONNECTION_ID())",
            "INSERT INTO t SELECT * FROM (VALUES (CONNECTION_ID())) u",
            "SELECT /*!50000 CONNECTION_ID(), */ CONNECTION_ID()",
            "SELECT CONNECTION_ID() + INTERVAL 1 DAY",
        ] {
            assert_eq!(sent(text), None, "{text}");
        }
    }
}
