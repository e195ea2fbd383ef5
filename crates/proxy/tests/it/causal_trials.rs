//! What reads of own writes cost, on servers under load: without anything, with every read synced, and with `consistency: causal`.
//!
//! `SHARDWRIGHT_CAUSAL_TRIALS=5000` makes as many reads of each kind on a Galera cluster and on a replica, beside 4 and 16
//! writers, and prints the share of stale ones and how long reads took. A session writes once and reads 14 times. The kinds take
//! turns, so that all of them meet the same noise. On Galera, reads that are all synced go to the servers without the proxy:
//! connections that are shared do not sync on MariaDB 10.11.19. Without the variable, nothing runs: `causal.rs` has the short form.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{ClusterKind, Failback, Group, HostgroupId};
use shardwright_testkit::{Galera, MariaDb, Replication, eventually};

use crate::causal::{TABLES, TRACK, causal, counted};
use crate::roles::{mariadb, prepare, replication};
use crate::support::{PASSWORD, PATIENCE, TestProxy, USER, start};

/// Reads behind each write: as many as sysbench's `oltp_read_write` has in a transaction.
const READS: usize = 14;
/// Writes of one kind before the next one has its turn.
const TURN: usize = 10;
const ROWS: u64 = 1_000;

/// How a session reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// From a reader, whatever it has.
    None,
    /// The same without the proxy.
    Direct,
    /// From a reader that has everything, for each read; on Galera without the proxy.
    Always,
    /// Those of `consistency: causal`.
    Causal,
    /// Galera: the writer says what it has written, and the reader waits for that; no proxy.
    Functions,
}

/// What reads of one kind have shown.
#[derive(Default)]
struct Seen {
    stale: usize,
    stale_first: usize,
    /// Microseconds of each read; the first of those behind a write apart.
    first_us: Vec<f64>,
    later_us: Vec<f64>,
}

impl Seen {
    fn all(&self) -> Vec<f64> {
        let mut all = [&self.first_us[..], &self.later_us].concat();
        all.sort_by(f64::total_cmp);
        all
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

fn trials() -> Option<usize> {
    let wanted = std::env::var("SHARDWRIGHT_CAUSAL_TRIALS").ok()?;
    Some(wanted.parse().unwrap())
}

fn direct(server: &MariaDb) -> Conn {
    let options = shardwright_testkit::ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some("t"),
    };
    shardwright_testkit::connect(server.address(), options).unwrap()
}

/// A session that writes its own row and reads it.
struct Prober<'s> {
    kind: Kind,
    is_galera: bool,
    through: Conn,
    writer: Conn,
    reader: Conn,
    row: u64,
    servers: &'s [MariaDb],
}

impl<'s> Prober<'s> {
    fn new(proxy: &TestProxy, servers: &'s [MariaDb], kind: Kind, is_galera: bool) -> Self {
        let mut through = proxy.connect(Some("t"));
        let mut reader = direct(&servers[1]);
        if kind == Kind::Always && is_galera {
            reader.query_drop("SET SESSION wsrep_sync_wait = 1").unwrap();
        }
        let row = ROWS + kind as u64 + 1;
        through
            .query_drop(format!("REPLACE INTO t (id, at) VALUES ({row}, 0)"))
            .unwrap();
        Self {
            kind,
            is_galera,
            through,
            writer: direct(&servers[0]),
            reader,
            row,
            servers,
        }
    }

    /// Whether its statements go through the proxy.
    fn is_through(&self, kind: Kind) -> bool {
        matches!(kind, Kind::None | Kind::Causal) || (kind == Kind::Always && !self.is_galera)
    }

    fn write(&mut self, at: usize) {
        let sql = format!("UPDATE t SET at = {at} WHERE id = {}", self.row);
        let conn = match self.kind {
            kind if self.is_through(kind) => &mut self.through,
            _ => &mut self.writer,
        };
        conn.query_drop(sql).unwrap();
    }

    fn read(&mut self) -> usize {
        let hint = match self.kind {
            Kind::None | Kind::Always => "/* read */ ",
            _ => "",
        };
        if self.kind == Kind::Always && !self.is_galera {
            let asks = "SELECT /* write */ @@gtid_binlog_pos";
            let position: String = self.through.query_first(asks).unwrap().unwrap();
            let waits = format!("SELECT /* read */ MASTER_GTID_WAIT('{position}', 60)");
            let waited: Option<i64> = self.through.query_first(waits).unwrap();
            assert_eq!(waited, Some(0), "{:?}", self.servers[1].port());
        }
        if self.kind == Kind::Functions {
            let position: String = self
                .writer
                .query_first("SELECT WSREP_LAST_WRITTEN_GTID()")
                .unwrap()
                .unwrap();
            self.reader
                .query_drop(format!("SELECT WSREP_SYNC_WAIT_UPTO_GTID('{position}', 10)"))
                .unwrap();
        }
        let sql = format!("SELECT {hint}at FROM t WHERE id = {}", self.row);
        let conn = match self.kind {
            kind if self.is_through(kind) => &mut self.through,
            _ => &mut self.reader,
        };
        conn.query_first(sql).unwrap().unwrap_or(0)
    }

    fn turn(&mut self, from: usize, seen: &mut Seen) {
        for at in from..from + TURN {
            self.write(at + 1);
            for read in 0..READS {
                let began = Instant::now();
                let found = self.read();
                let us = began.elapsed().as_secs_f64() * 1e6;
                seen.stale += usize::from(found != at + 1);
                seen.stale_first += usize::from(found != at + 1 && read == 0);
                match read {
                    0 => seen.first_us.push(us),
                    _ => seen.later_us.push(us),
                }
            }
        }
    }
}

/// Writes until it is told to stop.
fn load(writer: &MariaDb, first: u64, step: u64, pace: Duration, is_over: &AtomicBool) {
    let mut client = direct(writer);
    let mut id = first;
    while !is_over.load(Ordering::Relaxed) {
        client
            .query_drop(format!("UPDATE t SET at = at + 1 WHERE id = {}", id % ROWS + 1))
            .unwrap();
        id += step;
        std::thread::sleep(pace);
    }
}

#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn measure(name: &str, proxy: &TestProxy, servers: &[MariaDb], kinds: &[Kind], writers: u64, reads: usize) {
    let is_galera = name.starts_with("Galera");
    // A replica that cannot follow shows how long it takes to ask the writer, and nothing else.
    let pace = Duration::from_millis(if is_galera { 0 } else { writers });
    let is_over = AtomicBool::new(false);
    let mut seen: Vec<Seen> = kinds.iter().map(|_| Seen::default()).collect();
    let before = ["Causal_reads_waited", "Causal_reads_on_writer"].map(|name| counted(proxy, name));
    std::thread::scope(|scope| {
        for first in 0..writers {
            let is_over = &is_over;
            scope.spawn(move || load(&servers[0], first, writers, pace, is_over));
        }
        let mut probers: Vec<Prober<'_>> = kinds
            .iter()
            .map(|kind| Prober::new(proxy, servers, *kind, is_galera))
            .collect();
        for from in (0..reads.div_ceil(READS)).step_by(TURN) {
            for (prober, seen) in probers.iter_mut().zip(&mut seen) {
                prober.turn(from, seen);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let means: Vec<f64> = seen.iter().map(|seen| mean(&seen.all())).collect();
    let of = |wanted: Kind| means[kinds.iter().position(|kind| *kind == wanted).unwrap()];
    for (kind, seen) in kinds.iter().zip(&seen) {
        let all = seen.all();
        println!(
            "{name}, {writers} writers, {kind:?}: {} reads, {:.1} % stale, of the first {:.1} %, mean {:.0} µs, p50 {:.0} µs, first {:.0} µs, later {:.0} µs",
            all.len(),
            100.0 * seen.stale as f64 / all.len() as f64,
            100.0 * seen.stale_first as f64 / seen.first_us.len() as f64,
            mean(&all),
            all[all.len() / 2],
            mean(&seen.first_us),
            mean(&seen.later_us),
        );
        if !matches!(kind, Kind::None | Kind::Direct) {
            assert_eq!(seen.stale, 0, "{name}, {kind:?}");
        }
    }
    let after = ["Causal_reads_waited", "Causal_reads_on_writer"].map(|name| counted(proxy, name));
    let without = of(if is_galera { Kind::Direct } else { Kind::None });
    let (always, causal) = (of(Kind::Always) - without, of(Kind::Causal) - of(Kind::None));
    println!(
        "{name}, {writers} writers: a read pays {causal:.0} µs with causal, {always:.0} µs if all are synced: {:.0} %; {} reads waited, {} went to the writer",
        100.0 * causal / always,
        after[0] - before[0],
        after[1] - before[1],
    );
}

fn prepared(servers: &[MariaDb]) {
    prepare(&servers[0]);
    servers[0]
        .run(format!(
            "{}; USE t; INSERT INTO t.t SELECT seq, 0 FROM seq_1_to_{ROWS}",
            TABLES.split("; CREATE PROCEDURE").next().unwrap()
        ))
        .unwrap();
    eventually(PATIENCE, || {
        servers[1..].iter().all(|server| {
            let rows = server.run("SELECT COUNT(*) FROM t.t");
            rows.is_ok_and(|rows| rows[0][0].as_deref() == Some("1000"))
        })
    });
}

fn served(proxy: &TestProxy, reader: &MariaDb) {
    let port = reader.port().to_string();
    let mut client = proxy.connect(None);
    eventually(PATIENCE, || {
        let served: Option<String> = client.query_first("SELECT /* read */ @@port").unwrap();
        served.as_deref() == Some(&port)
    });
}

#[test]
fn reads_of_own_writes_on_a_replica_cost_less_than_half_of_syncing_all() {
    let Some(reads) = trials() else { return };
    let options = mariadb().arg("--innodb-flush-log-at-trx-commit=0");
    let servers = Replication::start(2, &options).unwrap();
    prepared(&servers.servers);
    for tracks in [false, true] {
        let name = if tracks {
            "Replication, tracked"
        } else {
            "Replication"
        };
        if tracks {
            servers.servers[0].run(TRACK).unwrap();
        }
        let proxy = start(&causal(
            replication(),
            &servers.servers,
            Duration::from_millis(100),
        ));
        served(&proxy, &servers.servers[1]);
        for writers in [4, 16] {
            let kinds = [Kind::None, Kind::Always, Kind::Causal];
            measure(name, &proxy, &servers.servers, &kinds, writers, reads);
        }
    }
}

#[test]
fn reads_of_own_writes_on_galera_cost_less_than_half_of_syncing_all() {
    let Some(reads) = trials() else { return };
    let galera = Galera::start(3, &mariadb()).unwrap();
    prepared(&galera.servers);
    let group = Group {
        backup_writer: HostgroupId(12),
        offline: HostgroupId(13),
        writers: 1,
        max_transactions_behind: 0,
        failback: Failback::Manual,
    };
    let kind = ClusterKind::Galera(group);
    let servers = &galera.servers[..2];
    let proxy = start(&causal(kind, servers, Duration::from_millis(100)));
    served(&proxy, &servers[1]);
    for writers in [4, 16] {
        let kinds = [
            Kind::None,
            Kind::Direct,
            Kind::Always,
            Kind::Causal,
            Kind::Functions,
        ];
        measure("Galera", &proxy, servers, &kinds, writers, reads);
    }
}
