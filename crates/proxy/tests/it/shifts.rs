//! The writer is moved again and again, to a server at random, under inserts: nothing is lost, nothing is doubled, and nothing is
//! refused but what a transaction cannot finish.
//!
//! `SHARDWRIGHT_SHIFTS=100` moves it so often, and prints what clients met; a few times otherwise.

use std::time::Instant;

use mysql::prelude::Queryable;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use shardwright_ledger::{ErrorKind, Ledger, Running};
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::galera;
use crate::roles::{mariadb, prepare, replication, setup, told};
use crate::support::{PATIENCE, TestProxy, start};
use crate::trials::{Load, begin, create};

const LOAD: Load = Load {
    transaction_every: 4,
    rate: None,
};

/// Moves the writer between three servers, a1 first, while clients insert.
#[expect(
    clippy::print_stdout,
    reason = "whoever runs many of them reads what each has come to"
)]
fn shifts(proxy: &TestProxy, servers: &[MariaDb], mut shift: impl FnMut(usize, usize)) -> Ledger {
    let count = std::env::var("SHARDWRIGHT_SHIFTS").map_or(5, |count| count.parse().unwrap());
    let running = begin(proxy, LOAD);
    let mut source = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut gaps = Vec::new();
    let mut from = 0;
    go_on(&running);
    for _ in 0..count {
        let step = 1 + (source.next_u64() % (servers.len() as u64 - 1)) as usize;
        let to = (from + step) % servers.len();
        let began = Instant::now();
        shift(from, to);
        let mut admin = proxy.admin();
        eventually(PATIENCE, || {
            told(&mut admin, &format!("a{}", to + 1), "writes") == "yes"
        });
        go_on(&running);
        gaps.push(running.so_far().longest_gap(began).length);
        from = to;
    }
    let ledger = running.stop();
    for server in servers {
        let audit = ledger.audit_on(&mut server.root().unwrap(), PATIENCE).unwrap();
        assert!(audit.is_clean(), "{audit:?}: {:?}", ledger.errors());
    }
    gaps.sort();
    println!(
        "{count} shifts, {} rows; longest time without a commit: median {:?}, {:?}..{:?}; refused {}, unknown {}: {:?}",
        ledger.rows(),
        gaps[gaps.len() / 2],
        gaps[0],
        gaps[gaps.len() - 1],
        ledger.refused().len(),
        ledger.unknown().len(),
        ledger.errors()
    );
    ledger
}

/// Clients get further, each of them a few times.
fn go_on(running: &Running) {
    let before = running.acknowledged();
    eventually(PATIENCE, || running.acknowledged() >= before + 60);
}

#[test]
fn a_writer_that_is_promoted_by_hand_at_random() {
    let servers = Replication::start(3, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0].run("CREATE DATABASE t").unwrap();
    create(&servers.servers[0]);
    let proxy = start(&setup(replication(), &servers.servers));
    let ledger = shifts(&proxy, &servers.servers, |from, to| {
        let [former, next] = [&servers.servers[from], &servers.servers[to]];
        former.run("SET GLOBAL read_only = 1").unwrap();
        let position = former.run("SELECT @@gtid_binlog_pos").unwrap()[0][0]
            .clone()
            .unwrap();
        let waited = next
            .run(format!("SELECT MASTER_GTID_WAIT('{position}', 30)"))
            .unwrap();
        assert_eq!(waited[0][0].as_deref(), Some("0"));
        servers.promote(to);
        for other in (0..3).filter(|other| *other != to) {
            servers.follow(other, to);
        }
    });
    // A statement alone waits. Only a transaction that was open hears of it.
    for ((kind, code), errors) in ledger.errors() {
        assert_eq!(*kind, ErrorKind::Refused, "{code} {errors:?}");
    }
}

#[test]
fn a_writer_of_galera_that_is_preferred_at_random() {
    let galera = galera::cluster();
    create(&galera.servers[0]);
    let proxy = start(&setup(galera::kind(), &galera.servers));
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "a1", "writes") == "yes");
    shifts(&proxy, &galera.servers, |_, to| {
        let prefer = format!("SHARDWRIGHT PREFER 'clusters.a.servers.a{}'", to + 1);
        admin.query_drop(prefer).unwrap();
    });
}
