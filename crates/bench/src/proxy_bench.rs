//! `bench proxy`: which rows are measured, on what, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use shardwright_bench::failover::Programs;
use shardwright_bench::{BenchError, Report, peers};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Only these rows.
    #[arg(long, value_name = "ROW", value_delimiter = ',', value_parser = PossibleValuesParser::new(peers::names()))]
    only: Vec<String>,
    /// How often each target has its turn.
    #[arg(long, default_value_t = Self::default().rounds, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of each turn.
    #[arg(long, default_value_t = Self::default().seconds)]
    seconds: u64,
    /// The core of rows that are pinned to one.
    #[arg(long, default_value_t = Self::default().core)]
    core: u32,
    /// Another build of the proxy, such as one of before a change. It has its turn in rows where proxies have no rules.
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// The ProxySQL (2.7); without it, it is left out.
    #[arg(long, env = "PROXYSQL_BIN")]
    proxysql: Option<PathBuf>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            only: Vec::new(),
            rounds: 5,
            seconds: 3,
            core: 0,
            beside: None,
            proxysql: std::env::var_os("PROXYSQL_BIN").map(PathBuf::from),
        }
    }
}

/// Measures, and hands the report to `keep`; rows that could not be measured are an error behind that.
pub(crate) fn run(
    arguments: &Arguments,
    keep: impl FnOnce(&Report) -> Result<(), BenchError>,
    progress: impl Fn(&str),
) -> Result<(), BenchError> {
    let plan = peers::Plan {
        programs: Programs {
            shardwright: crate::shardwright()?,
            proxysql: arguments
                .proxysql
                .clone()
                .filter(|path| !path.as_os_str().is_empty()),
        },
        other: arguments.beside.clone(),
        passthrough: crate::beside("passthrough")?,
        only: arguments.only.clone(),
        rounds: arguments.rounds,
        duration: Duration::from_secs(arguments.seconds.max(1)),
        core: arguments.core,
    };
    let measured = peers::run(&plan, progress);
    keep(&measured.report)?;
    if measured.failed.is_empty() {
        return Ok(());
    }
    Err(BenchError::Output {
        what: "rows that could not be measured".to_owned(),
        output: measured.failed.join("\n"),
    })
}
