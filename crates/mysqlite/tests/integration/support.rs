//! A server with two schemas, and ways to reach it.

use std::sync::{Arc, Mutex};

use mysql::{Conn, Opts, OptsBuilder};
use shardwright_mysqlite::sqlite::SqliteBackend;
use shardwright_mysqlite::{Config, Limits, Server, User};

pub(crate) const WORLD: &str = "
    CREATE TABLE City (ID int NOT NULL AUTO_INCREMENT, Name char(35) NOT NULL, Population int, PRIMARY KEY (ID)) ENGINE=InnoDB;
    INSERT INTO City (Name, Population) VALUES ('Berlin', 3386667), ('Cork', 127187), ('Nowhere', NULL);
";

/// Statements that the server saw: connection, schema, text.
pub(crate) type Log = Arc<Mutex<Vec<(u32, Option<String>, String)>>>;

/// Logins that were denied: address, account, why.
pub(crate) type Denied = Arc<Mutex<Vec<String>>>;

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) log: Log,
    pub(crate) denied: Denied,
}

pub(crate) fn world() -> World {
    world_with(Limits::default())
}

pub(crate) fn world_with(limits: Limits) -> World {
    let version = "8.4.0-test";
    let backend = SqliteBackend::new(version).unwrap();
    for schema in ["Europe", "Asia"] {
        backend.add_schema(schema).unwrap();
    }
    backend.run_script(Some("Europe"), WORLD).unwrap();
    backend
        .run_script(
            None,
            "CREATE TABLE Asia.Country (Name text); INSERT INTO Asia.Country VALUES ('Japan')",
        )
        .unwrap();
    let log = Log::default();
    let seen = Arc::clone(&log);
    let denied = Denied::default();
    let denials = Arc::clone(&denied);
    let config = Config {
        users: vec![
            User {
                name: "app".into(),
                password: "secret".into(),
            },
            User {
                name: "hashed".into(),
                password: "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19".into(),
            },
            User {
                name: "open".into(),
                password: String::new(),
            },
        ],
        server_version: version.into(),
        limits,
        on_query: Some(Arc::new(move |id, schema, sql| {
            let entry = (
                id,
                schema.map(str::to_owned),
                String::from_utf8_lossy(sql).into_owned(),
            );
            seen.lock().unwrap().push(entry);
        })),
        tls: None,
        on_denied: Some(Arc::new(move |login| {
            let why = if login.was_checked { "wrong" } else { "refused" };
            denials
                .lock()
                .unwrap()
                .push(format!("{} {:?} {why}", login.peer, login.account));
        })),
    };
    let server = Server::bind("127.0.0.1:0", config, Arc::new(backend)).unwrap();
    World { server, log, denied }
}

impl World {
    pub(crate) fn opts(&self, user: &str, password: &str, schema: Option<&str>) -> Opts {
        OptsBuilder::default()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.server.local_addr().port())
            .prefer_socket(false)
            .user(Some(user))
            .pass(Some(password))
            .db_name(schema)
            .into()
    }

    pub(crate) fn connect(&self, schema: Option<&str>) -> Conn {
        Conn::new(self.opts("app", "secret", schema)).unwrap()
    }
}

/// The number of a server's error.
pub(crate) fn code<T: std::fmt::Debug>(result: mysql::Result<T>) -> u16 {
    match result.unwrap_err() {
        mysql::Error::MySqlError(error) => error.code,
        other => panic!("not a server's error: {other}"),
    }
}
