//! SQLite's errors as MySQL's numbers, with SQLite's message where MySQL has none of its own.

use rusqlite::{Error, ErrorCode, ffi};
use shardwright_wire::{MysqlError, errors};

/// What a statement may not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// The table is in another schema than the current one.
    Table(String),
    /// ATTACH, PRAGMA and their kind.
    Statement,
}

/// The error of a statement, or of what was refused while it was prepared.
pub(super) fn statement(error: &Error, refused: Option<&Refused>, schema: Option<&str>) -> MysqlError {
    match (refused, schema) {
        (Some(Refused::Statement), _) => {
            return errors::NOT_ALLOWED_COMMAND.with("The used command is not allowed");
        }
        (Some(Refused::Table(_)), None) => return errors::NO_DB.with("No database selected"),
        (Some(Refused::Table(table)), Some(schema)) => return table_not_found(table, Some(schema)),
        (None, _) => {}
    }
    match error {
        Error::SqliteFailure(code, message) => failure(*code, message.as_deref().unwrap_or_default(), schema),
        Error::SqlInputError { error, msg, .. } => failure(*error, msg, schema),
        Error::MultipleStatement => syntax("several statements in one query"),
        Error::InvalidParameterCount(got, needed) => {
            errors::UNKNOWN.with(format_args!("{got} values for {needed} parameters"))
        }
        other => errors::UNKNOWN.with(other),
    }
}

/// The error of opening a database.
pub(super) fn open(error: &Error) -> MysqlError {
    errors::UNKNOWN.with(error)
}

/// Error 1064.
pub(super) fn syntax(message: &str) -> MysqlError {
    errors::PARSE.with(format_args!("You have an error in your SQL syntax: {message}"))
}

fn failure(error: ffi::Error, message: &str, schema: Option<&str>) -> MysqlError {
    match error.code {
        ErrorCode::ConstraintViolation => return constraint(error.extended_code, message),
        // The transaction has read what another has changed since, and now wants to write.
        ErrorCode::DatabaseBusy if error.extended_code == ffi::SQLITE_BUSY_SNAPSHOT => {
            return errors::LOCK_DEADLOCK
                .with("Deadlock found when trying to get lock; try restarting transaction");
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            return errors::LOCK_WAIT_TIMEOUT.with("Lock wait timeout exceeded; try restarting transaction");
        }
        ErrorCode::OperationInterrupted => {
            return errors::QUERY_INTERRUPTED.with("Query execution was interrupted");
        }
        ErrorCode::ReadOnly => return errors::OPTION_PREVENTS_STATEMENT.with("The database is read-only"),
        _ => {}
    }
    by_message(message, schema).unwrap_or_else(|| {
        let message = if message.is_empty() {
            error.to_string()
        } else {
            message.to_owned()
        };
        errors::UNKNOWN.with(message)
    })
}

fn by_message(message: &str, schema: Option<&str>) -> Option<MysqlError> {
    let after = |start: &str| message.strip_prefix(start);
    if let Some(table) = after("no such table: ") {
        return Some(table_not_found(table, schema));
    }
    if let Some(column) =
        after("no such column: ").or_else(|| message.split_once(" has no column named ").map(|(_, c)| c))
    {
        return Some(errors::BAD_FIELD.with(format_args!("Unknown column '{column}' in 'field list'")));
    }
    if let Some(column) = after("ambiguous column name: ") {
        let message = format!("Column '{column}' in field list is ambiguous");
        return Some(errors::NON_UNIQ.with(message));
    }
    if let Some(function) = after("no such function: ") {
        let message = format!("FUNCTION {function} does not exist");
        return Some(errors::SP_DOES_NOT_EXIST.with(message));
    }
    if let Some(table) = after("table ").and_then(|rest| rest.strip_suffix(" already exists")) {
        return Some(errors::TABLE_EXISTS.with(format_args!(
            "Table '{}' already exists",
            table.trim_matches(['`', '"'])
        )));
    }
    if let Some(database) = after("unknown database ") {
        return Some(unknown_schema(database.trim_matches('"')));
    }
    let is_count = (message.contains(" columns but ") && message.ends_with(" values were supplied"))
        || message.contains(" values for ") && message.ends_with(" columns");
    if is_count {
        return Some(errors::WRONG_VALUE_COUNT.with("Column count doesn't match value count at row 1"));
    }
    let is_syntax = message.ends_with("syntax error")
        || message == "incomplete input"
        || message.starts_with("unrecognized token");
    is_syntax.then(|| syntax(message))
}

/// Error 1146.
pub(super) fn no_such_table(schema: &str, table: &str) -> MysqlError {
    errors::NO_SUCH_TABLE.with(format_args!("Table '{schema}.{table}' doesn't exist"))
}

/// Error 1049.
pub(super) fn unknown_schema(name: &str) -> MysqlError {
    errors::BAD_DB.with(format_args!("Unknown database '{name}'"))
}

fn table_not_found(table: &str, schema: Option<&str>) -> MysqlError {
    match (table.contains('.'), schema) {
        (false, Some(schema)) => no_such_table(schema, table),
        (false, None) => errors::NO_DB.with("No database selected"),
        (true, _) => errors::NO_SUCH_TABLE.with(format_args!("Table '{table}' doesn't exist")),
    }
}

fn constraint(extended: i32, message: &str) -> MysqlError {
    let column = message.rsplit_once(": ").map_or(message, |(_, column)| column);
    match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            errors::DUP_ENTRY.with(format_args!("Duplicate entry for key '{column}'"))
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            errors::BAD_NULL.with(format_args!("Column '{column}' cannot be null"))
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
            errors::NO_REFERENCED_ROW.with("Cannot add or update a child row: a foreign key constraint fails")
        }
        _ => errors::CONSTRAINT_FAILED.with(message),
    }
}
