//! How a server presents itself, and its limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Called with the connection's number, the current schema and the text of each statement before it runs.
pub type OnQuery = Arc<dyn Fn(u32, Option<&str>, &[u8]) + Send + Sync>;

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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            max_packet: 64 * 1024 * 1024,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(8 * 60 * 60),
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
}

impl Default for Config {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            server_version: "8.4.0-mysqlite".to_owned(),
            limits: Limits::default(),
            on_query: None,
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
