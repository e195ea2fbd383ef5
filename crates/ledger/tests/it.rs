//! Clients of a real server, which loses and doubles what they were told.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::num::NonZeroU32;
use std::time::Duration;

use mysql::Opts;
use shardwright_ledger::{ErrorKind, Found, Load, Running, Table};
use shardwright_testkit::{ClientOptions, MariaDb, Options, eventually};

const PATIENCE: Duration = Duration::from_secs(30);

fn server() -> MariaDb {
    let server = MariaDb::start(Options::default()).unwrap();
    server.run("CREATE DATABASE t").unwrap();
    server.create_user("app", "pass", Some("ALL ON t.*")).unwrap();
    table().create(&mut server.root().unwrap()).unwrap();
    server
}

fn table() -> Table {
    Table::new("t", "ha")
}

fn start(server: &MariaDb, run: u64, transaction_every: u64) -> Running {
    let login = ClientOptions {
        user: "app",
        password: "pass",
        schema: None,
    };
    let load = Load {
        targets: vec![Opts::from(login.tcp(server.address()))],
        table: table(),
        run,
        clients: NonZeroU32::new(3).unwrap(),
        rate: None,
        transaction_every,
    };
    let running = load.start().unwrap();
    eventually(PATIENCE, || running.acknowledged() >= 100);
    running
}

#[test]
fn what_is_lost_doubled_or_torn_is_found() {
    let server = server();
    let mut root = server.root().unwrap();
    let other = start(&server, 1, 4).stop();
    let ledger = start(&server, 2, 4).stop();
    let audit = ledger.audit_on(&mut root, Duration::ZERO).unwrap();
    assert!(audit.is_clean(), "{audit:?}");
    assert_eq!(audit.rows, ledger.rows());
    assert!(ledger.errors().is_empty(), "{:?}", ledger.errors());
    // Commit 0 is a statement, and commit 9 the fourth of its client: a transaction.
    server
        .run(
            "DELETE FROM t.ha WHERE run = 2 AND number = 0; INSERT INTO t.ha (run, number) VALUES (2, 1), (2, 9); \
             DELETE FROM t.ha WHERE run = 2 AND number = 10 LIMIT 1",
        )
        .unwrap();
    let audit = ledger.audit_on(&mut root, Duration::ZERO).unwrap();
    assert_eq!(audit.lost, [0]);
    assert_eq!(audit.doubled, [1, 9]);
    assert_eq!(audit.torn, [10]);
    assert!(!audit.is_clean());
    let audit = other.audit_on(&mut root, Duration::ZERO).unwrap();
    assert!(audit.is_clean(), "the rows of another run: {audit:?}");
}

#[test]
fn a_refusal_and_a_crash_are_told_apart() {
    let mut server = server();
    let running = start(&server, 1, 0);
    server
        .run("REVOKE ALL ON t.* FROM 'app'@'%'; GRANT SELECT ON t.* TO 'app'@'%'")
        .unwrap();
    let kinds = || {
        let ledger = running.so_far();
        ledger.errors().keys().copied().collect::<Vec<_>>()
    };
    eventually(PATIENCE, || kinds().contains(&(ErrorKind::Refused, 1142)));
    server.run("GRANT ALL ON t.* TO 'app'@'%'").unwrap();
    let before = running.acknowledged();
    eventually(PATIENCE, || running.acknowledged() > before + 50);
    // Who waits for an answer does not get one.
    let mut lock = server.root().unwrap();
    mysql::prelude::Queryable::query_drop(&mut lock, "FLUSH TABLES WITH READ LOCK").unwrap();
    let waiting =
        "SELECT 1 FROM information_schema.processlist WHERE user = 'app' AND state LIKE 'Waiting for%'";
    eventually(PATIENCE, || server.run(waiting).unwrap().len() == 3);
    server.kill().unwrap();
    eventually(PATIENCE, || kinds().contains(&(ErrorKind::NotSent, 2003)));
    server.restart().unwrap();
    let before = running.acknowledged();
    eventually(PATIENCE, || running.acknowledged() > before + 50);
    let ledger = running.stop();
    assert_eq!(ledger.unknown().len(), 3, "{:?}", ledger.errors());
    assert!(!ledger.refused().is_empty());
    let audit = ledger
        .audit_on(&mut server.root().unwrap(), Duration::ZERO)
        .unwrap();
    assert!(audit.is_clean(), "{audit:?}");
    assert!(audit.unknown_and_there.is_empty(), "the lock held them up");
    // A refused commit that is there is found.
    let refused = ledger.refused()[0];
    server
        .run(format!("INSERT INTO t.ha (run, number) VALUES (1, {refused})"))
        .unwrap();
    let found = Found::on(&mut server.root().unwrap(), ledger.load()).unwrap();
    assert_eq!(ledger.audit(&found).refused_and_there, [refused]);
}
