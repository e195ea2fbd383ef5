//! The demo's databases: three servers that hold the world by continent, and notes of what they were asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use shardwright_mysqlite::sqlite::SqliteBackend;
use shardwright_mysqlite::world::World;
use shardwright_mysqlite::{Config, Server, User};

use crate::error::CommandError;

/// A schema, and the continents in it.
type SchemaOf = (&'static str, &'static [&'static str]);

/// The servers by the names of their clusters, and the schemas that each holds.
const SERVERS: [(&str, &[SchemaOf]); 3] = [
    (
        "europe",
        &[
            ("world", &["Europe"]),
            ("Europe", &["Europe"]),
            ("Antarctica", &["Antarctica"]),
        ],
    ),
    (
        "asia",
        &[
            ("world", &["Asia"]),
            ("Asia", &["Asia"]),
            ("Oceania", &["Oceania"]),
        ],
    ),
    (
        "africa",
        &[
            ("world", &["Africa"]),
            ("Africa", &["Africa"]),
            ("NorthAmerica", &["North America"]),
            ("SouthAmerica", &["South America"]),
        ],
    ),
];

/// What a server was asked: its name, and the text that it got.
type Notes = Arc<Mutex<Vec<(&'static str, String)>>>;

/// The running servers.
pub(super) struct Backends {
    servers: Vec<(&'static str, Server)>,
    notes: Notes,
    pub(super) password: String,
}

impl Backends {
    pub(super) fn start() -> Result<Self, CommandError> {
        let password = random_password()?;
        let notes = Notes::default();
        let world = World::sample();
        let mut servers = Vec::with_capacity(SERVERS.len());
        for (name, schemas) in SERVERS {
            servers.push((name, start(name, schemas, &world, &password, &notes)?));
        }
        Ok(Self {
            servers,
            notes,
            password,
        })
    }

    /// Names and addresses.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        self.servers
            .iter()
            .map(|(name, server)| (*name, server.local_addr()))
    }

    /// What the servers were asked since the last call.
    pub(super) fn take_notes(&self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn start(
    name: &'static str,
    schemas: &[SchemaOf],
    world: &World,
    password: &str,
    notes: &Notes,
) -> Result<Server, CommandError> {
    let failed =
        |what: &dyn std::fmt::Display| CommandError::failed(format!("embedded server {name}: {what}"));
    let backend = SqliteBackend::new("8.4.0-mysqlite").map_err(|error| failed(&error))?;
    for (schema, continents) in schemas {
        backend.add_schema(schema).map_err(|error| failed(&error))?;
        let script = world.shard_sql(schema, continents).join(";\n") + ";";
        backend
            .run_script(None, &script)
            .map_err(|error| failed(&error))?;
    }
    let user = |name: &str| User {
        name: name.to_owned(),
        password: password.to_owned(),
    };
    let notes = Arc::clone(notes);
    let config = Config {
        users: ["geo", "host", "both"].map(user).to_vec(),
        on_query: Some(Arc::new(move |_, _, text| {
            let text = String::from_utf8_lossy(text).into_owned();
            notes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((name, text));
        })),
        ..Config::default()
    };
    Server::bind("127.0.0.1:0", config, Arc::new(backend)).map_err(|error| failed(&error))
}

/// 128 random bits, so that no other user of the machine can use the open ports.
pub(super) fn random_password() -> Result<String, CommandError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| CommandError::failed(format!("cannot get random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
