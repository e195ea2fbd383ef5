//! What is said of statements here against a real server: MariaDB, or the MySQL that `SHARDWRIGHT_MYSQLD` names.

mod functions;
mod tables;
mod tokens;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_sql::{LexMode, Servers};
use shardwright_testkit::{MariaDb, Options};

/// A server with a schema `d`.
fn server(arguments: &[&str]) -> MariaDb {
    let options = arguments
        .iter()
        .fold(Options::default(), |options, argument| options.arg(*argument));
    let server = MariaDb::start(options).unwrap();
    server.run("CREATE DATABASE d").unwrap();
    server
}

/// A connection in `d`, and how the server reads.
fn connect(server: &MariaDb) -> (Conn, LexMode) {
    let mut connection = server.root().unwrap();
    connection.query_drop("USE d").unwrap();
    let version: Option<String> = connection.query_first("SELECT VERSION()").unwrap();
    let servers = Servers::of_version(&version.unwrap()).unwrap();
    (connection, LexMode::default().on(servers))
}
