//! How far replicas are behind whose disks are slower than their writer, and how many statements get through: a throttle that is
//! regulated beside a loop that switches a delay on and off.
//!
//! The lag is read from a row that this program writes on the writer and looks up on the replicas, on connections of its own. No
//! figure of the proxy decides anything.

mod beats;
mod proxy;
mod servers;
mod summary;
mod switching;
mod trace;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::{Opts, OptsBuilder};
use serde::Serialize;
use shardwright_ledger::{Load, Table};
use shardwright_testkit::ClientOptions;

use crate::{BenchError, Report};
use beats::Beats;
use proxy::Throttling;
use servers::Servers;
use trace::{Moment, Trace};

pub(crate) const USER: &str = "app";
pub(crate) const PASSWORD: &str = "bench-throttle";
pub(crate) const SCHEMA: &str = "bench";

/// The lag above which a throttle starts, s.
const START_S: f64 = 3.0;
/// The lag below which it stops, s.
const STOP_S: f64 = 1.0;
/// The shortest and the longest delay, ms.
const DELAYS_MS: [u32; 2] = [1, 500];
/// From one moment of a trace to the next.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `shardwright` program.
    pub shardwright: PathBuf,
    /// Another `shardwright` program, whose throttle has a turn of its own in each round.
    pub other: Option<PathBuf>,
    /// How often each policy has its turn.
    pub rounds: u32,
    /// How long each turn is.
    pub duration: Duration,
    /// The time at the beginning of a turn whose lag is not judged.
    pub settles: Duration,
    /// Clients that insert.
    pub clients: NonZeroU32,
    /// Statements in a second that each of them would send.
    pub rate: f64,
    /// The policies.
    pub policies: Vec<Policy>,
    /// Monitors read the lag from the table of heartbeats.
    pub heartbeat: bool,
    /// Where the moments of each turn are written.
    pub traces: Option<PathBuf>,
}

/// What slows statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The throttle of the program.
    Regulated,
    /// The throttle of the other program.
    Other,
    /// A loop that looks every 2 s: the longest delay above the upper level, the shortest below the lower one.
    Loop,
    /// No delay.
    Nothing,
}

impl Policy {
    fn name(self) -> &'static str {
        match self {
            Self::Regulated => "regulated",
            Self::Other => "other",
            Self::Loop => "loop",
            Self::Nothing => "nothing",
        }
    }
}

/// What one turn has come to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    round: u32,
    policy: Policy,
    /// Of the time after the first seconds, the share with a lag above the upper level.
    above: f64,
    median_lag_s: f64,
    greatest_lag_s: f64,
    /// Of the whole turn, acknowledged.
    statements_per_s: f64,
    /// After the first seconds.
    settled_statements_per_s: f64,
    /// Statements that the replica that is further behind has not applied at the end.
    backlog: u64,
    refused: usize,
    unknown: usize,
    /// Acknowledged, and missing on a server, or there twice.
    lost: usize,
    /// Those of clients, each with its number and its first message.
    errors: Vec<(u64, String)>,
    /// Runnable processes of the machine, averaged over a minute: before and after the turn.
    load: [f64; 2],
    /// How often the throttle has started, or the loop has changed the delay.
    switches: u64,
    /// A moment for each second.
    trace: Vec<Moment>,
}

/// Measures. Policies take turns within a round, another one first each time.
///
/// # Errors
/// Something does not start, or servers do not do what they are told.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut policies = plan.policies.clone();
    let mut servers = Servers::start()?;
    let mut samples = Vec::new();
    for round in 1..=plan.rounds {
        for &policy in &policies {
            let sample = turn(plan, &mut servers, policy, round)?;
            progress(&summary::line(&sample));
            samples.push(sample);
        }
        policies.rotate_left(1);
    }
    Ok(summary::report(plan, servers.version()?, &samples))
}

fn turn(plan: &Plan, servers: &mut Servers, policy: Policy, round: u32) -> Result<Sample, BenchError> {
    let throttling = Throttling::start(plan, policy, servers)?;
    let table = servers.renew_table()?;
    let before = load_average();
    let beats = Beats::start(servers, &table)?;
    let mut trace = Trace::new(throttling.admin()?);
    let running = load(plan, &throttling, table)
        .start()
        .map_err(BenchError::io("starting clients"))?;
    let switches = observe(plan, policy, &throttling, &beats, || {
        trace.take(&beats, running.acknowledged() as u64)
    })?;
    let ledger = running.stop();
    let after = load_average();
    let backlog = (ledger.acknowledged().len() as u64).saturating_sub(beats.least_applied());
    beats.wait_until_applied()?;
    beats.stop()?;
    let errors = ledger.errors().values();
    let errors = errors.map(|errors| (errors.count, errors.message.clone()));
    let figures = trace.figures(plan.settles, plan.duration);
    if let Some(directory) = &plan.traces {
        trace.save(directory, &format!("{}-{round}.csv", policy.name()))?;
    }
    Ok(Sample {
        round,
        policy,
        above: figures.above,
        median_lag_s: figures.median_lag_s,
        greatest_lag_s: figures.greatest_lag_s,
        statements_per_s: figures.statements_per_s,
        settled_statements_per_s: figures.settled_statements_per_s,
        backlog,
        refused: ledger.refused().len(),
        unknown: ledger.unknown().len(),
        lost: servers.missing(&ledger)?,
        errors: errors.collect(),
        load: [before, after],
        switches: switches.max(figures.starts),
        trace: trace.each_second(),
    })
}

/// Has `take` look while a turn lasts, and the loop work if it is its turn; how often that has switched.
fn observe(
    plan: &Plan,
    policy: Policy,
    throttling: &Throttling,
    beats: &Beats,
    mut take: impl FnMut() -> Result<(), BenchError>,
) -> Result<u64, BenchError> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let switching =
            (policy == Policy::Loop).then(|| scope.spawn(|| switching::run(throttling, beats, &is_over)));
        let began = Instant::now();
        let mut looked = Ok(());
        let mut next = began;
        while looked.is_ok() && began.elapsed() < plan.duration {
            looked = take().and_then(|()| beats.check());
            next += LOOK_EVERY;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        is_over.store(true, Ordering::Relaxed);
        let switches = switching.map_or(Ok(0), |switching| {
            switching.join().expect("the loop does not panic")
        });
        looked.and(switches)
    })
}

fn load(plan: &Plan, throttling: &Throttling, table: Table) -> Load {
    Load {
        targets: vec![login(throttling.listen())],
        table,
        run: 1,
        clients: plan.clients,
        rate: Some(plan.rate * f64::from(plan.clients.get())),
        transaction_every: 0,
    }
}

/// Clients of an address.
fn login(address: std::net::SocketAddr) -> Opts {
    let login = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(SCHEMA),
    };
    OptsBuilder::from_opts(login.tcp(address)).into()
}

/// Runnable processes, averaged over a minute; not a number where the system does not say.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}
