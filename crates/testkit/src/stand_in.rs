//! A stand-in for ProxySQL's admin port where there is no ProxySQL: its tables in SQLite, behind the MySQL protocol.
//!
//! The tables and variables are those that ProxySQL 2.7.1 has, taken from the engine. What LOAD and SAVE do with rows is
//! written here after it, as far as plans and applies depend on it, and a suite of facts holds both to the same
//! (`crates/targets/tests/it/proxysql/facts.rs`). No client is served, nothing is monitored, and nothing has peers.

mod commands;
mod loading;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use mysql::Conn;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use shardwright_mysqlite::{
    Answer, Backend, Cell, ColumnDefinition, ColumnType, Completion, Config, MysqlError, RowSink, Server,
    Session, SessionContext, StatusFlags, Table, User,
};

use self::commands::Command;
use crate::client::{ClientOptions, TextRow, connect, text_rows};

const SCHEMA: &str = include_str!("stand_in/schema.sql");
const VARIABLES: &str = include_str!("stand_in/variables.tsv");
/// What ProxySQL answers all refusals of its admin port with.
const REFUSED: u16 = 1045;

/// A running stand-in; ended when dropped.
pub struct StandIn {
    server: Server,
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StandIn")
            .field("address", &self.server.local_addr())
            .finish()
    }
}

impl StandIn {
    /// Starts one with empty tables and the variables of an engine that has just begun. `admin` logs in with `admin`.
    ///
    /// # Errors
    /// There is no port to listen on.
    ///
    /// # Panics
    /// SQLite does not take the tables.
    pub fn start() -> io::Result<Self> {
        let engine = Engine::new().expect("SQLite takes the tables of ProxySQL");
        let config = Config {
            users: vec![User {
                name: "admin".to_owned(),
                password: "admin".to_owned(),
            }],
            server_version: "8.0.30".to_owned(),
            ..Config::default()
        };
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0), config, Arc::new(engine))?;
        Ok(Self { server })
    }

    /// The admin port.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// A connection to the admin port.
    ///
    /// # Errors
    /// The network's.
    pub fn admin(&self) -> mysql::Result<Conn> {
        let admin = ClientOptions {
            user: "admin",
            password: "admin",
            schema: None,
        };
        connect(self.admin_address(), admin)
    }

    /// Runs admin statements one after the other; the rows of all of them.
    ///
    /// # Errors
    /// The first statement's that is refused.
    pub fn run<S: AsRef<str>>(&self, statements: impl IntoIterator<Item = S>) -> mysql::Result<Vec<TextRow>> {
        let mut admin = self.admin()?;
        let mut rows = Vec::new();
        for statement in statements {
            rows.extend(text_rows(&mut admin, statement.as_ref())?);
        }
        Ok(rows)
    }
}

/// One database for all sessions, as in ProxySQL.
struct Engine {
    database: Arc<Mutex<Connection>>,
}

impl Engine {
    fn new() -> rusqlite::Result<Self> {
        let database = Connection::open_in_memory()?;
        database.execute_batch("ATTACH ':memory:' AS disk; ATTACH ':memory:' AS stats")?;
        database.execute_batch(SCHEMA)?;
        for line in VARIABLES.lines() {
            let (name, value) = line.split_once('\t').unwrap_or((line, ""));
            for table in [
                "global_variables",
                "runtime_global_variables",
                "disk.global_variables",
            ] {
                database.execute(&format!("INSERT INTO {table} VALUES (?1, ?2)"), [name, value])?;
            }
        }
        loading::prepare(&database)?;
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
        })
    }
}

impl Backend for Engine {
    fn open_session(&self, _: &SessionContext) -> Result<Box<dyn Session>, MysqlError> {
        Ok(Box::new(AdminSession {
            database: Arc::clone(&self.database),
        }))
    }
}

struct AdminSession {
    database: Arc<Mutex<Connection>>,
}

impl Session for AdminSession {
    fn use_schema(&mut self, _: &str) -> Result<(), MysqlError> {
        Ok(())
    }

    fn schema(&self) -> Option<&str> {
        Some("admin")
    }

    fn status(&self) -> StatusFlags {
        StatusFlags::SERVER_STATUS_AUTOCOMMIT
    }

    fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let sql = std::str::from_utf8(sql).map_err(|_| refused("the statement is no UTF-8"))?;
        let sql = sql.trim().trim_end_matches(';').trim_end();
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let done = |changed: usize| {
            Answer::Ok(Completion {
                affected_rows: changed as u64,
                ..Completion::default()
            })
        };
        match Command::read(sql) {
            // Transactions are accepted and ignored.
            Command::Nothing => Ok(Answer::ok()),
            Command::Shown(name, value) => Table::of_text(&[&name]).with_row([value.into()]).send(rows),
            Command::Variable(name) => {
                let value = loading::variable(&database, &name).map_err(|error| of_sqlite(&error))?;
                Table::of_text(&[&name]).with_row([value.into()]).send(rows)
            }
            Command::Set(name, value) => {
                let changed = database.execute(
                    "UPDATE global_variables SET variable_value = ?2 WHERE variable_name = ?1",
                    [&name, &value],
                );
                changed.map(done).map_err(|error| of_sqlite(&error))
            }
            Command::Move(movement, module) => {
                loading::carry_out(&database, movement, module).map_err(|error| of_sqlite(&error))?;
                Ok(Answer::ok())
            }
            Command::Sql => sqlite(&database, sql, rows),
        }
    }
}

/// Runs a statement of SQLite.
fn sqlite(database: &Connection, sql: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
    let mut statement = database.prepare(sql).map_err(|error| of_sqlite(&error))?;
    if statement.column_count() == 0 {
        let changed = statement.execute([]).map_err(|error| of_sqlite(&error))?;
        return Ok(Answer::Ok(Completion {
            affected_rows: changed as u64,
            ..Completion::default()
        }));
    }
    let names: Vec<ColumnDefinition> = statement
        .column_names()
        .map(|name| ColumnDefinition::new(name, ColumnType::MYSQL_TYPE_VAR_STRING))
        .collect();
    let mut found = statement.query([]).map_err(|error| of_sqlite(&error))?;
    rows.columns(&names)?;
    while let Some(row) = found.next().map_err(|error| of_sqlite(&error))? {
        let mut texts = Vec::with_capacity(names.len());
        for at in 0..names.len() {
            // The protocol makes texts of all values.
            let text = match row.get_ref(at).map_err(|error| of_sqlite(&error))? {
                ValueRef::Null => None,
                ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
                ValueRef::Real(number) => Some(number.to_string().into_bytes()),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
            };
            texts.push(text);
        }
        let cells: Vec<Cell<'_>> = texts
            .iter()
            .map(|text| text.as_deref().map_or(Cell::Null, Cell::Text))
            .collect();
        rows.row(&cells)?;
    }
    Ok(Answer::Rows { warnings: 0 })
}

fn of_sqlite(error: &rusqlite::Error) -> MysqlError {
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    refused(&message)
}

fn refused(message: &str) -> MysqlError {
    MysqlError {
        code: REFUSED,
        sqlstate: *b"28000",
        message: format!("ProxySQL Admin Error: {message}"),
    }
}
