//! The tables in memory, and which statement of the file each row came from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{Action, AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql};
use shardwright_diagnostics::Span;
use shardwright_rules::tables::{self, GLOBAL_VARIABLES, TABLES, Table};
use thiserror::Error;

/// The longest statement and the longest text that a row may hold, in bytes.
const MAX_STATEMENT_BYTES: i32 = 64 << 20;
/// How much work one statement may be, in thousands of virtual machine instructions: enough to insert half a million rows.
const MAX_WORK: u32 = 50_000;

/// Why a statement did not run; the reason is SQLite's.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => Self(message),
            rusqlite::Error::SqlInputError { msg, .. } => Self(msg),
            other => Self(other.to_string()),
        }
    }
}

/// A row that a statement wrote.
type Written = (Action, String, i64);

/// ProxySQL's tables, empty at first.
pub(crate) struct Store {
    connection: Connection,
    written: Arc<Mutex<Vec<Written>>>,
    work: Arc<Mutex<u32>>,
    /// Where each row came from, by table and rowid.
    places: HashMap<(&'static str, i64), Span>,
}

/// A row as it stands in the end.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its table.
    pub(crate) table: &'static Table,
    /// Where it came from.
    pub(crate) place: Option<Span>,
    /// In the order of the table.
    pub(crate) cells: Vec<Value>,
}

/// What holds the rows of ProxySQL's tables.
pub(crate) trait Tables {
    /// The rows of a table, in the order in which they came.
    fn rows(&self, table: &'static str) -> Result<Vec<Row>, Refused>;
}

impl Row {
    /// The value of a column.
    pub(crate) fn cell(&self, column: &str) -> &Value {
        let at = self.table.columns.iter().position(|known| known.name == column);
        &self.cells[at.expect("the columns that are asked for are the table's; a test asks for each")]
    }
}

impl Store {
    pub(crate) fn open() -> Result<Self, Refused> {
        let mut connection = Connection::open_in_memory()?;
        for table in TABLES {
            connection.execute_batch(&definition(table))?;
        }
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_STATEMENT_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, 200)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.authorizer(Some(authorize))?;
        let work = Arc::new(Mutex::new(0_u32));
        let counted = Arc::clone(&work);
        connection.progress_handler(
            1000,
            Some(move || {
                let mut work = counted.lock().unwrap_or_else(PoisonError::into_inner);
                *work += 1;
                *work > MAX_WORK
            }),
        )?;
        let written = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&written);
        connection.update_hook(Some(move |action, _: &str, table: &str, row| {
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((action, table.to_owned(), row));
        }))?;
        Ok(Self {
            connection,
            written,
            work,
            places: HashMap::new(),
        })
    }

    /// Gives a table a column of another version, which is written and never read.
    pub(crate) fn add_column(&mut self, table: &Table, column: &str) -> Result<(), Refused> {
        let name = column.replace('"', "\"\"");
        self.connection
            .authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        let added = self
            .connection
            .execute_batch(&format!("ALTER TABLE {} ADD COLUMN \"{name}\"", table.name));
        self.connection.authorizer(Some(authorize))?;
        Ok(added?)
    }

    /// Runs one statement. Rows that it inserts came from `rows`, one for each in order where there are as many, else
    /// from `whole`; rows that it changes stay where they came from. Returns how many rows it wrote.
    pub(crate) fn run(
        &mut self,
        sql: &str,
        values: &[&dyn ToSql],
        whole: Span,
        rows: &[Span],
    ) -> Result<usize, Refused> {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        let outcome = self
            .connection
            .prepare(sql)
            .and_then(|mut statement| statement.execute(values));
        let written = std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        let count = outcome?;
        let inserted = written
            .iter()
            .filter(|(action, ..)| *action == Action::SQLITE_INSERT);
        let each = inserted.clone().count() == rows.len();
        for (at, (_, table, row)) in inserted.enumerate() {
            if let Some(table) = tables::table(table) {
                let place = if each { rows[at] } else { whole };
                self.places.insert((table.name, *row), place);
            }
        }
        Ok(count)
    }
}

impl Tables for Store {
    fn rows(&self, table: &'static str) -> Result<Vec<Row>, Refused> {
        let table =
            tables::table(table).expect("the tables that are asked for are known; a test asks for each");
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let query = format!(
            "SELECT rowid, {} FROM {} ORDER BY rowid",
            columns.join(", "),
            table.name
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map([], |found| {
            let cells = (1..=columns.len())
                .map(|at| found.get(at))
                .collect::<Result<_, _>>()?;
            Ok((found.get::<_, i64>(0)?, cells))
        })?;
        rows.map(|row| {
            let (rowid, cells) = row?;
            Ok(Row {
                table,
                place: self.places.get(&(table.name, rowid)).copied(),
                cells,
            })
        })
        .collect()
    }
}

/// The statement that makes a table. The engine has every variable from the start; here a name without a value stands for
/// one that no statement has set.
fn definition(table: &Table) -> String {
    if *table == GLOBAL_VARIABLES {
        return "CREATE TABLE global_variables (variable_name VARCHAR NOT NULL PRIMARY KEY, variable_value VARCHAR)"
            .to_owned();
    }
    table.definition()
}

/// A statement may read and write rows of the tables, and nothing else.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. } => match tables::table(table_name) {
            Some(_) => Authorization::Allow,
            None if table_name == "sqlite_sequence" => Authorization::Allow,
            None => Authorization::Deny,
        },
        AuthAction::Read { .. } | AuthAction::Select | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_column_can_be_asked_for() {
        let store = Store::open().unwrap();
        for table in TABLES {
            assert!(store.rows(table.name).unwrap().is_empty());
        }
    }
}
