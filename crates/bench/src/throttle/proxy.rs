//! The bundled proxy with a policy.

use std::net::SocketAddr;
use std::path::Path;

use mysql::Conn;
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, MariaDb, ProxyOptions, ProxyProcess, connect,
};

use super::servers::Servers;
use super::{DELAYS_MS, PASSWORD, Plan, Policy, SCHEMA, START_S, STOP_S, USER};
use crate::BenchError;

/// A proxy in front of servers; it ends with the value.
pub(super) struct Throttling {
    proxy: ProxyProcess,
    environment: CommandEnvironment,
    /// Everything but throttles.
    topology: String,
}

fn failed(what: &str, error: impl std::fmt::Display) -> BenchError {
    BenchError::Output {
        what: what.to_owned(),
        output: error.to_string(),
    }
}

impl Throttling {
    pub(super) fn start(plan: &Plan, policy: Policy, servers: &Servers) -> Result<Self, BenchError> {
        let program = match (policy, &plan.other) {
            (Policy::Other, Some(other)) => other,
            (Policy::Other, None) => return Err(failed("the other program", "none is named")),
            _ => &plan.shardwright,
        };
        let throttling = Self::of(program, plan.heartbeat, servers)?;
        match policy {
            Policy::Regulated | Policy::Other => throttling.apply(&format!(
                "signal: {{replication_lag: {{start_above: {START_S}s, stop_below: {STOP_S}s}}}}, \
                 delay: {{from: {}ms, to: {}ms}}",
                DELAYS_MS[0], DELAYS_MS[1]
            ))?,
            Policy::Loop => throttling.delay(DELAYS_MS[0])?,
            Policy::Nothing => throttling.delay(0)?,
        }
        Ok(throttling)
    }

    fn of(program: &Path, heartbeat: bool, servers: &Servers) -> Result<Self, BenchError> {
        let io = || BenchError::io("the bundled proxy");
        let mut environment = CommandEnvironment::new(program).map_err(io())?;
        environment.set("BENCH_PASSWORD", PASSWORD);
        let mut options = ProxyOptions::new(environment.outside("data"));
        // MySQL asks for a password itself the first time, on a connection that is not encrypted.
        options.extra_args.push("--allow-public-key-retrieval".to_owned());
        let proxy =
            ProxyProcess::start(&environment, options).map_err(|error| failed("the bundled proxy", error))?;
        let project = format!(
            "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
             password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
            proxy.admin()
        );
        environment.write("shardwright.yaml", project).map_err(io())?;
        let server = |(at, server): (usize, &MariaDb)| {
            let address = server.address();
            format!(
                "      db{}: {{host: {}, port: {}}}\n",
                at + 1,
                address.ip(),
                address.port()
            )
        };
        let listed: String = servers.all().iter().enumerate().map(server).collect();
        let beats = if heartbeat {
            format!(", heartbeat: {SCHEMA}.beat")
        } else {
            String::new()
        };
        let topology = format!(
            "version: 1\nclusters:\n  bench:\n    type: replication\n    servers:\n{listed}users:\n  \
             {USER}: {{password: {{env: BENCH_PASSWORD}}, cluster: bench}}\n\
             monitor: {{user: monitor, password: {{env: BENCH_PASSWORD}}{beats}}}\n"
        );
        Ok(Self {
            proxy,
            environment,
            topology,
        })
    }

    /// Delays every insert by so long, ms.
    pub(super) fn delay(&self, delay_ms: u32) -> Result<(), BenchError> {
        match delay_ms {
            0 => self.apply_topology(self.topology.clone()),
            _ => self.apply(&format!("delay: {delay_ms}ms")),
        }
    }

    fn apply(&self, throttle: &str) -> Result<(), BenchError> {
        let topology = format!(
            "{}throttles:\n  lag: {{applies_to: {{statements: [insert]}}, {throttle}}}\n",
            self.topology
        );
        self.apply_topology(topology)
    }

    fn apply_topology(&self, topology: String) -> Result<(), BenchError> {
        let io = || BenchError::io("the project of the bundled proxy");
        self.environment
            .write("topology/bench.yaml", topology)
            .map_err(io())?;
        let applied = self.environment.run(["apply", "--auto-approve"]).map_err(io())?;
        match applied.code() {
            Some(0) => Ok(()),
            _ => Err(failed("shardwright apply", applied.stderr)),
        }
    }

    /// Where clients connect.
    pub(super) fn listen(&self) -> SocketAddr {
        self.proxy.listen()
    }

    /// A connection to the admin port.
    pub(super) fn admin(&self) -> Result<Conn, BenchError> {
        let admin = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            schema: None,
        };
        Ok(connect(self.proxy.admin(), admin)?)
    }
}
