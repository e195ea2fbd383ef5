//! The bundled proxy in front of a server, and the table that both are asked for.

use shardwright_bench::{BenchError, Endpoint, PointSelect};
use shardwright_testkit::{CommandEnvironment, MariaDb, ProxyOptions, ProxyProcess};

pub(crate) const USER: &str = "bench";
pub(crate) const PASSWORD: &str = "bench";
pub(crate) const SCHEMA: &str = "sbtest";

/// A client of `threads` connections on `cores`, whose table the server has.
pub(crate) fn filled(server: &MariaDb, threads: u32, cores: String) -> Result<PointSelect, BenchError> {
    server.run(format!("CREATE DATABASE {SCHEMA}"))?;
    server.create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))?;
    let client = PointSelect {
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
        schema: SCHEMA.to_owned(),
        threads,
        cores,
    };
    client.prepare(server.address())?;
    Ok(client)
}

/// A proxy with its configuration applied; it ends with the value.
pub(crate) struct Bundled {
    proxy: ProxyProcess,
    _environment: CommandEnvironment,
}

impl Bundled {
    /// `max_connections`: to the server.
    pub(crate) fn start(
        server: &MariaDb,
        max_connections: Option<u32>,
        arguments: &[String],
    ) -> Result<Self, BenchError> {
        let failed = || BenchError::io("the bundled proxy");
        let mut environment = CommandEnvironment::new(crate::beside("shardwright")?).map_err(failed())?;
        environment.set("BENCH_PASSWORD", PASSWORD);
        let mut options = ProxyOptions::new(environment.outside("data"));
        options.extra_args = arguments.to_vec();
        let proxy = ProxyProcess::start(&environment, options)
            .map_err(|error| failed()(std::io::Error::other(error)))?;
        let project = format!(
            "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
             password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
            proxy.admin()
        );
        let limit = max_connections.map_or_else(String::new, |most| format!(", max_connections: {most}"));
        let topology = format!(
            "version: 1\nclusters:\n  bench: {{type: single, servers: {{s: {{host: 127.0.0.1, port: {}{limit}}}}}}}\nusers:\n  \
             {USER}: {{password: {{env: BENCH_PASSWORD}}, cluster: bench, schema: {SCHEMA}}}\n",
            server.port()
        );
        environment.write("shardwright.yaml", project).map_err(failed())?;
        environment
            .write("topology/bench.yaml", topology)
            .map_err(failed())?;
        let applied = environment.run(["apply", "--auto-approve"]).map_err(failed())?;
        if applied.code() != Some(0) {
            return Err(BenchError::Output {
                what: "shardwright apply".to_owned(),
                output: applied.stderr,
            });
        }
        Ok(Self {
            proxy,
            _environment: environment,
        })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::running("shardwright", self.proxy.listen(), self.proxy.process_id())
    }
}
