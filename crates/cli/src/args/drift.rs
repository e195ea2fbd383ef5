//! The command line of `drift`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::Selection;

/// Shows how targets drifted from what was applied and from the files; exits 2 if they did
///
/// Compares three states: what is live, what the last apply left, and the files. live-ahead: somebody changed the proxy.
/// repo-ahead: the files changed. both: both did. For changes of the proxy it says what is known of their cause: an apply
/// that was cut off, another project, a peer of a ProxySQL Cluster, a scheduler, or somebody by hand. Placements that the
/// monitor decides, or a scheduler (`roles_by: external`), are left out.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright drift\n  shardwright drift --target px-a1 --format json\n  \
    shardwright drift --watch --interval 5\n  shardwright drift --seen /var/lib/shardwright/drift.json   # for cron\n  \
    shardwright drift --adopt --dry-run"
)]
pub(crate) struct Drift {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Looks again and again, and prints a line when drift appears and when it goes; a signal ends it
    #[arg(long)]
    pub(crate) watch: bool,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds, requires = "watch")]
    pub(crate) interval: Duration,
    /// Prints only what appeared or went since the last run with this file, a line each
    #[arg(long, value_name = "FILE")]
    pub(crate) seen: Option<PathBuf>,
    /// Writes what somebody changed on the proxy into the project's files, where they can say it
    ///
    /// Only the values that differ are written; comments and layout stay. An edit is kept only if the project then compiles
    /// to exactly what is live for that object and to nothing else than before for all others. What cannot be written is
    /// listed with the reason.
    #[arg(long, conflicts_with_all = ["watch", "seen"])]
    pub(crate) adopt: bool,
    /// With --adopt, writes nothing: the changes go to standard output as a patch
    #[arg(long, requires = "adopt")]
    pub(crate) dry_run: bool,
}

/// A time of at least a tenth of a second and at most a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "seconds, from 0.1 to 86400".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    match (0.1..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(wrong()),
    }
}
