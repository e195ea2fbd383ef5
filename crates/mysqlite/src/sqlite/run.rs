//! Running a statement on SQLite: translated, held to its schemas, its rows on their way as they come.

use rusqlite::Statement;
use rusqlite::types::ValueRef;
use shardwright_wire::{ColumnDefinition, ColumnType, MysqlError, errors};

use super::errors as sqlite_errors;
use super::lexer::{Token, TokenKind};
use super::names::INFORMATION_SCHEMA;
use super::session::SqliteSession;
use super::translate::{Translated, translate};
use crate::answer::{Answer, Cell, Completion, RowSink, Table, Value};

/// Columns of a result.
const MAX_COLUMNS: usize = 2_000;

impl SqliteSession {
    /// Runs a statement on SQLite.
    pub(super) fn run(
        &mut self,
        keyword: &str,
        tokens: &[Token<'_>],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        // Statements that define things end the transaction (MySQL Reference Manual 15.3.3, implicit commit).
        let defines = matches!(keyword, "CREATE" | "DROP" | "ALTER")
            && !tokens.iter().any(|token| token.is_word("TEMPORARY"));
        if defines {
            self.end("COMMIT")?;
        } else if !self.state.lock().variables.autocommit() {
            self.begin_if_none()?;
        }
        let translated = self.translate(tokens)?;
        let mut statement = self.statement(&translated)?;
        if statement.parameter_count() != values.len() {
            return Err(sqlite_errors::syntax("a parameter without a value"));
        }
        for (at, value) in values.iter().enumerate() {
            statement
                .raw_bind_parameter(at + 1, value)
                .map_err(|error| self.failure(&error))?;
        }
        if statement.column_count() > 0 {
            let answer = send(&mut statement, &translated, rows, |error| self.failure(error));
            self.state.lock().row_count = -1;
            return answer;
        }
        let changed = statement.raw_execute().map_err(|error| self.failure(&error))?;
        let changes_rows = matches!(keyword, "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH");
        let affected_rows = if changes_rows { changed as u64 } else { 0 };
        let last_insert_id = if matches!(keyword, "INSERT" | "REPLACE") && affected_rows > 0 {
            // MySQL tells the first key of several.
            self.connection
                .last_insert_rowid()
                .saturating_sub(changed as i64 - 1)
        } else {
            0
        };
        let mut state = self.state.lock();
        state.row_count = affected_rows as i64;
        if last_insert_id != 0 {
            state.last_insert_id = last_insert_id;
        }
        let last_insert_id = u64::try_from(last_insert_id).unwrap_or(0);
        Ok(Answer::Ok(Completion {
            affected_rows,
            last_insert_id,
            ..Completion::default()
        }))
    }

    /// Translates a statement, attaches the schemas that it names and holds it to them.
    pub(super) fn translate(&mut self, tokens: &[Token<'_>]) -> Result<Translated, MysqlError> {
        let translated = translate(tokens, self.schema.as_deref())?;
        let mut databases: Vec<String> = self.schema.clone().into_iter().collect();
        for qualifier in &translated.qualifiers {
            if let Some(schema) = self.catalog.get(qualifier)
                && !databases.contains(&schema.name)
            {
                databases.push(schema.name);
            }
        }
        let is_information = |name: &String| name.eq_ignore_ascii_case(INFORMATION_SCHEMA);
        if translated.qualifiers.iter().any(is_information) {
            databases.push(INFORMATION_SCHEMA.to_owned());
            self.fill_information_schema(&databases)?;
        }
        for name in &databases {
            self.attach(name, &databases)?;
        }
        let mut access = self.access.lock();
        access.databases = databases;
        access.refused = None;
        Ok(translated)
    }

    pub(super) fn statement(&self, translated: &Translated) -> Result<Statement<'_>, MysqlError> {
        let statement = self
            .connection
            .prepare(&translated.sql)
            .map_err(|error| self.failure(&error))?;
        if statement.column_count() > MAX_COLUMNS {
            return Err(errors::TOO_MANY_FIELDS.with("Too many columns"));
        }
        Ok(statement)
    }

    pub(super) fn internal(&self, sql: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        // Table-valued pragmas run statements of their own while they are stepped through.
        self.access.internally(|| {
            let mut statement = self
                .connection
                .prepare(sql)
                .map_err(|error| self.failure(&error))?;
            send(&mut statement, &Translated::default(), rows, |error| {
                self.failure(error)
            })
        })
    }

    pub(super) fn internal_table(&self, sql: &str) -> Result<Table, MysqlError> {
        let mut table = Table::default();
        self.internal(sql, &mut table)?;
        Ok(table)
    }

    pub(super) fn evaluate(&mut self, expression: &[Token<'_>]) -> Result<Value, MysqlError> {
        let mut table = Table::default();
        self.run("SELECT", &with_keyword("SELECT", expression), &[], &mut table)?;
        Ok(table
            .rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .unwrap_or(Value::Null))
    }
}

/// Steps through a statement and puts its rows into the sink.
pub(super) fn send(
    statement: &mut Statement<'_>,
    translated: &Translated,
    sink: &mut dyn RowSink,
    failure: impl Fn(&rusqlite::Error) -> MysqlError,
) -> Result<Answer, MysqlError> {
    let without_rows = definitions(statement, translated, None);
    let width = without_rows.len();
    let mut rows = statement.raw_query();
    let mut has_begun = false;
    while let Some(row) = rows.next().map_err(|error| failure(&error))? {
        let cells: Vec<Cell<'_>> = (0..width)
            .map(|at| row.get_ref(at).map(cell))
            .collect::<rusqlite::Result<_>>()
            .map_err(|error| failure(&error))?;
        if !has_begun {
            sink.columns(&definitions(row.as_ref(), translated, Some(&cells)))?;
            has_begun = true;
        }
        sink.row(&cells)?;
    }
    if !has_begun {
        sink.columns(&without_rows)?;
    }
    Ok(Answer::Rows { warnings: 0 })
}

/// Columns by what they are declared as, or else by the values of the first row.
pub(super) fn definitions(
    statement: &Statement<'_>,
    translated: &Translated,
    first: Option<&[Cell<'_>]>,
) -> Vec<ColumnDefinition> {
    let columns = statement.columns();
    columns
        .enumerate()
        .map(|(at, column)| {
            let kind = match (column.decl_type(), first.and_then(|cells| cells.get(at))) {
                (Some(kind), _) => declared(kind),
                (None, Some(Cell::Int(_))) => ColumnType::MYSQL_TYPE_LONGLONG,
                (None, Some(Cell::Real(_))) => ColumnType::MYSQL_TYPE_DOUBLE,
                (None, Some(Cell::Bytes(_))) => ColumnType::MYSQL_TYPE_BLOB,
                (None, _) => ColumnType::MYSQL_TYPE_VAR_STRING,
            };
            ColumnDefinition::new(translated.column_name(column.name()), kind)
        })
        .collect()
}

/// MySQL's type for a declared one, by SQLite's rules of affinity (sqlite.org/datatype3.html §3.1).
pub(super) fn declared(kind: &str) -> ColumnType {
    let kind = kind.to_ascii_uppercase();
    let has = |part: &str| kind.contains(part);
    if has("INT") && !has("POINT") {
        ColumnType::MYSQL_TYPE_LONGLONG
    } else if has("BLOB") || has("BINARY") {
        ColumnType::MYSQL_TYPE_BLOB
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        ColumnType::MYSQL_TYPE_DOUBLE
    } else {
        ColumnType::MYSQL_TYPE_VAR_STRING
    }
}

fn cell(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(bytes) => Cell::Text(bytes),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes),
    }
}

pub(super) fn with_keyword<'a>(keyword: &'static str, rest: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut tokens = vec![Token {
        kind: TokenKind::Word,
        text: keyword,
    }];
    tokens.extend_from_slice(rest);
    tokens
}
