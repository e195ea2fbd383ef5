//! Frontend users and where their secrets are.

use serde::{Deserialize, Serialize};

use crate::{Address, ClientTls, HostgroupId};

/// A user that clients log in as; the same name and password are used towards backends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Name, exact and case-sensitive.
    pub name: String,
    /// `users.NAME`.
    pub address: Address,
    /// Where the password is; `None` for an empty password.
    pub password: Option<SecretReference>,
    /// Writer hostgroup of the cluster that takes what nothing else places.
    pub default_hostgroup: HostgroupId,
    /// Schema of a session that names none.
    pub default_schema: Option<String>,
    /// Most client connections of this user.
    pub max_connections: u32,
    /// Longest time that a statement of the user may take, ms; only where the engine knows such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement_timeout_ms: Option<u32>,
    /// Whether an open transaction keeps its hostgroup.
    pub transaction_persistent: bool,
    /// Whether `/* hostgroup=5 */` and its kin are obeyed.
    pub annotations_allowed: bool,
    /// Whether readers alone take its statements, and what is not provably a read is refused; only where the engine knows
    /// such users. Elsewhere rules do it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_only: bool,
    /// What its clients must do to log in.
    #[serde(default, skip_serializing_if = "ClientTls::is_optional")]
    pub tls: ClientTls,
}

/// Where a secret is found; the secret itself is never part of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretReference {
    /// The value of an environment variable of the process that resolves it.
    Env(String),
    /// The content of a file, without one trailing line break.
    File(String),
    /// The standard output of a command, without one trailing line break.
    Command(Vec<String>),
}
