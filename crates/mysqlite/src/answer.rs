//! What a statement is answered with.

use shardwright_wire::{ColumnDefinition, ColumnType, MysqlError};

/// A value that owns its bytes: a parameter, or a cell of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(String),
    /// Binary data.
    Bytes(Vec<u8>),
}

/// A value of a row on its way to the client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A double.
    Real(f64),
    /// Text; need not be UTF-8.
    Text(&'a [u8]),
    /// Binary data.
    Bytes(&'a [u8]),
}

impl Value {
    /// The value as a cell.
    #[must_use]
    pub fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Int(value) => Cell::Int(*value),
            Self::Real(value) => Cell::Real(*value),
            Self::Text(text) => Cell::Text(text.as_bytes()),
            Self::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// How a statement ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Without rows.
    Ok(Completion),
    /// With rows, all of which went into the sink.
    Rows {
        /// Number of warnings.
        warnings: u16,
    },
}

/// What a statement without rows has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completion {
    /// Rows changed.
    pub affected_rows: u64,
    /// First generated key, or 0.
    pub last_insert_id: u64,
    /// Number of warnings.
    pub warnings: u16,
    /// Human-readable text.
    pub info: String,
}

impl Answer {
    /// A plain OK.
    #[must_use]
    pub fn ok() -> Self {
        Self::Ok(Completion::default())
    }
}

/// Takes the rows of a statement as they are produced; nothing is collected.
pub trait RowSink {
    /// Begins the rows. Called once, before [`RowSink::row`].
    ///
    /// # Errors
    /// The client is gone; give the error back.
    fn columns(&mut self, columns: &[ColumnDefinition]) -> Result<(), MysqlError>;

    /// Takes a row of as many cells as there are columns.
    ///
    /// # Errors
    /// The client is gone; give the error back.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), MysqlError>;
}

/// A small result that is held in memory: what commands of an admin port answer with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Columns.
    pub columns: Vec<ColumnDefinition>,
    /// Rows, each with a value per column.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table of text columns with these names.
    #[must_use]
    pub fn of_text(names: &[&str]) -> Self {
        let columns = names
            .iter()
            .map(|name| ColumnDefinition::new(*name, ColumnType::MYSQL_TYPE_VAR_STRING))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// The table with one more row.
    #[must_use]
    pub fn with_row(mut self, row: impl IntoIterator<Item = Value>) -> Self {
        self.rows.push(row.into_iter().collect());
        self
    }

    /// Puts everything into `sink`.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn send(&self, sink: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        sink.columns(&self.columns)?;
        for row in &self.rows {
            let cells: Vec<Cell<'_>> = row.iter().map(Value::cell).collect();
            sink.row(&cells)?;
        }
        Ok(Answer::Rows { warnings: 0 })
    }
}

impl RowSink for Table {
    fn columns(&mut self, columns: &[ColumnDefinition]) -> Result<(), MysqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), MysqlError> {
        let row = cells.iter().map(|cell| match *cell {
            Cell::Null => Value::Null,
            Cell::Int(value) => Value::Int(value),
            Cell::Real(value) => Value::Real(value),
            Cell::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
            Cell::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        });
        self.rows.push(row.collect());
        Ok(())
    }
}
