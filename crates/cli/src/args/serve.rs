//! Commands that serve clients until a signal ends them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Runs the bundled proxy
///
/// Starts with the configuration that was last applied to the data directory, or empty. The admin password comes from
/// --admin-password-file or SHARDWRIGHT_ADMIN_PASSWORD. Prints `ready listen=ADDR admin=ADDR` once it serves.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  SHARDWRIGHT_ADMIN_PASSWORD=… shardwright proxy --data-dir /var/lib/shardwright\n  \
    shardwright proxy --listen 127.0.0.1:6033 --admin 127.0.0.1:6032 --data-dir ./data --admin-password-file admin.pw"
)]
pub(crate) struct Proxy {
    /// The address for clients
    #[arg(long, default_value = "127.0.0.1:6033", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// The address of the admin port
    #[arg(long, default_value = "127.0.0.1:6032", value_name = "ADDR")]
    pub(crate) admin: SocketAddr,
    /// The directory of applied configurations
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// A file with the password of the user `admin`
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_password_file: Option<PathBuf>,
    /// Allows configurations to run commands that print a password
    #[arg(long)]
    pub(crate) allow_secret_commands: bool,
    /// Worker threads; default: one for each core
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,
    /// Also does what `refuse` does, for the project of -C
    #[arg(long)]
    pub(crate) refuse: bool,
}

/// Tells clients of ProxySQL why their prepared statements are refused
///
/// ProxySQL ends when a rule answers the execution of a prepared statement with an error. The compiled rules send such an
/// execution to a hostgroup whose server is this command. It answers every connection with the reason, and nothing else.
/// Each reason has its own port, counted up from `engine_settings.proxysql.refuser.port`. Prints
/// `ready listen=ADDR,…` once it serves. SIGHUP reads the project again; SIGTERM ends it.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright refuse -C /etc/shardwright\n  shardwright refuse -C DIR -e prod --listen 10.0.0.7"
)]
pub(crate) struct Refuse {
    /// The engine that it refuses for; default: the first ProxySQL that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// The address to listen on; default: the `host` of the project's refuser
    #[arg(long, value_name = "IP")]
    pub(crate) listen: Option<IpAddr>,
}
