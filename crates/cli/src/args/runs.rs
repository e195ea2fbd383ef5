//! The command lines about what targets run, and what was applied to them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::Selection;

/// Takes back an apply, on all of its targets
///
/// On a ProxySQL the same changes are made the other way round; a bundled proxy is given its former configuration. Both
/// are runs of their own, after approval. What was cut off is taken back at once: the target is between two states. All of
/// it is refused when one of the targets has changed since, when it would break a safety limit, and when shards or
/// hostgroups would be served again by servers that lack what was written since (stale_copy).
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright history\n  shardwright rollback 20261125-153012-480-7f3a1c20\n  \
    shardwright rollback 20261125-153012-480-7f3a1c20 --auto-approve\n  \
    shardwright rollback 20261125-153012-480-7f3a1c20 --allow \"stale_copy=the tenant was read-only\""
)]
pub(crate) struct Rollback {
    /// The apply, as apply and history name it; or the run of one of its targets
    pub(crate) run: String,
    /// Leaves targets as they are that have changed since, and takes the apply back on the others
    #[arg(long)]
    pub(crate) leave_changed: bool,
    /// Takes it back without asking
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Lifts one safety limit, with the reason
    #[arg(long, value_name = "CODE=REASON")]
    pub(crate) allow: Vec<String>,
}

/// Shows what each target runs, and whether that is what was applied
///
/// For ProxySQL also, module by module: rows that are staged and not live, rows that are live and not saved, variables
/// that wait for the next start, and a run that was cut off.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright status\n  shardwright status --detailed-exitcode --format json"
)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Exits 2 when something is not as it was applied
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

/// Lists the applies: when, by whom, from which commit, and how they ended
///
/// An apply to several targets has a line, with a line below it for the run of each target. Of each bundled proxy it lists what administrators did since the proxy was started: the latest 256 operations.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright history\n  shardwright history --target px-a1 --format json"
)]
pub(crate) struct History {
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// Shows or breaks the lock that keeps others from applying
///
/// An apply to ProxySQL holds the lock of the project's state. In a directory it ends with the process. In MySQL and etcd
/// it ends a minute after a machine was last heard of.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright lock show\n  shardwright lock break")]
pub(crate) struct Lock {
    #[command(subcommand)]
    pub(crate) what: LockWhat,
}

/// What is done with the lock.
#[derive(Debug, Subcommand)]
pub(crate) enum LockWhat {
    Show(LockShow),
    Break(LockBreak),
}

/// Shows who holds the lock, since when, and when it ends
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright lock show\n  shardwright lock show --format json")]
pub(crate) struct LockShow {}

/// Takes the lock away from its holder, whose apply stops where it is
///
/// For a machine that does not come back. A run that was cut off is then finished with `apply --resume` or taken back with
/// `rollback`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright lock break\n  shardwright lock break --auto-approve")]
pub(crate) struct LockBreak {
    /// Breaks it without asking
    #[arg(long)]
    pub(crate) auto_approve: bool,
}

/// Shows a saved plan
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright show change.plan\n  shardwright show change.plan --format markdown"
)]
pub(crate) struct Show {
    /// The plan's file
    pub(crate) plan: PathBuf,
}
