//! Values as tables hold them.

use serde_json::json;
use shardwright_vocabulary::Words;

use crate::column::{Column, Table};
use crate::engine::QUERY_RULES;
use crate::engine_rule::columns::{RULE_COLUMNS, Value};
use crate::engine_rule::{EngineRule, digest_text};

/// A value of a column that is not NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A number.
    Integer(u64),
    /// A text.
    Text(String),
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u16> for Cell {
    fn from(value: u16) -> Self {
        Self::Integer(value.into())
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Value<'_>> for Cell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Switch(value) => value.into(),
            Value::Number(number) => number.into(),
            Value::Text(text) => text.into(),
            Value::Digest(digest) => Self::Text(digest_text(digest)),
            Value::Modifiers(modifiers) => modifiers.word().into(),
            Value::FlagOuts(choices) => Self::Text(json!({ "flagOUTs": choices }).to_string()),
        }
    }
}

impl Column {
    /// The value of a row that does not name the column; `None`: NULL.
    pub fn default_cell(&self) -> Option<Cell> {
        let text = self.default?;
        Some(match text.parse() {
            Ok(number) => Cell::Integer(number),
            Err(_) => text.trim_matches('\'').into(),
        })
    }
}

impl Table {
    /// The whole of a row of which some columns are given, in the order of the table; `None`: NULL.
    pub fn row(&self, given: &[(&'static str, Cell)]) -> impl Iterator<Item = Option<Cell>> {
        self.columns.iter().map(|column| {
            let cell = given.iter().find(|(name, _)| *name == column.name);
            cell.map_or_else(|| column.default_cell(), |(_, cell)| Some(cell.clone()))
        })
    }
}

impl EngineRule {
    /// The columns of a loaded row that hold another value than its default, in the order of the table; `flagIN` and `apply`
    /// always.
    pub fn cells(&self, rule_id: u32, flag_in: u32) -> Vec<(&'static str, Cell)> {
        let mut held = RULE_COLUMNS.iter();
        let mut cells = Vec::new();
        for column in QUERY_RULES.columns {
            let cell = match column.name {
                "rule_id" => Some(rule_id.into()),
                "active" => Some(true.into()),
                "flagIN" => Some(flag_in.into()),
                // The others are those that a rule holds, in the same order.
                _ => held.next().and_then(|column| column.get(self)).map(Cell::from),
            };
            let is_always = matches!(column.name, "flagIN" | "apply");
            if let Some(cell) = cell.filter(|cell| is_always || column.default_cell().as_ref() != Some(cell))
            {
                cells.push((column.name, cell));
            }
        }
        cells
    }
}
