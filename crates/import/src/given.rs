//! Rows that were read from the tables of an engine: its own SQLite holds them, so nothing has to be run to know what they mean.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use serde_json::{Map, Value};
use shardwright_rules::tables::{self, Table};

use crate::store::{Refused, Row, Tables};

/// Columns by name; those that are NULL are absent.
type Columns = Map<String, Value>;

/// Rows by table.
pub(crate) struct Given<'r>(BTreeMap<&'static str, Vec<&'r Columns>>);

impl<'r> Given<'r> {
    pub(crate) fn of(rows: impl IntoIterator<Item = (&'static Table, &'r Columns)>) -> Self {
        let mut by_table: BTreeMap<&'static str, Vec<&'r Columns>> = BTreeMap::new();
        for (table, columns) in rows {
            by_table.entry(table.name).or_default().push(columns);
        }
        Self(by_table)
    }
}

impl Tables for Given<'_> {
    fn rows(&self, table: &'static str) -> Result<Vec<Row>, Refused> {
        let table =
            tables::table(table).expect("the tables that are asked for are known; a test asks for each");
        let rows = self.0.get(table.name).into_iter().flatten().map(|columns| Row {
            table,
            place: None,
            cells: table
                .columns
                .iter()
                .map(|column| cell(columns.get(column.name)))
                .collect(),
        });
        Ok(rows.collect())
    }
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        None | Some(Value::Null) => Cell::Null,
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(number) => Cell::Integer(number),
            None => Cell::Real(number.as_f64().unwrap_or_default()),
        },
        // No column of SQLite is any of these; as texts they mean nothing to the engine.
        Some(other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_))) => Cell::Text(other.to_string()),
    }
}
