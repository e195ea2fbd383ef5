//! Where clients connect, and who they are by their connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// What a listener is to its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    /// The address as configured, or the path of a unix socket: rules compare it as it is written.
    pub(crate) host: String,
    /// 0 for a unix socket.
    pub(crate) port: u16,
    /// Networks whose connections begin with a PROXY header.
    pub(crate) trusted: Vec<IpNet>,
}

impl ListenAddress {
    /// Whether a connection of this peer begins with a PROXY header.
    pub(crate) fn trusts(&self, peer: Peer) -> bool {
        peer.ip()
            .is_some_and(|ip| self.trusted.iter().any(|network| network.contains(&ip)))
    }
}

/// The other end of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Ip(SocketAddr),
    /// Somebody on this machine, through a unix socket.
    Local,
}

impl Peer {
    /// The address; IPv4 in its own form.
    pub(crate) fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(address.ip().to_canonical()),
            Self::Local => None,
        }
    }

    /// The address that rules compare with. That of a unix socket is `localhost`, as on ProxySQL and in the errors of servers.
    pub(crate) fn client_ip(self) -> String {
        self.ip()
            .map_or_else(|| "localhost".to_owned(), |ip| ip.to_string())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Local => f.write_str("localhost"),
        }
    }
}
