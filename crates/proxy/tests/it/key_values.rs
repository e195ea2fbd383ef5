//! Keys that are read from SQL, in columns of every type and collation: what the proxy answers is what one server with all rows
//! answers, or it refuses.
//!
//! `SHARDWRIGHT_KEY_VALUES=1000000` sets the number of statements; a failure prints the seed and the statements before it.

mod cascades;
mod layouts;
mod statements;
mod tables;
mod told_apart;

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value};

use self::layouts::{Layout, SHARDS, column_types};
use self::statements::{Generator, Sent};
use crate::support::{self, server};

/// Statements of a usual run.
const USUAL: usize = 4_000;
/// Statements to one set of tables.
const ROUND: usize = 200;
/// Statements that a failure shows.
const SHOWN: usize = 40;

type Outcome = Result<(Vec<Vec<Value>>, u64), u16>;

/// Runs a statement; what it answers as text or as a prepared statement.
fn outcome(connection: &mut Conn, sent: &Sent, schema: &str) -> Outcome {
    let sql = sent.text(schema);
    let read = |result: mysql::Result<(Vec<mysql::Row>, u64)>| match result {
        Ok((rows, affected)) => Ok((rows.into_iter().map(mysql::Row::unwrap).collect(), affected)),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(other) => panic!("{sent:?}: {other}"),
    };
    let rows = match &sent.parameters {
        None => connection
            .query::<mysql::Row, _>(&sql)
            .map(|rows| (rows, connection.affected_rows())),
        Some(values) => connection.prep(&sql).and_then(|statement| {
            let rows = connection.exec(&statement, Params::Positional(values.clone()))?;
            connection.close(statement)?;
            Ok((rows, connection.affected_rows()))
        }),
    };
    read(rows)
}

/// All rows of a table, of the shards or of the whole.
fn contents(admin: &mut Conn, schemas: &[String], table: &str) -> Vec<(Option<String>, i64, i64)> {
    let mut all = Vec::new();
    for schema in schemas {
        let sql = format!("SELECT HEX(k), id, c FROM {schema}.{table}");
        all.extend(admin.query::<(Option<String>, i64, i64), _>(sql).unwrap());
    }
    all.sort();
    all
}

/// Statements that were answered, and all that were sent.
#[derive(Default)]
struct Tally {
    sent: usize,
    answered: usize,
    writes: usize,
}

/// Sends statements to the tables of one layout.
fn round(layout: &Layout, generator: &mut Generator, tally: &mut Tally) {
    let proxy = layout.start();
    let mut admin = proxy.try_connect("other", support::PASSWORD, None).unwrap();
    let shards: Vec<String> = (0..=SHARDS)
        .map(|shard| layout.schema(&shard.to_string()))
        .collect();
    let whole_schema = [layout.schema("all")];
    let mut history: Vec<String> = Vec::new();
    for (at, column_type) in layout.types.iter().enumerate() {
        let table = format!("t{at}");
        let mut client = proxy.connect(Some(&layout.name));
        let mut whole = proxy
            .try_connect("other", support::PASSWORD, Some(&whole_schema[0]))
            .unwrap();
        if let Some(set) = generator.charset() {
            client.query_drop(set).unwrap();
            whole.query_drop(set).unwrap();
        }
        for _ in 0..ROUND {
            let sent = generator.statement(&table, layout.kind.is_text());
            let answer = outcome(&mut client, &sent, &layout.name);
            tally.sent += 1;
            // The logical schema is on no server, so a session in it is in none there: a name of DELETE has none.
            if matches!(answer, Err(1148 | 1115 | 1046)) {
                continue;
            }
            let expected = outcome(&mut whole, &sent, &whole_schema[0]);
            history.push(format!("{sent:?}: {answer:?}"));
            let told = |history: &[String]| history[history.len().saturating_sub(SHOWN)..].join("\n");
            assert_eq!(
                answer,
                expected,
                "{column_type}, {:?}, seed {}: {sent:?}\nbefore:\n{}",
                layout.kind,
                generator.seed,
                told(&history)
            );
            tally.answered += 1;
            if !sent.writes || answer.is_err() {
                continue;
            }
            tally.writes += 1;
            assert_eq!(
                contents(&mut admin, &shards, &table),
                contents(&mut admin, &whole_schema, &table),
                "{column_type}, {:?}, seed {}: {sent:?}\nbefore:\n{}",
                layout.kind,
                generator.seed,
                told(&history)
            );
        }
    }
}

#[test]
fn a_key_is_what_the_server_compares_on_mysql_and_mariadb() {
    let wanted = std::env::var("SHARDWRIGHT_KEY_VALUES").map_or(USUAL, |text| text.parse().unwrap());
    let seed = std::env::var("SHARDWRIGHT_KEY_SEED").map_or(1, |text| text.parse().unwrap());
    let types = column_types(server());
    let mut generator = Generator::new(seed);
    let mut tally = Tally::default();
    let mut by_kind = std::collections::BTreeMap::new();
    let mut number = 0;
    while tally.sent < wanted {
        let layout = Layout::draw(number, &types, &mut generator);
        number += 1;
        let mut one = Tally::default();
        round(&layout, &mut generator, &mut one);
        tally.sent += one.sent;
        tally.answered += one.answered;
        tally.writes += one.writes;
        let counts: &mut (usize, usize) = by_kind.entry(format!("{:?}", layout.kind)).or_default();
        counts.0 += one.answered;
        counts.1 += one.sent;
    }
    println!(
        "keys in columns: {} statements, {} answered, {} of them writes; {by_kind:?}",
        tally.sent, tally.answered, tally.writes
    );
    assert!(
        tally.answered * 20 > tally.sent,
        "{} of {}",
        tally.answered,
        tally.sent
    );
}
