//! Logs that people have: exports of `stats_mysql_query_digest`, MySQL's general and slow log, and lists of statements.

mod digests;
mod general;
mod header;
mod lines;
mod prepared;
mod schemas;
mod slow;
mod verbs;

use std::io::BufRead;

use thiserror::Error;

use super::{Record, Recorded, Schema};
use lines::Lines;
use verbs::Begins;

/// The longest statement of a record, in bytes; a longer one is passed over and counted.
const MAX_STATEMENT_BYTES: usize = 64 << 20;

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows of `stats_mysql_query_digest` with a line of column names, separated by commas or tabs.
    Digests,
    /// The same as INSERT statements.
    DigestDump,
    /// The general log of MySQL or MariaDB.
    General,
    /// The slow log of MySQL or MariaDB.
    Slow,
    /// One statement on each line.
    Queries,
}

impl Format {
    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Digests => "export of stats_mysql_query_digest",
            Format::DigestDump => "dump of stats_mysql_query_digest",
            Format::General => "general log",
            Format::Slow => "slow log",
            Format::Queries => "list of statements",
        }
    }
}

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// An export without the columns that are needed.
    #[error("the export has no column {0}")]
    NoColumn(&'static str),
    /// An export that is no table.
    #[error("line {line}: {reason}")]
    Row {
        /// From 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

/// What was passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Lines or rows that do not fit the format.
    pub lines: u64,
    /// Statements longer than 64 MiB.
    pub too_long: u64,
}

/// What a log is, by its beginning.
#[must_use]
pub fn detect(beginning: &[u8]) -> Format {
    let text = String::from_utf8_lossy(beginning);
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let lower = first.to_ascii_lowercase();
    if lower.contains("digest_text") && !lower.starts_with("insert") && !lower.starts_with("select") {
        return Format::Digests;
    }
    let mut lines = text.lines().take(200);
    if lines
        .clone()
        .any(|line| line.starts_with("# User@Host:") || line.starts_with("# Query_time:"))
    {
        return Format::Slow;
    }
    if text.contains("stats_mysql_query_digest") && text.to_ascii_uppercase().contains("INSERT INTO") {
        return Format::DigestDump;
    }
    if lines.any(|line| general::header(line.as_bytes()).is_some()) {
        return Format::General;
    }
    Format::Queries
}

/// Reads a log to its end and calls back with each record.
///
/// # Errors
/// When the source fails, or an export has not the columns that are needed.
pub fn read(
    source: impl BufRead,
    format: Format,
    mut each: impl FnMut(&Record<'_>),
) -> Result<Unread, ReadError> {
    match format {
        Format::Digests => digests::table(source, &mut each),
        Format::DigestDump => digests::dump(source, &mut each),
        Format::General => general::read(Lines::new(source), &mut each),
        Format::Slow => slow::read(Lines::new(source), &mut each),
        Format::Queries => queries(Lines::new(source), &mut each),
    }
}

fn queries(mut lines: Lines<impl BufRead>, each: &mut dyn FnMut(&Record<'_>)) -> Result<Unread, ReadError> {
    let mut others = 0;
    while let Some(line) = lines.next()? {
        let text = without_end(line);
        match verbs::begins(text) {
            Begins::Statement => each(&statement(text)),
            Begins::Other => others += 1,
            Begins::Nothing => {}
        }
    }
    Ok(lines.unread(others))
}

/// A statement of which nothing else is known.
fn statement(text: &[u8]) -> Record<'_> {
    Record {
        user: None,
        schema: Schema::NotRecorded,
        client: None,
        text,
        kind: Recorded::Statement,
        count: 1,
    }
}

/// A statement without the semicolon and the blanks at its end. Blanks in front are the client's: `^SELECT` does not match
/// behind them.
fn without_end(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    text.strip_suffix(b";").map_or(text, |text| text.trim_ascii_end())
}

#[cfg(test)]
mod tests;
