//! Throttles on real servers: signals, limits, what ends a wait, and what people see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::throttle::{Signal, SignalSource, THREADS_RUNNING};
use shardwright_rules::{
    Body, ClusterKind, Configuration, NativeStep, OnUnknown, Rule, Scope, StatementKind, Throttle,
};
use shardwright_testkit::{MariaDb, Replication, eventually, text_rows};

use crate::roles::{mariadb, prepare, replication, setup};
use crate::support::{PATIENCE, Setup, apply, configuration, error, observe, server, start, value};

/// A throttle without anything.
pub(crate) fn throttle() -> Throttle {
    Throttle {
        from_ms: 0,
        to_ms: 0,
        signal: None,
        hold_ms: 0,
        on_unknown: OnUnknown::Hold,
        max_concurrent: None,
        ends_at_s: None,
    }
}

/// A throttle for some kinds of statements.
pub(crate) fn throttle_rule(id: u32, name: &str, kinds: &[StatementKind], throttle: Throttle) -> Rule {
    Rule {
        id,
        address: format!("throttles.{name}").into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Native {
            scope: Box::new(Scope {
                statements: kinds.to_vec(),
                ..Scope::default()
            }),
            step: NativeStep::Throttle(Arc::new(throttle)),
        },
    }
}

/// A setup with throttles in front of its rules.
pub(crate) fn with_throttles(setup: Setup, throttles: Vec<Rule>) -> Setup {
    let before = setup.configuration;
    Setup {
        configuration: Box::new(move |configuration| {
            before(configuration);
            configuration.graph.rules.splice(0..0, throttles.clone());
        }),
        ..setup
    }
}

/// What the admin port says of a throttle on cluster `a`: columns with `/` between.
pub(crate) fn told(admin: &mut Conn, throttle: &str, columns: &str) -> String {
    let names: Vec<&str> = columns.split('/').collect();
    let sql = format!(
        "SELECT {} FROM stats_shardwright_throttles WHERE throttle = 'throttles.{throttle}' AND cluster = 'clusters.a'",
        names.join(", ")
    );
    let row = text_rows(admin, &sql).unwrap().remove(0);
    let values: Vec<String> = row
        .into_iter()
        .map(|value| value.unwrap_or_else(|| "NULL".to_owned()))
        .collect();
    values.join("/")
}

fn limited(max_concurrent: u32) -> Setup {
    let throttle = Throttle {
        max_concurrent: Some(max_concurrent),
        ..throttle()
    };
    with_throttles(
        Setup::default(),
        vec![throttle_rule(
            1,
            "few",
            &[StatementKind::Call, StatementKind::Other],
            throttle,
        )],
    )
}

/// `DO` is of a kind that the throttle of [`limited`] is for; SELECT is not.
const HOLDS_A_PLACE: &str = "DO GET_LOCK('throttled', 60), RELEASE_LOCK('throttled')";

#[test]
fn statements_beyond_the_limit_wait_and_others_do_not() {
    let proxy = start(&limited(2));
    let mut keeper = proxy.connect(None);
    keeper.query_drop("SELECT GET_LOCK('throttled', 10)").unwrap();
    let mut admin = proxy.admin();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let mut client = proxy.connect(None);
                scope.spawn(move || client.query_drop(HOLDS_A_PLACE).unwrap())
            })
            .collect();
        eventually(PATIENCE, || told(&mut admin, "few", "running/waiting") == "2/2");
        assert_eq!(value(&mut proxy.connect(None), "SELECT 7"), "7");
        keeper.query_drop("SELECT RELEASE_LOCK('throttled')").unwrap();
        for client in clients {
            client.join().unwrap();
        }
    });
    assert_eq!(told(&mut admin, "few", "running/waiting/limited"), "0/0/2");
}

#[test]
fn a_wait_for_a_place_ends_in_time_and_by_kill() {
    let proxy = start(&Setup {
        options: Box::new(|options| options.limits.checkout_timeout = Duration::from_secs(2)),
        ..limited(1)
    });
    let mut keeper = proxy.connect(None);
    keeper.query_drop("SELECT GET_LOCK('throttled', 10)").unwrap();
    let mut admin = proxy.admin();
    std::thread::scope(|scope| {
        let mut first = proxy.connect(None);
        let running = scope.spawn(move || first.query_drop(HOLDS_A_PLACE).unwrap());
        eventually(PATIENCE, || told(&mut admin, "few", "running") == "1");
        let (code, message) = error(&mut proxy.connect(None), "DO 1");
        assert_eq!(code, 9101);
        assert!(
            message.contains("throttles.few lets 1 of these statements run at once on clusters.a"),
            "{message}"
        );
        let mut killed = proxy.connect(None);
        let id: u64 = killed.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
        let waits = scope.spawn(move || error(&mut killed, "DO 2").0);
        eventually(PATIENCE, || told(&mut admin, "few", "waiting") == "1");
        proxy
            .connect(None)
            .query_drop(format!("KILL QUERY {id}"))
            .unwrap();
        assert_eq!(waits.join().unwrap(), 1317);
        keeper.query_drop("SELECT RELEASE_LOCK('throttled')").unwrap();
        running.join().unwrap();
    });
    assert_eq!(told(&mut admin, "few", "running/waiting/refused"), "0/0/1");
    // Its place is given back whatever becomes of a statement.
    assert_eq!(error(&mut proxy.connect(None), "DO no_such_function()").0, 1305);
    eventually(PATIENCE, || told(&mut admin, "few", "running") == "0");
}

#[test]
fn a_commit_is_not_slowed_and_a_prepared_statement_is() {
    let schema = crate::support::schema("throttles_commit");
    let everything = Throttle {
        from_ms: 30,
        to_ms: 30,
        max_concurrent: Some(1),
        ..throttle()
    };
    let proxy = start(&with_throttles(
        Setup::default(),
        vec![throttle_rule(1, "all", &[], everything)],
    ));
    let mut admin = proxy.admin();
    let mut client = proxy.connect(Some(&schema));
    client.query_drop("CREATE TABLE t (a INT)").unwrap();
    client.query_drop("BEGIN").unwrap();
    client.query_drop("INSERT INTO t VALUES (1)").unwrap();
    let before = told(&mut admin, "all", "delayed");
    client.query_drop("COMMIT").unwrap();
    assert_eq!(told(&mut admin, "all", "delayed"), before);
    let statement = client.prep("INSERT INTO t VALUES (?)").unwrap();
    assert_eq!(
        told(&mut admin, "all", "delayed"),
        before,
        "preparing waits for nothing"
    );
    client.exec_drop(&statement, (2,)).unwrap();
    let after: u64 = told(&mut admin, "all", "delayed").parse().unwrap();
    assert_eq!(after, before.parse::<u64>().unwrap() + 1);
    assert!(told(&mut admin, "all", "waited_ms").parse::<u64>().unwrap() >= 30 * after);
}

/// A throttle that depends on `Threads_running` of the writer, on one server.
fn on_threads(start_above: f64, to_ms: u32) -> Throttle {
    Throttle {
        from_ms: 1,
        to_ms,
        signal: Some(Signal {
            source: SignalSource::Status(THREADS_RUNNING.into()),
            start_above: start_above.into(),
            stop_below: (start_above - 2.0).into(),
        }),
        ..throttle()
    }
}

fn one_server(throttles: Vec<Rule>) -> (MariaDb, Setup) {
    let server = MariaDb::start(mariadb()).unwrap();
    prepare(&server);
    let servers = std::slice::from_ref(&server);
    let setup = with_throttles(setup(ClusterKind::Single, servers), throttles);
    (server, setup)
}

#[test]
fn a_busy_writer_starts_it_and_an_idle_one_stops_it() {
    let (server, setup) = one_server(vec![throttle_rule(
        1,
        "busy",
        &[StatementKind::Other],
        Throttle {
            max_concurrent: Some(1),
            ..on_threads(8.0, 60_000)
        },
    )]);
    let proxy = start(&setup);
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "busy", "reading") != "NULL");
    assert_eq!(told(&mut admin, "busy", "started"), "0");
    proxy.connect(None).query_drop("DO 1").unwrap();
    assert_eq!(told(&mut admin, "busy", "delayed"), "0");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    server.run("SELECT SLEEP(0.2)").unwrap();
                }
            });
        }
        eventually(PATIENCE, || told(&mut admin, "busy", "started") == "1");
        // The delay grows as long as nothing gets better, and ends with the throttle.
        eventually(PATIENCE, || {
            told(&mut admin, "busy", "delay_ms").parse::<f64>().unwrap() > 5_000.0
        });
        let waiting = scope.spawn(|| {
            let began = Instant::now();
            proxy.connect(None).query_drop("DO 1").unwrap();
            began.elapsed()
        });
        eventually(PATIENCE, || told(&mut admin, "busy", "waiting") == "1");
        is_over.store(true, Ordering::Relaxed);
        waiting.join().unwrap();
    });
    eventually(PATIENCE, || told(&mut admin, "busy", "started") == "0");
    // On a busy machine the threads may rest for a while, and it starts more than once.
    assert_eq!(told(&mut admin, "busy", "delayed"), "1");
}

#[test]
fn a_gate_outlives_what_does_not_change_it() {
    let rule = || throttle_rule(1, "busy", &[StatementKind::Other], on_threads(-10.0, 50));
    let (_server, setup) = one_server(vec![rule()]);
    let proxy = start(&setup);
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "busy", "started") == "1");
    let starts = |admin: &mut Conn| told(admin, "busy", "starts");
    let mut change = |edit: &dyn Fn(&mut Configuration)| {
        let mut changed = configuration(&setup, &proxy.directory.path().join("secret"));
        edit(&mut changed);
        apply(&mut admin, &changed).unwrap();
        (told(&mut admin, "busy", "started"), starts(&mut admin))
    };
    let kept = ("1".to_owned(), "1".to_owned());
    assert_eq!(change(&|changed| changed.users[1].max_connections = 7), kept);
    let longer = |changed: &mut Configuration| {
        changed.graph.rules[0] = throttle_rule(1, "busy", &[StatementKind::Other], on_threads(-10.0, 80));
    };
    assert_eq!(change(&longer), kept, "what is started stays started");
    let _ = observe(&mut admin);
}

#[test]
fn what_has_ended_slows_nothing() {
    let ended = Throttle {
        from_ms: 60_000,
        to_ms: 60_000,
        ends_at_s: Some(1_000_000_000),
        ..throttle()
    };
    let proxy = start(&with_throttles(
        Setup::default(),
        vec![throttle_rule(1, "ended", &[], ended)],
    ));
    assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
    assert_eq!(told(&mut proxy.admin(), "ended", "started/delayed"), "0/0");
}

#[test]
fn people_see_which_throttle_matches() {
    let proxy = start(&limited(3));
    let mut admin = proxy.admin();
    let rows: Vec<(String, String)> = admin.query("EXPLAIN ROUTE 'DO 1'").unwrap();
    let throttle = rows.iter().find(|(field, _)| field == "throttle").unwrap();
    assert_eq!(throttle.1, "throttles.few: not delayed, at most 3 at once");
    let rows: Vec<(String, String)> = admin.query("EXPLAIN ROUTE 'SELECT 1'").unwrap();
    assert!(rows.iter().all(|(field, _)| field != "throttle"));
}

/// A throttle for deletes that depends on the lag of the replicas.
pub(crate) fn on_lag(start_above_ms: f64, stop_below_ms: f64, from_ms: u32, to_ms: u32) -> Throttle {
    Throttle {
        from_ms,
        to_ms,
        signal: Some(Signal {
            source: SignalSource::ReplicationLag,
            start_above: start_above_ms.into(),
            stop_below: stop_below_ms.into(),
        }),
        ..throttle()
    }
}

#[test]
fn lag_starts_it_and_broken_replication_does_not_end_it() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, at INT)")
        .unwrap();
    let rule = throttle_rule(1, "lag", &[StatementKind::Delete], on_lag(400.0, 200.0, 1, 1));
    let proxy = start(&with_throttles(
        setup(replication(), &servers.servers),
        vec![rule],
    ));
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "lag", "reading") != "NULL");
    let is_over = AtomicBool::new(false);
    let written = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = proxy.connect(Some("t"));
            while !is_over.load(Ordering::Relaxed) {
                client.query_drop("INSERT INTO t (at) VALUES (1)").unwrap();
                written.fetch_add(1, Ordering::Relaxed);
            }
        });
        eventually(PATIENCE, || written.load(Ordering::Relaxed) > 20);
        // The replica applies nothing for a while, and says so only in positions.
        let replica = &servers.servers[1];
        let mut holder = shardwright_testkit::connect(
            replica.address(),
            shardwright_testkit::ClientOptions {
                user: crate::support::USER,
                password: crate::support::PASSWORD,
                schema: Some("t"),
            },
        )
        .unwrap();
        holder.query_drop("FLUSH TABLES WITH READ LOCK").unwrap();
        eventually(PATIENCE, || told(&mut admin, "lag", "started") == "1");
        // Its replication breaks: nobody knows how far it is behind.
        drop(holder);
        replica.run("STOP SLAVE").unwrap();
        eventually(PATIENCE, || told(&mut admin, "lag", "reading") == "NULL");
        assert_eq!(told(&mut admin, "lag", "started"), "1");
        let before: u64 = told(&mut admin, "lag", "delayed").parse().unwrap();
        proxy
            .connect(Some("t"))
            .query_drop("DELETE FROM t WHERE id < 3")
            .unwrap();
        assert_eq!(told(&mut admin, "lag", "delayed"), (before + 1).to_string());
        replica.run("START SLAVE").unwrap();
        eventually(PATIENCE, || told(&mut admin, "lag", "started") == "0");
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(told(&mut admin, "lag", "starts"), "1");
}

#[test]
fn the_server_of_most_tests_is_not_measured() {
    // Nothing watches its clusters: a throttle with a signal is never started there.
    let rule = throttle_rule(1, "never", &[], on_threads(-1000.0, 60_000));
    let proxy = start(&with_throttles(Setup::default(), vec![rule]));
    assert!(server().port() > 0);
    assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
    assert_eq!(told(&mut proxy.admin(), "never", "started"), "0");
}
