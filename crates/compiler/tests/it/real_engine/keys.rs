//! Statements with a key of a map in every form, and without one.

use std::collections::BTreeSet;

use shardwright_rules::{Finder, KeyValue, MapStep, Shard};

/// Keys of one map that are tried in every form.
const MOST_KEYS: usize = 24;

/// Statements that name a key in every way that the finders of a map know.
pub(super) fn keyed(map: &MapStep, key: &str) -> Vec<(Option<String>, String)> {
    let rest = [
        "SELECT a\nFROM t WHERE id=5",
        "SELECT a\r\nFROM\tt\x0bWHERE id=5",
        "UPDATE t\r\nSET a=1\n",
        "SELECT /* n */ a FROM t",
        "SELECT /*! a */ FROM t",
        "SELECT /*+ n */ a FROM t",
        "SELECT a # n\nFROM t",
        "SELECT a FROM t # n\r\nFOR UPDATE",
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
                let pair = format!("{word}={key}");
                let forms = [
                    format!("/* {pair} {pair}1 */ SELECT 1 FROM t"),
                    format!("SELECT 1 FROM t -- /* {pair} */"),
                    format!("/*! {pair} */ SELECT 1 FROM t"),
                    format!("/*+ {pair} */ SELECT 1 FROM t"),
                    format!("-- {pair}\nSELECT 1 FROM t"),
                    format!("# {pair}\r\nSELECT 1 FROM t"),
                    format!("/*\n{pair}\r\n*/ SELECT 1 FROM t"),
                    format!("/*\t{pair}\x0b*/\tUPDATE t SET a=1"),
                ];
                statements.extend(forms.map(|sql| (None, sql)));
            }
            Finder::Schema { template } => {
                let value = key
                    .parse()
                    .map_or_else(|_| KeyValue::Text(key.into()), KeyValue::Integer);
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
        keys.extend(own_keys(shard).take(2));
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

/// Every key of a map, of ranges the first and the last, each in one form.
pub(super) fn every_key(map: &MapStep) -> impl Iterator<Item = (Option<String>, String)> {
    let keys = map.shards.iter().flat_map(own_keys);
    keys.flat_map(|key| keyed(map, &key).into_iter().take(1))
}

fn own_keys(shard: &Shard) -> impl Iterator<Item = String> {
    let ranges = shard.ranges.iter();
    let ends = ranges.flat_map(|(low, high)| [low.to_string(), high.to_string()]);
    shard.keys.iter().map(ToString::to_string).chain(ends)
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
