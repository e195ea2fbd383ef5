//! Rows of the engine's tables as the mysql client prints them: `mysql -B`, separated by tabs, or `mysql -t`, in boxes.
//!
//! A line that holds nothing but names of one table's columns begins a result; the lines behind it are its rows, until
//! the next such line. Which table it is follows from the names.

use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span};
use shardwright_rules::tables::{Column, TABLES, Table};

use crate::Ran;
use crate::codes::{REFUSED, SYNTAX, UNMODELLED};
use crate::store::Store;

/// Columns that a message names.
const MOST_NAMED: usize = 8;
/// Columns that make a line the head of a result.
const LEAST_COLUMNS: usize = 2;

/// Whether the first line that is not empty is the head of a result.
pub(crate) fn is_one(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let first = lines.find(|line| !line.trim().is_empty() && !is_rule(line));
    first.is_some_and(|line| head(&cells(line)).is_some())
}

/// The line between the rows of a box.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("+-") && line.bytes().all(|byte| matches!(byte, b'+' | b'-'))
}

/// The cells of a line, as they are printed.
fn cells(line: &str) -> Vec<&str> {
    match line
        .trim()
        .strip_prefix('|')
        .and_then(|line| line.strip_suffix('|'))
    {
        Some(inner) => inner.split(" |").map(str::trim).collect(),
        None => line.trim_end_matches('\r').split('\t').collect(),
    }
}

/// The table and the places of its columns in a line of names; other names are passed over.
fn head(names: &[&str]) -> Option<(&'static Table, Vec<(usize, &'static str)>)> {
    let of = |table: &'static Table| {
        let places = names.iter().enumerate();
        let known: Vec<(usize, &'static str)> = places
            .filter_map(|(at, name)| Some((at, table.column(name.trim())?.name)))
            .collect();
        (table, known)
    };
    let is_name = |name: &&str| {
        let mut letters = name.trim().chars();
        letters.next().is_some_and(char::is_alphabetic)
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if names.len() < LEAST_COLUMNS || !names.iter().all(is_name) {
        return None;
    }
    let (table, known) = TABLES
        .iter()
        .copied()
        .map(of)
        .max_by_key(|(_, known)| known.len())?;
    // `hits` stands beside the columns of a statistic: most names have to be the table's.
    (known.len() >= LEAST_COLUMNS && known.len() * 2 > names.len()).then_some((table, known))
}

/// Fills the tables with the rows of a file.
pub(crate) fn run(text: &str, file: FileId, store: &mut Store, problems: &mut Problems) -> Ran {
    let mut ran = Ran::default();
    let mut current: Option<(&'static Table, Vec<(usize, &'static str)>)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span::new(file, offset(start), offset(start + content.len()));
        start += line.len();
        let bare = content.trim_start_matches('\u{feff}');
        if bare.trim().is_empty() || is_rule(bare) || is_count(bare) {
            continue;
        }
        let cells = cells(bare);
        if let Some(found) = head(&cells) {
            absent(&found, span, &mut ran, problems);
            current = Some(found);
            continue;
        }
        let Some((table, columns)) = &current else {
            problems.push(Diagnostic::error(SYNTAX, "a line that is no row of a table").at(span, ""));
            continue;
        };
        ran.layout.parts.push(span);
        if table.columns.iter().any(Column::is_secret) {
            ran.secrets.push(span);
        }
        if let Err(refused) = insert(store, table, columns, &cells, bare.contains('\t'), span) {
            problems.push(
                Diagnostic::error(REFUSED, format!("the engine refuses the row: {refused}")).at(span, ""),
            );
        }
    }
    ran
}

/// Columns of rules that the engine stores and never reads, or that say nothing about where a statement goes.
const IDLE: [&str; 6] = [
    "comment",
    "cache_timeout",
    "reconnect",
    "sticky_conn",
    "log",
    "attributes",
];

/// Notes the columns that decide and that a result does not show: nothing tells which values they have.
fn absent(
    (table, shown): &(&'static Table, Vec<(usize, &'static str)>),
    span: Span,
    ran: &mut Ran,
    problems: &mut Problems,
) {
    let decides = |column: &Column| match table.name {
        "mysql_query_rules" => !IDLE.contains(&column.name),
        "mysql_query_rules_fast_routing" => column.name != "comment",
        "mysql_users" => matches!(
            column.name,
            "default_hostgroup" | "default_schema" | "transaction_persistent" | "fast_forward"
        ),
        _ => false,
    };
    let is_shown = |column: &Column| shown.iter().any(|(_, name)| *name == column.name);
    let missing: Vec<&str> = table
        .columns
        .iter()
        .filter(|column| decides(column) && !is_shown(column))
        .map(|column| column.name)
        .collect();
    if missing.is_empty() {
        return;
    }
    let (first, rest) = missing.split_at(missing.len().min(MOST_NAMED));
    let more = if rest.is_empty() {
        String::new()
    } else {
        format!(" and {} more", rest.len())
    };
    let active = if missing.contains(&"active") {
        ", and each row for an active one"
    } else {
        ""
    };
    let what = format!(
        "the rows of {} are shown without {}{more}: each is taken for unset{active}",
        table.name,
        first.join(", ")
    );
    problems.push(
        Diagnostic::warning(UNMODELLED, what.clone())
            .at(span, "")
            .help("print all columns: SELECT * FROM runtime_mysql_query_rules"),
    );
    ran.unmodelled.push(what);
}

/// `3 rows in set (0.00 sec)`
fn is_count(line: &str) -> bool {
    line.contains(" in set") && line.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

fn insert(
    store: &mut Store,
    table: &Table,
    columns: &[(usize, &'static str)],
    cells: &[&str],
    escaped: bool,
    span: Span,
) -> Result<usize, String> {
    let last = columns.iter().map(|(at, _)| *at).max().unwrap_or(0);
    if cells.len() <= last {
        return Err(format!(
            "it has {} columns, and its header names more",
            cells.len()
        ));
    }
    let mut values: Vec<Option<String>> = columns
        .iter()
        .map(|(at, _)| match cells[*at] {
            "NULL" => None,
            text if escaped => Some(unescaped(text)),
            text => Some(text.to_owned()),
        })
        .collect();
    let mut names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
    if table.name == "mysql_query_rules" && !names.contains(&"active") {
        names.push("active");
        values.push(Some("1".to_owned()));
    }
    let marks: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({})",
        table.name,
        names.join(", "),
        marks.join(", ")
    );
    let values: Vec<&dyn rusqlite::ToSql> =
        values.iter().map(|value| value as &dyn rusqlite::ToSql).collect();
    store
        .run(&sql, &values, span, &[span])
        .map_err(|refused| refused.to_string())
}

/// What `mysql -B` prints for a tab, a line break, a NUL and a backslash.
fn unescaped(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            read.push(letter);
            continue;
        }
        match letters.next() {
            Some('t') => read.push('\t'),
            Some('n') => read.push('\n'),
            Some('0') => read.push('\0'),
            Some(other) => read.push(other),
            None => read.push('\\'),
        }
    }
    read
}
