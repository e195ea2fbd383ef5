//! What stands around the routing: listeners and the monitor's account.

use serde::{Deserialize, Serialize};

use crate::{Address, SecretReference};

/// A port that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// Name in the topology.
    pub name: String,
    /// `listeners.NAME`.
    pub address: Address,
    /// The IP address that is bound.
    pub bind: String,
    /// TCP port.
    pub port: u16,
}

/// The account that watches servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monitor {
    /// `monitor`.
    pub address: Address,
    /// Name on the servers.
    pub user: String,
    /// Where its password is; `None` for an empty one.
    pub password: Option<SecretReference>,
}
