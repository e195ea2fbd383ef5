//! What a server is asked about a table before its key column is believed, and its answer.
//!
//! The connection may be in any sql_mode and in any character set, and its results may be converted: names go as literals of
//! hexadecimal digits where they are not plain, and answers come as binary strings.

use std::collections::BTreeSet;
use std::fmt::Write;

use shardwright_rules::AssumedTable;
use shardwright_rules::key_column::{DescribedColumn, IndexedColumns, sets_column};
use shardwright_sql::lex::reads_alike;
use shardwright_wire::TextRows;

/// Rows of an answer begin with what they tell of.
const TABLE: &[u8] = b"T";
const COLUMN: &[u8] = b"C";
const TRIGGER: &[u8] = b"B";
const INDEXED: &[u8] = b"I";
const BY_SERVER: &[u8] = b"S";
/// A table whose columns hold what is stored in them.
const BASE: &[u8] = b"B";

/// What a server says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableAnswer {
    /// There is none: the server's own error is right.
    Missing,
    /// It is a view, or something else that is no base table.
    NotABaseTable,
    /// It is one, and these are its columns; `None` where it has no key column.
    BaseTable(Option<Box<DescribedTable>>),
}

/// The columns of a table that a statement depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescribedTable {
    pub(crate) key: DescribedColumn,
    pub(crate) indexed: IndexedColumns,
}

/// Whether EXTRA of a column says VIRTUAL, STORED or PERSISTENT. As bytes: on MySQL it is an expression, which does not compare with
/// literals of every collation.
pub(crate) const IS_GENERATED: &str = "LOCATE(X'5649525455414C', CAST(EXTRA AS BINARY)) > 0 OR \
    LOCATE(X'53544F524544', CAST(EXTRA AS BINARY)) > 0 OR LOCATE(X'50455253495354454E54', CAST(EXTRA AS BINARY)) > 0";
/// Whether it says `on update`.
const IS_SET_BY_UPDATE: &str = "LOCATE(X'6F6E20757064617465', CAST(EXTRA AS BINARY)) > 0";

/// The question: rows for the table, its key column, triggers that run before a row is stored or changed, columns of indexes, and
/// columns that the server computes. The limit stands against the session's `sql_select_limit`.
pub(crate) fn question(table: &AssumedTable) -> String {
    let (schema, name) = (literal(&table.schema), literal(&table.table));
    let nulls = |count: usize| ", NULL".repeat(count);
    let mut question = format!(
        "SELECT X'54', CASE WHEN TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') THEN X'42' ELSE X'56' END{} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND \
         TABLE_NAME = {name} AND TABLE_TYPE <> 'TEMPORARY'",
        nulls(8)
    );
    if let Some(key) = &table.key {
        let column = literal(&key.column);
        let number = |column: &str| format!("CAST(CONVERT({column} USING utf8mb4) AS BINARY)");
        let _: std::fmt::Result = write!(
            question,
            " UNION ALL SELECT X'43', CAST(DATA_TYPE AS BINARY), CAST(COLUMN_TYPE AS BINARY), CAST(EXTRA AS BINARY), \
             CAST(CHARACTER_SET_NAME AS BINARY), CAST(COLLATION_NAME AS BINARY), {}, {}, {}, {} FROM \
             information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} AND COLUMN_NAME = {column} \
             UNION ALL SELECT X'42', CAST(ACTION_STATEMENT AS BINARY), CAST(EVENT_MANIPULATION AS BINARY){} FROM \
             information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {name} AND ACTION_TIMING = \
             'BEFORE' AND EVENT_MANIPULATION <> 'DELETE' \
             UNION ALL SELECT X'49', CAST(COLUMN_NAME AS BINARY){nulls} FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = \
             {schema} AND TABLE_NAME = {name} \
             UNION ALL SELECT X'53', CAST(COLUMN_NAME AS BINARY){nulls} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = \
             {schema} AND TABLE_NAME = {name} AND ({} OR {})",
            number("CHARACTER_MAXIMUM_LENGTH"),
            number("CHARACTER_OCTET_LENGTH"),
            number("NUMERIC_PRECISION"),
            number("NUMERIC_SCALE"),
            nulls(7),
            IS_GENERATED,
            IS_SET_BY_UPDATE,
            nulls = nulls(8)
        );
    }
    question + " LIMIT 100000"
}

pub(crate) fn literal(name: &str) -> String {
    if name.is_ascii() && reads_alike(name.as_bytes()) {
        return format!("'{}'", name.replace('\'', "''"));
    }
    let hex = name.bytes().fold(String::new(), |mut hex, byte| {
        let _: std::fmt::Result = write!(hex, "{byte:02X}");
        hex
    });
    format!("_utf8mb4 X'{hex}'")
}

impl TableAnswer {
    /// Reads the rows of the answer.
    pub(crate) fn read(table: &AssumedTable, rows: &TextRows) -> Self {
        let value = |row: usize, at: usize| rows.rows.get(row)?.get(at)?.as_deref();
        let of = |what: &'static [u8]| {
            let value = &value;
            (0..rows.rows.len()).filter(move |&row| value(row, 0) == Some(what))
        };
        let types: Vec<&[u8]> = of(TABLE).filter_map(|row| value(row, 1)).collect();
        if types.is_empty() {
            return Self::Missing;
        }
        if !table.is_stated && !types.iter().all(|kind| *kind == BASE) {
            return Self::NotABaseTable;
        }
        let text = |row: usize, at: usize| Some(String::from_utf8_lossy(value(row, at)?).into_owned());
        let number = |row: usize, at: usize| text(row, at)?.parse::<u64>().ok();
        let trigger_sets = |row: usize, column: &str| sets_column(value(row, 1).unwrap_or_default(), column);
        let key_column = table.key.as_ref().map_or("", |key| &key.column);
        let described = of(COLUMN).next().map(|row| {
            let key = DescribedColumn {
                data_type: text(row, 1).unwrap_or_default(),
                column_type: text(row, 2).unwrap_or_default(),
                extra: text(row, 3).unwrap_or_default(),
                charset: text(row, 4),
                collation: text(row, 5),
                chars: number(row, 6),
                bytes: number(row, 7),
                precision: number(row, 8).and_then(|n| n.try_into().ok()),
                scale: number(row, 9).and_then(|n| n.try_into().ok()),
                is_set_by_trigger: of(TRIGGER).any(|row| trigger_sets(row, key_column)),
            };
            let all: BTreeSet<String> = of(INDEXED).filter_map(|row| text(row, 1)).collect();
            let computed: Vec<String> = of(BY_SERVER).filter_map(|row| text(row, 1)).collect();
            let is_by_server = |column: &str| {
                let mut updates = of(TRIGGER).filter(|&row| value(row, 2) == Some(b"UPDATE"));
                computed.iter().any(|other| other == column) || updates.any(|row| trigger_sets(row, column))
            };
            Box::new(DescribedTable {
                key,
                indexed: IndexedColumns::new(all, is_by_server),
            })
        });
        Self::BaseTable(described)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_as_literals() {
        let table = |name: &str| AssumedTable {
            schema: "app".into(),
            table: name.to_owned(),
            map: "m".into(),
            is_stated: false,
            key: None,
        };
        let asked = question(&table("it's\\"));
        assert!(asked.contains("TABLE_NAME = _utf8mb4 X'697427735C'"), "{asked}");
        let asked = question(&table("it's"));
        assert!(asked.contains("TABLE_NAME = 'it''s'"), "{asked}");
    }
}
