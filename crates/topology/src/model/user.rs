//! Accounts of clients, and references to their secrets.

use std::fmt;
use std::sync::Arc;

use super::{ClientTls, Cluster, ClusterId, OriginId, Role, Words};

/// An account that clients log in with.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The name after `users.`, by which files refer to it.
    pub name: Arc<str>,
    /// The name that clients log in with; references of a loaded project to users are these.
    pub login: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Its password.
    pub password: Secret,
    /// The cluster for statements that nothing else places.
    pub cluster: ClusterId,
    /// The servers that take its statements where nothing else places them; the writer where not said.
    pub role: Role,
    /// The one server that takes them instead: a place in the servers of `cluster`. Never beside a role.
    pub server: Option<u32>,
    /// Readers take its statements on every cluster, and what is not provably a read is refused. Only with readers.
    pub reads_only: bool,
    /// The schema of sessions that do not choose one.
    pub schema: Option<Arc<str>>,
    /// Most sessions of one proxy; 10000 where not said.
    pub max_connections: u32,
    /// Longest time that a statement may take, ms.
    pub statement_timeout_ms: Option<u32>,
    /// Whether statements of a transaction stay where it began; true where not said.
    pub transaction_persistent: bool,
    /// Whether `/* hostgroup=5 */` and kin are obeyed.
    pub annotations: Annotations,
    /// What its clients must do to log in.
    pub tls: ClientTls,
}

impl User {
    /// `CLUSTER.SERVER`, where one server takes its statements: what the hostgroup of that server alone is called.
    #[must_use]
    pub fn server_name(&self, cluster: &Cluster) -> Option<String> {
        let server = cluster.servers.get(self.server? as usize)?;
        Some(format!("{}.{}", cluster.name, server.name))
    }
}

/// Whether engine annotations in comments are obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotations {
    /// They are refused.
    Deny,
    /// They are obeyed.
    Allow,
}

impl Words for Annotations {
    const WORDS: &'static [(&'static str, Self)] = &[("deny", Self::Deny), ("allow", Self::Allow)];
}

/// A reference to a secret, and to its predecessor during rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Secret {
    /// Where the secret comes from.
    pub source: SecretSource,
    /// The old secret that stays valid.
    pub previous: Option<SecretSource>,
}

/// Where a secret comes from; resolved only inside a target or by the proxy itself.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretSource {
    /// An environment variable.
    Env(Arc<str>),
    /// The first line of a file, relative to the project.
    File(Arc<str>),
    /// The first line that a program prints; no shell is involved.
    Command(Vec<Arc<str>>),
    /// Written into the topology, which is a finding.
    Literal(PlainText),
}

/// A secret in the clear; does not show itself in debug output.
#[derive(Clone, PartialEq)]
pub struct PlainText(Arc<str>);

impl PlainText {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The secret.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PlainText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"…\"")
    }
}
