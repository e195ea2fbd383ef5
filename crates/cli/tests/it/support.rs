//! The world example on three real servers, behind a running proxy.

use std::path::Path;

use mysql::Conn;
use shardwright_mysqlite::world::World;
use shardwright_testkit::{
    ClientOptions, CommandEnvironment, MariaDb, Options, ProxyOptions, ProxyProcess, TextRow, connect,
    text_rows,
};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_shardwright");
pub(crate) const PASSWORD: &str = "world-password";

/// The schemas of each server with the continents in them, as `examples/world` places them.
const SCHEMAS: [&[(&str, &str)]; 3] = [
    &[
        ("world", "Europe"),
        ("Europe", "Europe"),
        ("Antarctica", "Antarctica"),
    ],
    &[("world", "Asia"), ("Asia", "Asia"), ("Oceania", "Oceania")],
    &[
        ("world", "Africa"),
        ("Africa", "Africa"),
        ("NorthAmerica", "North America"),
        ("SouthAmerica", "South America"),
    ],
];

/// The repository's examples.
pub(crate) fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A project with the files of an example.
pub(crate) fn example(name: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    copy(&examples().join(name), "", &environment);
    environment
}

/// A project for these engines with these files.
pub(crate) fn project(engines: &str, files: &[(&str, &str)]) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write("shardwright.yaml", format!("version: 1\nengines: [{engines}]\n"))
        .unwrap();
    for (path, text) in files {
        environment.write(path, text).unwrap();
    }
    environment
}

fn copy(directory: &Path, below: &str, environment: &CommandEnvironment) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            copy(&entry.path(), &format!("{path}/"), environment);
        } else {
            environment
                .write(&path, std::fs::read(entry.path()).unwrap())
                .unwrap();
        }
    }
}

/// Three servers, the proxy in front of them, and the world applied to it.
pub(crate) struct WorldOnServers {
    pub(crate) environment: CommandEnvironment,
    pub(crate) proxy: ProxyProcess,
    pub(crate) servers: [MariaDb; 3],
}

impl WorldOnServers {
    pub(crate) fn start() -> Self {
        let servers = shardwright_testkit::three_shards(&Options::default()).unwrap();
        let world = World::sample();
        for (server, schemas) in servers.iter().zip(SCHEMAS) {
            for (schema, continent) in schemas {
                server.load_world_part(&world, schema, &[continent]).unwrap();
            }
            for user in ["geo", "host", "both"] {
                server
                    .create_user(user, PASSWORD, Some("ALL PRIVILEGES ON *.*"))
                    .unwrap();
            }
        }
        let mut environment = example("world");
        environment.set("GEO_PASSWORD", PASSWORD);
        let proxy =
            ProxyProcess::start(&environment, ProxyOptions::new(environment.outside("data"))).unwrap();
        let world = Self {
            environment,
            proxy,
            servers,
        };
        world.run(&["apply", "--auto-approve"]);
        world
    }

    /// Runs a command that must succeed; its standard output.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.environment.run(self.with_variables(arguments)).unwrap();
        output.success().stdout
    }

    /// The arguments, and the ports of the servers and of the proxy as variables.
    pub(crate) fn with_variables(&self, arguments: &[&str]) -> Vec<String> {
        let names = ["europe_port", "asia_port", "africa_port"];
        let ports = names.into_iter().zip(self.servers.iter().map(MariaDb::port));
        let admin = std::iter::once(("admin_port", self.proxy.admin().port()));
        let variables = ports
            .chain(admin)
            .flat_map(|(name, port)| ["--var".to_owned(), format!("{name}={port}")]);
        arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .chain(variables)
            .collect()
    }

    /// A client of the proxy, in the schema `world`.
    pub(crate) fn client(&self, user: &str) -> Conn {
        self.client_in(user, "world")
    }

    /// A client of the proxy.
    pub(crate) fn client_in(&self, user: &str, schema: &str) -> Conn {
        let options = ClientOptions {
            user,
            password: PASSWORD,
            schema: Some(schema),
        };
        connect(self.proxy.listen(), options).unwrap()
    }
}

/// A statement's rows, or the error as `code: message`.
pub(crate) fn ask(connection: &mut Conn, sql: &str) -> Result<Vec<TextRow>, String> {
    text_rows(connection, sql).map_err(|error| match error {
        mysql::Error::MySqlError(error) => format!("{}: {}", error.code, error.message),
        other => format!("connection: {other}"),
    })
}

/// Rows as lines, for comparing and for snapshots.
pub(crate) fn lines(rows: &[TextRow]) -> Vec<String> {
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    rows.iter()
        .map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" | "))
        .collect()
}
