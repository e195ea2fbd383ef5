//! Another configuration while statements come at half the most that the proxy serves.
//!
//! What is measured is the moment at which the new rules become those that run: everything before is done before the load
//! begins. Here it is `SHARDWRIGHT APPLY` with a whole configuration, there `LOAD MYSQL QUERY RULES TO RUNTIME`.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use shardwright_testkit::ProxySql;

use super::checks::{Bound, Check};
use super::samples::{Sample, by_round};
use super::stage::{Cores, Server, Stage};
use super::targets::{PROXYSQL, Runs, SHARDWRIGHT, Target, proxysql_failed};
use super::turns::Done;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::{PASSWORD, SCHEMA, Setup, USER};
use crate::sysbench::{Load, Scripts};

pub(super) const SWAP: Row = Row {
    name: "swap",
    about: "point selects of 16 clients at half the most that there is, without and with another set of 100,000 rules in the middle",
    unit: "statement",
    measure,
};

const CLIENTS: u32 = 16;
const RULES: u32 = 100_000;
/// Statements before the most is measured.
const FIRST: u32 = 1_000;
const P999: &str = "p999_ms";
/// Each run is so many times as long as a turn: one swap shall be a small part of it.
const TURNS: u32 = 2;

fn measure(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, CLIENTS, 1_000)?;
    let mut targets: Vec<Target> = proxysql(stage, &server)?.into_iter().collect();
    let setup = Setup {
        shards: RULES,
        ..Setup::default()
    };
    targets.push(stage.shardwright(&server, setup)?);
    let scripts = Scripts::new()?;
    let load = scripts.tenants(RULES);
    let duration = stage.plan.duration * TURNS;
    let mut samples = Vec::new();
    for target in &targets {
        // The first statements wait until every thread has its rules.
        server.client.run_events(target.place(), FIRST, &load)?;
        let peak = server
            .client
            .run(target.endpoint.address, stage.plan.duration, &load)?;
        let half = load.clone().at_rate(peak.queries as f64 / peak.seconds / 2.0);
        for round in 1..=stage.plan.rounds {
            for swaps in [false, true] {
                let sample = stage.turn(&server, target, round, || {
                    run(&server, target, &half, duration, swaps.then_some(target))
                })?;
                let sample = Sample {
                    target: named(&target.endpoint.name, swaps),
                    ..sample
                };
                (stage.progress)(&format!("  round {round}  {}: {:?}", sample.target, sample.more));
                samples.push(sample);
            }
        }
    }
    let longer = |name: &str| {
        let ms = by_round(&samples, |round| {
            let [without, with] = [false, true].map(|swaps| round.of(&named(name, swaps)));
            Some(with?.more[P999] - without?.more[P999])
        });
        Check::of(format!("{name}: p99.9 with a swap, ms more"), ms)
    };
    let checks = vec![
        longer(SHARDWRIGHT)
            .must(Bound::AtMost(5.0))
            .stretch(Bound::AtMost(1.0)),
        longer(PROXYSQL),
    ];
    Ok(Outcome { samples, checks })
}

fn named(target: &str, swaps: bool) -> String {
    format!("{target}, {}", if swaps { "swap" } else { "no swap" })
}

/// The load, with a swap in its middle.
fn run(
    server: &Server,
    target: &Target,
    load: &Load,
    duration: Duration,
    swaps: Option<&Target>,
) -> Result<Done, BenchError> {
    let swap = swaps.map(Swap::prepared).transpose()?;
    let (run, took) = thread::scope(|scope| {
        let swapping = swap.map(|swap| {
            scope.spawn(move || {
                thread::sleep(duration / 2);
                swap.make()
            })
        });
        let run = server.client.run(target.endpoint.address, duration, load);
        let took = swapping.map(|thread| thread.join().expect("a swap has nothing that panics"));
        (run, took.transpose())
    });
    let (run, took) = (run?, took?);
    let mut more = BTreeMap::new();
    for (name, share) in [
        ("p50_ms", 0.5),
        ("p99_ms", 0.99),
        (P999, 0.999),
        ("longest_ms", 1.0),
    ] {
        more.extend(run.latencies.percentile(share).map(|ms| (name, ms)));
    }
    more.extend(took.map(|took| ("swap_ms", took.as_secs_f64() * 1e3)));
    Ok(Done {
        units: run.queries,
        seconds: run.seconds,
        more,
    })
}

/// A statement for an admin port that makes other rules those that run.
struct Swap {
    admin: mysql::Conn,
    statement: String,
}

impl Swap {
    fn prepared(target: &Target) -> Result<Self, BenchError> {
        match &target.runs {
            Runs::Proxysql(proxysql) => {
                let mut admin = proxysql.admin()?;
                // Every rule is another one than before.
                admin
                    .query_drop("UPDATE mysql_query_rules SET comment = comment || '.' WHERE rule_id > 1")?;
                Ok(Self {
                    admin,
                    statement: "LOAD MYSQL QUERY RULES TO RUNTIME".to_owned(),
                })
            }
            Runs::Shardwright(bundled) => {
                let mut admin = bundled.admin()?;
                let statement = bundled.other_shards(&mut admin)?;
                Ok(Self { admin, statement })
            }
            Runs::Itself | Runs::Haproxy(_) => unreachable!("nothing else has rules"),
        }
    }

    /// How long the admin port took to answer.
    fn make(mut self) -> Result<Duration, BenchError> {
        let start = Instant::now();
        self.admin.query_drop(&self.statement)?;
        Ok(start.elapsed())
    }
}

/// One whose first rule takes every statement of the load, with all others behind it: a list of them would be too slow for
/// any load, and a swap copies them all the same.
fn proxysql(stage: &Stage<'_>, server: &Server) -> Result<Option<Target>, BenchError> {
    stage.proxysql_with(server, |proxysql| {
        let port = server.maria.port();
        let mut statements = vec![
            format!(
                "INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections) \
                 VALUES (0, '127.0.0.1', {port}, 1000)"
            ),
            format!(
                "INSERT INTO mysql_users (username, password, default_hostgroup, default_schema) \
                 VALUES ('{USER}', '{PASSWORD}', 0, '{SCHEMA}')"
            ),
            format!(
                "INSERT INTO mysql_query_rules (rule_id, active, username, destination_hostgroup, apply) \
                 VALUES (1, 1, '{USER}', 0, 1)"
            ),
        ];
        statements.extend(rules());
        statements
            .extend(["SERVERS", "USERS", "QUERY RULES"].map(|what| format!("LOAD MYSQL {what} TO RUNTIME")));
        proxysql_run(proxysql, &statements)
    })
}

fn proxysql_run(proxysql: &ProxySql, statements: &[String]) -> Result<(), BenchError> {
    proxysql.run(statements).map(|_| ()).map_err(proxysql_failed)
}

/// Statements with a thousand rules each.
fn rules() -> impl Iterator<Item = String> {
    const EACH: u32 = 1_000;
    (0..RULES / EACH).map(|part| {
        let values: Vec<String> = (part * EACH..(part + 1) * EACH)
            .map(|n| format!("({}, 1, 'tenant={n}\\b', 0, 1, 't{n}')", n + 2))
            .collect();
        format!(
            "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, destination_hostgroup, apply, comment) VALUES {}",
            values.join(", ")
        )
    })
}
