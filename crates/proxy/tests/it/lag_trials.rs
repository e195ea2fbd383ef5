//! A replica that really lags, behind 16 writers: a throttle holds its lag, and reads do not pay.
//!
//! The short form has a replica that a trigger makes slow. `SHARDWRIGHT_LAG_TRIALS=10` has a single-threaded durable replica
//! behind a relaxed primary, whose writers write 1.3 times what the replica applies (10 ms for each update, or more). After a minute of that, how soon the
//! lag is back; then as many interleaved pairs without and with the throttle; then the loop that was published, which switches
//! a delay of one millisecond on at 3 s and off at 0 s, for every statement and for one kind. The figures are printed.

mod durable;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::StatementKind;
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::roles::{mariadb, prepare, replication, setup};
use crate::support::{PATIENCE, TestProxy, start};
use crate::throttles::{on_lag, throttle_rule, told, with_throttles};

const WRITERS: u64 = 16;
const READERS: u64 = 2;
const ROWS: u64 = 1_000;
/// From one heartbeat to the next.
const BEAT: Duration = Duration::from_millis(100);
/// From one read of a client to the next: readers that never wait have all of a core, and then what is left of it for them changes
/// more from window to window than any throttle does.
const READS_EVERY: Duration = Duration::from_millis(4);
/// What a client that inserts waits between two of them.
const INSERTS_EVERY: Duration = Duration::from_millis(100);

/// What clients have done, and how far the replica is behind.
#[derive(Default)]
struct Load {
    writes: AtomicU64,
    reads: AtomicU64,
    inserts: AtomicU64,
    /// What the replica applies of `beat` besides.
    beats: AtomicU64,
    /// Time that reads took.
    read_us: AtomicU64,
    lag_ms: AtomicU64,
    is_over: AtomicBool,
    /// What a writer waits between two writes.
    pace: Duration,
}

impl Load {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Runs a statement. A server that a busy machine keeps from answering costs a connection, and is no failure here.
    #[allow(clippy::print_stdout, reason = "who reads the figures must know of it")]
    fn run(&self, proxy: &TestProxy, client: &mut Conn, sql: &str, count: &AtomicU64) {
        match client.query_drop(sql) {
            Ok(()) => count.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                println!("{sql}: {error}");
                *client = proxy.connect(Some("t"));
                0
            }
        };
    }

    fn write(&self, proxy: &TestProxy, first: u64) {
        let mut client = proxy.connect(Some("t"));
        let mut id = first;
        while self.goes_on() {
            let sql = format!("UPDATE t SET at = at + 1 WHERE id = {}", id % ROWS);
            self.run(proxy, &mut client, &sql, &self.writes);
            id += WRITERS;
            std::thread::sleep(self.pace);
        }
    }

    fn read(&self, proxy: &TestProxy, first: u64) {
        let mut client = proxy.connect(Some("t"));
        let mut id = first;
        let mut next = Instant::now();
        while self.goes_on() {
            let sql = format!("SELECT at FROM t WHERE id = {}", id % ROWS);
            let began = Instant::now();
            self.run(proxy, &mut client, &sql, &self.reads);
            let took_us = u64::try_from(began.elapsed().as_micros()).unwrap();
            self.read_us.fetch_add(took_us, Ordering::Relaxed);
            id += 7;
            next += READS_EVERY;
            match next.checked_duration_since(Instant::now()) {
                Some(early) => std::thread::sleep(early),
                // What was missed is not made up for: it is lost.
                None => next = Instant::now(),
            }
        }
    }

    /// Inserts now and then: a write that no policy is about but the global one.
    fn insert(&self, proxy: &TestProxy) {
        let mut client = proxy.connect(Some("t"));
        while self.goes_on() {
            self.run(proxy, &mut client, "INSERT INTO t.log VALUES (1)", &self.inserts);
            std::thread::sleep(INSERTS_EVERY);
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
            self.beats.fetch_add(1, Ordering::Relaxed);
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
             CREATE TABLE t.log (at BIGINT); \
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

/// Each update that the replica applies takes so long, or longer.
fn makes_slow(replica: &MariaDb, ms: u32) {
    replica
        .run(format!(
            "USE t; SET sql_log_bin = 0; SET GLOBAL slave_run_triggers_for_rbr = 'YES'; \
             CREATE TRIGGER t.slow BEFORE UPDATE ON t.t FOR EACH ROW SET @slept = SLEEP({ms} / 1000)"
        ))
        .unwrap();
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
        scope.spawn(|| load.insert(proxy));
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
    makes_slow(&servers.servers[1], 5);
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
        eventually(4 * PATIENCE, || load.lag_s() < 1.5);
    });
}
