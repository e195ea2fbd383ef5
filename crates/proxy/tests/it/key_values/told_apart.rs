//! Whether a column tells the keys of a map apart is asked of the server, and answered as it compares, under every collation.

use mysql::prelude::Queryable;
use shardwright_rules::key_column::{DescribedColumn, Distinction, KeyColumn, KeysOfMap};
use shardwright_rules::{KeyKind, KeyValue, MapStep};
use shardwright_testkit::{ClientOptions, connect};

use super::layouts::{CLOSE, column_types};
use crate::support::{PASSWORD, USER, server, tenants_by_comment};

/// Each is a session of its own: what is undefined in a server may differ from one to the next.
const SESSIONS: usize = 3;

/// A column and its character set and collation, from a type as `VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin`.
fn column(column_type: &str) -> Option<(KeyColumn, &str, &str)> {
    let (_, rest) = column_type.split_once(" CHARACTER SET ")?;
    let (charset, collation) = rest.split_once(" COLLATE ")?;
    let described = DescribedColumn {
        data_type: "varchar".to_owned(),
        column_type: "varchar(20)".to_owned(),
        extra: String::new(),
        charset: Some(charset.to_owned()),
        collation: Some(collation.to_owned()),
        chars: Some(20),
        bytes: Some(80),
        precision: None,
        scale: None,
        is_set_by_trigger: false,
    };
    Some((described.into_key_column(), charset, collation))
}

/// Whether the server compares a key of one shard as equal to one of another.
fn are_any_equal(charset: &str, collation: &str) -> String {
    let converted = |key: &str| format!("CONVERT(_utf8mb4'{key}' USING {charset})");
    let is_there = |key: &str| {
        let converted = converted(key);
        format!("CONVERT({converted} USING utf8mb4) COLLATE utf8mb4_bin = _utf8mb4'{key}'")
    };
    let mut pairs = Vec::new();
    for (at, shard) in CLOSE.iter().enumerate() {
        for key in shard {
            for other in CLOSE[at + 1..].iter().flatten() {
                let [key_there, other_there] = [key, other].map(|key| is_there(key));
                let [key, other] = [key, other].map(|key| converted(key));
                pairs.push(format!(
                    "({key_there} AND {other_there} AND {key} = {other} COLLATE {collation})"
                ));
            }
        }
    }
    format!("SELECT {}", pairs.join(" OR "))
}

#[test]
fn the_keys_of_a_map_are_told_apart_as_the_server_compares_them() {
    let step = MapStep {
        kind: KeyKind::Text,
        ..tenants_by_comment("told_apart")
    };
    let texts = |shard: usize| CLOSE[shard].map(|key| KeyValue::Text(key.into())).to_vec();
    let mut shards = step.shards.clone();
    shards.push(shards[0].clone());
    for (at, shard) in shards.iter_mut().enumerate() {
        shard.keys = texts(at);
    }
    let step = MapStep { shards, ..step };
    let client = || {
        let options = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: None,
        };
        connect(server().address(), options).unwrap()
    };
    let mut different = Vec::new();
    for column_type in column_types(server()) {
        let Some((column, charset, collation)) = column(&column_type) else {
            continue;
        };
        let (keys, question) = KeysOfMap::beside(&step, &column);
        let are_equal: Option<bool> = client().query_first(are_any_equal(charset, collation)).unwrap();
        for _ in 0..SESSIONS {
            let distinction = match &question {
                None => keys.distinction,
                Some(question) => {
                    let answer: Option<Vec<u8>> = client().query_first(&question.sql).unwrap();
                    question.distinction(answer.as_deref())
                }
            };
            let expected = match are_equal {
                Some(false) => Distinction::Clear,
                _ => Distinction::Blurred,
            };
            if distinction != expected {
                different.push(format!(
                    "{collation}: {distinction:?}, and pairs say {expected:?}"
                ));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
