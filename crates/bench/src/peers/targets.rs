//! What takes turns: the server alone, the floor, and the proxies.

use std::path::{Path, PathBuf};
use std::process::Command;

use shardwright_testkit::{Forwarding, HaProxy, ProxySql, ProxySqlOptions};

use super::stage::{Server, Stage};
use crate::bundled::{Bundled, PASSWORD, SCHEMA, Setup, USER};
use crate::sysbench::Place;
use crate::{BenchError, Endpoint};

pub(super) const DIRECT: &str = "direct";
pub(super) const FLOOR: &str = "floor";
pub(super) const HAPROXY: &str = "HAProxy";
pub(super) const PROXYSQL: &str = "ProxySQL";
pub(super) const SHARDWRIGHT: &str = "shardwright";
/// Another build of it.
pub(super) const OTHER: &str = "other build";

/// Server connections that a proxy may have, where that is no matter.
pub(super) const PLENTY: u32 = 1_000;
/// Clients that any proxy lets in.
pub(super) const MOST_CLIENTS: u32 = 12_000;

/// What clients connect to; it ends with the value.
pub(super) struct Target {
    pub(super) endpoint: Endpoint,
    /// Where clients connect in the place of the endpoint's address.
    pub(super) socket: Option<PathBuf>,
    pub(super) runs: Runs,
}

/// What keeps it running.
pub(super) enum Runs {
    /// The endpoint itself, or the server.
    Itself,
    Haproxy(#[expect(dead_code, reason = "it ends with the value")] HaProxy),
    Proxysql(Box<ProxySql>),
    Shardwright(Box<Bundled>),
}

impl Target {
    pub(super) fn place(&self) -> Place {
        match &self.socket {
            Some(socket) => Place::Unix(socket.clone()),
            None => Place::Tcp(self.endpoint.address),
        }
    }

    /// The same by that unix socket.
    pub(super) fn by_socket(mut self, socket: PathBuf) -> Self {
        self.socket = Some(socket);
        self
    }

    /// The same under another name.
    pub(super) fn named(mut self, name: &str) -> Self {
        self.endpoint.name = name.to_owned();
        self
    }
}

/// The peers of a row, each with a thread for each of the server's cores.
impl Stage<'_> {
    /// The floor and all proxies, none of which has rules.
    pub(super) fn proxies(&self, server: &Server) -> Result<Vec<Target>, BenchError> {
        let mut targets = vec![self.floor(server)?, self.haproxy(server, None)?];
        targets.extend(self.proxysql(server, PLENTY)?);
        targets.push(self.shardwright(server, Setup::default())?);
        targets.extend(self.other_build(server, Setup::default())?);
        Ok(targets)
    }

    /// The server alone, and the same.
    pub(super) fn everybody(&self, server: &Server) -> Result<Vec<Target>, BenchError> {
        let mut targets = vec![self.direct(server)];
        targets.extend(self.proxies(server)?);
        Ok(targets)
    }

    pub(super) fn direct(&self, server: &Server) -> Target {
        let maria = &server.maria;
        Target {
            endpoint: Endpoint::running(DIRECT, maria.address(), maria.process_id()),
            socket: None,
            runs: Runs::Itself,
        }
    }

    pub(super) fn floor(&self, server: &Server) -> Result<Target, BenchError> {
        let mut raw = Command::new(&self.plan.passthrough);
        raw.arg(format!("--server={}", server.maria.address()))
            .arg(format!("--threads={}", server.cores.threads()));
        self.placed(server, Endpoint::start(FLOOR, &mut raw)?, Runs::Itself)
    }

    /// With a file of certificate and key, it ends TLS.
    pub(super) fn haproxy(&self, server: &Server, certificate: Option<&Path>) -> Result<Target, BenchError> {
        let haproxy = HaProxy::forwarding(&Forwarding {
            server: server.maria.address(),
            threads: server.cores.threads(),
            // Each takes two file descriptors, and it does not start with more than it may have.
            max_connections: 2_000,
            certificate,
        })
        .map_err(BenchError::io("starting HAProxy"))?;
        let endpoint = Endpoint::running(HAPROXY, haproxy.address(), haproxy.process_id());
        self.placed(server, endpoint, Runs::Haproxy(haproxy))
    }

    /// One without rules, where there is a ProxySQL.
    pub(super) fn proxysql(
        &self,
        server: &Server,
        max_connections: u32,
    ) -> Result<Option<Target>, BenchError> {
        let port = server.maria.port();
        self.proxysql_with(server, |proxysql| {
            let statements = [
                format!(
                    "INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections) \
                     VALUES (0, '127.0.0.1', {port}, {max_connections})"
                ),
                format!(
                    "INSERT INTO mysql_users (username, password, default_hostgroup, default_schema, max_connections) \
                     VALUES ('{USER}', '{PASSWORD}', 0, '{SCHEMA}', {MOST_CLIENTS})"
                ),
                "LOAD MYSQL SERVERS TO RUNTIME".to_owned(),
                "LOAD MYSQL USERS TO RUNTIME".to_owned(),
            ];
            proxysql.run(statements).map(|_| ()).map_err(proxysql_failed)
        })
    }

    /// One that `configure` tells its servers, users and rules.
    pub(super) fn proxysql_with(
        &self,
        server: &Server,
        configure: impl FnOnce(&ProxySql) -> Result<(), BenchError>,
    ) -> Result<Option<Target>, BenchError> {
        let Some(program) = &self.plan.programs.proxysql else {
            return Ok(None);
        };
        let options = ProxySqlOptions {
            threads: server.cores.threads(),
            ..ProxySqlOptions::default()
        };
        let proxysql = ProxySql::start(program, &options).map_err(proxysql_failed)?;
        let limit = format!("SET mysql-max_connections={MOST_CLIENTS}");
        proxysql
            .run([limit.as_str(), "LOAD MYSQL VARIABLES TO RUNTIME"])
            .map_err(proxysql_failed)?;
        configure(&proxysql)?;
        let endpoint = Endpoint::running(PROXYSQL, proxysql.address(), proxysql.process_id());
        self.placed(server, endpoint, Runs::Proxysql(Box::new(proxysql)))
            .map(Some)
    }

    /// The bundled proxy; `setup` says more than how many workers and clients it has.
    pub(super) fn shardwright(&self, server: &Server, setup: Setup) -> Result<Target, BenchError> {
        self.bundled(&self.plan.programs.shardwright, server, setup)
    }

    /// The other build of it, where there is one to compare with.
    pub(super) fn other_build(&self, server: &Server, setup: Setup) -> Result<Option<Target>, BenchError> {
        let other = self.plan.other.as_ref();
        let other = other
            .map(|program| self.bundled(program, server, setup))
            .transpose()?;
        Ok(other.map(|target| target.named(OTHER)))
    }

    fn bundled(&self, program: &Path, server: &Server, setup: Setup) -> Result<Target, BenchError> {
        let bundled = Bundled::start(program, &server.maria, &sized(server, setup))?;
        self.placed(server, bundled.endpoint(), Runs::Shardwright(Box::new(bundled)))
    }

    /// The same with unix sockets to clients, to the server, or both.
    pub(super) fn shardwright_by_sockets(
        &self,
        server: &Server,
        of_clients: bool,
        of_server: bool,
    ) -> Result<Target, BenchError> {
        let setup = sized(server, Setup::default());
        let program = &self.plan.programs.shardwright;
        let (bundled, socket) = Bundled::with_socket(program, &server.maria, &setup, of_server)?;
        let target = self.placed(server, bundled.endpoint(), Runs::Shardwright(Box::new(bundled)))?;
        Ok(match of_clients {
            true => target.by_socket(socket),
            false => target,
        })
    }

    /// On the cores of the server.
    fn placed(&self, server: &Server, endpoint: Endpoint, runs: Runs) -> Result<Target, BenchError> {
        endpoint.pin(&self.listed(server.cores))?;
        Ok(Target {
            endpoint,
            socket: None,
            runs,
        })
    }
}

/// With what is not said of workers and clients.
fn sized(server: &Server, setup: Setup) -> Setup {
    Setup {
        workers: setup.workers.or(Some(server.cores.threads())),
        most_clients: setup.most_clients.or(Some(MOST_CLIENTS)),
        ..setup
    }
}

pub(super) fn proxysql_failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Output {
        what: "ProxySQL".to_owned(),
        output: error.to_string(),
    }
}
