//! Commands that serve clients until a signal ends them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use shardwright_proxy::Limits;

/// Runs the bundled proxy
///
/// Starts with the configuration that was last applied to the data directory, or empty. The admin password comes from
/// --admin-password-file or SHARDWRIGHT_ADMIN_PASSWORD. Prints `ready listen=ADDR,… admin=ADDR` once it serves.
/// An apply opens and closes listeners; sessions go on.
///
/// SIGHUP reads certificates and passwords again; sessions go on. SIGTERM lets transactions end, a second one does not.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  SHARDWRIGHT_ADMIN_PASSWORD=… shardwright proxy --data-dir /var/lib/shardwright\n  \
    shardwright proxy --listen 127.0.0.1:6033 --admin 127.0.0.1:6032 --data-dir ./data --admin-password-file admin.pw\n  \
    shardwright proxy --listen 0.0.0.0:6033 --tls-cert server.pem --tls-key server.key --tls-server-ca ca.pem --data-dir ./data"
)]
pub(crate) struct Proxy {
    /// The address for clients; default: the listeners of the configuration, or 127.0.0.1:6033 if it has none
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
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
    /// The certificate for clients, with those that lead to its authority (PEM); without it clients get no TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Authorities whose certificates clients may show (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Authorities of servers' certificates, for clusters with `tls: verify` (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_server_ca: Option<PathBuf>,
    /// Encrypts passwords with keys that servers send in the clear; who answers in a server's place can read them
    #[arg(long)]
    pub(crate) allow_public_key_retrieval: bool,
    /// Worker threads; default: one for each core
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,
    /// The version that clients are greeted with; default: that of the servers
    #[arg(long, value_name = "VERSION")]
    pub(crate) server_version: Option<String>,
    /// Also does what `refuse` does, for the project of -C
    #[arg(long)]
    pub(crate) refuse: bool,
    #[command(flatten)]
    pub(crate) limits: ProxyLimits,
}

/// Limits of the bundled proxy. Each error at a limit names its flag.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ProxyLimits {
    /// Client connections at a time (error 1040)
    #[arg(long, default_value_t = Limits::default().max_sessions, value_name = "N")]
    pub(crate) max_connections: usize,
    /// Client connections that have not logged in; at the limit, the address with the most gives up its oldest (error 1040)
    #[arg(long, default_value_t = Limits::default().max_half_open, value_name = "N")]
    pub(crate) max_half_open: usize,
    /// Seconds for a login, TLS included
    #[arg(long, default_value_t = Limits::default().handshake_timeout.as_secs(), value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) login_timeout: u64,
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
