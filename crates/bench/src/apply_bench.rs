//! `bench apply`: how many shards, and how often.

use std::path::PathBuf;

use clap::Args;
use shardwright_bench::apply_time::{Plan, run};
use shardwright_bench::{BenchError, Report};

use crate::proxysql_bench::Program;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    proxysql: Program,
    /// How many shards.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    shards: u32,
    /// How many rounds, each with a ProxySQL of its own.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

impl Arguments {
    /// Measures `program`.
    pub(crate) fn run(&self, program: PathBuf, progress: impl FnMut(&str)) -> Result<Report, BenchError> {
        let plan = Plan {
            program,
            proxysql: self.proxysql.file(),
            shards: self.shards,
            rounds: self.rounds,
        };
        run(&plan, progress)
    }
}
