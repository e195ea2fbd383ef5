//! A connection to the admin port: rows read with their types, and statements run.

use std::collections::BTreeMap;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Value as Wire};
use serde_json::Value;
use shardwright_plan::Facts;
use shardwright_secrets::Secret;
use thiserror::Error;

use super::row::{Row, RowName, TableName};
use super::statements::conditions;
use crate::admin::{AdminAddress, Timeouts, open, reason, reason_within};

/// Which of the places that hold a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Edited by SQL.
    Memory,
    /// What runs, as the engine prints it.
    Runtime,
    /// What a restart begins with.
    Disk,
}

impl Layer {
    /// The table in this layer, as SQL names it.
    pub(super) fn of(self, table: TableName) -> String {
        match self {
            Self::Memory => table.to_string(),
            Self::Runtime => format!("runtime_{table}"),
            Self::Disk => format!("disk.{table}"),
        }
    }
}

/// Why the admin port did not do something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// It answered with an error: what was asked is not done.
    #[error("{0}")]
    Refused(String),
    /// No answer came: what was asked may be done, or be done later.
    #[error("{0}")]
    Lost(String),
    /// A row holds what cannot be read without changing it.
    #[error("{row}: {column} {reason}; set it right by hand")]
    Unreadable {
        /// The row.
        row: String,
        /// The column.
        column: &'static str,
        /// What it holds.
        reason: &'static str,
    },
}

/// A row of a table, and whether it is within what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its columns.
    pub row: Row,
    /// Whether the condition holds for it.
    pub is_ours: bool,
}

/// The rows of one table.
pub(super) fn of_table(
    rows: &BTreeMap<RowName, Found>,
    table: TableName,
) -> impl Iterator<Item = (&RowName, &Found)> {
    let first = RowName {
        table,
        key: Vec::new(),
    };
    let rows = rows.range(first..);
    rows.take_while(move |(name, _)| name.table == table)
}

/// A connection to the admin port of a ProxySQL.
#[derive(Debug)]
pub struct AdminSession {
    connection: Conn,
    /// How long an answer may take.
    answer: Duration,
}

impl AdminSession {
    /// Connects.
    ///
    /// # Errors
    /// [`SessionError::Lost`] with the reason.
    pub fn open(
        address: &AdminAddress,
        user: &str,
        password: &Secret,
        timeouts: Timeouts,
    ) -> Result<Self, SessionError> {
        Self::try_open(address, user, password, timeouts)
            .map_err(|error| SessionError::Lost(format!("cannot connect: {}", reason(&error))))
    }

    /// The same with the driver's error, which tells a refusal from a ProxySQL that is not there.
    pub(super) fn try_open(
        address: &AdminAddress,
        user: &str,
        password: &Secret,
        timeouts: Timeouts,
    ) -> mysql::Result<Self> {
        let connection = open(address, user, password, None, timeouts)?;
        Ok(Self {
            connection,
            answer: timeouts.answer,
        })
    }

    /// Runs a statement that has no rows; how many rows it changed.
    ///
    /// # Errors
    /// [`SessionError`] in the engine's words, which never hold the statement.
    pub fn run(&mut self, statement: &str) -> Result<u64, SessionError> {
        match self.connection.query_drop(statement) {
            Ok(()) => Ok(self.connection.affected_rows()),
            Err(error) => Err(failure(&error, self.answer)),
        }
    }

    /// Rows of texts.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn texts(&mut self, query: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        let rows = self.connection.query(query);
        let rows: Vec<mysql::Row> = rows.map_err(|error| failure(&error, self.answer))?;
        let text = |value: Wire| match value {
            Wire::NULL => None,
            Wire::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            other => Some(other.as_sql(true)),
        };
        let texts = rows
            .into_iter()
            .map(|row| row.unwrap().into_iter().map(text).collect());
        Ok(texts.collect())
    }

    /// Every row of a table with the types that SQLite has for its values, by key. `condition` is of SQLite and says
    /// which rows are ours; without one, all are.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn rows(
        &mut self,
        table: TableName,
        layer: Layer,
        condition: Option<&str>,
    ) -> Result<BTreeMap<RowName, Found>, SessionError> {
        let query = format!(
            "SELECT {}, CASE WHEN {} THEN 1 ELSE 0 END FROM {}",
            literals(table),
            condition.unwrap_or("1"),
            layer.of(table)
        );
        let mut found = BTreeMap::new();
        self.each(&query, |mut values| {
            let is_ours = matches!(values.pop(), Some(Wire::Bytes(bytes)) if bytes == b"1");
            let row = read(table, &values)?;
            found.insert(RowName::of(table, &row.facts), Found { row, is_ours });
            Ok(())
        })?;
        Ok(found)
    }

    /// The rows of these names, all of one table, with their types; those that are not there are absent.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn rows_of(
        &mut self,
        table: TableName,
        layer: Layer,
        names: &[&RowName],
    ) -> Result<BTreeMap<RowName, Row>, SessionError> {
        let mut found = BTreeMap::new();
        for condition in conditions(table, names) {
            found.extend(self.rows_where(table, layer, &condition)?);
        }
        Ok(found)
    }

    /// The rows for which a condition of SQLite holds, with their types.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn rows_where(
        &mut self,
        table: TableName,
        layer: Layer,
        condition: &str,
    ) -> Result<BTreeMap<RowName, Row>, SessionError> {
        let query = format!(
            "SELECT {} FROM {} WHERE {condition}",
            literals(table),
            layer.of(table)
        );
        let mut found = BTreeMap::new();
        self.each(&query, |values| {
            let row = read(table, &values)?;
            found.insert(RowName::of(table, &row.facts), row);
            Ok(())
        })?;
        Ok(found)
    }

    /// The rows of a query, as the protocol has them.
    pub(super) fn values(&mut self, query: &str) -> Result<Vec<Vec<Wire>>, SessionError> {
        let mut rows = Vec::new();
        self.each(query, |values| {
            rows.push(values);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Hands on the rows of a query one by one, so that a table is not held twice.
    fn each(
        &mut self,
        query: &str,
        mut take: impl FnMut(Vec<Wire>) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let failed = |error: mysql::Error| failure(&error, self.answer);
        let rows = self.connection.query_iter(query).map_err(failed)?;
        for row in rows {
            take(row.map_err(failed)?.unwrap())?;
        }
        Ok(())
    }
}

/// The columns of a table, each written by `quote` as the literal that it is: the protocol alone would make texts of all of
/// them.
pub(super) fn literals(table: TableName) -> String {
    let columns = table.definition().columns.iter();
    let quoted: Vec<String> = columns.map(|column| format!("quote({})", column.name)).collect();
    quoted.join(", ")
}

fn failure(error: &mysql::Error, answer: Duration) -> SessionError {
    match error {
        mysql::Error::MySqlError(refusal) => {
            let message = crate::admin::printable(&refusal.message);
            let message = message.strip_prefix("ProxySQL Admin Error: ").unwrap_or(&message);
            SessionError::Refused(message.to_owned())
        }
        other => SessionError::Lost(reason_within(other, answer)),
    }
}

/// The row of values that [`literals`] has asked for.
pub(super) fn read(table: TableName, values: &[Wire]) -> Result<Row, SessionError> {
    let mut facts = Facts::new();
    for (column, value) in table.definition().columns.iter().zip(values) {
        let Wire::Bytes(literal) = value else { continue };
        match value_of(literal) {
            Ok(Value::Null) => {}
            Ok(value) => {
                facts.insert(column.name.to_owned(), value);
            }
            Err(reason) => {
                return Err(SessionError::Unreadable {
                    row: RowName::of(table, &facts).to_string(),
                    column: column.name,
                    reason,
                });
            }
        }
    }
    let secret = table
        .secret_column(&facts)
        .and_then(|column| facts.shift_remove(column));
    let secret = secret.map(|value| match value {
        Value::String(text) => Secret::new(text),
        other => Secret::new(other.to_string()),
    });
    Ok(Row { facts, secret })
}

/// The value of a literal that SQLite has written.
fn value_of(literal: &[u8]) -> Result<Value, &'static str> {
    match literal {
        b"NULL" => Ok(Value::Null),
        [b'\'', text @ .., b'\''] => match std::str::from_utf8(text) {
            Ok(text) => Ok(Value::String(text.replace("''", "'"))),
            Err(_) => Err("holds bytes that are no UTF-8"),
        },
        number => {
            let text = std::str::from_utf8(number).map_err(|_| "holds bytes that are no UTF-8")?;
            let whole = text.parse::<i64>().map(Value::from);
            let number = whole.or_else(|_| text.parse::<f64>().map(Value::from));
            // A number without end becomes null.
            match number {
                Ok(Value::Null) | Err(_) => Err("holds neither a number nor a text"),
                Ok(number) => Ok(number),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_have_types() {
        for (literal, expected) in [
            (&b"NULL"[..], Ok(Value::Null)),
            (b"-3", Ok(json!(-3))),
            (b"1.5", Ok(json!(1.5))),
            (b"'5'", Ok(json!("5"))),
            (b"'don''t \\ '", Ok(json!("don't \\ "))),
            (b"''", Ok(json!(""))),
            (b"'\xff'", Err("holds bytes that are no UTF-8")),
            (b"X'00'", Err("holds neither a number nor a text")),
            (b"9.0e+999", Err("holds neither a number nor a text")),
        ] {
            assert_eq!(
                value_of(literal),
                expected,
                "{}",
                String::from_utf8_lossy(literal)
            );
        }
    }
}
