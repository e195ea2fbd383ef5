//! How long inserts are away, and what becomes of them, when the writer of a cluster fails behind different proxies: the same
//! servers, the same load and the same faults, one proxy after the other.

pub(crate) mod proxies;
pub(crate) mod servers;
mod summary;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mysql::{Opts, OptsBuilder};
use serde::Serialize;
use shardwright_ledger::{Ledger, Load, Running, Table};
use shardwright_testkit::{ClientOptions, poll_until};

use crate::{BenchError, Report};
use proxies::InFront;
use servers::Servers;

pub(crate) const USER: &str = "app";
pub(crate) const PASSWORD: &str = "bench-failover";
pub(crate) const SCHEMA: &str = "bench";

/// Commits before the fault.
const BEFORE: usize = 200;
/// Commits after writes are back.
const AFTER: usize = 100;
/// How long writes may be away.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// How long whoever promotes a replica takes to notice the fault.
const NOTICES_AFTER: Duration = Duration::from_secs(1);

/// The programs that are compared, beside the HAProxy of the machine.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The `shardwright` program.
    pub shardwright: PathBuf,
    /// The ProxySQL, if there is one.
    pub proxysql: Option<PathBuf>,
}

impl Programs {
    /// The proxies that there are.
    pub(crate) fn proxies(&self) -> Vec<Proxy> {
        let mut proxies = vec![Proxy::Shardwright, Proxy::Haproxy];
        proxies.extend(self.proxysql.as_ref().map(|_| Proxy::Proxysql));
        proxies
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The proxies.
    pub programs: Programs,
    /// How often each proxy meets each fault.
    pub rounds: u32,
    /// Clients that insert.
    pub clients: NonZeroU32,
    /// Commits in a second, of all clients together.
    pub rate: f64,
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// The faults.
    pub faults: Vec<Fault>,
}

/// A kind of cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cluster {
    /// A primary and a replica, asynchronous; a hand promotes the replica.
    Replication,
    /// Three servers.
    Galera,
}

/// What happens to the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Its process ends (`kill -9`).
    Crash,
    /// Its process stops (SIGSTOP).
    Hang,
}

/// A proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Proxy {
    Shardwright,
    Haproxy,
    Proxysql,
}

/// What one fault has come to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    round: u32,
    cluster: Cluster,
    fault: Fault,
    proxy: Proxy,
    /// The longest time without an acknowledged commit.
    gap_ms: f64,
    /// Writes did not come back in time.
    is_open: bool,
    /// From the end of the promotion to the next commit; none for Galera.
    after_promotion_ms: Option<f64>,
    commits: usize,
    /// Kind, code, count.
    errors: Vec<(&'static str, u16, u64)>,
    refused: usize,
    unknown: usize,
    lost: usize,
    doubled: usize,
    refused_and_there: usize,
    unknown_and_there: usize,
}

/// Measures. Every proxy has its turn in each round, another first each time.
///
/// # Errors
/// Something does not start, or servers do not do what they are told.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut proxies = plan.programs.proxies();
    let mut samples = Vec::new();
    for &cluster in &plan.clusters {
        let mut servers = Servers::start(cluster)?;
        for round in 1..=plan.rounds {
            for &fault in &plan.faults {
                for &proxy in &proxies {
                    servers.renew()?;
                    let sample = trial(plan, &mut servers, fault, proxy, round)?;
                    progress(&summary::line(&sample));
                    samples.push(sample);
                }
            }
            proxies.rotate_left(1);
        }
    }
    Ok(summary::report(plan, &samples))
}

fn trial(
    plan: &Plan,
    servers: &mut Servers,
    fault: Fault,
    proxy: Proxy,
    round: u32,
) -> Result<Sample, BenchError> {
    let in_front = InFront::start(&plan.programs, proxy, servers)?;
    let load = Load {
        targets: vec![login(in_front.address())],
        table: Table::new(SCHEMA, "ha"),
        run: servers.next_run(),
        clients: plan.clients,
        rate: Some(plan.rate),
        transaction_every: 0,
    };
    servers.create(&load.table)?;
    let running = load.start().map_err(BenchError::io("starting clients"))?;
    wait(&running, BEFORE, || {
        "no client can insert before the fault".to_owned()
    })?;
    let faulted = Instant::now();
    servers.fail(fault)?;
    let promoted = servers.promote(faulted + NOTICES_AFTER)?;
    // In Galera, nobody says when writes are back. What came later than this is after the fault for sure.
    let since = promoted.unwrap_or(faulted + Duration::from_secs(3));
    let back = poll_until(BACK_WITHIN, || running.first_after(since)).ok();
    if back.is_some() {
        wait(&running, running.acknowledged() + AFTER, || {
            "writes were back and went away".to_owned()
        })?;
    }
    let ledger = running.stop();
    let audit = servers.audit(&ledger)?;
    let gap = ledger.longest_gap(faulted);
    Ok(Sample {
        round,
        cluster: servers.cluster(),
        fault,
        proxy,
        gap_ms: gap.length.as_secs_f64() * 1000.0,
        is_open: back.is_none(),
        after_promotion_ms: promoted
            .zip(back)
            .map(|(promoted, back)| (back - promoted).as_secs_f64() * 1000.0),
        commits: ledger.acknowledged().len(),
        errors: errors(&ledger),
        refused: ledger.refused().len(),
        unknown: ledger.unknown().len(),
        lost: audit.lost.len(),
        doubled: audit.doubled.len() + audit.torn.len(),
        refused_and_there: audit.refused_and_there.len(),
        unknown_and_there: audit.unknown_and_there.len(),
    })
}

/// Clients of an address.
fn login(address: std::net::SocketAddr) -> Opts {
    let patience = Some(BACK_WITHIN);
    let login = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    };
    OptsBuilder::from_opts(login.tcp(address))
        .read_timeout(patience)
        .write_timeout(patience)
        .tcp_connect_timeout(patience)
        .into()
}

/// Waits until so many commits are acknowledged.
fn wait(running: &Running, commits: usize, what: impl Fn() -> String) -> Result<(), BenchError> {
    poll_until(BACK_WITHIN, || (running.acknowledged() >= commits).then_some(())).map_err(|_| {
        BenchError::Output {
            what: what(),
            output: format!("{:?}", running.so_far().errors()),
        }
    })
}

fn errors(ledger: &Ledger) -> Vec<(&'static str, u16, u64)> {
    let errors = ledger.errors().iter();
    errors
        .map(|((kind, code), errors)| (kind.as_str(), *code, errors.count))
        .collect()
}
