//! Five thousand statements through the proxy and to one unsharded server: the same rows, or refused; never silently
//! different.

use mysql::Conn;
use shardwright_testkit::{MariaDb, Options, load_world_oracle};

use crate::generator::{CONTINENTS, Pair, Random, statement};
use crate::support::{WorldOnServers, ask, lines};

const STATEMENTS: usize = 5_000;
const SEED: u64 = 0x5EED_0001;

#[derive(Debug, Default)]
struct Tally {
    identical: usize,
    /// Both servers gave an error.
    failed_alike: usize,
    refused: usize,
    different: Vec<String>,
}

#[test]
fn rows_are_identical_or_the_statement_is_refused() {
    let world = WorldOnServers::start();
    let oracle = MariaDb::start(Options::default()).unwrap();
    load_world_oracle(&oracle).unwrap();
    let mut sharded = world.client("geo");
    let mut unsharded = oracle.root().unwrap();
    ask(&mut unsharded, "USE world").unwrap();
    let mut random = Random::new(SEED);
    let mut tally = Tally::default();
    for id in 0..STATEMENTS {
        let pair = statement(&mut random, id);
        compare(&mut sharded, &mut unsharded, &pair, &mut tally);
    }
    compare_contents(&world, &mut unsharded, &mut tally);
    println!(
        "{STATEMENTS} statements: {} identical, {} errors on both, {} refused, {} different",
        tally.identical,
        tally.failed_alike,
        tally.refused,
        tally.different.len()
    );
    tally.different.truncate(20);
    assert!(tally.different.is_empty(), "{}", tally.different.join("\n\n"));
    // Refusing everything would be no proxy: most of the generated statements name one shard soundly.
    assert!(tally.identical * 2 > STATEMENTS, "{} identical", tally.identical);
}

/// A statement that the proxy refuses is not sent to the unsharded server, so that both hold the same rows.
fn compare(sharded: &mut Conn, unsharded: &mut Conn, pair: &Pair, tally: &mut Tally) {
    let answer = ask(sharded, &pair.sharded).map(|rows| (sorted(lines(&rows)), sharded.affected_rows()));
    if answer
        .as_ref()
        .is_err_and(|message| message.starts_with("1148: SW"))
    {
        tally.refused += 1;
        return;
    }
    let expected = ask(unsharded, &pair.oracle).map(|rows| (sorted(lines(&rows)), unsharded.affected_rows()));
    match (&answer, &expected) {
        (Ok((rows, affected)), Ok((expected_rows, expected_affected)))
            if rows == expected_rows && (!pair.is_write || affected == expected_affected) =>
        {
            tally.identical += 1;
        }
        (Err(_), Err(_)) => tally.failed_alike += 1,
        _ => tally.different.push(format!(
            "{}\n  proxy:  {}\n  oracle: {}",
            pair.sharded,
            shortened(&answer),
            shortened(&expected)
        )),
    }
}

/// Rows have no order of their own; statements with LIMIT are generated with an order.
fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

fn shortened(answer: &Result<(Vec<String>, u64), String>) -> String {
    let text = format!("{answer:?}");
    text.chars().take(300).collect()
}

/// After all the writes, every shard holds what the unsharded server holds of its continent.
fn compare_contents(world: &WorldOnServers, unsharded: &mut Conn, tally: &mut Tally) {
    let mut client = world.client("geo");
    for continent in CONTINENTS {
        let columns = "ID, Name, CountryCode, Population";
        let of_shard = ask(
            &mut client,
            &format!("SELECT {columns} FROM world.City WHERE Continent='{continent}' ORDER BY ID"),
        );
        let of_oracle = ask(
            unsharded,
            &format!("SELECT {columns} FROM world.City WHERE Continent='{continent}' ORDER BY ID"),
        );
        if of_shard != of_oracle {
            tally
                .different
                .push(format!("the cities of {continent} differ after the writes"));
        }
    }
}
