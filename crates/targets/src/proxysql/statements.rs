//! The statements that put rows where they shall be in memory.

use serde_json::Value;

use super::row::{KeyPart, Row, RowName, TableName};
use crate::admin::quoted;

/// A statement is ended after this many bytes, far below any limit of SQLite or of packets.
const STATEMENT_BYTES: usize = 256 << 10;
/// Terms of one condition: SQLite limits how deep a chain of ORs may be.
const MAX_TERMS: usize = 200;

/// Statements that delete rows, all of one table.
pub(super) fn deletions(table: TableName, rows: &[&RowName]) -> Vec<String> {
    let columns = table.definition().primary_key;
    let term = |row: &&RowName| {
        let parts: Vec<String> = columns
            .iter()
            .zip(&row.key)
            .map(|(column, part)| format!("{column} = {}", key_literal(part)))
            .collect();
        format!("({})", parts.join(" AND "))
    };
    rows.chunks(MAX_TERMS)
        .map(|rows| {
            let terms: Vec<String> = rows.iter().map(term).collect();
            format!("DELETE FROM {table} WHERE {}", terms.join(" OR "))
        })
        .collect()
}

/// Statements after which the rows, all of one table, hold exactly this. A row that stands in the way by another unique
/// key than the primary one makes them fail: it is somebody else's.
pub(super) fn writings(table: TableName, rows: &[(&RowName, &Row)]) -> Vec<String> {
    let definition = table.definition();
    let set: Vec<String> = definition
        .columns
        .iter()
        .map(|column| column.name)
        .filter(|column| !definition.primary_key.contains(column))
        .map(|column| format!("{column} = excluded.{column}"))
        .collect();
    let tail = format!(
        " ON CONFLICT ({}) DO UPDATE SET {}",
        definition.primary_key.join(", "),
        set.join(", ")
    );
    let statements = insertions(table, rows).into_iter();
    statements.map(|statement| statement + &tail).collect()
}

/// Statements that insert rows, all of one table, where there are none with their keys.
pub(super) fn insertions(table: TableName, rows: &[(&RowName, &Row)]) -> Vec<String> {
    let columns = table.definition().columns.iter();
    let columns: Vec<&str> = columns.map(|column| column.name).collect();
    let head = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
    let mut statements = Vec::new();
    let mut values: Vec<String> = Vec::new();
    let mut length = 0;
    for (_, row) in rows {
        let value = values_of(table, row);
        if length + value.len() > STATEMENT_BYTES && !values.is_empty() {
            statements.push(format!("{head}{}", values.join(", ")));
            values.clear();
            length = 0;
        }
        length += value.len();
        values.push(value);
    }
    if !values.is_empty() {
        statements.push(format!("{head}{}", values.join(", ")));
    }
    statements
}

fn values_of(table: TableName, row: &Row) -> String {
    let secret = table.secret_column(&row.facts);
    let value = |column: &str| {
        if secret == Some(column) {
            return row
                .secret
                .as_ref()
                .map_or("NULL".to_owned(), |secret| quoted(secret.expose()));
        }
        row.facts.get(column).map_or("NULL".to_owned(), literal)
    };
    let columns = table.definition().columns.iter();
    let values: Vec<String> = columns.map(|column| value(column.name)).collect();
    format!("({})", values.join(", "))
}

fn key_literal(part: &KeyPart) -> String {
    match part {
        KeyPart::Number(number) => number.to_string(),
        KeyPart::Text(text) => quoted(text),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shardwright_plan::Facts;
    use shardwright_rules::tables::REPLICATION_HOSTGROUPS;

    use super::*;

    fn pair(writer: i64, comment: &str) -> (RowName, Row) {
        let facts = Facts::from_iter([
            ("writer_hostgroup".to_owned(), json!(writer)),
            ("reader_hostgroup".to_owned(), json!(writer + 1)),
            ("check_type".to_owned(), json!("read_only")),
            ("comment".to_owned(), json!(comment)),
        ]);
        let table = TableName::of(&REPLICATION_HOSTGROUPS);
        (RowName::of(table, &facts), Row { facts, secret: None })
    }

    #[test]
    fn rows_become_statements() {
        let rows = [pair(1, "it's \\ one"), pair(3, "")];
        let named: Vec<(&RowName, &Row)> = rows.iter().map(|(name, row)| (name, row)).collect();
        let names: Vec<&RowName> = rows.iter().map(|(name, _)| name).collect();
        let table = names[0].table;
        let all = [deletions(table, &names), writings(table, &named)].concat();
        insta::assert_snapshot!(all.join("\n"), @r"
        DELETE FROM mysql_replication_hostgroups WHERE (writer_hostgroup = 1) OR (writer_hostgroup = 3)
        INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES (1, 2, 'read_only', 'it''s \ one'), (3, 4, 'read_only', '') ON CONFLICT (writer_hostgroup) DO UPDATE SET reader_hostgroup = excluded.reader_hostgroup, check_type = excluded.check_type, comment = excluded.comment
        ");
    }

    #[test]
    fn many_rows_become_several_statements() {
        let long = "x".repeat(STATEMENT_BYTES / 2);
        let rows: Vec<(RowName, Row)> = (0..4).map(|n| pair(n, &long)).collect();
        let named: Vec<(&RowName, &Row)> = rows.iter().map(|(name, row)| (name, row)).collect();
        assert_eq!(writings(rows[0].0.table, &named).len(), 4);
        let many: Vec<(RowName, Row)> = (0..401).map(|n| pair(n, "")).collect();
        let names: Vec<&RowName> = many.iter().map(|(name, _)| name).collect();
        assert_eq!(deletions(names[0].table, &names).len(), 3);
    }
}
