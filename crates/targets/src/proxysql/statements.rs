//! The statements that put rows where they shall be in memory.

use serde_json::Value;

use super::row::{KeyPart, Row, RowName, TableName};
use crate::admin::quoted;

/// A statement is ended after this many bytes, far below any limit of SQLite or of packets.
const STATEMENT_BYTES: usize = 256 << 10;
/// Statements that delete rows, all of one table.
pub(super) fn deletions(table: TableName, rows: &[&RowName]) -> Vec<String> {
    let conditions = conditions(table, rows).into_iter();
    conditions
        .map(|condition| format!("DELETE FROM {table} WHERE {condition}"))
        .collect()
}

/// Conditions that hold for the rows of these names and for no others, all of one table; each for some of them. They are
/// lists, which are flat: SQLite limits how deep a chain of ORs may be.
pub(super) fn conditions(table: TableName, rows: &[&RowName]) -> Vec<String> {
    let key = |row: &&RowName| {
        let parts: Vec<String> = row.key.iter().map(key_literal).collect();
        match parts.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        }
    };
    let lists = bounded(rows.iter().map(key)).into_iter().map(|(_, list)| list);
    match table.definition().primary_key {
        [column] => lists.map(|list| format!("{column} IN ({list})")).collect(),
        columns => {
            let columns = columns.join(", ");
            lists
                .map(|list| format!("({columns}) IN (VALUES {list})"))
                .collect()
        }
    }
}

/// A statement that writes rows.
pub(super) struct Writing<'r> {
    pub(super) statement: String,
    /// The rows that it writes, all of them or none.
    pub(super) rows: &'r [(&'r RowName, &'r Row)],
}

/// Statements after which the rows, all of one table, hold exactly this. A row that stands in the way by another unique
/// key than the primary one makes them fail: it is somebody else's.
pub(super) fn writings<'r>(table: TableName, rows: &'r [(&'r RowName, &'r Row)]) -> Vec<Writing<'r>> {
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
    let mut first = 0;
    let writings = values(table, rows).into_iter().map(|(count, values)| {
        let rows = &rows[first..first + count];
        first += count;
        Writing {
            statement: format!("{}{values}{tail}", insertion(table)),
            rows,
        }
    });
    writings.collect()
}

/// Statements that insert rows, all of one table, where there are none with their keys.
pub(super) fn insertions(table: TableName, rows: &[(&RowName, &Row)]) -> Vec<String> {
    let values = values(table, rows).into_iter();
    values.map(|(_, values)| insertion(table) + &values).collect()
}

fn insertion(table: TableName) -> String {
    let columns = table.definition().columns.iter();
    let columns: Vec<&str> = columns.map(|column| column.name).collect();
    format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "))
}

/// The values of rows as lists, each with the number of its rows.
fn values(table: TableName, rows: &[(&RowName, &Row)]) -> Vec<(usize, String)> {
    bounded(rows.iter().map(|(_, row)| values_of(table, row)))
}

/// Lists of items, each with their number, that stay below [`STATEMENT_BYTES`] unless one item alone is above.
fn bounded(items: impl Iterator<Item = String>) -> Vec<(usize, String)> {
    let mut lists: Vec<(usize, String)> = Vec::new();
    for item in items {
        match lists.last_mut() {
            Some((count, list)) if list.len() + item.len() <= STATEMENT_BYTES => {
                *count += 1;
                list.push_str(", ");
                list.push_str(&item);
            }
            _ => lists.push((1, item)),
        }
    }
    lists
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
    use shardwright_rules::tables::{FAST_ROUTING, REPLICATION_HOSTGROUPS};

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
        let written = writings(table, &named)
            .into_iter()
            .map(|writing| writing.statement);
        let all: Vec<String> = deletions(table, &names).into_iter().chain(written).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        DELETE FROM mysql_replication_hostgroups WHERE writer_hostgroup IN (1, 3)
        INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES (1, 2, 'read_only', 'it''s \ one'), (3, 4, 'read_only', '') ON CONFLICT (writer_hostgroup) DO UPDATE SET reader_hostgroup = excluded.reader_hostgroup, check_type = excluded.check_type, comment = excluded.comment
        ");
    }

    #[test]
    fn many_rows_become_several_statements() {
        let long = "x".repeat(STATEMENT_BYTES / 2);
        let rows: Vec<(RowName, Row)> = (0..4).map(|n| pair(n, &long)).collect();
        let named: Vec<(&RowName, &Row)> = rows.iter().map(|(name, row)| (name, row)).collect();
        let written = writings(rows[0].0.table, &named);
        let counts: Vec<usize> = written.iter().map(|writing| writing.rows.len()).collect();
        assert_eq!(counts, [1, 1, 1, 1]);
        let written = writings(rows[0].0.table, &named[..1]);
        assert_eq!(written[0].rows[0].0, &rows[0].0);
        let many: Vec<(RowName, Row)> = (0..40_000).map(|n| pair(n, "")).collect();
        let names: Vec<&RowName> = many.iter().map(|(name, _)| name).collect();
        assert_eq!(deletions(names[0].table, &names).len(), 2);
    }

    #[test]
    fn keys_of_several_columns_are_rows() {
        let table = TableName::of(&FAST_ROUTING);
        let name = |user: &str, flag: i64| RowName {
            table,
            key: vec![
                KeyPart::Text(user.to_owned()),
                KeyPart::Text("it's".to_owned()),
                KeyPart::Number(flag),
            ],
        };
        let (one, other) = (name("app", 0), name("", 7));
        assert_eq!(
            conditions(table, &[&one, &other]),
            ["(username, schemaname, flagIN) IN (VALUES ('app', 'it''s', 0), ('', 'it''s', 7))"]
        );
    }
}
