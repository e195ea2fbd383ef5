//! A Galera cluster of MariaDB servers on loopback.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::eventually::{eventually, poll_until};
use crate::mariadb::{LaunchError, MariaDb, Options};
use crate::network::Network;
use crate::reserved_port::ReservedPort;

/// The library of Debian's package `galera-4`.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";
/// How long a server may take to join: it copies all files of another.
const JOINS_WITHIN: Duration = Duration::from_secs(90);
/// How long a server that was stopped or cut off may take to join again by itself.
const JOINS_AGAIN_WITHIN: Duration = Duration::from_secs(30);

/// A Galera cluster; all servers can write.
#[derive(Debug)]
pub struct Galera {
    /// The servers.
    pub servers: Vec<MariaDb>,
    nodes: Vec<Node>,
    options: Options,
    network: Option<Network>,
}

/// Where a server is in its group.
#[derive(Debug)]
struct Node {
    host: IpAddr,
    group: ReservedPort,
    /// Where it takes what it has missed.
    increments: ReservedPort,
    /// Where it takes all files.
    state: ReservedPort,
}

impl Galera {
    /// Starts servers one after the other, each when the one before is part of the cluster. How soon a server that does not
    /// answer is given up is the provider's default, 5 s: shorter times fail on busy machines.
    ///
    /// # Errors
    /// [`LaunchError`]
    ///
    /// # Panics
    /// When there are no free ports.
    pub fn start(count: usize, options: &Options) -> Result<Self, LaunchError> {
        Self::start_in(None, count, options)
    }

    /// The same, the first server on the other side of a network if there is one.
    ///
    /// # Errors
    /// [`LaunchError`]
    ///
    /// # Panics
    /// When there are no free ports.
    pub fn start_in(network: Option<Network>, count: usize, options: &Options) -> Result<Self, LaunchError> {
        let port = || ReservedPort::new().expect("a free port");
        let host = |at: usize| match (&network, at) {
            (None, _) => Ipv4Addr::LOCALHOST.into(),
            (Some(network), 0) => network.there(),
            (Some(network), _) => network.here(),
        };
        let node = |at| Node {
            host: host(at),
            group: port(),
            increments: port(),
            state: port(),
        };
        let mut galera = Self {
            servers: Vec::new(),
            nodes: (0..count).map(node).collect(),
            options: options.clone(),
            network,
        };
        for at in 0..count {
            let server = MariaDb::start(galera.node_options(at, at == 0))?;
            galera.servers.push(server);
            galera.wait_for(at);
            // When it starts again, the others are there.
            let options = galera.node_options(at, false);
            galera.servers[at].set_options(options);
        }
        Ok(galera)
    }

    /// Waits until a server is part of the cluster and has everything.
    pub fn wait_for(&self, at: usize) {
        let sql = "SHOW GLOBAL STATUS LIKE 'wsrep_local_state_comment'";
        eventually(JOINS_WITHIN, || {
            let state = self.servers[at].run(sql);
            state.is_ok_and(|rows| rows.iter().any(|row| row.contains(&Some("Synced".to_owned()))))
        });
    }

    /// Has every server join again, whatever was done to it: killed, stopped, or cut off.
    ///
    /// # Errors
    /// [`LaunchError`] of a server that does not start again.
    ///
    /// # Panics
    /// When a server does not join.
    pub fn heal(&mut self) -> Result<(), LaunchError> {
        if let Some(network) = &self.network {
            network.mend();
        }
        for at in 0..self.servers.len() {
            // A process that is gone needs no signal.
            let _resumed = self.servers[at].resume();
            let is_running = self.servers[at].root().is_ok();
            let is_part = || self.is_part(at).then_some(());
            if !is_running || poll_until(JOINS_AGAIN_WITHIN, is_part).is_err() {
                self.servers[at].restart()?;
                self.wait_for(at);
            }
        }
        eventually(JOINS_WITHIN, || {
            (0..self.servers.len()).all(|at| self.is_part(at))
        });
        Ok(())
    }

    /// Whether a server has everything, and sees every other one.
    fn is_part(&self, at: usize) -> bool {
        let sql = "SHOW GLOBAL STATUS WHERE variable_name IN \
                   ('wsrep_local_state_comment', 'wsrep_cluster_status', 'wsrep_cluster_size')";
        let rows = self.servers[at].run(sql).unwrap_or_default();
        let mut values: Vec<String> = rows
            .into_iter()
            .filter_map(|row| row.into_iter().nth(1)?)
            .collect();
        values.sort();
        values
            == [
                self.servers.len().to_string(),
                "Primary".to_owned(),
                "Synced".to_owned(),
            ]
    }

    fn node_options(&self, at: usize, is_first: bool) -> Options {
        let node = &self.nodes[at];
        let peers: Vec<String> = self
            .nodes
            .iter()
            .map(|node| node.at(&node.group).to_string())
            .collect();
        let peers = if is_first { String::new() } else { peers.join(",") };
        let provider = format!(
            "gmcast.listen_addr=tcp://{};ist.recv_addr={};gcache.size=16M",
            node.at(&node.group),
            node.at(&node.increments)
        );
        let options = self
            .options
            .clone()
            .arg("--wsrep-on=ON")
            .arg(format!("--wsrep-provider={PROVIDER}"))
            .arg("--wsrep-cluster-name=shardwright")
            .arg(format!("--wsrep-node-name=node{at}"))
            .arg(format!("--wsrep-node-address={}", node.at(&node.group)))
            .arg(format!("--wsrep-cluster-address=gcomm://{peers}"))
            .arg(format!("--wsrep-provider-options={provider}"))
            .arg("--wsrep-sst-method=rsync")
            .arg(format!("--wsrep-sst-receive-address={}", node.at(&node.state)))
            .arg("--binlog-format=ROW")
            .arg("--innodb-autoinc-lock-mode=2");
        let options = match &self.network {
            Some(network) if at == 0 => network.beyond(options),
            Some(network) => Options {
                host: Some(network.here()),
                ..options
            },
            None => options,
        };
        match is_first {
            true => options.arg("--wsrep-new-cluster"),
            false => options,
        }
    }

    /// The network to the first server, if it is on the other side of one.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }
}

impl Node {
    fn at(&self, port: &ReservedPort) -> SocketAddr {
        (self.host, port.number()).into()
    }
}
