//! Load drivers, baselines and measurements.
//!
//! A benchmark is a function that gives a [`Report`]: a human-readable table and every raw figure for a file. The `bench`
//! program is the only place that prints or writes them.

pub mod apply_time;
pub mod bundled;
pub mod compile_time;
mod cpu_time;
pub mod crowd;
pub mod decisions;
mod endpoint;
pub mod failover;
mod group_status;
pub mod instructions;
pub mod lint_time;
mod machine;
pub mod once;
pub mod passthrough;
pub mod peers;
pub mod prove_time;
pub mod proxysql;
mod report;
mod resident;
pub mod scaling;
pub mod shards;
mod statistics;
mod sysbench;
pub mod test_time;
pub mod throttle;
pub mod traffic_rate;
pub mod training;
pub mod tree_costs;
pub mod validate_time;
mod wire_client;

pub use cpu_time::{cpu_time_of_children, cpu_time_of_group, processes_of_group};
pub use endpoint::Endpoint;
pub use machine::Machine;
pub use report::{Report, Table};
pub use statistics::{Summary, growth};
pub use sysbench::{Histogram, Load, Place, Scripts, Sysbench, SysbenchRun};

use std::io;

/// Why a benchmark has no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A program or file could not be used.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A program failed or printed something else than expected.
    #[error("{what}:\n{output}")]
    Output {
        /// Which program, and what is wrong.
        what: String,
        /// What it printed.
        output: String,
    },
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] shardwright_testkit::LaunchError),
    /// The server refused a statement.
    #[error("preparing the server: {0}")]
    Sql(#[from] mysql::Error),
}

impl BenchError {
    /// Wraps an I/O error with what was attempted.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
