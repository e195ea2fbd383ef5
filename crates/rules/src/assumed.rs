//! What a route takes for granted about tables: whoever sends the statement confirms it first.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use shardwright_sql::columns::{self, RowChange};

/// A table that a key column was believed of. A view may call another column by that name, or aggregate over rows of other
/// keys, and a column of another type or collation compares otherwise than the map does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AssumedTable {
    /// The schema as the server has it.
    pub schema: Arc<str>,
    /// The table.
    pub table: String,
    /// The map that believed it.
    pub map: Arc<str>,
    /// The topology states that it is a base table, or what a stated view reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_stated: bool,
    /// The key column; `None` where the key was read elsewhere, or the shards' tables lack the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<AssumedKey>,
}

/// A key column that compares and stores these values as the map does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AssumedKey {
    /// Its name.
    pub column: Arc<str>,
    /// The key values of the statement; empty where an execution will bind them.
    #[serde(skip)]
    pub values: Arc<[ComparedValue]>,
    /// What the statement does with rows.
    #[serde(skip)]
    pub writes: RowWrites,
    /// What it does with rows that exist, which foreign keys can pass on.
    #[serde(skip)]
    pub changes: Arc<[RowChange]>,
    /// A NATURAL JOIN passes the key on, which leaves out an INVISIBLE column.
    #[serde(skip)]
    pub needs_visible: bool,
    /// Values stand in a list of rows.
    #[serde(skip)]
    pub in_rows: bool,
}

/// A key value as the statement gives it to its server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ComparedValue {
    /// A number.
    Integer(i128),
    /// A string.
    Text(String),
}

impl ComparedValue {
    /// `None` for a value that an execution will bind.
    pub fn of(value: &columns::KeyValue) -> Option<Self> {
        match value {
            columns::KeyValue::Integer(n) => Some(Self::Integer(*n)),
            columns::KeyValue::Text(text) => Some(Self::Text(text.clone())),
            columns::KeyValue::Open => None,
        }
    }
}

impl fmt::Display for ComparedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => n.fmt(f),
            Self::Text(text) => write!(f, "'{text}'"),
        }
    }
}

/// What a statement does with the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowWrites {
    /// It reads or deletes them.
    #[default]
    None,
    /// It changes other columns than the key.
    Changes,
    /// It stores new rows, and may change those that are there.
    New,
}
