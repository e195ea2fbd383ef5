//! How a proxy is started: addresses, where its state is, and limits on everything.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::tls::TlsFiles;

/// Where clients connect; port 0 takes a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Here, whatever the configuration says.
    Only(SocketAddr),
    /// At the listeners of the configuration.
    Configured {
        /// Where, if it has none.
        otherwise: SocketAddr,
    },
}

/// How to start a proxy.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where clients connect.
    pub listen: Listen,
    /// Where administrators connect; port 0 takes a free one.
    pub admin: SocketAddr,
    /// Where jobs ask by HTTP whether they may write; `None`: nowhere. There is no login: it tells how far replicas are behind.
    pub checks: Option<SocketAddr>,
    /// Directory of the durable state; created when it is absent. One proxy at a time.
    pub data_dir: PathBuf,
    /// Whose directory it is; another proxy does not start on it. `None`: that is not looked at.
    pub name: Option<String>,
    /// Whether the directory has to hold a configuration: one that is empty by mistake is no new one.
    pub requires_configuration: bool,
    /// Password of the admin user `admin`; without one the admin address must be loopback.
    pub admin_password: Option<Zeroizing<String>>,
    /// A file with that password, which is read again on a reload; it comes before `admin_password`.
    pub admin_password_file: Option<PathBuf>,
    /// A file with further accounts of the admin port, in YAML.
    pub admin_accounts: Option<PathBuf>,
    /// Worker threads; `None` for one per core.
    pub workers: Option<NonZeroUsize>,
    /// Whether secrets may be the output of commands.
    pub allow_secret_commands: bool,
    /// The version that clients are told; `None`: that of the servers.
    pub server_version: Option<String>,
    /// Certificates and keys.
    pub tls: TlsFiles,
    /// Whether a password may be encrypted with a key that a server sends on a connection that is not. Who answers in
    /// the server's place reads it then.
    pub allow_public_key_retrieval: bool,
    /// Limits and deadlines.
    pub limits: Limits,
}

impl Options {
    /// Options with defaults for everything but the addresses and the data directory.
    pub fn new(listen: SocketAddr, admin: SocketAddr, data_dir: impl Into<PathBuf>) -> Self {
        Self {
            listen: Listen::Only(listen),
            admin,
            checks: None,
            data_dir: data_dir.into(),
            name: None,
            requires_configuration: false,
            admin_password: None,
            admin_password_file: None,
            admin_accounts: None,
            workers: None,
            allow_secret_commands: false,
            server_version: None,
            tls: TlsFiles::default(),
            allow_public_key_retrieval: false,
            limits: Limits::default(),
        }
    }

    /// Whether `admin` has a password.
    pub(crate) fn has_admin_password(&self) -> bool {
        self.admin_password.is_some() || self.admin_password_file.is_some()
    }
}

/// Limits and deadlines. At a limit a client gets the standard MySQL error; other sessions do not notice.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most client connections at a time (error 1040).
    pub max_sessions: usize,
    /// Most connections that have not finished their login; further ones are refused (error 1040). `None`: as many as the file
    /// descriptors allow, and no more than `max_sessions`.
    pub max_half_open: Option<usize>,
    /// Time for a login.
    pub handshake_timeout: Duration,
    /// Time after which a client that sends nothing is disconnected.
    pub idle_timeout: Duration,
    /// Most bytes that all clients make the proxy hold (error 1041); `None`: half of what the machine or the control group has.
    pub max_memory: Option<usize>,
    /// Largest statement or other command, bytes (error 1153).
    pub max_packet: usize,
    /// Time to open a connection to a backend, its login included.
    pub connect_timeout: Duration,
    /// Time that a statement waits for a backend connection (error 9001).
    pub checkout_timeout: Duration,
    /// Time that an idle backend connection is kept.
    pub backend_idle_timeout: Duration,
    /// Time after its login at which a backend connection is given to no further statement: the server then sees the account
    /// as it is now.
    pub backend_max_age: Duration,
    /// Time for which a server that could not be reached is left alone.
    pub backend_retry_after: Duration,
    /// Time that a read waits for a server to catch up with what its session has written, before another one is asked.
    pub causal_wait: Duration,
    /// Time for which a server that did not catch up is not asked again.
    pub causal_retry_after: Duration,
    /// Time for which a connection is kept for `LAST_INSERT_ID()`, `SHOW WARNINGS` and their kin after the statement
    /// that they would be about.
    pub brief_hold: Duration,
    /// Time for which a read is withheld that ran on a server when that ended (error 9102).
    pub withhold_for: Duration,
    /// Most prepared statements of a session (error 1461).
    pub max_prepared_statements: usize,
    /// Most prepared statements of a backend connection; the least recently used is closed.
    pub max_backend_statements: usize,
    /// Most bytes of COM_STMT_SEND_LONG_DATA that wait for their execution, in one session.
    pub max_long_data: usize,
    /// Most SET statements of a session that are replayed on further connections.
    pub max_set_history: usize,
    /// Most digests of the statistics, for each worker.
    pub max_digests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sessions: 10_000,
            max_half_open: None,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(8 * 3600),
            max_memory: None,
            max_packet: 64 << 20,
            connect_timeout: Duration::from_secs(5),
            checkout_timeout: Duration::from_secs(10),
            backend_idle_timeout: Duration::from_secs(300),
            backend_max_age: Duration::from_secs(300),
            backend_retry_after: Duration::from_secs(1),
            causal_wait: Duration::from_millis(100),
            causal_retry_after: Duration::from_secs(1),
            brief_hold: Duration::from_secs(10),
            withhold_for: Duration::from_secs(600),
            max_prepared_statements: 4096,
            max_backend_statements: 256,
            max_long_data: 64 << 20,
            max_set_history: 64,
            max_digests: 2_000,
        }
    }
}
