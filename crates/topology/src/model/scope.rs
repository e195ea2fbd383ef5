//! Which statements something is about: the vocabulary of `applies_to` and `match`.

use std::sync::Arc;

use shardwright_vocabulary::{Names, StatementKind};

/// Conditions that must all hold; each is a list of alternatives, and an empty one is no condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Names of users.
    pub users: Names,
    /// Names of session schemas.
    pub schemas: Names,
    /// Names of clusters that the statement is placed on.
    pub clusters: Names,
    /// Ports of the listeners that are meant, sorted; no condition where empty.
    pub listener_ports: Vec<u16>,
    /// Paths of the sockets that are meant, sorted: alternatives to the ports.
    pub listener_sockets: Vec<Arc<str>>,
    /// Addresses of clients: an address, or a prefix that ends with `%`.
    pub client_addr: Vec<Arc<str>>,
    /// Addresses of clients that it is not about.
    pub except_client_addr: Vec<Arc<str>>,
    /// Classes of statements.
    pub statements: Vec<StatementKind>,
    /// Classes of statements that it is not about.
    pub except_statements: Vec<StatementKind>,
    /// Names of tables.
    pub tables: Names,
    /// Names of SQL functions, compared without case.
    pub functions: Names,
    /// Regular expressions over the digest text.
    pub match_digest: Vec<Arc<str>>,
    /// Regular expressions over the digest text of statements that it is not about.
    pub except_match_digest: Vec<Arc<str>>,
    /// Regular expressions over the statement.
    pub match_pattern: Vec<Arc<str>>,
    /// Regular expressions over statements that it is not about.
    pub except_match_pattern: Vec<Arc<str>>,
    /// Digest hashes.
    pub digest: Vec<u64>,
    /// Digest hashes that it is not about.
    pub except_digest: Vec<u64>,
}

impl Scope {
    /// Whether it is about every statement.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}
