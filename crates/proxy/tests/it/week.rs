//! A week of an operator: a burst of reads, a slow replica, a dead writer, a stopped replica, a flood of silent connections, wrong
//! passwords and a lost data directory, one after the other, under inserts and reads that never cease. What every client was told
//! is held against the servers, and what each day has come to is a part of `docs/operating.md`.
//!
//! A day ends when its fault is mended and work has gone on for a while: for 100 commits and reads, or for 3,000 with
//! `SHARDWRIGHT_WEEK` in the environment. `INSTA_UPDATE=always` writes the page.

mod days;
mod page;
mod readers;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shardwright_ledger::{Ledger, Running};
use shardwright_proxy::Listen;
use shardwright_testkit::{Acknowledges, MariaDb, Replication, ReservedPort, eventually};
use tempfile::TempDir;

use self::days::{DAYS, Day};
use self::readers::{Readers, Reads};
use crate::roles::{mariadb, prepare, replication, setup};
use crate::support::{PATIENCE, Setup, TestProxy, apply, configuration, heavy, start_on, write_secret};
use crate::trials::{Load, begin, create};

/// The replicas' limit of lag.
const LAG_LIMIT: Duration = Duration::from_secs(3);
/// One look of the monitor, which a busy machine may delay.
const A_LOOK: Duration = Duration::from_secs(3);
/// Commits in a second.
const RATE: f64 = 200.0;

/// Servers, a proxy and its clients.
struct Week {
    servers: Replication,
    /// None while it is down.
    proxy: Option<TestProxy>,
    port: ReservedPort,
}

impl Week {
    fn start() -> Self {
        let servers = Replication::start_as(3, &mariadb(), Acknowledges::WithReplica, None).unwrap();
        prepare(&servers.servers[0]);
        servers.servers[0].run("CREATE DATABASE t").unwrap();
        create(&servers.servers[0]);
        for server in &servers.servers {
            readers::set_pace(server, 0.0);
        }
        let mut week = Self {
            servers,
            proxy: None,
            port: ReservedPort::new().unwrap(),
        };
        week.start_proxy(Arc::new(tempfile::tempdir().unwrap()));
        week
    }

    /// Starts a proxy on a directory without a generation, and applies the first.
    fn start_proxy(&mut self, directory: Arc<TempDir>) {
        let setup = self.setup();
        let secret = write_secret(&directory);
        let proxy = start_on(directory, &setup);
        apply(&mut proxy.admin(), &configuration(&setup, &secret)).unwrap();
        self.proxy = Some(proxy);
    }

    fn setup(&self) -> Setup {
        let Setup {
            configuration,
            options,
            ..
        } = setup(replication(), &self.servers.servers);
        let listen = self.address();
        Setup {
            configuration: Box::new(move |new| {
                configuration(new);
                for candidate in &mut new.clusters[0].candidates {
                    candidate.max_replication_lag_ms = LAG_LIMIT.as_millis().try_into().unwrap();
                }
                let members = new.hostgroups.iter_mut().flat_map(|group| &mut group.members);
                members.for_each(|member| member.max_connections = 1000);
                new.users
                    .iter_mut()
                    .for_each(|user| user.max_connections = 10_000);
            }),
            options: Box::new(move |new| {
                options(new);
                new.listen = Listen::Only(listen);
                new.checks = Some("127.0.0.1:0".parse().unwrap());
                new.workers = std::num::NonZeroUsize::new(2);
            }),
            ..setup(replication(), &self.servers.servers)
        }
    }

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port.number()).into()
    }

    fn proxy(&self) -> &TestProxy {
        self.proxy.as_ref().expect("the proxy runs")
    }

    fn server(&self, at: usize) -> &MariaDb {
        &self.servers.servers[at]
    }
}

/// What a day has come to.
struct Came {
    day: &'static Day,
    reads: Reads,
    /// Commits that were acknowledged, refused and unknown.
    commits: [usize; 3],
    /// The longest time without a commit.
    gap: Duration,
}

/// What a ledger has of commits: acknowledged, refused, unknown.
fn counts(ledger: &Ledger) -> [usize; 3] {
    [
        ledger.acknowledged().len(),
        ledger.refused().len(),
        ledger.unknown().len(),
    ]
}

impl Day {
    /// Has it pass, under load.
    fn pass(&'static self, week: &mut Week, inserts: &Running, readers: &Readers) -> Came {
        let began = Instant::now();
        let (commits_before, reads_before) = (counts(&inserts.so_far()), readers.so_far());
        (self.happens)(week);
        let (commits, reads) = (inserts.acknowledged(), readers.so_far().answered);
        let goes_on = match std::env::var_os("SHARDWRIGHT_WEEK") {
            Some(_) => 3_000,
            None => 100,
        };
        eventually(PATIENCE, || {
            inserts.acknowledged() >= commits + goes_on && readers.so_far().answered >= reads + goes_on as u64
        });
        let ledger = inserts.so_far();
        let commits = counts(&ledger);
        let came = Came {
            day: self,
            reads: readers.so_far().since(reads_before),
            commits: std::array::from_fn(|at| commits[at] - commits_before[at]),
            gap: ledger.longest_gap(began).length,
        };
        self.judge(&came);
        came
    }

    /// Holds what clients were told against what may happen on such a day.
    fn judge(&self, came: &Came) {
        let Came { reads, commits, .. } = came;
        let [_, refused, unknown] = *commits;
        let name = self.name;
        assert_eq!(reads.too_old, 0, "{name}: reads of rows older than the limit");
        assert_eq!(refused, 0, "{name}: commits refused");
        let most = if self.ends_statements {
            Load::CLIENTS as usize
        } else {
            0
        };
        assert!(unknown <= most, "{name}: {unknown} commits unknown");
        if !self.ends_statements {
            assert_eq!(reads.failed, 0, "{name}: reads failed");
        }
    }
}

#[test]
fn a_week_of_an_operator() {
    let _alone = heavy();
    let mut week = Week::start();
    let load = Load {
        rate: Some(RATE),
        ..Load::default()
    };
    let inserts = Arc::new(begin(week.proxy(), load));
    eventually(PATIENCE, || inserts.acknowledged() >= 100);
    let readers = Readers::start(week.address(), &inserts);
    let passed = DAYS.iter().map(|day| day.pass(&mut week, &inserts, &readers));
    let came: Vec<Came> = passed.collect();
    drop(readers);
    let ledger = Arc::into_inner(inserts).expect("readers have ended").stop();
    for at in [1, 2] {
        let audit = ledger
            .audit_on(&mut week.server(at).root().unwrap(), PATIENCE)
            .unwrap();
        assert!(
            audit.is_clean(),
            "server {}: {audit:?} {:?}",
            at + 1,
            ledger.errors()
        );
    }
    page::keep(&came);
}
