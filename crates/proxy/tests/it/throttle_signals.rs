//! Status variables as signals, on servers that really have them: the age of the checkpoint, Galera's queue and flow control.
//!
//! `SHARDWRIGHT_LAG_TRIALS=3` also measures Galera's flow control with and without a throttle, as many pairs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use shardwright_rules::throttle::{Signal, SignalSource};
use shardwright_rules::{ClusterKind, Failback, Group, HostgroupId, StatementKind, Throttle};
use shardwright_testkit::{Galera, MariaDb, eventually};

use crate::roles::{mariadb, prepare, setup};
use crate::support::{PATIENCE, start};
use crate::throttles::{throttle, throttle_rule, told, with_throttles};

fn on(source: SignalSource, start_above: f64, stop_below: f64) -> Throttle {
    Throttle {
        from_ms: 1,
        to_ms: 1,
        signal: Some(Signal {
            source,
            start_above: start_above.into(),
            stop_below: stop_below.into(),
        }),
        ..throttle()
    }
}

fn status(name: &str) -> SignalSource {
    SignalSource::Status(name.to_owned())
}

#[test]
fn the_age_of_the_checkpoint_starts_it() {
    let server = MariaDb::start(mariadb()).unwrap();
    prepare(&server);
    server
        .run(
            "CREATE DATABASE t; CREATE TABLE t.t (a VARCHAR(1000)); \
             SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, innodb_max_dirty_pages_pct = 90",
        )
        .unwrap();
    let age = on(status("Innodb_checkpoint_age"), 4e6, 1e6);
    let rule = throttle_rule(1, "age", &[StatementKind::Replace], age);
    let servers = std::slice::from_ref(&server);
    let proxy = start(&with_throttles(setup(ClusterKind::Single, servers), vec![rule]));
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "age", "reading") != "NULL");
    eventually(PATIENCE, || {
        server
            .run("USE t; INSERT INTO t.t SELECT REPEAT('a', 1000) FROM seq_1_to_3000")
            .unwrap();
        told(&mut admin, "age", "started") == "1"
    });
    // Everything is flushed, and the checkpoint follows.
    server.run("SET GLOBAL innodb_max_dirty_pages_pct = 0").unwrap();
    eventually(PATIENCE, || told(&mut admin, "age", "started") == "0");
    assert_eq!(told(&mut admin, "age", "starts"), "1");
}

/// Two servers of Galera: the first writes for the proxy.
fn galera() -> Galera {
    let galera = Galera::start(2, &mariadb()).unwrap();
    prepare(&galera.servers[0]);
    galera.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(200))")
        .unwrap();
    eventually(PATIENCE, || galera.servers[1].run("SELECT id FROM t.t").is_ok());
    galera
}

fn group() -> ClusterKind {
    ClusterKind::Galera(Group {
        backup_writer: HostgroupId(12),
        offline: HostgroupId(13),
        writers: 1,
        // The test makes a queue, and does not want to lose the server for it.
        max_transactions_behind: 1_000_000,
        failback: Failback::Manual,
    })
}

/// The server applies what others write one after the other and durably; or it is no longer what others wait for.
fn makes_slow(server: &MariaDb, is_slow: bool, fc_limit: u32) {
    let durable = if is_slow { 1 } else { 0 };
    server
        .run(format!(
            "SET GLOBAL innodb_flush_log_at_trx_commit = {durable}; \
             SET GLOBAL wsrep_provider_options = 'gcs.fc_limit={fc_limit};gcs.fc_factor=0.5'"
        ))
        .unwrap();
}

/// What others have written takes the server 10 ms more for each statement, on every machine: a trigger sleeps for each row.
fn applies_slowly(server: &MariaDb) {
    server
        .run(
            "USE t; SET SESSION wsrep_OSU_method = RSU; SET GLOBAL slave_run_triggers_for_rbr = 'YES'; \
             CREATE TRIGGER t.slow BEFORE INSERT ON t.t FOR EACH ROW SET @slept = SLEEP(0.0002)",
        )
        .unwrap();
}

const INSERT: &str = "INSERT INTO t.t (a) SELECT REPEAT('a', 200) FROM seq_1_to_50";

/// Clients insert, by `connect` each, until `observe` has seen enough. How many inserts there were in each second.
fn under_inserts<T>(
    connect: &(dyn Fn() -> mysql::Conn + Sync),
    clients: usize,
    observe: impl FnOnce(&AtomicU64) -> T,
) -> T {
    let (is_over, inserts) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = connect();
                while !is_over.load(Ordering::Relaxed) {
                    client.query_drop(INSERT).unwrap();
                    inserts.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let observed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| observe(&inserts)));
        is_over.store(true, Ordering::Relaxed);
        observed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn client_of(server: &MariaDb) -> mysql::Conn {
    let options = shardwright_testkit::ClientOptions {
        user: crate::support::USER,
        password: crate::support::PASSWORD,
        schema: Some("t"),
    };
    shardwright_testkit::connect(server.address(), options).unwrap()
}

#[test]
fn galeras_queue_and_flow_control_start_it() {
    let galera = galera();
    let [first, second] = &galera.servers[..] else {
        panic!("two servers");
    };
    let of = |id, name: &str, throttle| throttle_rule(id, name, &[StatementKind::Replace], throttle);
    let proxy = start(&with_throttles(
        setup(group(), &galera.servers),
        vec![
            of(1, "queue", on(status("wsrep_local_recv_queue"), 4.0, 1.0)),
            of(
                2,
                "paused",
                on(status("wsrep_flow_control_paused"), 0.001, 0.0001),
            ),
            of(3, "share", on(SignalSource::FlowControl, 0.01, 0.005)),
        ],
    ));
    let mut admin = proxy.admin();
    for name in ["queue", "paused", "share"] {
        eventually(PATIENCE, || told(&mut admin, name, "reading") != "NULL");
    }
    // The server that writes for the proxy is behind what comes from the other one.
    makes_slow(first, true, 200);
    under_inserts(&|| client_of(second), 12, |_| {
        eventually(PATIENCE, || told(&mut admin, "queue", "started") == "1");
    });
    eventually(2 * PATIENCE, || told(&mut admin, "queue", "started") == "0");
    // It must wait for the other one.
    makes_slow(first, false, 16);
    makes_slow(second, true, 1);
    under_inserts(&|| proxy.connect(Some("t")), 12, |_| {
        eventually(PATIENCE, || told(&mut admin, "share", "started") == "1");
        eventually(PATIENCE, || told(&mut admin, "paused", "started") == "1");
    });
    eventually(2 * PATIENCE, || told(&mut admin, "share", "started") == "0");
    // It is an average since then.
    first.run("FLUSH STATUS").unwrap();
    eventually(PATIENCE, || told(&mut admin, "paused", "started") == "0");
}

/// For how long flow control has stopped a server, as a share of a time; and inserts in a second.
fn paused(server: &MariaDb, inserts: &AtomicU64, lasts: Duration) -> [f64; 2] {
    let paused_ns = || {
        let rows = server
            .run("SHOW GLOBAL STATUS LIKE 'wsrep_flow_control_paused_ns'")
            .unwrap();
        rows[0][1].clone().unwrap().parse::<f64>().unwrap()
    };
    let (began, before, count) = (Instant::now(), paused_ns(), inserts.load(Ordering::Relaxed));
    std::thread::sleep(lasts);
    let took_s = began.elapsed().as_secs_f64();
    [
        (paused_ns() - before) / 1e9 / took_s,
        (inserts.load(Ordering::Relaxed) - count) as f64 / took_s,
    ]
}

#[test]
fn a_throttle_keeps_galera_out_of_flow_control() {
    let Ok(pairs) = std::env::var("SHARDWRIGHT_LAG_TRIALS") else {
        return;
    };
    let pairs: usize = pairs.parse().unwrap();
    let galera = galera();
    let [first, second] = &galera.servers[..] else {
        panic!("two servers");
    };
    makes_slow(first, false, 16);
    makes_slow(second, true, 16);
    applies_slowly(second);
    let regulated = Throttle {
        to_ms: 1000,
        ..on(SignalSource::FlowControl, 0.005, 0.001)
    };
    let rule = throttle_rule(1, "inserts", &[StatementKind::Insert], regulated);
    let policies = [("without", vec![]), ("with", vec![rule])];
    let mut shares = [Vec::new(), Vec::new()];
    for pair in 1..=pairs {
        for ((name, rules), shares) in policies.iter().zip(&mut shares) {
            // A new one each time: a throttle also sees the load that passes it by, and remembers.
            let proxy = start(&with_throttles(setup(group(), &galera.servers), rules.clone()));
            let [share, inserts] = under_inserts(&|| proxy.connect(Some("t")), 16, |inserts| {
                std::thread::sleep(Duration::from_secs(20));
                paused(first, inserts, Duration::from_secs(20))
            });
            println!(
                "{pair} {name} a throttle: {:.2} % of the time in flow control, {inserts:.0} inserts/s",
                share * 100.0
            );
            shares.push(share);
        }
    }
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let [without, with] = [mean(&shares[0]), mean(&shares[1])];
    println!("without {:.1} %, with {:.2} %", without * 100.0, with * 100.0);
    assert!(without > 0.1, "the load reaches no flow control: {without}");
    assert!(with < 0.01, "{with}");
}
