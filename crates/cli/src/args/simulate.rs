//! A throttle and a recorded series of its signal.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// Replays a recorded series of a signal through a throttle, and draws what it does
///
/// The series is a file with a time and a value in each row, separated by commas or tabs. Times are seconds, milliseconds
/// since 1970, or RFC 3339; what is no number is not known. The same code regulates as in the proxy. A recorded signal does not fall because statements wait: the first
/// start is what would have happened, and what follows is what the series asks for.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright simulate behind-lag lag.csv\n  shardwright simulate behind-lag lag.csv -o lag.html\n  \
    shardwright simulate busy metrics.csv --column threads_running --format json"
)]
pub(crate) struct Simulate {
    /// The name of a throttle of the project, which has a `signal`
    pub(crate) throttle: String,
    /// The recorded series
    pub(crate) series: PathBuf,
    /// The column of the values; default: the second
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Option<String>,
    /// What lag is recorded in; default: by the name of the column, such as lag_ms, lag_s, Seconds_Behind_Master
    #[arg(long, value_enum)]
    pub(crate) unit: Option<LagUnit>,
    /// Writes one HTML page with the picture, which needs nothing else
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `simulate --unit`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LagUnit {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
}
