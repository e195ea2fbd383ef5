//! Which statements are on one shard, against an unsharded server.
//!
//! Three schemas hold the rows of three shards, a fourth one holds all rows. A statement that is placed on a shard runs in the
//! shard's schema and in the one with all rows: it must give the same rows, the same count, and leave the same rows. Both
//! sides roll back then. `SHARDWRIGHT_PINS=5000000` asks for that many statements instead of a sample;
//! `SHARDWRIGHT_PINS_SEED` begins elsewhere; `SHARDWRIGHT_MYSQLD` names another server than MariaDB.

mod grammar;
mod operators;
mod random;

use std::collections::BTreeMap;

use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, QueryResult, Value};
use shardwright_sql::columns::{ColumnAnswer, ColumnQuestion, KeyUse, KeyValue, Parameters, decide};
use shardwright_sql::rewrite::apply;
use shardwright_sql::{InShards, LexMode};
use shardwright_testkit::{ClientOptions, MariaDb, Options};
use shardwright_vocabulary::KeyValue as Key;

use grammar::Grammar;
use random::Random;

const LONG: &str = "SHARDWRIGHT_PINS";
const QUICK: usize = 6_000;
/// MySQL lets root in by its socket only.
const USER: &str = "tester";
const PASSWORD: &str = "of pins";
const SEED: &str = "SHARDWRIGHT_PINS_SEED";
const TENANTS: std::ops::RangeInclusive<i64> = 1..=6;

/// How keys are spread over the three shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Map {
    /// Two lists of keys and a range.
    Listed,
    Remainder,
    /// Keys are texts.
    Text,
    /// Tables on the shards lack the column.
    Absent,
}

const MAPS: [Map; 4] = [Map::Listed, Map::Remainder, Map::Text, Map::Absent];

impl Map {
    fn is_text(self) -> bool {
        self == Map::Text
    }

    fn shard_of_tenant(self, tenant: i64) -> Option<usize> {
        match (self, tenant) {
            (Map::Remainder, _) => usize::try_from(tenant.rem_euclid(3)).ok(),
            // One key on each shard; the others have none.
            (Map::Absent, 1..=3) => usize::try_from(tenant - 1).ok(),
            (Map::Absent, _) => None,
            (Map::Listed | Map::Text, 1..=2) => Some(0),
            (Map::Listed | Map::Text, 3 | 5) => Some(1),
            (Map::Listed | Map::Text, 4 | 6) => Some(2),
            _ => None,
        }
    }

    fn shard_of(self, value: &KeyValue) -> Option<usize> {
        let tenant = match value {
            KeyValue::Integer(n) if !self.is_text() => i64::try_from(*n).ok()?,
            KeyValue::Text(text) if self.is_text() => text.strip_prefix('k')?.parse().ok()?,
            KeyValue::Text(text) => text.parse().ok().filter(|n: &i64| n.to_string() == *text)?,
            _ => return None,
        };
        self.shard_of_tenant(tenant)
    }

    fn literal(self, tenant: &str) -> String {
        match self.is_text() {
            true => format!("'k{tenant}'"),
            false => tenant.to_owned(),
        }
    }
}

/// The connections of one map: its shards, and all rows.
struct Side {
    map: Map,
    shards: Vec<Conn>,
    all: Conn,
    /// What the tables hold before every statement, by shard.
    base: Vec<Vec<String>>,
}

const CONTENT: &str = "SELECT 't', KEYS, id, c, s FROM t UNION ALL SELECT 'u', KEYS, id, c, s FROM u";

impl Side {
    fn new(server: &MariaDb, map: Map) -> Self {
        let schema = |name: &str| format!("{map:?}_{name}").to_lowercase();
        for (name, shard) in [("0", Some(0)), ("1", Some(1)), ("2", Some(2)), ("all", None)] {
            load(server, map, &schema(name), shard);
        }
        let connect = |name: &str| {
            let schema = schema(name);
            let options = ClientOptions {
                user: USER,
                password: PASSWORD,
                schema: Some(&schema),
            };
            let mut connection = server.connect(options).unwrap();
            connection
                .query_drop("SET sql_mode = 'NO_ENGINE_SUBSTITUTION'")
                .unwrap();
            connection
        };
        let mut side = Self {
            map,
            shards: ["0", "1", "2"].map(connect).into(),
            all: connect("all"),
            base: Vec::new(),
        };
        side.base = (0..3).map(|shard| side.content(Some(shard))).collect();
        side
    }

    fn content(&mut self, shard: Option<usize>) -> Vec<String> {
        let column = match (self.map, shard) {
            (Map::Absent, Some(shard)) => (shard + 1).to_string(),
            _ => "tenant_id".to_owned(),
        };
        let connection = shard.map_or(&mut self.all, |shard| &mut self.shards[shard]);
        let rows = connection.query_iter(CONTENT.replace("KEYS", &column)).unwrap();
        rows_of(rows).unwrap().rows
    }

    /// The rows that the shards have in common with the schema of all rows, the one shard as it is now.
    fn expected(&mut self, changed: usize) -> Vec<String> {
        let now = self.content(Some(changed));
        let others = (0..3).filter(|shard| *shard != changed);
        let mut rows: Vec<String> = others.flat_map(|shard| self.base[shard].clone()).collect();
        rows.extend(now);
        rows.sort_unstable();
        rows
    }
}

/// The tables of one schema. Some rows of `u` are rows of `t`, so that natural joins find some.
fn load(server: &MariaDb, map: Map, schema: &str, shard: Option<usize>) {
    let key_type = match map.is_text() {
        true => "VARCHAR(20) COLLATE utf8mb4_bin",
        false => "INT",
    };
    let mut sql = format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema};");
    let lacks = map == Map::Absent && shard.is_some();
    for table in ["t", "u"] {
        let key = if lacks {
            String::new()
        } else {
            format!("tenant_id {key_type} NOT NULL,")
        };
        let primary = if lacks { "id" } else { "tenant_id, id" };
        sql += &format!(
            "CREATE TABLE {table} ({key} id INT NOT NULL, c INT DEFAULT 7, s VARCHAR(20) DEFAULT 'x', PRIMARY KEY ({primary}));"
        );
        for tenant in TENANTS {
            let place = map.shard_of_tenant(tenant);
            if place.is_none() || shard.is_some_and(|shard| place != Some(shard)) {
                continue;
            }
            for id in 1..=5 {
                let id = if table == "u" { id + tenant % 3 } else { id };
                let c = if id == 4 {
                    "NULL".to_owned()
                } else {
                    ((tenant + id) % 3).to_string()
                };
                let s = if id % 2 == 0 { "x" } else { "xy" };
                let key = if lacks {
                    String::new()
                } else {
                    format!("{},", map.literal(&tenant.to_string()))
                };
                sql += &format!("INSERT INTO {table} VALUES ({key} {id}, {c}, '{s}');");
            }
        }
    }
    server.run(sql).unwrap();
}

/// What a server answers: rows in a fixed order, and how many it changed.
#[derive(Debug, PartialEq, Eq)]
struct Rows {
    rows: Vec<String>,
    affected: u64,
}

fn rows_of<P: Protocol>(result: QueryResult<'_, '_, '_, P>) -> Result<Rows, mysql::Error> {
    let affected = result.affected_rows();
    let mut rows = Vec::new();
    for row in result {
        rows.push(format!("{:?}", row?.unwrap()));
    }
    rows.sort_unstable();
    Ok(Rows { rows, affected })
}

type Answer = Result<Rows, u16>;

fn ask(connection: &mut Conn, sql: &str, bound: Option<&[Value]>) -> Answer {
    let answer = match bound {
        None => connection.query_iter(sql).and_then(rows_of),
        Some(values) => connection.prep(sql).and_then(|statement| {
            connection
                .exec_iter(&statement, values.to_vec())
                .and_then(rows_of)
        }),
    };
    match answer {
        Ok(rows) => Ok(rows),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(other) => panic!("{sql}: {other}"),
    }
}

/// A statement with its keys written, as text or as parameters.
struct Written {
    sql: String,
    keys: Option<Vec<Key>>,
}

fn write(template: &str, map: Map, random: &mut Random) -> Written {
    let binds = map != Map::Absent && random.chance(12);
    let style = random.below(12);
    let mut written = Written {
        sql: String::with_capacity(template.len()),
        keys: binds.then(Vec::new),
    };
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('«') {
        let (tenant, behind) = behind.split_once('»').unwrap();
        written.sql.push_str(before);
        rest = behind;
        if let Some(keys) = &mut written.keys {
            written.sql.push('?');
            keys.push(match map.is_text() {
                true => Key::Text(format!("k{tenant}").into()),
                false => Key::Integer(tenant.parse().unwrap()),
            });
            continue;
        }
        let literal = match (style, map.is_text()) {
            (0, false) => format!("+{tenant}"),
            (1, false) => format!("{tenant}.0"),
            (2, false) => format!("'{tenant}'"),
            (3, false) => format!("_utf8mb4'{tenant}'"),
            (3, true) => format!("_utf8mb4'k{tenant}'"),
            (4, false) => format!("({tenant})"),
            _ => map.literal(tenant),
        };
        written.sql.push_str(&literal);
    }
    written.sql.push_str(rest);
    written.sql = written.sql.replace("shop.", "");
    written
}

#[derive(Default)]
struct Tally {
    same: usize,
    failed_alike: usize,
    refused: usize,
    reasons: BTreeMap<String, usize>,
    different: Vec<String>,
}

/// The shard of a statement, and the statement as it is sent there.
fn placed(written: &Written, map: Map, tally: &mut Tally) -> Option<(usize, String)> {
    let values: Option<Vec<Option<Key>>> = written
        .keys
        .as_ref()
        .map(|keys| keys.iter().cloned().map(Some).collect());
    let question = ColumnQuestion {
        logical_schema: "shop",
        key_column: "tenant_id",
        session_schema: Some("shop"),
        in_shards: if map == Map::Absent {
            InShards::Absent
        } else {
            InShards::Present
        },
        mode: LexMode::default(),
        parameters: values.as_deref().map_or(Parameters::Unknown, Parameters::Bound),
    };
    let using = match decide(written.sql.as_bytes(), &question) {
        ColumnAnswer::Keys(using) => using,
        ColumnAnswer::NotConcerned => {
            tally.different.push(format!("not concerned: {}", written.sql));
            return None;
        }
        ColumnAnswer::Missing => return refuse("no key", tally),
        ColumnAnswer::Undecidable(doubt) => return refuse(&doubt.reason, tally),
    };
    let shard = match shard_of(&using, map) {
        Some(shard) => shard,
        None => return refuse("keys of no shard, or of several", tally),
    };
    let sent = apply(written.sql.as_bytes(), &using.neutralised);
    Some((shard, String::from_utf8(sent).unwrap()))
}

fn refuse<T>(reason: &str, tally: &mut Tally) -> Option<T> {
    tally.refused += 1;
    let reason = reason.split(['(', '`']).next().unwrap_or_default().to_owned();
    *tally.reasons.entry(reason).or_default() += 1;
    None
}

fn shard_of(using: &KeyUse, map: Map) -> Option<usize> {
    let mut shards = using.values.iter().map(|literal| map.shard_of(&literal.value));
    let shard = shards.next()??;
    let held = KeyValue::Integer(shard as i128 + 1);
    let is_answered = map != Map::Absent || {
        let values: Vec<KeyValue> = using.values.iter().map(|literal| literal.value.clone()).collect();
        using.is_answered_by(&[held]) || values == [KeyValue::Text((shard + 1).to_string())]
    };
    (is_answered && shards.all(|other| other == Some(shard))).then_some(shard)
}

fn compare(side: &mut Side, written: &Written, tally: &mut Tally) {
    let Some((shard, sent)) = placed(written, side.map, tally) else {
        return;
    };
    let values: Option<Vec<Value>> = written.keys.as_ref().map(|keys| {
        let value = |key: &Key| match key {
            Key::Integer(n) => Value::from(*n),
            Key::Text(text) => Value::from(&**text),
        };
        keys.iter().map(value).collect()
    });
    let is_read = ["SELECT", "WITH"].iter().any(|word| sent.starts_with(word));
    let is_plan = sent.starts_with("EXPLAIN");
    if !is_read {
        side.shards[shard].query_drop("BEGIN").unwrap();
        side.all.query_drop("BEGIN").unwrap();
    }
    let found = ask(&mut side.shards[shard], &sent, values.as_deref());
    let expected = ask(&mut side.all, &written.sql, values.as_deref());
    let changed = |answer: &Answer| answer.as_ref().map_or(true, |rows| rows.affected > 0);
    let mut is_same = found == expected || is_plan && found.is_ok() == expected.is_ok();
    let mut left = String::new();
    if !is_read && !is_plan && (changed(&found) || changed(&expected)) {
        let sharded = side.expected(shard);
        let all = side.content(None);
        is_same &= sharded == all;
        if sharded != all {
            let only = |rows: &[String], others: &[String]| {
                let only = rows.iter().filter(|row| !others.contains(row));
                only.take(4).cloned().collect::<Vec<_>>()
            };
            left = format!(
                "\n  only sharded: {:?}\n  only unsharded: {:?}",
                only(&sharded, &all),
                only(&all, &sharded)
            );
        }
    }
    if !is_read {
        side.shards[shard].query_drop("ROLLBACK").unwrap();
        side.all.query_drop("ROLLBACK").unwrap();
    }
    match (is_same, &found) {
        (true, Ok(_)) => tally.same += 1,
        (true, Err(_)) => tally.failed_alike += 1,
        (false, _) => {
            let shown = |answer: &Answer| format!("{answer:?}").chars().take(300).collect::<String>();
            tally.different.push(format!(
                "{:?}, shard {shard}: {sent} {values:?}\n  sharded:   {}\n  unsharded: {}{left}",
                side.map,
                shown(&found),
                shown(&expected)
            ));
        }
    }
}

#[test]
fn a_placed_statement_is_answered_as_by_an_unsharded_server() {
    let count = std::env::var(LONG).map_or(QUICK, |count| count.parse().unwrap());
    let server = MariaDb::start(Options::default()).unwrap();
    server
        .create_user(USER, PASSWORD, Some("ALL PRIVILEGES ON *.*"))
        .unwrap();
    let mut sides = MAPS.map(|map| Side::new(&server, map));
    let seed = std::env::var(SEED).map_or(0x5EED_0023, |text| text.parse().unwrap());
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    for _ in 0..count {
        let map = random.below(MAPS.len());
        let template = Grammar::new(&mut random).statement();
        let written = write(&template, MAPS[map], &mut random);
        compare(&mut sides[map], &written, &mut tally);
    }
    let mut reasons: Vec<_> = tally.reasons.iter().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.1));
    println!(
        "{count} statements: {} identical, {} errors on both, {} refused, {} different",
        tally.same,
        tally.failed_alike,
        tally.refused,
        tally.different.len()
    );
    for (reason, times) in reasons.iter().take(25) {
        println!("{times:8} {reason}");
    }
    let different = tally.different.len();
    tally.different.truncate(20);
    assert!(
        tally.different.is_empty(),
        "{different}:\n{}",
        tally.different.join("\n\n")
    );
    // Refusing everything would be no proxy.
    assert!(tally.same * 8 > count, "only {} identical", tally.same);
}
