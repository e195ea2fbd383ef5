//! Variables that belong to one node: its addresses, the accounts of its admin port and its files.
//!
//! Their values are right on one machine only. A project is about all of its nodes, so adoption leaves these variables out.
//! A plan never changes the addresses and the accounts.

/// The way in which a variable belongs to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeVariable {
    /// An address or a port at which this process answers.
    Address,
    /// An account of its admin port, or the account by which the nodes of a ProxySQL Cluster ask each other.
    Credentials,
    /// A path on its disk.
    File,
}

const ADDRESSES: [&str; 6] = [
    "admin-mysql_ifaces",
    "admin-pgsql_ifaces",
    "admin-telnet_admin_ifaces",
    "admin-telnet_stats_ifaces",
    "admin-web_port",
    "admin-restapi_port",
];
const CREDENTIALS: [&str; 4] = [
    "admin-admin_credentials",
    "admin-stats_credentials",
    "admin-cluster_username",
    "admin-cluster_password",
];
/// Files and directories, in the names of either module of a protocol.
const FILES: [&str; 10] = [
    "auditlog_filename",
    "eventslog_filename",
    "datadir",
    "ssl_keylog_file",
    "ssl_p2s_ca",
    "ssl_p2s_capath",
    "ssl_p2s_cert",
    "ssl_p2s_crl",
    "ssl_p2s_crlpath",
    "ssl_p2s_key",
];

impl NodeVariable {
    /// How the variable of this name belongs to one node; `None` where nodes can share its value. The interfaces of clients
    /// are told by their value: [`interface_of_one_node`].
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let bare = name.split_once('-').map_or(name, |(_, bare)| bare);
        if ADDRESSES.contains(&name) {
            Some(Self::Address)
        } else if CREDENTIALS.contains(&name) {
            Some(Self::Credentials)
        } else if FILES.contains(&bare) {
            Some(Self::File)
        } else {
            None
        }
    }

    /// Whether a plan leaves the variable as it is, whatever a project says. The path of a file may be the same on all nodes,
    /// so a project may write it.
    #[must_use]
    pub fn is_left_alone(self) -> bool {
        self != Self::File
    }

    /// Why a project that is adopted does not hold the variable.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Address => "it is an address of this node: a plan leaves it as it is",
            Self::Credentials => "it is an account of this node's admin port: a plan leaves it as it is",
            Self::File => "it is a path on the disk of this node: write it where all nodes have the same one",
        }
    }
}

/// Whether clients reach an interface of `mysql-interfaces` at an address that one node has. Every node has the addresses for
/// all networks, loopback addresses, and its own sockets.
#[must_use]
pub fn interface_of_one_node(bind: &str) -> bool {
    let bind = bind.trim_start_matches('[').trim_end_matches(']');
    let is_everywhere = match bind.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_unspecified() || address.is_loopback(),
        Err(_) => bind.starts_with('/') || bind.is_empty() || bind == "localhost",
    };
    !is_everywhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_one_node_are_told_by_their_names() {
        for (name, expected) in [
            ("admin-mysql_ifaces", Some(NodeVariable::Address)),
            ("admin-web_port", Some(NodeVariable::Address)),
            ("admin-cluster_username", Some(NodeVariable::Credentials)),
            ("mysql-ssl_p2s_key", Some(NodeVariable::File)),
            ("pgsql-eventslog_filename", Some(NodeVariable::File)),
            ("mysql-eventslog_filesize", None),
            ("mysql-threads", None),
            ("mysql-interfaces", None),
        ] {
            assert_eq!(NodeVariable::of(name), expected, "{name}");
        }
    }

    #[test]
    fn an_interface_belongs_to_a_node_by_its_address() {
        for (bind, expected) in [
            ("0.0.0.0", false),
            ("[::]", false),
            ("::", false),
            ("127.0.0.1", false),
            ("/run/proxysql.sock", false),
            ("10.1.1.1", true),
            ("px1.internal", true),
            ("[fd00::1]", true),
        ] {
            assert_eq!(interface_of_one_node(bind), expected, "{bind}");
        }
    }
}
