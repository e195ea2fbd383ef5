//! The command line of `bench`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use url::Url;

/// Measures what clients of a cluster notice
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright bench failover --target mysql://app@127.0.0.1:6033/test --on-ready 'kill -9 4711'"
)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    Failover(BenchFailover),
}

/// Inserts while servers fail or change their roles, and counts what clients lost
///
/// Clients insert rows through any address (a proxy, a virtual IP, a server) and note each answer, while you or --on-ready end,
/// stop, promote or move servers. Reports the longest time without a commit and the errors, and afterwards asks the servers
/// which acknowledged rows are lost, and which rows are there twice. The password comes from --password-file or
/// SHARDWRIGHT_BENCH_PASSWORD.
///
/// Exits 3 if a server has lost, doubled or torn something, has what was refused, or --max-gap-ms was exceeded.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright bench failover --target mysql://app@127.0.0.1:6033/test\n  \
    shardwright bench failover --target mysql://app@127.0.0.1:6033/test --seconds 60 --rate 200 \\\n    \
    --on-ready 'ssh db1 pkill -9 mariadbd' --check mysql://10.0.0.2 --check mysql://10.0.0.3 --format json\n  \
    shardwright bench failover --target mysql://app@vip/test --on-ready 'shardwright switchover shop --to db2 --auto-approve' \\\n    \
    --transactions 4 --max-gap-ms 500"
)]
pub(crate) struct BenchFailover {
    /// Where clients insert, with the schema: mysql://USER@HOST[:PORT]/SCHEMA
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) target: Url,
    /// A server that is asked for its rows afterwards, as mysql://[USER@]HOST[:PORT]; repeatable; default: the target
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) check: Vec<Url>,
    /// A file with the password of the target's user, and of other users without a file of their own
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// A file with the password of the users of --check
    #[arg(long, value_name = "FILE")]
    pub(crate) check_password_file: Option<PathBuf>,
    /// Encryption towards target and servers
    #[arg(long, value_enum, default_value_t)]
    pub(crate) tls: Encryption,
    /// Certificates of the authorities that sign those of servers, in PEM; default: the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) server_ca: Option<PathBuf>,
    /// Clients that insert, each on its connection
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) clients: NonZeroU32,
    /// Commits in a second, of all clients together; 0: as many as they can
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) rate: u32,
    /// How long they insert; longer where --on-ready has not ended, shorter after SIGINT
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Every so many commits of a client is a transaction of two inserts; 0: none
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) transactions: u64,
    /// Seconds that a client waits for an answer; then it counts as unknown
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// A command that fails or moves the writer, run by the shell once clients insert
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_ready: Option<String>,
    /// Seconds of inserts before --on-ready
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=3600), requires = "on_ready")]
    pub(crate) after: u64,
    /// Exits 3 if no commit was acknowledged for longer
    #[arg(long, value_name = "MS")]
    pub(crate) max_gap_ms: Option<u64>,
    /// Seconds that a server of --check may take to apply what is missing
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) settle: u64,
    /// The table; it is made if it is not there
    #[arg(long, value_name = "NAME", default_value = "shardwright_failover")]
    pub(crate) table: String,
    /// Drops the table if every server has everything
    #[arg(long)]
    pub(crate) drop: bool,
}

/// `--tls`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encryption {
    /// None
    #[default]
    Disabled,
    /// Encrypted; the certificate is not checked
    Required,
    /// Encrypted; the certificate must be that of the host
    Verify,
}

/// An address. Whoever lists processes sees the command line, so it has no password.
fn url(text: &str) -> Result<Url, String> {
    let example = "write mysql://USER@HOST:PORT/SCHEMA";
    let url = Url::parse(text).map_err(|error| format!("{error}; {example}"))?;
    if url.scheme() != "mysql" || url.host_str().is_none_or(str::is_empty) {
        return Err(example.to_owned());
    }
    if url.password().is_some() {
        return Err("write the password to a file, and name it with --password-file".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("nothing follows the schema; {example}"));
    }
    Ok(url)
}
