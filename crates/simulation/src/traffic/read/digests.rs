//! Exports of `stats_mysql_query_digest`.

use std::io::{BufRead, Read};

use shardwright_sql::{LexMode, Lexer, Servers, Token, TokenKind};

use super::{ReadError, Record, Recorded, Schema, Unread};

/// The largest dump that is read, in bytes.
const MAX_DUMP_BYTES: u64 = 1 << 30;

/// The columns that are read, in the order of the engine's table where a dump names none.
const TABLE: [&str; 7] = [
    "hostgroup",
    "schemaname",
    "username",
    "client_address",
    "digest",
    "digest_text",
    "count_star",
];

/// Where the columns stand.
struct Columns {
    text: usize,
    count: usize,
    digest: Option<usize>,
    schema: Option<usize>,
    user: Option<usize>,
    client: Option<usize>,
}

impl Columns {
    fn of<'n>(names: impl Iterator<Item = &'n str>) -> Result<Self, ReadError> {
        let names: Vec<String> = names
            .map(|name| name.trim().trim_matches('`').to_ascii_lowercase())
            .collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        Ok(Self {
            text: find("digest_text").ok_or(ReadError::NoColumn("digest_text"))?,
            count: find("count_star").ok_or(ReadError::NoColumn("count_star"))?,
            digest: find("digest"),
            schema: find("schemaname"),
            user: find("username"),
            client: find("client_address"),
        })
    }

    /// Calls back with a row; false where it is none.
    fn tell(&self, row: &[String], each: &mut dyn FnMut(&Record<'_>)) -> bool {
        let cell = |at: Option<usize>| {
            let text = at.and_then(|at| row.get(at)).map(String::as_str);
            text.filter(|text| !text.is_empty())
        };
        let count = cell(Some(self.count)).and_then(|text| text.trim().parse().ok());
        let (Some(text), Some(count)) = (cell(Some(self.text)), count) else {
            return false;
        };
        let hash = cell(self.digest).and_then(|text| {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
            u64::from_str_radix(digits, 16).ok()
        });
        each(&Record {
            user: cell(self.user),
            schema: cell(self.schema).map_or(Schema::NotRecorded, Schema::Is),
            client: cell(self.client),
            text: text.as_bytes(),
            kind: Recorded::Digest(hash),
            count,
        });
        true
    }
}

/// Rows behind a line of names. With tabs, the `mysql` client's escapes; with commas, the quotes of RFC 4180.
pub(super) fn table(
    mut source: impl BufRead,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<Unread, ReadError> {
    let first = source.fill_buf()?.split(|byte| *byte == b'\n').next();
    let tabs = first.is_some_and(|line| line.contains(&b'\t'));
    let mut rows = csv::ReaderBuilder::new()
        .delimiter(if tabs { b'\t' } else { b',' })
        .quoting(!tabs)
        .flexible(true)
        .from_reader(source);
    let names: Vec<String> = rows
        .byte_headers()
        .map_err(failed)?
        .iter()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    let columns = Columns::of(names.iter().map(String::as_str))?;
    let mut unread = Unread::default();
    let mut record = csv::ByteRecord::new();
    while rows.read_byte_record(&mut record).map_err(failed)? {
        let cells: Vec<String> = record
            .iter()
            .map(|cell| {
                let cell = String::from_utf8_lossy(cell);
                if tabs { unescaped(&cell) } else { cell.into_owned() }
            })
            .collect();
        unread.lines += u64::from(!columns.tell(&cells, each));
    }
    Ok(unread)
}

fn failed(error: csv::Error) -> ReadError {
    let line = error.position().map_or(0, csv::Position::line);
    let reason = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => ReadError::Io(error),
        _ => ReadError::Row { line, reason },
    }
}

/// What the `mysql` client writes with a backslash.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('0') => out.push('\0'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// Where the reader of a dump is.
enum State {
    Outside,
    Table,
    Names,
    Values,
    Row,
}

/// `INSERT INTO stats_mysql_query_digest VALUES (…),(…);` with the literals of SQLite.
pub(super) fn dump(source: impl BufRead, each: &mut dyn FnMut(&Record<'_>)) -> Result<Unread, ReadError> {
    let mut text = Vec::new();
    source.take(MAX_DUMP_BYTES).read_to_end(&mut text)?;
    let mode = LexMode {
        ansi_quotes: false,
        no_backslash_escapes: true,
        servers: Servers::NONE,
    };
    let mut columns = Columns::of(TABLE.into_iter())?;
    let mut state = State::Outside;
    let (mut names, mut row): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut unread = Unread::default();
    for token in Lexer::new(&text, mode).significant() {
        match (&state, token.kind) {
            (_, TokenKind::Semicolon) => state = State::Outside,
            (State::Outside, _) if token.is_word(&text, "INSERT") || token.is_word(&text, "REPLACE") => {
                state = State::Table;
                names.clear();
            }
            (State::Table, TokenKind::LeftParen) => state = State::Names,
            (State::Names, TokenKind::RightParen) => {
                columns = Columns::of(names.iter().map(String::as_str))?;
                state = State::Table;
            }
            (State::Names, TokenKind::Word | TokenKind::QuotedName | TokenKind::String) => {
                names.push(value(&token, &text));
            }
            (State::Table, _) if token.is_word(&text, "VALUES") => state = State::Values,
            (State::Values, TokenKind::LeftParen) => {
                row.clear();
                state = State::Row;
            }
            (State::Row, TokenKind::RightParen) => {
                unread.lines += u64::from(!columns.tell(&row, each));
                state = State::Values;
            }
            (State::Row, TokenKind::Comma) => {}
            (State::Row, _) => row.push(value(&token, &text)),
            _ => {}
        }
    }
    Ok(unread)
}

fn value(token: &Token, text: &[u8]) -> String {
    let raw = String::from_utf8_lossy(token.span.of(text)).into_owned();
    let quote = match token.kind {
        TokenKind::String | TokenKind::QuotedName if token.terminated => raw.chars().next(),
        _ => None,
    };
    let inner = quote.and_then(|quote| {
        let inner = raw.get(1..raw.len().checked_sub(1)?)?;
        Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
    });
    inner.unwrap_or(raw)
}
