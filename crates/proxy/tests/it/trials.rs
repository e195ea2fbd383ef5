//! Crashes and hangs of the writer under inserts, with a ledger: nothing is doubled, and what is lost is what the survivor lacked.
//!
//! `SHARDWRIGHT_TRIALS=20` has as many trials, and prints how long writes were away; one trial otherwise.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::roles::{mariadb, prepare, replication, setup, told};
use crate::support::{PASSWORD, PATIENCE, TestProxy, USER, start};

const CLIENTS: u64 = 4;

/// What clients were told.
#[derive(Default)]
struct Ledger {
    /// Rows that were acknowledged, and when.
    written: Mutex<Vec<(u64, Instant)>>,
    /// Rows of which nobody knows.
    unknown: AtomicU64,
    is_over: AtomicBool,
}

impl Ledger {
    /// Inserts one row after the other, on a new connection after each that was lost.
    fn insert(&self, proxy: &TestProxy, first: u64) {
        let mut client: Option<Conn> = None;
        let mut id = first;
        while !self.is_over.load(Ordering::Relaxed) {
            let Some(connection) = &mut client else {
                client = proxy.try_connect(USER, PASSWORD, None).ok();
                continue;
            };
            match connection.query_drop(format!("INSERT INTO t.t (id) VALUES ({id})")) {
                Ok(()) => self.written.lock().unwrap().push((id, Instant::now())),
                Err(_) => {
                    self.unknown.fetch_add(1, Ordering::Relaxed);
                    client = None;
                }
            }
            id += CLIENTS;
        }
    }

    fn count(&self) -> usize {
        self.written.lock().unwrap().len()
    }

    /// From a moment to the next row that was acknowledged.
    fn gap_after(&self, moment: Instant) -> Option<Duration> {
        let written = self.written.lock().unwrap();
        let after = written.iter().filter(|(_, at)| *at > moment);
        after.map(|(_, at)| *at - moment).min()
    }

    fn ids(&self) -> BTreeSet<u64> {
        self.written.lock().unwrap().iter().map(|(id, _)| *id).collect()
    }
}

fn rows(server: &MariaDb) -> BTreeSet<u64> {
    let rows = server.run("SELECT id FROM t.t").unwrap();
    let ids: Vec<u64> = rows
        .iter()
        .map(|row| row[0].as_deref().unwrap().parse().unwrap())
        .collect();
    let distinct: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "a row is there twice");
    distinct
}

/// What one crash has come to.
struct Trial {
    /// From the moment at which the survivor takes writes to the first that is acknowledged.
    away: Duration,
    written: usize,
    lost: usize,
    unknown: u64,
}

/// What happens to the writer.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Its process ends.
    Crash,
    /// Its process stops: connections stay open, and nothing answers.
    Hang,
}

fn trial(fault: Fault) -> Trial {
    let mut servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (number BIGINT PRIMARY KEY AUTO_INCREMENT, id BIGINT)")
        .unwrap();
    let proxy = start(&setup(replication(), &servers.servers));
    let ledger = Ledger::default();
    let away = std::thread::scope(|scope| {
        for first in 0..CLIENTS {
            let (ledger, proxy) = (&ledger, &proxy);
            scope.spawn(move || ledger.insert(proxy, first));
        }
        eventually(PATIENCE, || ledger.count() >= 200);
        match fault {
            Fault::Crash => servers.servers[0].kill().map(|_| ()).unwrap(),
            Fault::Hang => servers.servers[0].pause().unwrap(),
        }
        let mut admin = proxy.admin();
        eventually(PATIENCE, || {
            told(&mut admin, "a1", "writes").contains("does not answer")
        });
        servers.promote(1);
        let promoted = Instant::now();
        eventually(PATIENCE, || ledger.gap_after(promoted).is_some());
        let after = ledger.count();
        eventually(PATIENCE, || ledger.count() >= after + 100);
        ledger.is_over.store(true, Ordering::Relaxed);
        ledger.gap_after(promoted).unwrap()
    });
    match fault {
        Fault::Crash => servers.servers[0].restart().unwrap(),
        Fault::Hang => {
            servers.servers[0].resume().unwrap();
            // What it had begun ends, and no client hears of it.
            let working = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{USER}' AND command = 'Query'"
            );
            eventually(PATIENCE, || {
                servers.servers[0].run(&working).unwrap()[0][0].as_deref() == Some("0")
            });
        }
    }
    let (former, survivor, written) = (rows(&servers.servers[0]), rows(&servers.servers[1]), ledger.ids());
    let lost: BTreeSet<u64> = written.difference(&survivor).copied().collect();
    // Asynchronous replication: what was acknowledged and is lost is what the survivor had not got.
    let lacked: BTreeSet<u64> = former.difference(&survivor).copied().collect();
    assert!(
        lost.is_subset(&lacked),
        "{lost:?} were acknowledged, and no server has them"
    );
    let told: BTreeSet<u64> = lacked.intersection(&written).copied().collect();
    assert_eq!(lost, told);
    Trial {
        away,
        written: written.len(),
        lost: lost.len(),
        unknown: ledger.unknown.load(Ordering::Relaxed),
    }
}

/// As many trials as are asked for; what each has come to.
fn trials(fault: Fault) -> Vec<String> {
    let count = std::env::var("SHARDWRIGHT_TRIALS").map_or(1, |count| count.parse().unwrap());
    let told = |number| {
        let trial = trial(fault);
        assert!(
            trial.unknown <= CLIENTS,
            "each client has at most one statement at the server that is gone"
        );
        format!(
            "{fault:?} {number}: writes are back {:.0} ms after the survivor took them; {} written, {} of them lost with the server, {} unknown",
            trial.away.as_secs_f64() * 1000.0,
            trial.written,
            trial.lost,
            trial.unknown
        )
    };
    (1..=count).map(told).collect()
}

#[test]
fn a_crash_doubles_nothing_and_loses_what_the_survivor_lacked() {
    println!("{}", trials(Fault::Crash).join("\n"));
}

#[test]
fn a_hang_doubles_nothing_and_loses_what_the_survivor_lacked() {
    println!("{}", trials(Fault::Hang).join("\n"));
}
