//! The command line of `switchover`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Selection;

/// Moves the writer of a cluster to another server, without an error for clients
///
/// Statements for the writer wait in every bundled proxy of the project while transactions end, the new writer gets
/// everything, and the servers change their roles. If that takes longer than `switchover.deadline` of shardwright.yaml,
/// everything is undone and statements go on as before. Without a terminal, --auto-approve is needed.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright switchover shop --to db2\n  shardwright switchover shop --to db2 --check   # changes nothing\n  \
    shardwright switchover shop --to db2 --auto-approve --format json"
)]
pub(crate) struct Switchover {
    /// The cluster, by its name in the topology
    pub(crate) cluster: String,
    /// The server that is to write, by its name in the cluster
    #[arg(long, value_name = "SERVER")]
    pub(crate) to: String,
    /// Only checks whether it can be done
    #[arg(long)]
    pub(crate) check: bool,
    /// Moves the writer without asking
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Certificates of the authorities that sign those of servers (`tls: verify`), in PEM; default: the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) server_ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
}
