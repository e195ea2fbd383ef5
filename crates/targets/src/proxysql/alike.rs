//! Values that are written differently and that the engine reads as one.

use serde_json::Value;
use shardwright_rules::Modifiers;
use shardwright_rules::tables::{Column, QUERY_RULES, Table, read_digest};

use super::row::Row;

/// Conditions of rules that an empty text does not make.
const NO_CONDITION: [&str; 4] = ["username", "schemaname", "client_addr", "proxy_addr"];

/// Whether the engine makes no difference between what two rows of a table have in a column.
pub(super) fn alike(table: &Table, column: &Column, one: &Row, other: &Row) -> bool {
    let values = [one, other].map(|row| row.facts.get(column.name));
    if values[0] == values[1] {
        return true;
    }
    let is_rule = *table == QUERY_RULES;
    if column.is_number() {
        // A negative number is none, where there may be none.
        let read = |row: &Row| row.number(column.name).filter(|number| !column.is_nullable || *number >= 0);
        return read(one) == read(other);
    }
    let texts = [one, other].map(|row| row.text(column.name));
    match column.name {
        "default_schema" => texts[0].is_empty() && texts[1].is_empty(),
        "status" | "check_type" => texts[0].eq_ignore_ascii_case(texts[1]),
        name if is_rule && NO_CONDITION.contains(&name) => texts[0].is_empty() && texts[1].is_empty(),
        "re_modifiers" => Modifiers::read(texts[0]) == Modifiers::read(texts[1]),
        "digest" if is_rule => condition(texts[0]) == condition(texts[1]),
        "attributes" if is_rule => flag_outs(texts[0]) == flag_outs(texts[1]),
        _ => false,
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
    use serde_json::json;
    use shardwright_plan::Facts;
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
            (&QUERY_RULES, "re_modifiers", json!("GLOBAL,CASELESS"), json!("CASELESS,GLOBAL"), true),
            (&QUERY_RULES, "re_modifiers", json!(""), none.clone(), true),
            (&QUERY_RULES, "re_modifiers", json!(""), json!("CASELESS"), false),
            (&QUERY_RULES, "digest", json!("0x1c46ae529dd5a40e"), json!("0x1C46AE529DD5A40E"), true),
            (&QUERY_RULES, "digest", json!("none"), none.clone(), true),
            (&QUERY_RULES, "digest", json!("0x1"), json!("0x2"), false),
            (&QUERY_RULES, "cache_ttl", json!(-1), none.clone(), true),
            (&QUERY_RULES, "destination_hostgroup", json!("7x"), json!(7), true),
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
            (&QUERY_RULES, "attributes", json!(r#"{"flagOUTs":[{"id":1,"weight":2}]}"#), json!(""), false),
            (&SERVERS, "status", json!("online"), json!("ONLINE"), true),
            (&SERVERS, "hostname", json!("A"), json!("a"), false),
            (&USERS, "default_schema", json!(""), none, true),
        ] {
            let definition = table.column(column).unwrap();
            let rows = [row(column, one.clone()), row(column, other.clone())];
            assert_eq!(alike(table, definition, &rows[0], &rows[1]), expected, "{column} {one} {other}");
        }
    }
}
