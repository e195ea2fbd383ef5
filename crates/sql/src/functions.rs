//! The functions built into MySQL and MariaDB, and what calling one means for routing.
//!
//! A name is built in on some servers and not on others, and there a stored function can have it, which reads and writes
//! what it likes. So a call counts as one of a built-in function only if every server that may run the statement has it.

mod table;

use crate::lex::{LexMode, Lexer, TokenKind};
use crate::servers::Servers;
use table::TABLE;

/// What a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Computes from its arguments, the clock or chance; writes nothing and keeps nothing.
    Pure,
    /// Takes, frees or asks for a named lock, which lives on one server.
    NamedLock,
    /// Speaks of the session or its connection.
    Session,
    /// Names the schema of the connection.
    Schema,
    /// `LAST_INSERT_ID`, which also sets what it reads.
    InsertId,
    /// Reads or advances a sequence.
    Sequence,
    /// Answers for one server: its files, its replication.
    Server,
    /// No function, but a key word or a type that a `(` can follow.
    Keyword,
    /// Built in nowhere: a stored function or a loaded one.
    Unknown,
}

/// What is known of a name.
struct Entry {
    name: &'static str,
    meaning: Meaning,
    built_in: Servers,
    only_adjacent: Servers,
}

/// What a name before a `(` calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// What the built-in function does.
    pub(crate) meaning: Meaning,
    /// False where one of the servers may call a stored function.
    pub(crate) is_built_in: bool,
}

/// A call of which nothing is known.
pub(crate) const UNKNOWN: Call = Call {
    meaning: Meaning::Unknown,
    is_built_in: false,
};

/// Where a name stands before a `(`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'t> {
    /// No blank and no comment between the name and the `(`.
    pub(crate) adjacent: bool,
    /// What stands before the name.
    pub(crate) before: Option<TokenKind>,
    /// The text behind the `(`.
    pub(crate) rest: &'t [u8],
}

/// No name of the table is longer.
const LONGEST: usize = 40;

fn entry(name: &[u8]) -> Option<&'static Entry> {
    let mut buffer = [0; LONGEST];
    let upper = buffer.get_mut(..name.len())?;
    upper.copy_from_slice(name);
    upper.make_ascii_uppercase();
    let upper = &*upper;
    let found = TABLE.binary_search_by(|entry| entry.name.as_bytes().cmp(upper));
    found.ok().map(|at| &TABLE[at])
}

/// What `name (` calls; `None` if `name` is a keyword that is no function.
pub(crate) fn call_of(name: &[u8], place: Place<'_>, mode: LexMode) -> Option<Call> {
    if place.before == Some(TokenKind::Dot) {
        return Some(UNKNOWN);
    }
    let Some(entry) = entry(name) else {
        return (!names_expression(place.rest, mode)).then_some(UNKNOWN);
    };
    let servers = mode.servers;
    let is_built_in = servers.are_in(entry.built_in)
        && (place.adjacent || !servers.meet(entry.only_adjacent))
        && !(servers.meet(Servers::ALL_MARIADB) && may_be_stored_by_arguments(entry, place, mode));
    let is_built_in = is_built_in || stands_where_none_is_called(entry, place, mode);
    if entry.meaning != Meaning::Keyword {
        return Some(Call {
            meaning: entry.meaning,
            is_built_in,
        });
    }
    (!is_built_in).then_some(UNKNOWN)
}

/// Whether a name with this behind its `(` is that of a common table expression: `WITH c (a, b) AS (SELECT …)`.
pub(crate) fn names_expression(rest: &[u8], mode: LexMode) -> bool {
    let mut tokens = Lexer::new(rest, mode).significant();
    loop {
        let is_name = tokens.next().is_some_and(|token| token.is_name());
        match tokens.next().map(|token| token.kind).filter(|_| is_name) {
            Some(TokenKind::Comma) => {}
            Some(TokenKind::RightParen) => break,
            _ => return false,
        }
    }
    let is_as = tokens.next().is_some_and(|token| token.is_word(rest, "AS"));
    is_as
        && tokens
            .next()
            .is_some_and(|token| token.kind == TokenKind::LeftParen)
}

/// Whether `name (` is a call to none of these servers.
pub(crate) fn is_keyword(name: &[u8], servers: Servers) -> bool {
    entry(name).is_some_and(|entry| entry.meaning == Meaning::Keyword && servers.are_in(entry.built_in))
}

/// MariaDB has these with as many arguments as they take, and calls a stored function where there are others.
fn may_be_stored_by_arguments(entry: &Entry, place: Place<'_>, mode: LexMode) -> bool {
    match entry.name {
        "POINT" => arguments(place.rest, mode) != Some(2),
        "LINESTRING" | "POLYGON" => {
            let first = Lexer::new(place.rest, mode).significant().next();
            first.is_none_or(|token| token.kind == TokenKind::RightParen)
        }
        _ => false,
    }
}

/// Parentheses inside each other in the arguments of a call that are looked through. So a text is not read again for each call in
/// a call.
const MOST_NESTED: usize = 64;

/// How many arguments stand before the `)` of a call; `None` where they are not looked through.
fn arguments(rest: &[u8], mode: LexMode) -> Option<usize> {
    let (mut depth, mut found) = (0_usize, 0);
    for token in Lexer::new(rest, mode).significant() {
        if depth > MOST_NESTED {
            return None;
        }
        found = found.max(usize::from(token.kind != TokenKind::RightParen));
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen if depth == 0 => break,
            TokenKind::RightParen => depth -= 1,
            TokenKind::Comma if depth == 0 => found += 1,
            _ => {}
        }
    }
    Some(found)
}

/// Words that are functions' names on MariaDB, in their places in the grammar, where no server calls a function.
fn stands_where_none_is_called(entry: &Entry, place: Place<'_>, mode: LexMode) -> bool {
    match entry.name {
        // `MATCH (a) AGAINST (…)`
        "AGAINST" => place.before == Some(TokenKind::RightParen),
        // `'$[*]' COLUMNS (…)`
        "COLUMNS" => place.before == Some(TokenKind::String),
        "JSON_TABLE" => has_columns(place.rest, mode),
        "LATERAL" => {
            // `LATERAL (SELECT …)`: an argument that is a query has parentheses of its own.
            let first = Lexer::new(place.rest, mode).significant().next();
            first.is_some_and(|first| {
                ["SELECT", "WITH"]
                    .iter()
                    .any(|word| first.is_word(place.rest, word))
            })
        }
        _ => false,
    }
}

/// Whether the arguments that begin with `rest` have a `'$[*]' COLUMNS (…)`, which those of a function cannot have.
fn has_columns(rest: &[u8], mode: LexMode) -> bool {
    let mut depth = 0_usize;
    let mut is_behind_path = false;
    for token in Lexer::new(rest, mode).significant() {
        match token.kind {
            TokenKind::LeftParen if depth == MOST_NESTED => return false,
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen if depth == 0 => return false,
            TokenKind::RightParen => depth -= 1,
            TokenKind::Word if depth == 0 && is_behind_path && token.is_word(rest, "COLUMNS") => return true,
            _ => {}
        }
        is_behind_path = token.kind == TokenKind::String;
    }
    false
}

/// The names of the built-in functions of some server, and of the key words that a `(` can follow; `true` for these.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, bool)> {
    let is_keyword = |entry: &Entry| entry.meaning == Meaning::Keyword;
    TABLE.iter().map(move |entry| (entry.name, is_keyword(entry)))
}

/// The built-in functions that keep a SELECT on the writer.
pub(crate) fn calls_of_no_read() -> impl Iterator<Item = &'static str> {
    let is_read = |meaning| {
        matches!(
            meaning,
            Meaning::Pure | Meaning::Schema | Meaning::Keyword | Meaning::Unknown
        )
    };
    let entries = TABLE.iter().filter(move |entry| !is_read(entry.meaning));
    entries.map(|entry| entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        let names = || TABLE.iter().map(|entry| entry.name);
        assert!(names().zip(names().skip(1)).all(|(one, next)| one < next));
        assert!(names().all(|name| name.len() <= LONGEST));
        assert!(
            TABLE
                .iter()
                .all(|entry| entry.only_adjacent.are_in(entry.built_in))
        );
    }

    #[test]
    fn a_function_is_built_in_only_where_every_server_has_it() {
        let called = |text: &str, servers| {
            let mode = LexMode {
                servers,
                ..LexMode::default()
            };
            let at = text.find('(').unwrap();
            let place = Place {
                adjacent: !text[..at].ends_with(' '),
                before: None,
                rest: &text.as_bytes()[at + 1..],
            };
            call_of(text[..at].trim().as_bytes(), place, mode).is_some_and(|call| call.is_built_in)
        };
        let (mariadb, mysql) = (Servers::MARIADB_10_11, Servers::MYSQL_9_6);
        for (text, expected) in [
            ("abs(1)", [true, true, true]),
            ("rank()", [true, true, true]),
            ("rank ()", [false, true, false]),
            ("count (1)", [false, false, false]),
            ("sysdate ()", [true, false, false]),
            ("any_value(a)", [false, true, false]),
            ("md5(a)", [true, false, false]),
            ("nvl(a, b)", [true, false, false]),
            ("point(1, 2)", [true, true, true]),
            ("point( )", [false, true, false]),
            ("point((1), f(2, 3), 4)", [false, true, false]),
            ("linestring(point(1, 2))", [true, true, true]),
            (
                "json_table(a, '$[*]' COLUMNS (b INT PATH '$.b'))",
                [true, true, true],
            ),
            ("json_table(a, '$')", [false, true, false]),
            ("my_function(a)", [false, false, false]),
        ] {
            let found = [mariadb, mysql, mariadb | mysql].map(|servers| called(text, servers));
            assert_eq!(found, expected, "{text}");
        }
    }
}
