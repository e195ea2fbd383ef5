//! What stands around the routing: listeners and the monitor's account.

use serde::{Deserialize, Serialize};

use crate::{Address, SecretReference};

/// A port or socket that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// Name in the topology.
    pub name: String,
    /// `listeners.NAME`.
    pub address: Address,
    /// The IP address that is bound, or the path of a unix socket.
    pub bind: String,
    /// TCP port; 0 for a unix socket, as ProxySQL has it.
    pub port: u16,
    /// Permissions of a socket's file, in octal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Networks whose connections begin with a PROXY header, which says who the client is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy_protocol: Vec<String>,
}

impl Listener {
    /// A port without anything else.
    #[must_use]
    pub fn on_port(name: &str, address: Address, bind: &str, port: u16) -> Self {
        Self {
            name: name.to_owned(),
            address,
            bind: bind.to_owned(),
            port,
            mode: None,
            proxy_protocol: Vec::new(),
        }
    }

    /// Whether it is a unix socket, whose path is `bind`.
    #[must_use]
    pub fn is_socket(&self) -> bool {
        self.port == 0 && self.bind.starts_with('/')
    }
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
    /// `database.table` of pt-heartbeat, plain names, which says how far replicas are behind; `None`: replication says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
}
