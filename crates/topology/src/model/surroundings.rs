//! What stands around the routing: listeners, the monitor's account, engine variables.

use std::sync::Arc;

use super::{OriginId, Secret, Words};

/// A port or socket that clients connect to.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// The name after `listeners.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// The address that is bound, or the path of a unix socket.
    pub address: Arc<str>,
    /// TCP port; `None` for a unix socket. No two listeners share a port or a path.
    pub port: Option<u16>,
    /// Permissions of a socket's file, in octal.
    pub mode: Option<Arc<str>>,
    /// Networks whose connections begin with a PROXY header.
    pub proxy_protocol: Vec<Arc<str>>,
}

/// The account that watches servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitor {
    /// Where it was written.
    pub origin: OriginId,
    /// Name on the servers.
    pub user: Arc<str>,
    /// Its password.
    pub password: Secret,
    /// `database.table` of pt-heartbeat, which says how far replicas are behind.
    pub heartbeat: Option<Arc<str>>,
}

/// Which engines `engine_settings` are for; one family is every version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFamily {
    /// The proxy in this binary.
    Bundled,
    /// ProxySQL.
    ProxySql,
}

/// Variables of one family of engines.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineVariables {
    /// The engines.
    pub family: EngineFamily,
    /// Where they were written.
    pub origin: OriginId,
    /// Names with values as the engine writes them, sorted by name; each name once.
    pub values: Vec<(Arc<str>, Arc<str>)>,
    /// Who refuses what ProxySQL must not refuse itself.
    pub refuser: Refuser,
}

/// The server of the hostgroups that refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Refuser {
    /// ProxySQL's own admin port, which no application user may log in to. Clients do not learn the reason.
    #[default]
    Admin,
    /// `shardwright refuse`, which tells clients the reason.
    Service {
        /// Where ProxySQL reaches it.
        host: Arc<str>,
        /// The port of the first reason; each further reason has the next.
        port: u16,
    },
}

impl Words for EngineFamily {
    const WORDS: &'static [(&'static str, Self)] =
        &[("proxysql", Self::ProxySql), ("bundled", Self::Bundled)];
}
