//! `bench scaling`: what is compared.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use shardwright_bench::failover::Programs;
use shardwright_bench::scaling::{self, Plan};
use shardwright_bench::{BenchError, Report};

#[derive(Args)]
pub(crate) struct Arguments {
    /// How often each proxy has its turn.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds of each run.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Numbers of clients.
    #[arg(long, value_delimiter = ',', default_value = "16,32,64,128,192,256")]
    threads: Vec<u32>,
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
        duration: Duration::from_secs(arguments.seconds),
        threads: arguments.threads.clone(),
    };
    scaling::run(&plan, progress)
}
