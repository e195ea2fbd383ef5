//! The bundled proxy in front of a server, and the table that both are asked for.

use std::path::{Path, PathBuf};

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, MariaDb, Pair, ProxyOptions, ProxyProcess,
    ReservedPort, connect,
};

use crate::sysbench::Sysbench;
use crate::{BenchError, Endpoint};

/// Who asks; also the user of the projects of [`crate::shards`].
pub const USER: &str = "app";
/// The user's password.
pub const PASSWORD: &str = "bench";
/// The schema of sysbench's table.
pub const SCHEMA: &str = "sbtest";

/// A client of `threads` connections on `cores`, whose table the server gets.
///
/// # Errors
/// The server or sysbench refuses something.
pub fn filled(server: &MariaDb, threads: u32, cores: String) -> Result<Sysbench, BenchError> {
    server.run(format!("CREATE DATABASE {SCHEMA}"))?;
    server.create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))?;
    let client = Sysbench {
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
        schema: SCHEMA.to_owned(),
        threads,
        cores,
    };
    client.prepare(server.address())?;
    Ok(client)
}

/// How the proxy is started, and its configuration.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Worker threads; none: one for each core.
    pub workers: Option<u32>,
    /// Connections to the server; none: the default of the language.
    pub max_connections: Option<u32>,
    /// Clients at a time; none: the default of the program.
    pub most_clients: Option<u32>,
    /// Shards that are found by the key `tenant` in a comment, 1 to this number, all on the server. Without any, a comment
    /// means nothing.
    pub shards: u32,
    /// With what it speaks TLS to clients.
    pub certificate: Option<Pair>,
    /// Whether it speaks TLS to the server.
    pub encrypts_to_server: bool,
    /// Words before the program, such as those of valgrind.
    pub wrapper: Vec<String>,
}

/// A proxy with its configuration applied; it ends with the value.
#[derive(Debug)]
pub struct Bundled {
    proxy: ProxyProcess,
    environment: CommandEnvironment,
    /// Kept for the listener.
    _port: Option<ReservedPort>,
}

impl Bundled {
    /// Starts `program` in front of `server`.
    ///
    /// # Errors
    /// It does not start, or its configuration is refused.
    pub fn start(program: &Path, server: &MariaDb, setup: &Setup) -> Result<Self, BenchError> {
        let failed = || BenchError::io(format!("the bundled proxy ({})", program.display()));
        let mut environment = CommandEnvironment::new(program).map_err(failed())?;
        environment.set("BENCH_PASSWORD", PASSWORD);
        let mut options = ProxyOptions::new(environment.outside("data"));
        options.extra_args = setup.arguments();
        options.wrapper = setup.wrapper.clone();
        let proxy = ProxyProcess::start(&environment, options)
            .map_err(|error| failed()(std::io::Error::other(error)))?;
        let project = format!(
            "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
             password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
            proxy.admin()
        );
        environment.write("shardwright.yaml", project).map_err(failed())?;
        let bundled = Self {
            proxy,
            environment,
            _port: None,
        };
        bundled.apply(&setup.topology(server))?;
        Ok(bundled)
    }

    /// The same with a unix socket for clients beside its port; with a unix socket to the server too, where `to_server`.
    ///
    /// # Errors
    /// It does not start, or its configuration is refused.
    pub fn with_socket(
        program: &Path,
        server: &MariaDb,
        setup: &Setup,
        to_server: bool,
    ) -> Result<(Self, PathBuf), BenchError> {
        let failed = || BenchError::io("the bundled proxy");
        let mut bundled = Self::start(program, server, setup)?;
        let (port, socket) = (
            ReservedPort::new().map_err(failed())?,
            bundled.environment.outside("clients.sock"),
        );
        let listeners = format!(
            "listeners:\n  port: {{port: {}, address: 127.0.0.1}}\n  socket: {{socket: \"{}\"}}\n",
            port.number(),
            socket.display()
        );
        bundled.apply(&(setup.topology(server) + &listeners))?;
        if to_server {
            bundled.connect_by_socket(server)?;
        }
        // What a proxy that was told an address listens on does not follow its configuration.
        bundled.proxy.stop().map_err(failed())?;
        let mut options = ProxyOptions::new(bundled.proxy.data_dir());
        options.listens_as_configured = true;
        options.extra_args = setup.arguments();
        bundled.proxy = ProxyProcess::start(&bundled.environment, options)
            .map_err(|error| failed()(std::io::Error::other(error)))?;
        bundled._port = Some(port);
        Ok((bundled, socket))
    }

    /// The engine takes a path in the place of a server's host; the language has no word for it.
    fn connect_by_socket(&self, server: &MariaDb) -> Result<(), BenchError> {
        let mut admin = self.admin()?;
        let statement = self.changed(&mut admin, |configuration| {
            let by_tcp = format!("\"host\":\"127.0.0.1\",\"port\":{}", server.port());
            let by_socket = format!("\"host\":\"{}\",\"port\":0", server.socket().display());
            configuration.replace(&by_tcp, &by_socket)
        })?;
        Ok(admin.query_drop(statement)?)
    }

    /// Gives it another topology.
    ///
    /// # Errors
    /// It is refused.
    pub fn apply(&self, topology: &str) -> Result<(), BenchError> {
        let failed = || BenchError::io("applying a topology");
        self.environment
            .write("topology/bench.yaml", topology)
            .map_err(failed())?;
        let applied = self
            .environment
            .run(["apply", "--auto-approve"])
            .map_err(failed())?;
        if applied.code() == Some(0) {
            return Ok(());
        }
        Err(BenchError::Output {
            what: "shardwright apply".to_owned(),
            output: applied.stderr,
        })
    }

    /// Lets it end by itself.
    ///
    /// # Errors
    /// It does not end, or not well.
    pub fn stop(mut self) -> Result<(), BenchError> {
        let status = self
            .proxy
            .stop()
            .map_err(BenchError::io("stopping the bundled proxy"))?;
        if status.success() {
            return Ok(());
        }
        Err(BenchError::Output {
            what: format!("the bundled proxy ended with {status}"),
            output: self.proxy.output(),
        })
    }

    /// A connection to the admin port.
    ///
    /// # Errors
    /// The port's or the network's.
    pub fn admin(&self) -> mysql::Result<Conn> {
        let admin = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            schema: None,
        };
        connect(self.proxy.admin(), admin)
    }

    /// The statement that gives it what runs now with the address of every shard changed, so that all of them are new.
    ///
    /// # Errors
    /// The admin port refuses to tell what runs.
    pub fn other_shards(&self, admin: &mut Conn) -> Result<String, BenchError> {
        self.changed(admin, |configuration| {
            configuration.replace("shards.t", "shards.tt")
        })
    }

    /// The statement that gives it what runs now, changed.
    fn changed(&self, admin: &mut Conn, change: impl FnOnce(&str) -> String) -> Result<String, BenchError> {
        let row: Option<Row> = admin.query_first("SHARDWRIGHT OBSERVE")?;
        let missing = || BenchError::Output {
            what: "SHARDWRIGHT OBSERVE of the bundled proxy".to_owned(),
            output: "no row with generation, fingerprint and configuration".to_owned(),
        };
        let mut row = row.ok_or_else(missing)?;
        let generation: u64 = row.take("generation").ok_or_else(missing)?;
        let fingerprint: String = row.take("fingerprint").ok_or_else(missing)?;
        let configuration: String = row.take("configuration").ok_or_else(missing)?;
        let other = change(&configuration);
        if other == configuration {
            return Err(BenchError::Output {
                what: "the configuration has not what was to be changed".to_owned(),
                output: configuration.chars().take(2_000).collect(),
            });
        }
        Ok(format!(
            "SHARDWRIGHT APPLY EXPECT {generation} '{fingerprint}' AS '{}'",
            other.replace('\'', "''")
        ))
    }

    /// Where clients connect.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::running("shardwright", self.proxy.listen(), self.proxy.process_id())
    }
}

impl Setup {
    fn arguments(&self) -> Vec<String> {
        let number = |flag: &str, number: Option<u32>| number.map(|number| format!("{flag}={number}"));
        let file = |flag: &str, file: PathBuf| format!("{flag}={}", file.display());
        let tls = self.certificate.iter().flat_map(|pair| {
            [
                file("--tls-cert", pair.certificate.clone()),
                file("--tls-key", pair.key.clone()),
            ]
        });
        number("--workers", self.workers)
            .into_iter()
            .chain(number("--max-connections", self.most_clients))
            .chain(number("--max-half-open", self.most_clients))
            .chain(tls)
            .collect()
    }

    /// The topology with `server` as its only one.
    #[must_use]
    pub fn topology(&self, server: &MariaDb) -> String {
        let limit = self
            .max_connections
            .map_or_else(String::new, |most| format!(", max_connections: {most}"));
        let port = server.port();
        let tls = if self.encrypts_to_server {
            "required"
        } else {
            "disabled"
        };
        let mut text = format!(
            "version: 1\nclusters:\n  bench: {{type: single, tls: {tls}, servers: {{s: {{host: 127.0.0.1, port: {port}{limit}}}}}}}\nusers:\n  \
             {USER}: {{password: {{env: BENCH_PASSWORD}}, cluster: bench, schema: {SCHEMA}, max_connections: 100000}}\n"
        );
        if self.shards > 0 {
            text.push_str(&format!(
                "shard_maps:\n  tenants:\n    applies_to: {{users: [{USER}]}}\n    key: {{name: tenant, type: integer}}\n    \
                 key_from: [comment: {{}}]\n    \
                 shards:\n      t$(n): {{for_each: {{n: 1..{}}}, keys: [$(n)], cluster: bench}}\n",
                self.shards
            ));
        }
        text
    }
}
