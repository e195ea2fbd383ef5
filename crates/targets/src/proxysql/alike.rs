//! Values that are written differently and that the engine reads as one.

use serde_json::{Value, json};
use shardwright_plan::Facts;
use shardwright_rules::tables::{
    Column, GALERA_HOSTGROUPS, GROUP_REPLICATION_HOSTGROUPS, QUERY_RULES, Table, digest_text, read_digest,
};
use shardwright_rules::{Modifiers, Words, left_columns};

use super::row::{Row, RowName};

/// Texts that are the same as none: conditions of rules, default schemas, remarks.
const EMPTY_IS_NONE: [&str; 6] = [
    "username",
    "schemaname",
    "client_addr",
    "proxy_addr",
    "default_schema",
    "comment",
];

/// The `max_transactions_behind` of a Galera cluster whose file does not say it.
const STANDING_TRANSACTIONS_BEHIND: i64 = 100;

/// Whether the engine makes no difference between what two rows of a table have in a column.
pub(super) fn alike(table: &Table, column: &Column, one: &Row, other: &Row) -> bool {
    let is_same = one.facts.get(column.name) == other.facts.get(column.name);
    is_same || read(table, column, one) == read(table, column, other)
}

/// Whether a live row has a value in a column that no project can say, so that it stays: a server or a user that is allowed no
/// connection, a server that was saved while it was shunned, what a group of servers has none but one word for.
pub(super) fn is_unsaid(table: &Table, column: &Column, live: &Row, wanted: &Row) -> bool {
    let number = |row: &Row| row.number(column.name);
    let is_group = [&GALERA_HOSTGROUPS, &GROUP_REPLICATION_HOSTGROUPS].contains(&table);
    match column.name {
        // What the files write counts; they cannot write none.
        "max_connections" => number(live) == Some(0) && number(wanted) == default_number(column),
        "status" => {
            let is = |row: &Row, status: &str| row.text("status").eq_ignore_ascii_case(status);
            is(live, "SHUNNED") && is(wanted, "ONLINE")
        }
        // Both are the word `never`.
        "writer_is_also_reader" if is_group => number(live) != Some(1) && number(wanted) != Some(1),
        "max_transactions_behind" if is_group => {
            number(live) == Some(0) && number(wanted) == Some(STANDING_TRANSACTIONS_BEHIND)
        }
        _ => false,
    }
}

/// Whether a column has the default of the engine.
pub(super) fn is_default(column: &Column, row: &Row) -> bool {
    // Whether servers know a user is told of the users whom they do not.
    let default = column.default.map_or("", |default| default.trim_matches('\''));
    match row.facts.get(column.name) {
        None => true,
        Some(serde_json::Value::String(text)) => text == default,
        Some(value) => value.as_i64().is_some_and(|number| default.parse() == Ok(number)),
    }
}

/// The default of a column of numbers.
fn default_number(column: &Column) -> Option<i64> {
    column.default.and_then(|default| default.parse().ok())
}

/// What of a row counts, as the engine reads it: the same for two rows that differ in nothing that a project could say. A row
/// that a node got from another node of a ProxySQL Cluster is written otherwise, and is the same.
pub(super) fn read_facts(name: &RowName, facts: &Facts) -> Facts {
    let table = name.table.definition();
    let left = left_columns(table);
    let row = Row {
        facts: facts.clone(),
        secret: None,
    };
    // People write remarks, and what we write there follows from the rest.
    let counts = |column: &&Column| !left.contains(&column.name) && column.name != "comment";
    let columns = table.columns.iter().filter(counts);
    let facts = columns.filter_map(|column| Some((column.name.to_owned(), read(table, column, &row)?)));
    facts.collect()
}

/// What the engine reads in a column; none for nothing.
fn read(table: &Table, column: &Column, row: &Row) -> Option<Value> {
    let is_rule = *table == QUERY_RULES;
    if column.is_number() {
        // It has 32 bits, and a negative one is none where there may be none.
        let number = row.number(column.name).map(|number| i64::from(number as i32));
        return number
            .filter(|number| !column.is_nullable || *number >= 0)
            .map(Value::from);
    }
    let text = row.text(column.name);
    match column.name {
        name if EMPTY_IS_NONE.contains(&name) && text.is_empty() => None,
        "status" | "check_type" => Some(json!(text.to_ascii_uppercase())),
        "re_modifiers" => Some(json!(Modifiers::read(text).word())),
        "digest" if is_rule => condition(text).map(|digest| json!(digest_text(digest))),
        "attributes" if is_rule => Some(json!(flag_outs(text))),
        name => row.facts.get(name).cloned(),
    }
}

/// The digest that a rule asks for; none where the engine reads none.
fn condition(text: &str) -> Option<u64> {
    let (number, _) = read_digest(text);
    (!matches!(number, 0 | u64::MAX)).then_some(number)
}

/// The weighted flags of a rule: nothing else of its attributes is read.
fn flag_outs(text: &str) -> Vec<(u64, u64)> {
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    let entries = parsed.get("flagOUTs").and_then(Value::as_array);
    let pair = |entry: &Value| {
        let number = |key: &str| {
            let number = entry.get(key)?.as_u64()?;
            u32::try_from(number).ok().map(u64::from)
        };
        Some((number("id")?, number("weight")?))
    };
    entries.into_iter().flatten().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use shardwright_rules::tables::{SERVERS, USERS};

    use super::*;

    fn row(column: &str, value: Value) -> Row {
        let mut facts = Facts::new();
        if !value.is_null() {
            facts.insert(column.to_owned(), value);
        }
        Row { facts, secret: None }
    }

    #[test]
    fn what_the_files_write_takes_the_place_of_what_they_cannot_say() {
        for (table, column, live, wanted, expected) in [
            (&SERVERS, "max_connections", 0, 1000, true),
            (&SERVERS, "max_connections", 0, 12, false),
            (&SERVERS, "max_connections", 5, 1000, false),
            (&USERS, "max_connections", 0, 10_000, true),
            (&USERS, "max_connections", 0, 1000, false),
            (&GALERA_HOSTGROUPS, "max_transactions_behind", 0, 100, true),
            (&GALERA_HOSTGROUPS, "max_transactions_behind", 0, 50, false),
        ] {
            let definition = table.column(column).unwrap();
            let rows = [row(column, json!(live)), row(column, json!(wanted))];
            assert_eq!(
                is_unsaid(table, definition, &rows[0], &rows[1]),
                expected,
                "{column} {live} {wanted}"
            );
        }
    }

    #[test]
    fn what_the_engine_reads_as_one_is_alike() {
        let none = Value::Null;
        for (table, column, one, other, expected) in [
            (&QUERY_RULES, "username", json!(""), none.clone(), true),
            (&QUERY_RULES, "proxy_addr", json!(""), none.clone(), true),
            (&QUERY_RULES, "username", json!("a"), none.clone(), false),
            // An empty pattern matches everything, and an empty message refuses.
            (&QUERY_RULES, "match_digest", json!(""), none.clone(), false),
            (&QUERY_RULES, "error_msg", json!(""), none.clone(), false),
            (&QUERY_RULES, "OK_msg", json!(""), none.clone(), false),
            (
                &QUERY_RULES,
                "re_modifiers",
                json!("GLOBAL,CASELESS"),
                json!("CASELESS,GLOBAL"),
                true,
            ),
            (&QUERY_RULES, "re_modifiers", json!(""), none.clone(), true),
            (&QUERY_RULES, "re_modifiers", json!(""), json!("CASELESS"), false),
            (
                &QUERY_RULES,
                "digest",
                json!("0x1c46ae529dd5a40e"),
                json!("0x1C46AE529DD5A40E"),
                true,
            ),
            (&QUERY_RULES, "digest", json!("none"), none.clone(), true),
            (&QUERY_RULES, "digest", json!("0x1"), json!("0x2"), false),
            (&QUERY_RULES, "cache_ttl", json!(-1), none.clone(), true),
            (&QUERY_RULES, "destination_hostgroup", json!("7x"), json!(7), true),
            (
                &QUERY_RULES,
                "cache_ttl",
                json!(2_147_483_648_i64),
                none.clone(),
                true,
            ),
            (&QUERY_RULES, "delay", json!(1.5), json!(1), true),
            (&QUERY_RULES, "delay", json!(0), none.clone(), false),
            (&QUERY_RULES, "attributes", json!("[1]"), json!(""), true),
            (
                &QUERY_RULES,
                "attributes",
                json!(r#"{"flagOUTs":[{"id":1,"weight":2}]}"#),
                json!(r#"{"flagOUTs": [{"weight": 2, "id": 1}], "x": 1}"#),
                true,
            ),
            (
                &QUERY_RULES,
                "attributes",
                json!(r#"{"flagOUTs":[{"id":1,"weight":2}]}"#),
                json!(""),
                false,
            ),
            (&SERVERS, "status", json!("online"), json!("ONLINE"), true),
            (&SERVERS, "hostname", json!("A"), json!("a"), false),
            (&USERS, "default_schema", json!(""), none, true),
        ] {
            let definition = table.column(column).unwrap();
            let rows = [row(column, one.clone()), row(column, other.clone())];
            assert_eq!(
                alike(table, definition, &rows[0], &rows[1]),
                expected,
                "{column} {one} {other}"
            );
        }
    }
}
