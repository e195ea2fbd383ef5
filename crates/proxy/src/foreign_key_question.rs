//! What a server is asked about the foreign keys of a schema, and its answer.
//!
//! MariaDB opens every table of the schema to answer. So it is asked only for statements that can change a referenced column, or
//! delete rows, and the answer is kept for the whole schema. The tables of the information schema are not joined: they have no
//! indexes.

use std::collections::BTreeMap;

use shardwright_rules::key_column::{ForeignKey, ForeignKeys, RuleAction};
use shardwright_wire::TextRows;

use crate::table_question::{IS_GENERATED, literal};

/// Rows of an answer begin with what they tell of.
const RULES: &[u8] = b"R";
const COLUMN: &[u8] = b"K";
const GENERATED: &[u8] = b"G";

/// The question: rules, pairs of columns, columns that the server computes. The limit stands against the session's
/// `sql_select_limit`.
pub(crate) fn question(schema: &str) -> String {
    let schema = literal(schema);
    let binary = |columns: &[&str]| {
        let columns: Vec<String> = columns
            .iter()
            .map(|column| format!("CAST({column} AS BINARY)"))
            .collect();
        columns.join(", ")
    };
    let rules = binary(&["TABLE_NAME", "CONSTRAINT_NAME", "UPDATE_RULE", "DELETE_RULE"]);
    let pairs = binary(&[
        "TABLE_NAME",
        "CONSTRAINT_NAME",
        "COLUMN_NAME",
        "REFERENCED_TABLE_NAME",
        "REFERENCED_COLUMN_NAME",
    ]);
    let generated = binary(&["TABLE_NAME", "COLUMN_NAME"]);
    format!(
        "SELECT X'52', {rules}, NULL FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = {schema} \
         UNION ALL SELECT X'4B', {pairs} FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {schema} AND \
         REFERENCED_TABLE_SCHEMA = {schema} \
         UNION ALL SELECT X'47', {generated}, NULL, NULL, NULL FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND \
         ({IS_GENERATED}) LIMIT 10000000"
    )
}

/// Reads the rows of the answer.
pub(crate) fn foreign_keys(rows: &TextRows) -> ForeignKeys {
    let text = |row: &[Option<Vec<u8>>], at: usize| {
        let value = row.get(at).and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(value).into_owned()
    };
    let is_of =
        |row: &&Vec<Option<Vec<u8>>>, what: &[u8]| row.first().and_then(Option::as_deref) == Some(what);
    let mut rules: BTreeMap<(String, String), (RuleAction, RuleAction)> = BTreeMap::new();
    for row in rows.rows.iter().filter(|row| is_of(row, RULES)) {
        let actions = (RuleAction::of(&text(row, 3)), RuleAction::of(&text(row, 4)));
        rules.insert((text(row, 1), text(row, 2)), actions);
    }
    let mut keys: BTreeMap<(String, String), ForeignKey> = BTreeMap::new();
    for row in rows.rows.iter().filter(|row| is_of(row, COLUMN)) {
        let name = (text(row, 1), text(row, 2));
        // MariaDB shows the rules of a table only to those who may do more than read it.
        let unseen = (RuleAction::Set, RuleAction::Set);
        let (on_update, on_delete) = rules.get(&name).copied().unwrap_or(unseen);
        let key = keys.entry(name).or_insert_with(|| ForeignKey {
            table: text(row, 1),
            parent: text(row, 4),
            columns: Vec::new(),
            on_update,
            on_delete,
        });
        key.columns.push((text(row, 3), text(row, 5)));
    }
    let generated = rows.rows.iter().filter(|row| is_of(row, GENERATED));
    ForeignKeys::new(
        keys.into_values(),
        generated.map(|row| (text(row, 1), text(row, 2))),
    )
}
