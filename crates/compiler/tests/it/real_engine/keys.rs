//! Statements with a key of a map in every form, and without one.

use std::collections::BTreeSet;

use shardwright_rules::{Finder, KeyValue, MapStep};

/// Keys of one map that are tried.
const MOST_KEYS: usize = 24;

/// Statements that name a key in every way that the finders of a map know.
pub(super) fn keyed(map: &MapStep, key: &str) -> Vec<(Option<String>, String)> {
    let rest = [
        "SELECT a FROM t WHERE id=5",
        "UPDATE t SET a=1",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a -- c\nFROM t",
        "SELECT a --\nINTO @x FROM t",
        "SELECT GET_LOCK --\n('a',1)",
        "INSERT INTO t VALUES ('\0')",
    ];
    let mut statements = Vec::new();
    for finder in &map.finders {
        match finder {
            Finder::Comment { word, .. } => {
                for rest in rest {
                    statements.push((None, format!("/* {word}={key} */ {rest}")));
                    statements.push((None, format!("{rest} /* x, {word}={key} */")));
                }
                statements.push((None, format!("/* {word}={key} {word}={key}1 */ SELECT 1 FROM t")));
                statements.push((None, format!("SELECT 1 FROM t -- /* {word}={key} */")));
            }
            Finder::Schema { template } => {
                let value = key
                    .parse()
                    .map_or_else(|_| KeyValue::Text(key.to_owned()), KeyValue::Integer);
                if let Some(schema) = template.render(&value) {
                    statements.extend(rest.map(|rest| (Some(schema.clone()), rest.to_owned())));
                }
            }
            Finder::Column { column, .. } => {
                let schema = map.logical_schema.as_deref().unwrap_or_default();
                let literal = key
                    .parse::<i64>()
                    .map_or_else(|_| format!("'{key}'"), |number| number.to_string());
                statements.push((None, format!("SELECT a FROM {schema}.t WHERE {column}={literal}")));
                statements.push((
                    None,
                    format!("UPDATE {schema}.t SET a=1 WHERE {column} = {literal} AND b=2"),
                ));
                statements.push((
                    None,
                    format!("SELECT a FROM {schema}.t WHERE {column}={literal} OR 1"),
                ));
            }
            Finder::Table { .. } | Finder::User { .. } => {
                statements.extend(rest.map(|rest| (None, rest.to_owned())));
            }
        }
    }
    statements
}

/// Keys of a map, what is nearly one, and what is none.
pub(super) fn keys_of(map: &MapStep) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for shard in &map.shards {
        let own = shard.keys.iter().map(ToString::to_string);
        let ranges = shard
            .ranges
            .iter()
            .flat_map(|(low, high)| [low.to_string(), high.to_string()]);
        keys.extend(own.chain(ranges).take(2));
        if keys.len() >= MOST_KEYS {
            break;
        }
    }
    let near: Vec<String> = keys
        .iter()
        .take(4)
        .flat_map(|key| [format!("{key}0"), format!("{key}x")])
        .collect();
    keys.extend(near);
    keys
}

/// Statements without any key: setup, transactions, and what only looks like them.
pub(super) const KEYLESS: &[&str] = &[
    "SELECT name FROM orders WHERE id=5",
    "SELECT name\n--\nFROM orders WHERE id=5",
    "SELECT name-- c\nFROM orders",
    "SELECT name#c\nFROM orders",
    "SELECT 1;\n--\nDELETE FROM orders",
    "SELECT a FROM t FOR-- x\nUPDATE",
    "SELECT `GET_LOCK`('a',1)",
    "SELECT 1 /*M! FROM t */",
    "SELECT 1 /*! FROM t */",
    "/*! hostgroup=6 */ SELECT a FROM t",
    "SELECT 1 /* /* hostgroup=2 */",
    "UPDATE b SET c='\0' WHERE id=1 /* hostgroup=2 */",
    "SELECT f(1)",
    "DELETE FROM orders",
    "(SELECT 1)",
];
