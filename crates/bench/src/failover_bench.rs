//! `bench failover`: what is compared.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use shardwright_bench::failover::{self, Cluster, Fault, Plan, Programs};
use shardwright_bench::{BenchError, Report};

#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each proxy meets each fault.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Clients that insert.
    #[arg(long, default_value = "4")]
    clients: NonZeroU32,
    /// Commits in a second, of all clients together.
    #[arg(long, default_value_t = 200.0)]
    rate: f64,
    /// The ProxySQL (2.7); without it, it is left out.
    #[arg(long, env = "PROXYSQL_BIN")]
    proxysql: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let plan = Plan {
        programs: Programs {
            shardwright: crate::shardwright()?,
            proxysql: arguments.proxysql.clone(),
        },
        rounds: arguments.rounds,
        clients: arguments.clients,
        rate: arguments.rate,
        clusters: vec![Cluster::Replication, Cluster::Galera],
        faults: vec![Fault::Crash, Fault::Hang],
    };
    failover::run(&plan, progress)
}
