//! `bench throttle`: what is compared.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use shardwright_bench::throttle::{self, Plan, Policy};
use shardwright_bench::{BenchError, Report};

#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each policy has its turn.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds of each turn.
    #[arg(long, default_value_t = 90)]
    seconds: u64,
    /// Seconds at the beginning of a turn whose lag is not judged.
    #[arg(long, default_value_t = 30)]
    settles: u64,
    /// Clients that insert.
    #[arg(long, default_value = "4")]
    clients: NonZeroU32,
    /// Statements in a second that each of them would send.
    #[arg(long, default_value_t = 200.0)]
    rate: f64,
    /// What slows statements.
    #[arg(long, value_delimiter = ',', default_value = "regulated,loop")]
    policies: Vec<Policy>,
    /// The program of the policy `other`.
    #[arg(long)]
    other: Option<PathBuf>,
    /// Monitors read the lag from a table of heartbeats.
    #[arg(long)]
    heartbeat: bool,
    /// Where each moment of each turn is written; nowhere if it is not given.
    #[arg(long)]
    traces: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let plan = Plan {
        shardwright: crate::shardwright()?,
        other: arguments.other.clone(),
        rounds: arguments.rounds,
        duration: Duration::from_secs(arguments.seconds),
        settles: Duration::from_secs(arguments.settles),
        clients: arguments.clients,
        rate: arguments.rate,
        policies: arguments.policies.clone(),
        heartbeat: arguments.heartbeat,
        traces: arguments.traces.clone(),
    };
    throttle::run(&plan, progress)
}
