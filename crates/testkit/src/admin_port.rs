//! A real ProxySQL, or the stand-in for its admin port.

use std::net::SocketAddr;

use mysql::Conn;

use crate::client::TextRow;
use crate::proxysql::{PROXYSQL_BIN, ProxySql, ProxySqlError, ProxySqlOptions, real_proxysql};
use crate::stand_in::StandIn;

/// What plans are applied to.
#[derive(Debug)]
pub enum AdminPort {
    /// The engine.
    Real(ProxySql),
    /// Its tables without it.
    StandIn(StandIn),
}

impl AdminPort {
    /// A real ProxySQL where the environment names one, else the stand-in.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start() -> Self {
        if std::env::var_os(PROXYSQL_BIN).is_none_or(|path| path.is_empty()) {
            return Self::StandIn(StandIn::start().expect("a free port on loopback"));
        }
        let binary = real_proxysql("nothing").expect("the environment names one");
        let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default());
        Self::Real(proxysql.expect("ProxySQL starts"))
    }

    /// Where it listens.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        match self {
            Self::Real(proxysql) => proxysql.admin_address(),
            Self::StandIn(stand_in) => stand_in.admin_address(),
        }
    }

    /// A connection to it.
    ///
    /// # Errors
    /// The server's or the network's.
    pub fn admin(&self) -> mysql::Result<Conn> {
        match self {
            Self::Real(proxysql) => proxysql.admin(),
            Self::StandIn(stand_in) => stand_in.admin(),
        }
    }

    /// Runs statements one after the other; the rows of all of them.
    ///
    /// # Errors
    /// [`ProxySqlError::Admin`] with the first statement that was refused.
    pub fn run<S: AsRef<str>>(
        &self,
        statements: impl IntoIterator<Item = S>,
    ) -> Result<Vec<TextRow>, ProxySqlError> {
        match self {
            Self::Real(proxysql) => proxysql.run(statements),
            Self::StandIn(stand_in) => stand_in.run(statements).map_err(|source| ProxySqlError::Admin {
                statement: "a statement for the stand-in".to_owned(),
                source,
            }),
        }
    }

    /// The engine; `None` on the stand-in, which serves no clients and has no peers.
    #[must_use]
    pub fn real(&self) -> Option<&ProxySql> {
        match self {
            Self::Real(proxysql) => Some(proxysql),
            Self::StandIn(_) => None,
        }
    }
}
