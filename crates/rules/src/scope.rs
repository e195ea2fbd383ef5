//! Which statements a native step is about: the vocabulary of `applies_to` and `match`.

use serde::{Deserialize, Serialize};

use crate::{Names, StatementKind};

/// A conjunction of conditions; an empty list or `None` is no condition, the entries of a list are alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    /// Frontend users.
    #[serde(skip_serializing_if = "Names::is_any")]
    pub users: Names,
    /// Session schemas; see [`Scope::takes_schema`] about a session without one.
    #[serde(skip_serializing_if = "Names::is_any")]
    pub schemas: Names,
    /// Clusters that the statement is placed on so far; before any placement, the user's.
    #[serde(skip_serializing_if = "Names::is_any")]
    pub clusters: Names,
    /// Client addresses: exact, or a prefix that ends in `%`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_addrs: Vec<String>,
    /// Ports of the listeners that sessions came in through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listener_ports: Vec<u16>,
    /// Paths of the unix sockets that sessions came in through: alternatives to the ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listener_sockets: Vec<String>,
    /// Kinds of statement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementKind>,
    /// Patterns searched in the digest text, without case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_digest: Vec<String>,
    /// Patterns searched in the statement, without case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_pattern: Vec<String>,
    /// Digest hashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<u64>,
    /// Names of functions that the statement calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Tables that the statement names: `table` or `schema.table`. One that the statement names is enough, in the
    /// exceptions too; a statement whose tables cannot be told matches neither.
    #[serde(skip_serializing_if = "Names::is_any")]
    pub tables: Names,
    /// Client addresses that it is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_client_addrs: Vec<String>,
    /// Patterns over the digest text of statements that it is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_match_digest: Vec<String>,
    /// Patterns over statements that it is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_match_pattern: Vec<String>,
    /// Digest hashes that it is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_digests: Vec<u64>,
    /// Functions of statements that it is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_functions: Vec<String>,
}

impl Scope {
    /// Whether only sessions of certain listeners are meant.
    #[must_use]
    pub fn asks_for_listener(&self) -> bool {
        !self.listener_ports.is_empty() || !self.listener_sockets.is_empty()
    }

    /// Whether sessions that came in through this listener are meant: its address and port, or its path and 0.
    #[must_use]
    pub fn takes_listener(&self, listener: Option<(&str, u16)>) -> bool {
        let is_meant = |(address, port): (&str, u16)| match port {
            0 => self.listener_sockets.iter().any(|path| path == address),
            port => self.listener_ports.contains(&port),
        };
        !self.asks_for_listener() || listener.is_some_and(is_meant)
    }

    /// Whether sessions in this schema are meant. A session without one is in no listed schema, of those that are left out
    /// neither; `*` matches it.
    #[must_use]
    pub fn takes_schema(&self, schema: Option<&str>) -> bool {
        self.schemas.contains(schema.unwrap_or_default())
    }

    /// Whether there is no condition besides the user.
    pub fn takes_all_of_its_users(&self) -> bool {
        self.takes_every_statement() && self.takes_every_session_of_its_users()
    }

    /// Whether there is no condition on the statement.
    pub(crate) fn takes_every_statement(&self) -> bool {
        let session = Scope {
            users: self.users.clone(),
            schemas: self.schemas.clone(),
            clusters: self.clusters.clone(),
            client_addrs: self.client_addrs.clone(),
            except_client_addrs: self.except_client_addrs.clone(),
            listener_ports: self.listener_ports.clone(),
            listener_sockets: self.listener_sockets.clone(),
            ..Scope::default()
        };
        *self == session
    }

    /// Whether there is no condition on the session besides its user.
    pub(crate) fn takes_every_session_of_its_users(&self) -> bool {
        let statement = Scope {
            schemas: Names::default(),
            clusters: Names::default(),
            client_addrs: Vec::new(),
            except_client_addrs: Vec::new(),
            listener_ports: Vec::new(),
            listener_sockets: Vec::new(),
            ..self.clone()
        };
        *self == statement
    }
}
