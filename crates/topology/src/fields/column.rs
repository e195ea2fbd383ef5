//! Columns of the engine's rules, which are fields of raw rules: names and ranges are those of the table.

use serde_json::{Value, json};
use shardwright_tables::QUERY_RULES;

use super::shapes::{self, EXPECTS};
use super::{Declared, FieldKind};

/// A column of `mysql_query_rules`.
#[derive(Clone, Copy)]
pub(crate) struct Column(&'static shardwright_tables::Column);

/// The column of this name; without one, this does not compile.
pub(crate) const fn column(name: &'static str, says: &'static str) -> Declared<Column> {
    Declared::new(name, says, Column(QUERY_RULES.named(name)))
}

impl FieldKind for Column {
    fn shape(&self, says: &str) -> Value {
        match self.0.range() {
            Some(range) if range == (0..=1) => {
                json!({ "description": says, "enum": [0, 1], EXPECTS: "0 or 1" })
            }
            Some(range) => shapes::int(says, *range.start(), *range.end()),
            None => shapes::text(says),
        }
    }
}
