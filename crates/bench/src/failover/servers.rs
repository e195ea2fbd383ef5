//! The clusters, and what happens to them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use shardwright_ledger::{Audit, Ledger, Table};
use shardwright_testkit::{Flavour, Galera, MariaDb, Options, Replication};

use super::{Cluster, Fault, PASSWORD, SCHEMA, USER};
use crate::BenchError;

/// How long a server may take to apply what it has.
const APPLIES_WITHIN: Duration = Duration::from_secs(30);

/// Servers of one kind, the writer first.
pub(crate) struct Servers {
    running: Kind,
    runs: u64,
}

enum Kind {
    /// New ones for each trial: a former primary is not what it was.
    Replication(Replication),
    Galera(Box<Galera>),
}

fn options() -> Options {
    Options {
        flavour: Flavour::MariaDb,
        ..Options::default()
    }
}

fn replication() -> Result<Replication, BenchError> {
    let replication = Replication::start(2, &options())?;
    prepare(&replication.servers[0])?;
    Ok(replication)
}

/// The accounts of clients, of monitors, and of HAProxy's checks.
fn prepare(server: &MariaDb) -> Result<(), BenchError> {
    server.run(format!("CREATE DATABASE {SCHEMA}; CREATE USER haproxy@'%'"))?;
    server.create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))?;
    server.create_user("monitor", PASSWORD, Some("REPLICA MONITOR ON *.*"))?;
    Ok(())
}

impl Servers {
    pub(crate) fn start(cluster: Cluster) -> Result<Self, BenchError> {
        let running = match cluster {
            Cluster::Replication => Kind::Replication(replication()?),
            Cluster::Galera => {
                let galera = Galera::start(3, &options())?;
                prepare(&galera.servers[0])?;
                Kind::Galera(Box::new(galera))
            }
        };
        Ok(Self { running, runs: 0 })
    }

    /// As they were at first.
    pub(super) fn renew(&mut self) -> Result<(), BenchError> {
        match &mut self.running {
            Kind::Galera(galera) => galera.heal()?,
            Kind::Replication(_) if self.runs == 0 => {}
            Kind::Replication(used) => *used = replication()?,
        }
        Ok(())
    }

    pub(super) fn cluster(&self) -> Cluster {
        match self.running {
            Kind::Replication(_) => Cluster::Replication,
            Kind::Galera(_) => Cluster::Galera,
        }
    }

    /// Tells the rows of a trial from those of others.
    pub(super) fn next_run(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }

    fn servers(&self) -> &[MariaDb] {
        match &self.running {
            Kind::Replication(replication) => &replication.servers,
            Kind::Galera(galera) => &galera.servers,
        }
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.servers().iter().map(MariaDb::address).collect()
    }

    pub(super) fn create(&self, table: &Table) -> Result<(), BenchError> {
        let mut root = self.servers()[0].root()?;
        table.create(&mut root)?;
        Ok(())
    }

    /// The fault of the first server.
    pub(super) fn fail(&mut self, fault: Fault) -> Result<(), BenchError> {
        let servers = match &mut self.running {
            Kind::Replication(replication) => &mut replication.servers,
            Kind::Galera(galera) => &mut galera.servers,
        };
        let done = match fault {
            Fault::Crash => servers[0].kill().map(|_| ()),
            Fault::Hang => servers[0].pause(),
        };
        done.map_err(BenchError::io("failing the writer"))
    }

    /// Promotes the replica at that moment; when it takes writes. Galera needs nobody.
    pub(super) fn promote(&self, at: Instant) -> Result<Option<Instant>, BenchError> {
        let Kind::Replication(replication) = &self.running else {
            return Ok(None);
        };
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        replication.promote(1);
        Ok(Some(Instant::now()))
    }

    /// What the survivors have, which is the same on all of them.
    pub(super) fn audit(&mut self, ledger: &Ledger) -> Result<Audit, BenchError> {
        let mut audits = Vec::new();
        for server in &self.servers()[1..] {
            let mut root = server.root()?;
            // A replica that was promoted has what it has.
            let patience = match self.running {
                Kind::Replication(_) => Duration::ZERO,
                Kind::Galera(_) => {
                    root.query_drop("SET SESSION wsrep_sync_wait = 15")?;
                    APPLIES_WITHIN
                }
            };
            audits.push(ledger.audit_on(&mut root, patience)?);
        }
        match audits.iter().all(|audit| *audit == audits[0]) {
            true => Ok(audits.swap_remove(0)),
            false => Err(BenchError::Output {
                what: "the survivors do not have the same rows".to_owned(),
                output: format!("{audits:?}"),
            }),
        }
    }
}
