//! How far replicas are behind by a table of heartbeats: limits of servers and throttles follow it, and nonsense is unknown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use shardwright_rules::StatementKind;
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::roles::{self, mariadb, prepare, readers, replication, setup};
use crate::support::{PATIENCE, Setup, start, value};
use crate::throttles::{on_lag, throttle_rule, told, with_throttles};

const NOW: &str = "DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f')";

/// A primary and a replica with a table as pt-heartbeat makes it.
fn servers() -> Replication {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run(
            "CREATE DATABASE percona; CREATE TABLE percona.heartbeat (ts VARCHAR(26) NOT NULL, \
             server_id INT UNSIGNED NOT NULL PRIMARY KEY, file VARCHAR(255), position BIGINT UNSIGNED); \
             GRANT SELECT ON percona.* TO 'monitor'@'%'",
        )
        .unwrap();
    servers
}

fn with_heartbeat(setup: Setup) -> Setup {
    let before = setup.configuration;
    Setup {
        configuration: Box::new(move |configuration| {
            before(configuration);
            let monitor = configuration.monitor.as_mut().unwrap();
            monitor.heartbeat = Some("percona.heartbeat".to_owned());
        }),
        ..setup
    }
}

/// Writes heartbeats as long as it is told to.
struct Beats {
    are_written: AtomicBool,
    is_over: AtomicBool,
}

impl Beats {
    fn write(&self, primary: &MariaDb) {
        while !self.is_over.load(Ordering::Relaxed) {
            if self.are_written.load(Ordering::Relaxed) {
                let beat =
                    format!("REPLACE INTO percona.heartbeat (ts, server_id) VALUES ({NOW}, @@server_id)");
                primary.run(beat).unwrap();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The replica has a row that was not written there.
fn inject(replica: &MariaDb, ts: &str) {
    replica
        .run(format!(
            "SET sql_log_bin = 0; UPDATE percona.heartbeat SET ts = {ts}"
        ))
        .unwrap();
}

fn lag(admin: &mut Conn) -> Option<u64> {
    let told = roles::told(admin, "a2", "lag_ms");
    told.parse().ok()
}

#[test]
fn a_replica_that_is_far_behind_or_says_nonsense_answers_no_reads() {
    let servers = servers();
    let [primary, replica] = &servers.servers[..] else {
        panic!("two servers");
    };
    let rule = throttle_rule(1, "lag", &[StatementKind::Delete], on_lag(4000.0, 2000.0, 1, 1));
    let proxy = start(&with_heartbeat(with_throttles(
        setup(replication(), &servers.servers),
        vec![rule],
    )));
    let mut admin = proxy.admin();
    let mut client = proxy.connect(None);
    let id = |server: &MariaDb| server.run("SELECT @@server_id").unwrap()[0][0].clone().unwrap();
    let (primary_id, replica_id) = (id(primary), id(replica));
    let beats = Beats {
        are_written: AtomicBool::new(true),
        is_over: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| beats.write(primary));
        let observed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let read = |client: &mut Conn| value(client, "SELECT /* read */ @@server_id");
            eventually(PATIENCE, || read(&mut client) == replica_id);
            assert!(lag(&mut admin).is_some_and(|lag_ms| lag_ms < 5_000));
            eventually(PATIENCE, || told(&mut admin, "lag", "reading") != "NULL");
            assert_eq!(told(&mut admin, "lag", "started"), "0");

            // 18 s, as in the published case.
            beats.are_written.store(false, Ordering::Relaxed);
            eventually(PATIENCE, || lag(&mut admin).is_some_and(|lag_ms| lag_ms > 300));
            inject(
                replica,
                "DATE_FORMAT(UTC_TIMESTAMP(6) - INTERVAL 18 SECOND, '%Y-%m-%dT%H:%i:%s.%f')",
            );
            let injected = Instant::now();
            eventually(PATIENCE, || read(&mut client) == primary_id);
            println!("18 s of lag: no reads after {:?}", injected.elapsed());
            assert_eq!(readers(&mut client), [primary_id.clone()].into());
            assert!(lag(&mut admin).is_some_and(|lag_ms| (18_000..60_000).contains(&lag_ms)));
            eventually(PATIENCE, || told(&mut admin, "lag", "started") == "1");
            beats.are_written.store(true, Ordering::Relaxed);
            eventually(PATIENCE, || read(&mut client) == replica_id);
            eventually(PATIENCE, || told(&mut admin, "lag", "started") == "0");

            // Each of these is no lag, and none of them is none.
            for nonsense in [
                "'2E16'",
                "''",
                "'9999-12-31T23:59:59.000000'",
                "'0000-00-00T00:00:00.000000'",
                "'1969-07-20T20:17:00.000000'",
            ] {
                beats.are_written.store(false, Ordering::Relaxed);
                eventually(PATIENCE, || lag(&mut admin).is_some_and(|lag_ms| lag_ms > 300));
                inject(replica, nonsense);
                eventually(PATIENCE, || lag(&mut admin).is_none());
                assert_eq!(readers(&mut client), [primary_id.clone()].into(), "{nonsense}");
                eventually(PATIENCE, || told(&mut admin, "lag", "reading") == "NULL");
                beats.are_written.store(true, Ordering::Relaxed);
                eventually(PATIENCE, || read(&mut client) == replica_id);
            }
            replica
                .run("SET sql_log_bin = 0; DROP TABLE percona.heartbeat")
                .unwrap();
            eventually(PATIENCE, || lag(&mut admin).is_none());
            assert_eq!(readers(&mut client), [primary_id.clone()].into());
        }));
        beats.is_over.store(true, Ordering::Relaxed);
        observed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
