//! Where tokens begin and end, by the server's own digests.
//!
//! A digest holds every token of a statement, and one sign for every literal. So a statement keeps its digest if its literals
//! become other literals and its comments become blanks. That is done here, where the lexer sees them: where it sees them
//! otherwise than the server, the digest is another, or the text is no statement any more.
//!
//! `SHARDWRIGHT_TOKENS=1000000` asks for that many statements.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_sql::{LexMode, Lexer, Token, TokenKind};
use shardwright_testkit::{Flavour, MariaDb};

use super::{connect, server};
use crate::conformance::statements::Chance;

const LONG: &str = "SHARDWRIGHT_TOKENS";
const QUICK: usize = 6_000;

/// What stands between quotes, and in comments.
const BODIES: [&str; 34] = [
    "a",
    "'",
    "''",
    "\"",
    "\"\"",
    "`",
    "``",
    "\\",
    "\\\\",
    "\\'",
    "\\\"",
    "/*",
    "*/",
    "/* x */",
    "/*!",
    "/*!99999 ",
    "--",
    "-- ",
    "#",
    "\n",
    "\r",
    "\t",
    ";",
    "$$",
    "$a$",
    "$",
    "é",
    "0",
    "*",
    "/",
    " ",
    ",",
    "tenant=2",
    "\\N",
];
const BETWEEN: [&str; 13] = [
    "",
    " ",
    "\n",
    "\t",
    "/**/",
    "/* k */",
    "-- k\n",
    "--\u{1}k\n",
    "#k\n",
    "\u{b}",
    "/*!99999 k */",
    "/*! */",
    "/*M! */",
];
const OPERANDS: [&str; 40] = [
    "1",
    "1.5",
    ".5",
    "1e5",
    "1.e3",
    "1.5e-3",
    "0x41",
    "0b01",
    "x'41'",
    "X'4142'",
    "b'01'",
    "x''",
    "n'",
    "N'",
    "'",
    "\"",
    "_utf8mb4'",
    "_utf8mb4 '",
    "@a",
    "@'",
    "@`",
    "@\"",
    "@a.b$c",
    "@@version",
    "@@session.sql_mode",
    "@@`version`",
    "NULL",
    "TRUE",
    "t.a",
    "`t`.a",
    "t.1a",
    "t.5",
    "`",
    "a$$b",
    "$x",
    "$$",
    "1a",
    "1e",
    "{d '2020-01-01'}",
    "abs(-1)",
];
const OPERATORS: [&str; 22] = [
    "+", "-", "*", "/", "%", "=", "<=>", "<>", "!=", "<", ">", "<=", ">=", "<<", ">>", "||", "&&", "|", "&",
    "^", " DIV ", " IS NOT ",
];

#[test]
fn tokens_end_where_the_server_ends_them() {
    let server = server(&["--performance-schema=ON"]);
    let (mut connection, known) = connect(&server);
    connection
        .query_drop("CREATE TABLE t (a INT, `1a` INT, `5` INT)")
        .unwrap();
    let wanted = std::env::var(LONG).ok().and_then(|wanted| wanted.parse().ok());
    let wanted = wanted.unwrap_or(QUICK);
    let mut digests = Digests::new(&server, &mut connection);
    let (mut compared, mut taken) = (0, 0);
    for seed in 0..wanted {
        let chance = &mut Chance::new(seed as u64);
        let mode = LexMode {
            ansi_quotes: chance.below(5) == 0,
            no_backslash_escapes: chance.below(5) == 0,
            ..known
        };
        let text = statement(chance);
        digests.set_mode(mode);
        let Some(digest) = digests.of(&text) else { continue };
        taken += 1;
        let Some(other) = replaced(&text, mode) else {
            continue;
        };
        let found = digests.of(&other);
        assert_eq!(found, Some(digest), "{mode:?}\n{text}\n{other}");
        compared += 1;
    }
    assert!(taken > wanted / 10, "{taken} of {wanted} were statements");
    assert!(compared > taken * 9 / 10, "{compared} of {taken} were compared");
}

/// Texts in dollars stand only where a server of MySQL 9 has code in another language.
#[test]
fn texts_in_dollars_end_where_the_server_ends_them() {
    let server = server(&[]);
    let (mut connection, mode) = connect(&server);
    let mut taken = 0;
    for seed in 0..400 {
        let chance = &mut Chance::new(seed);
        let tag = chance.of(&["$$", "$a$", "$ab$", "$_1é$"]);
        let mut code = tag.to_owned();
        for _ in 0..chance.below(6) {
            code.push_str(chance.of(&BODIES));
            code.push_str(chance.of(&["", "$", "a", "$ab", " "]));
        }
        code.push_str(chance.of(&[tag, tag, tag, "$a$"]));
        let text = format!("CREATE LIBRARY l LANGUAGE JAVASCRIPT AS {code}");
        if connection.query_drop(&text).is_err() {
            continue;
        }
        taken += 1;
        connection.query_drop("DROP LIBRARY l").unwrap();
        let last = Lexer::new(text.as_bytes(), mode).last().unwrap();
        let is_whole =
            last.kind == TokenKind::DollarString && last.span.of(text.as_bytes()) == code.as_bytes();
        assert!(
            is_whole || last.kind == TokenKind::ReadOtherwise,
            "{text}: {last:?}"
        );
    }
    assert_eq!(taken > 100, Flavour::default().is_mysql(), "{taken} were taken");
}

fn statement(chance: &mut Chance) -> String {
    let mut text = format!("SELECT{}", blank(chance));
    for item in 0..chance.below(4) + 1 {
        if item > 0 {
            text.push(',');
        }
        text.push_str(chance.of(&BETWEEN));
        operand(chance, &mut text);
        if chance.below(3) == 0 {
            text.push_str(chance.of(&BETWEEN));
            text.push_str(chance.of(&OPERATORS));
            text.push_str(chance.of(&BETWEEN));
            operand(chance, &mut text);
        }
        text.push_str(chance.of(&BETWEEN));
        match chance.below(4) {
            0 => text.push_str(&format!("{}AS{}a", blank(chance), blank(chance))),
            1 => operand(chance, &mut text),
            _ => {}
        }
    }
    text.push_str(&format!(
        "{}FROM{}t{}",
        blank(chance),
        blank(chance),
        chance.of(&BETWEEN)
    ));
    text
}

fn blank(chance: &mut Chance) -> &'static str {
    chance.of(&[" ", "\n", "/* k */", " /*! */ ", " -- k\n", "\t#'k\n"])
}

/// An operand; a quote that it opens is closed again, as a rule.
fn operand(chance: &mut Chance, text: &mut String) {
    let operand = chance.of(&OPERANDS);
    text.push_str(operand);
    let Some(quote @ ('\'' | '"' | '`' | '$')) = operand.chars().last() else {
        return;
    };
    if operand.len() > 1 && operand.matches('\'').count() == 2 {
        return;
    }
    for _ in 0..chance.below(6) {
        text.push_str(chance.of(&BODIES));
    }
    match quote {
        '$' => text.push_str("$$"),
        _ if chance.below(20) == 0 => {}
        _ => text.push(quote),
    }
}

/// The same statement with other literals and without comments; `None` where the lexer leaves it open what the text is.
fn replaced(text: &str, mode: LexMode) -> Option<String> {
    let mut out = String::new();
    for token in Lexer::new(text.as_bytes(), mode) {
        // The server may take what stands before a semicolon.
        if matches!(token.kind, TokenKind::ReadOtherwise | TokenKind::Semicolon) {
            return None;
        }
        assert!(token.terminated, "the server takes it: {text}");
        let raw = &text[token.span.start..token.span.end];
        // Code to one server is a comment to another.
        let is_blank = raw.starts_with("/*!99999") || matches!(raw, "/*! */" | "/*M! */");
        if token.kind == TokenKind::ExecutableComment && !is_blank {
            return None;
        }
        out.push_str(&replacement(&token, text));
    }
    Some(out)
}

fn replacement(token: &Token, text: &str) -> String {
    let raw = &text[token.span.start..token.span.end];
    match token.kind {
        TokenKind::Whitespace | TokenKind::BlockComment | TokenKind::LineComment => " ".to_owned(),
        TokenKind::ExecutableComment => " ".to_owned(),
        TokenKind::String => format!("{0}x{0} ", &raw[..1]),
        TokenKind::NationalString => "N'x' ".to_owned(),
        TokenKind::HexString => "x'00' ".to_owned(),
        TokenKind::BitString => "b'1' ".to_owned(),
        TokenKind::Number if raw.starts_with('.') => ".5 ".to_owned(),
        TokenKind::Number => "1 ".to_owned(),
        TokenKind::UserVariable if raw.starts_with("@'") => "@'v'".to_owned(),
        _ => raw.to_owned(),
    }
}

/// Asks the server for digests.
struct Digests<'c> {
    connection: &'c mut Conn,
    is_mysql: bool,
    mode: Option<LexMode>,
}

impl<'c> Digests<'c> {
    fn new(_: &MariaDb, connection: &'c mut Conn) -> Self {
        connection
            .query_drop("UPDATE performance_schema.setup_consumers SET enabled='YES' WHERE name LIKE 'events_statements_%'")
            .unwrap();
        Self {
            connection,
            is_mysql: Flavour::default().is_mysql(),
            mode: None,
        }
    }

    fn set_mode(&mut self, mode: LexMode) {
        if self.mode.replace(mode) == Some(mode) {
            return;
        }
        let mut names = vec!["STRICT_TRANS_TABLES"];
        names.extend(mode.ansi_quotes.then_some("ANSI_QUOTES"));
        names.extend(mode.no_backslash_escapes.then_some("NO_BACKSLASH_ESCAPES"));
        self.connection
            .query_drop(format!("SET sql_mode='{}'", names.join(",")))
            .unwrap();
    }

    /// The digest of a statement; `None` if the server cannot parse it.
    fn of(&mut self, text: &str) -> Option<String> {
        if self.is_mysql {
            let found = self
                .connection
                .exec_first::<Option<String>, _, _>("SELECT STATEMENT_DIGEST(?)", (text,));
            return found.ok().flatten().flatten();
        }
        match self.connection.query_drop(text) {
            Err(mysql::Error::MySqlError(error)) if is_syntax(error.code) => return None,
            _ => {}
        }
        let last = "SELECT digest FROM performance_schema.events_statements_history WHERE thread_id = (SELECT thread_id FROM \
                    performance_schema.threads WHERE processlist_id = CONNECTION_ID()) ORDER BY event_id DESC LIMIT 1";
        let found = self.connection.query_first::<Option<String>, _>(last);
        found.unwrap().flatten()
    }
}

/// Errors of a parser: syntax, charset of a literal, empty query.
fn is_syntax(code: u16) -> bool {
    matches!(code, 1064 | 1065 | 1115 | 1149)
}
