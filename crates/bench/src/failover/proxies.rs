//! The proxies, each set up for failover as its own documentation says.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use mysql::prelude::Queryable;
use shardwright_testkit::{
    ClientOptions, CommandEnvironment, HaProxy, ProxyOptions, ProxyProcess, ProxySql, ProxySqlOptions,
    connect, poll_until,
};

use super::servers::Servers;
use super::{Cluster, PASSWORD, Programs, Proxy, SCHEMA, USER};
use crate::BenchError;

const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often HAProxy and ProxySQL look at servers.
pub(super) const INTERVAL_MS: u32 = 200;

/// A proxy in front of servers; it ends with the value.
pub(crate) struct InFront {
    proxy: Started,
}

enum Started {
    Shardwright(
        ProxyProcess,
        #[expect(dead_code, reason = "its directory goes with it")] CommandEnvironment,
    ),
    Haproxy(HaProxy),
    Proxysql(ProxySql),
}

impl InFront {
    pub(crate) fn start(programs: &Programs, proxy: Proxy, servers: &Servers) -> Result<Self, BenchError> {
        let proxy = match (proxy, &programs.proxysql) {
            (Proxy::Shardwright, _) => shardwright(&programs.shardwright, servers)?,
            (Proxy::Haproxy, _) => Started::Haproxy(
                HaProxy::start(&servers.addresses(), "haproxy", INTERVAL_MS)
                    .map_err(BenchError::io("starting HAProxy"))?,
            ),
            (Proxy::Proxysql, Some(program)) => proxysql(program, servers)?,
            (Proxy::Proxysql, None) => return Err(failed("ProxySQL", "there is none")),
        };
        let in_front = Self { proxy };
        in_front.wait_for_writer()?;
        Ok(in_front)
    }

    /// Where clients read.
    pub(crate) fn reads(&self) -> SocketAddr {
        match &self.proxy {
            Started::Haproxy(proxy) => proxy.reads(),
            Started::Shardwright(..) | Started::Proxysql(_) => self.address(),
        }
    }

    /// Where clients write.
    pub(crate) fn address(&self) -> SocketAddr {
        match &self.proxy {
            Started::Shardwright(proxy, _) => proxy.listen(),
            Started::Haproxy(proxy) => proxy.address(),
            Started::Proxysql(proxy) => proxy.address(),
        }
    }

    /// Waits until a client reaches a server that can write.
    fn wait_for_writer(&self) -> Result<(), BenchError> {
        let login = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: None,
        };
        let writes = || {
            let mut client = connect(self.address(), login).ok()?;
            // In a transaction, where no rule about reads sends it to a reader.
            client.query_drop("BEGIN").ok()?;
            let is_read_only: Option<u8> = client.query_first("SELECT @@global.read_only").ok()?;
            (is_read_only == Some(0)).then_some(())
        };
        poll_until(READY_WITHIN, writes).map_err(|error| failed("the proxy reaches no writer", error))
    }
}

fn failed(what: &str, error: impl std::fmt::Display) -> BenchError {
    BenchError::Output {
        what: what.to_owned(),
        output: error.to_string(),
    }
}

fn shardwright(program: &Path, servers: &Servers) -> Result<Started, BenchError> {
    let io = || BenchError::io("the bundled proxy");
    let mut environment = CommandEnvironment::new(program).map_err(io())?;
    environment.set("BENCH_PASSWORD", PASSWORD);
    let options = ProxyOptions::new(environment.outside("data"));
    let proxy =
        ProxyProcess::start(&environment, options).map_err(|error| failed("the bundled proxy", error))?;
    let kind = match servers.cluster() {
        Cluster::Replication => "replication",
        Cluster::Galera => "galera",
    };
    let server = |(at, address): (usize, SocketAddr)| {
        format!(
            "      db{}: {{host: {}, port: {}}}\n",
            at + 1,
            address.ip(),
            address.port()
        )
    };
    let listed: String = servers.addresses().into_iter().enumerate().map(server).collect();
    let project = format!(
        "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
         password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
        proxy.admin()
    );
    let topology = format!(
        "version: 1\nclusters:\n  bench:\n    type: {kind}\n    servers:\n{listed}users:\n  \
         {USER}: {{password: {{env: BENCH_PASSWORD}}, cluster: bench}}\n\
         monitor: {{user: monitor, password: {{env: BENCH_PASSWORD}}}}\n\
         read_write_policies: {{reads: {{reads: {{all: true}}}}}}\n"
    );
    environment.write("shardwright.yaml", project).map_err(io())?;
    environment.write("topology/bench.yaml", topology).map_err(io())?;
    let applied = environment.run(["apply", "--auto-approve"]).map_err(io())?;
    match applied.code() {
        Some(0) => Ok(Started::Shardwright(proxy, environment)),
        _ => Err(failed("shardwright apply", applied.stderr)),
    }
}

/// ProxySQL with its own hostgroups for replication or Galera, and its monitor at short intervals.
fn proxysql(program: &Path, servers: &Servers) -> Result<Started, BenchError> {
    let proxy =
        ProxySql::start(program, &ProxySqlOptions::default()).map_err(|error| failed("ProxySQL", error))?;
    let addresses = servers.addresses();
    let (groups, members): (&str, Vec<(u32, u32)>) = match servers.cluster() {
        Cluster::Replication => (
            "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type) \
             VALUES (10, 11, 'read_only')",
            vec![(10, 1), (11, 1)],
        ),
        Cluster::Galera => (
            "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, \
             offline_hostgroup, active, max_writers, writer_is_also_reader, max_transactions_behind) \
             VALUES (10, 12, 11, 13, 1, 1, 2, 100)",
            // The heaviest writer is preferred.
            vec![(10, 1000), (10, 100), (10, 10)],
        ),
    };
    let mut statements = vec![groups.to_owned()];
    for ((hostgroup, weight), address) in members.into_iter().zip(addresses) {
        statements.push(format!(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight) VALUES ({hostgroup}, '{}', {}, {weight})",
            address.ip(),
            address.port()
        ));
    }
    statements.push(format!(
        "INSERT INTO mysql_users (username, password, default_hostgroup, default_schema) \
         VALUES ('{USER}', '{PASSWORD}', 10, '{SCHEMA}')"
    ));
    statements.push(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
         VALUES (1, 1, '^SELECT .* FOR UPDATE', 10, 1), (2, 1, '^SELECT', 11, 1)"
            .to_owned(),
    );
    let settings = [
        ("monitor_enabled", "true".to_owned()),
        ("monitor_username", "monitor".to_owned()),
        ("monitor_password", PASSWORD.to_owned()),
        ("monitor_connect_interval", "1000".to_owned()),
        ("monitor_ping_interval", INTERVAL_MS.to_string()),
        ("monitor_ping_timeout", "500".to_owned()),
        ("monitor_ping_max_failures", "2".to_owned()),
        ("monitor_read_only_interval", INTERVAL_MS.to_string()),
        ("monitor_read_only_timeout", "500".to_owned()),
        ("monitor_read_only_max_timeout_count", "2".to_owned()),
        ("monitor_galera_healthcheck_interval", INTERVAL_MS.to_string()),
        ("monitor_galera_healthcheck_timeout", "500".to_owned()),
        ("monitor_galera_healthcheck_max_timeout_count", "2".to_owned()),
        ("connect_timeout_server", "1000".to_owned()),
    ];
    statements.extend(settings.map(|(name, value)| format!("SET mysql-{name}='{value}'")));
    statements.extend(
        ["VARIABLES", "SERVERS", "USERS", "QUERY RULES"].map(|what| format!("LOAD MYSQL {what} TO RUNTIME")),
    );
    proxy.run(statements).map_err(|error| failed("ProxySQL", error))?;
    Ok(Started::Proxysql(proxy))
}
