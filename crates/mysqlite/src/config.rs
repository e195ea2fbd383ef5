//! How a server presents itself, and its limits.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

/// Called with the connection's number, the current schema and the text of each statement before it runs.
pub type OnQuery = Arc<dyn Fn(u32, Option<&str>, &[u8]) + Send + Sync>;

/// Called for each connection: the TLS configuration for clients, if there is TLS now.
pub type CurrentTls = Arc<dyn Fn() -> Option<Arc<ServerConfig>> + Send + Sync>;

/// A login that was not let in because of wrong passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeniedLogin<'a> {
    /// Where the client is.
    pub peer: IpAddr,
    /// The user's name; empty for a name that nobody has.
    pub account: &'a str,
    /// Its password was wrong. Otherwise too many logins from this address were waiting.
    pub was_checked: bool,
}

/// Called for each login that is denied, before the client hears of it.
pub type OnDenied = Arc<dyn Fn(&DeniedLogin<'_>) + Send + Sync>;

/// A user who may log in.
#[derive(Clone)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password in the clear, or `*` and 40 hexadecimal digits.
    pub password: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What clients may take of the server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Bytes of a command.
    pub max_packet: usize,
    /// For the whole login.
    pub handshake_timeout: Duration,
    /// Between two commands, and for writing an answer.
    pub idle_timeout: Duration,
    /// Wrong passwords from an address before logins from there wait; `None`: they never do.
    pub free_failures: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            max_packet: 64 * 1024 * 1024,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(8 * 60 * 60),
            free_failures: None,
        }
    }
}

/// How a server presents itself.
#[derive(Clone)]
pub struct Config {
    /// Who may log in.
    pub users: Vec<User>,
    /// Version text of the greeting, for example `8.4.0-shardwright`.
    pub server_version: String,
    /// Limits.
    pub limits: Limits,
    /// Sees each statement.
    pub on_query: Option<OnQuery>,
    /// Sees each login that is denied.
    pub on_denied: Option<OnDenied>,
    /// TLS for clients. Where it is offered, clients on other machines must use it.
    pub tls: Option<CurrentTls>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            server_version: "8.4.0-mysqlite".to_owned(),
            limits: Limits::default(),
            on_query: None,
            on_denied: None,
            tls: None,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("users", &self.users)
            .field("server_version", &self.server_version)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
