//! A replica that really lags, behind 16 writers: a throttle holds its lag, and reads do not pay.
//!
//! The short form has a replica that a trigger makes slow. `SHARDWRIGHT_LAG_TRIALS=10` has a single-threaded durable replica
//! behind a relaxed primary, and compares the throttle with the loop that switches a delay of one millisecond on at 3 s and
//! off at 0 s: as many interleaved pairs, whose figures are printed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{Body, Configuration, DelayStep, NativeStep, Rule, Scope, StatementKind};
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::roles::{mariadb, prepare, replication, setup};
use crate::support::{PATIENCE, Setup, TestProxy, apply, configuration, start};
use crate::throttles::{on_lag, throttle_rule, told, with_throttles};

const WRITERS: u64 = 16;
const READERS: u64 = 2;
const ROWS: u64 = 1_000;
/// From one heartbeat to the next.
const BEAT: Duration = Duration::from_millis(50);

/// What clients have done, and how far the replica is behind.
#[derive(Default)]
struct Load {
    writes: AtomicU64,
    reads: AtomicU64,
    lag_ms: AtomicU64,
    is_over: AtomicBool,
    /// What a writer waits between two writes.
    pace: Duration,
}

impl Load {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    fn write(&self, proxy: &TestProxy, first: u64) {
        let mut client = proxy.connect(Some("t"));
        let mut id = first;
        while self.goes_on() {
            client
                .query_drop(format!("UPDATE t SET at = at + 1 WHERE id = {}", id % ROWS))
                .unwrap();
            self.writes.fetch_add(1, Ordering::Relaxed);
            id += WRITERS;
            std::thread::sleep(self.pace);
        }
    }

    fn read(&self, proxy: &TestProxy, first: u64) {
        let mut client = proxy.connect(Some("t"));
        let mut id = first;
        while self.goes_on() {
            client
                .query_drop(format!("SELECT at FROM t WHERE id = {}", id % ROWS))
                .unwrap();
            self.reads.fetch_add(1, Ordering::Relaxed);
            id += 7;
        }
    }

    /// Writes times at the primary, not through the proxy, and looks for them at the replica.
    fn beat(&self, servers: &[MariaDb]) {
        let began = Instant::now();
        let mut primary = client_of(&servers[0]);
        let mut replica = client_of(&servers[1]);
        while self.goes_on() {
            let now_ms = began.elapsed().as_millis();
            primary
                .query_drop(format!("UPDATE beat SET at = {now_ms}"))
                .unwrap();
            let seen: Option<u64> = replica.query_first("SELECT at FROM beat").unwrap();
            let now_ms = u64::try_from(began.elapsed().as_millis()).unwrap();
            self.lag_ms
                .store(now_ms - seen.unwrap_or(0).min(now_ms), Ordering::Relaxed);
            std::thread::sleep(BEAT);
        }
    }

    fn lag_s(&self) -> f64 {
        self.lag_ms.load(Ordering::Relaxed) as f64 / 1000.0
    }
}

fn client_of(server: &MariaDb) -> Conn {
    let options = shardwright_testkit::ClientOptions {
        user: crate::support::USER,
        password: crate::support::PASSWORD,
        schema: Some("t"),
    };
    shardwright_testkit::connect(server.address(), options).unwrap()
}

fn servers() -> Replication {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run(format!(
            "CREATE DATABASE t; USE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY, at BIGINT); \
             INSERT INTO t.t SELECT seq, 0 FROM seq_0_to_{ROWS}; \
             CREATE TABLE t.beat (at BIGINT); INSERT INTO t.beat VALUES (0)"
        ))
        .unwrap();
    eventually(PATIENCE, || {
        servers.servers[1]
            .run("SELECT at FROM t.beat")
            .is_ok_and(|rows| rows.len() == 1)
    });
    servers
}

/// Has clients work while `observe` looks.
fn under_load<T>(
    proxy: &TestProxy,
    servers: &Replication,
    pace: Duration,
    observe: impl FnOnce(&Load) -> T,
) -> T {
    let load = Load {
        pace,
        ..Load::default()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| load.beat(&servers.servers));
        for first in 0..WRITERS {
            let load = &load;
            scope.spawn(move || load.write(proxy, first));
        }
        for first in 0..READERS {
            let load = &load;
            scope.spawn(move || load.read(proxy, first));
        }
        let observed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| observe(&load)));
        load.is_over.store(true, Ordering::Relaxed);
        observed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn a_throttle_holds_the_lag_of_a_slow_replica() {
    let servers = servers();
    // At most 200 transactions in a second, whatever the machine can do.
    servers.servers[1]
        .run(
            "USE t; SET sql_log_bin = 0; SET GLOBAL slave_run_triggers_for_rbr = 'YES'; \
             CREATE TRIGGER t.slow BEFORE UPDATE ON t.t FOR EACH ROW SET @slept = SLEEP(0.005)",
        )
        .unwrap();
    let rule = throttle_rule(1, "lag", &[StatementKind::Update], on_lag(1500.0, 500.0, 1, 2000));
    let proxy = start(&with_throttles(
        setup(replication(), &servers.servers),
        vec![rule],
    ));
    let mut admin = proxy.admin();
    under_load(&proxy, &servers, Duration::from_millis(20), |load| {
        eventually(PATIENCE, || told(&mut admin, "lag", "started") == "1");
        // Writers go on, and are slowed until the replica keeps up; how soon and how well is measured by the long form.
        let slowed = |admin: &mut Conn| told(admin, "lag", "delay_ms").parse::<f64>().unwrap() > 20.0;
        eventually(PATIENCE, || slowed(&mut admin));
        eventually(PATIENCE, || load.lag_s() < 1.5);
    });
}

/// What slows writers when the replica lags.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Nothing,
    /// A throttle of 3 s and 1 s, 1 to 500 ms.
    Regulated,
    /// The loop, which delays every statement.
    GlobalLoop,
    /// The loop, which delays updates.
    RuleLoop,
}

/// What a time under a policy has come to.
#[derive(Clone, Copy, Debug)]
struct Figures {
    writes_per_s: f64,
    reads_per_s: f64,
    mean_lag_s: f64,
    worst_lag_s: f64,
    /// Of the looks, those above 3 s.
    above: f64,
}

fn one_ms(kinds: &[StatementKind]) -> Rule {
    let mut rule = throttle_rule(2, "loop", kinds, crate::throttles::throttle());
    rule.body = Body::Native {
        scope: Box::new(Scope {
            statements: kinds.to_vec(),
            ..Scope::default()
        }),
        step: NativeStep::Delay(DelayStep { delay_ms: 1 }),
    };
    rule
}

/// The proxy serves the rules of a policy; those of a loop while it is on.
fn serve(proxy: &TestProxy, setup: &Setup, admin: &mut Conn, policy: Policy, is_on: bool) {
    let mut wanted: Configuration = configuration(setup, &proxy.directory.path().join("secret"));
    match policy {
        Policy::Regulated => wanted.graph.rules.insert(
            0,
            throttle_rule(1, "lag", &[StatementKind::Update], on_lag(3000.0, 1000.0, 1, 500)),
        ),
        Policy::GlobalLoop if is_on => wanted.graph.rules.insert(0, one_ms(&[])),
        Policy::RuleLoop if is_on => wanted.graph.rules.insert(0, one_ms(&[StatementKind::Update])),
        Policy::Nothing | Policy::GlobalLoop | Policy::RuleLoop => {}
    }
    apply(admin, &wanted).unwrap();
}

/// The time under a policy, after it has had time to take hold.
fn measure(
    proxy: &TestProxy,
    setup: &Setup,
    servers: &Replication,
    load: &Load,
    policy: Policy,
    [settles, lasts]: [Duration; 2],
) -> Figures {
    let mut admin = proxy.admin();
    serve(proxy, setup, &mut admin, policy, false);
    let mut replica = client_of(&servers.servers[1]);
    let mut is_on = false;
    let mut step = |admin: &mut Conn| {
        if !matches!(policy, Policy::GlobalLoop | Policy::RuleLoop) {
            return std::thread::sleep(BEAT);
        }
        let status: Option<mysql::Row> = replica.query_first("SHOW SLAVE STATUS").unwrap();
        let behind = status.and_then(|row| row.get::<Option<u64>, _>("Seconds_Behind_Master"));
        // As it was published: at 3 s or more on, at 0 s off.
        let wanted = match behind.flatten() {
            Some(behind) if behind >= 3 => true,
            Some(0) => false,
            _ => is_on,
        };
        if wanted != is_on {
            is_on = wanted;
            serve(proxy, setup, admin, policy, is_on);
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let until = Instant::now() + settles;
    while Instant::now() < until {
        step(&mut admin);
    }
    let (writes, reads) = (
        load.writes.load(Ordering::Relaxed),
        load.reads.load(Ordering::Relaxed),
    );
    let began = Instant::now();
    let mut lags = Vec::new();
    while began.elapsed() < lasts {
        step(&mut admin);
        lags.push(load.lag_s());
    }
    let took_s = began.elapsed().as_secs_f64();
    let per_s = |count: &AtomicU64, before: u64| (count.load(Ordering::Relaxed) - before) as f64 / took_s;
    let count = lags.len() as f64;
    Figures {
        writes_per_s: per_s(&load.writes, writes),
        reads_per_s: per_s(&load.reads, reads),
        mean_lag_s: lags.iter().sum::<f64>() / count,
        worst_lag_s: lags.iter().copied().fold(0.0, f64::max),
        above: lags.iter().filter(|lag| **lag > 3.0).count() as f64 / count,
    }
}

/// The mean, and its bounds of 95 % (1.96 standard errors; of ten pairs and fewer, 2.26).
fn bounds(values: &[f64]) -> [f64; 3] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let factor = if values.len() > 10 { 1.96 } else { 2.26 };
    let error = factor * (variance / count).sqrt();
    [mean - error, mean, mean + error]
}

/// The replica leaves out what it has not applied: only counts of rows are changed, and it would take minutes.
fn skip_backlog(servers: &Replication) {
    let position = servers.servers[0].run("SELECT @@gtid_binlog_pos").unwrap();
    let position = position[0][0].clone().unwrap();
    servers.servers[1]
        .run(format!(
            "STOP SLAVE; SET GLOBAL gtid_slave_pos = '{position}'; START SLAVE"
        ))
        .unwrap();
}

#[test]
fn a_throttle_holds_the_lag_of_a_durable_replica_and_reads_do_not_pay() {
    let Ok(pairs) = std::env::var("SHARDWRIGHT_LAG_TRIALS") else {
        return;
    };
    let pairs: usize = pairs.parse().unwrap();
    let servers = servers();
    let [primary, replica] = &servers.servers[..] else {
        panic!("two servers");
    };
    primary
        .run("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
        .unwrap();
    replica
        .run("SET GLOBAL innodb_flush_log_at_trx_commit = 1, sync_binlog = 1")
        .unwrap();
    let setup = setup(replication(), &servers.servers);
    let proxy = start(&setup);
    let seconds = |count| Duration::from_secs(count);
    let mut reads_lost = Vec::new();
    for pair in 1..=pairs {
        let mut of_pair = Vec::new();
        for policy in [
            Policy::Nothing,
            Policy::Regulated,
            Policy::GlobalLoop,
            Policy::RuleLoop,
        ] {
            let (overload, figures) = under_load(&proxy, &servers, Duration::ZERO, |load| {
                let overload = measure(
                    &proxy,
                    &setup,
                    &servers,
                    load,
                    Policy::Nothing,
                    [seconds(1), seconds(9)],
                );
                let figures = measure(&proxy, &setup, &servers, load, policy, [seconds(30), seconds(30)]);
                (overload, figures)
            });
            println!(
                "{pair} {policy:?}: {:.0} writes/s, {:.0} reads/s, lag {:.2} s (mean), {:.2} s (worst), above 3 s {:.0} % of the time; before it, {:.0} writes/s",
                figures.writes_per_s,
                figures.reads_per_s,
                figures.mean_lag_s,
                figures.worst_lag_s,
                figures.above * 100.0,
                overload.writes_per_s
            );
            of_pair.push(figures);
            serve(&proxy, &setup, &mut proxy.admin(), Policy::Nothing, false);
            skip_backlog(&servers);
        }
        let [nothing, regulated, ..] = of_pair[..] else {
            panic!("four policies");
        };
        reads_lost.push(1.0 - regulated.reads_per_s / nothing.reads_per_s);
        println!("{pair}: reads lost {:.1} %", reads_lost[pair - 1] * 100.0);
        assert!(regulated.worst_lag_s <= 4.0, "{regulated:?}");
    }
    let [low, mean, high] = bounds(&reads_lost).map(|share| share * 100.0);
    println!("reads lost under the throttle: {mean:.1} % ({low:.1} to {high:.1} %, {pairs} pairs)");
    assert!(high <= 2.0, "reads lost: up to {high:.1} %");
}
