//! The flags of `sync-users`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Takes the accounts of a cluster's servers as users of the project
///
/// Reads mysql.user of one server of the cluster, and writes topology/users-CLUSTER.yaml with a user for each account and
/// secrets/NAME with the hash of its password: never the password, and nothing on the screen. Accounts of the system, roles,
/// locked accounts and those whose hash ProxySQL cannot use are left out, and listed. Users that the project has elsewhere are
/// left alone. Review the change with git, then plan and apply.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  PASSWORD=… shardwright sync-users pay --user admin --password-env PASSWORD\n  \
    shardwright sync-users pay --user admin --only 'app*' --except app_old --check"
)]
pub(crate) struct SyncUsers {
    /// The cluster, by its name in the topology
    pub(crate) cluster: String,
    /// The account that reads mysql.user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// The environment variable with its password
    #[arg(long, value_name = "NAME", default_value = "SHARDWRIGHT_SERVER_PASSWORD")]
    pub(crate) password_env: String,
    /// The server to ask, by its name in the cluster; default: the most wanted writer
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Only accounts whose names match; globs are allowed; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// No accounts whose names match; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) except: Vec<String>,
    /// Writes nothing, and exits 2 if something would change
    #[arg(long)]
    pub(crate) check: bool,
    /// Certificates of the authorities that sign those of servers (`tls: verify`), in PEM; default: the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) server_ca: Option<PathBuf>,
}
