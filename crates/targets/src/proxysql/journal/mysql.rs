//! Values by name in tables of MySQL or MariaDB.
//!
//! Every write is one statement, so no transaction stays open where a machine dies. It selects the lock that it needs, so
//! it writes nothing once the lock is somebody else's. Times are the server's.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_secrets::Secret;

use super::cells::{CellError, Cells, Held, after};
use crate::admin::reason;
use crate::server::{self, ServerAddress};

/// The version of the tables; raised when an old program would misread new ones.
const VERSION: u32 = 1;
const NO_SUCH_TABLE: u16 = 1146;
const DUPLICATE: u16 = 1062;
/// A deadlock, a lock that others hold for too long, and a node of Galera that is not ready.
const TRANSIENT: [u16; 3] = [1213, 1205, 1047];
/// How often a statement is tried: an idle connection may have been ended long ago.
const ATTEMPTS: u32 = 2;

/// In the order in which they are made: what says the version comes last.
const TABLES: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS shardwright_values (project VARBINARY(255) NOT NULL, name VARBINARY(255) NOT NULL, \
     value LONGBLOB NOT NULL, PRIMARY KEY (project, name)) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS shardwright_locks (project VARBINARY(255) NOT NULL PRIMARY KEY, \
     holder BLOB NOT NULL, expires DATETIME(6) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS shardwright_version (only_row TINYINT NOT NULL PRIMARY KEY, version INT UNSIGNED NOT NULL) \
     ENGINE=InnoDB",
];

/// A database for the state of runs.
#[derive(Clone, Debug)]
pub struct MySqlState {
    /// Where the server is.
    pub server: ServerAddress,
    /// The database, which must exist.
    pub database: String,
    /// The account, which creates tables on first use.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The project whose runs these are.
    pub project: String,
    /// How long connecting may take, and an answer.
    pub patience: Duration,
}

pub(super) struct MySqlCells {
    state: MySqlState,
    place: String,
    connection: Mutex<Option<Conn>>,
}

/// A connection prints its password.
impl fmt::Debug for MySqlCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlCells")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl MySqlCells {
    pub(super) fn new(state: MySqlState) -> Self {
        let place = format!("{}/{}", state.server.endpoint(), state.database);
        Self {
            state,
            place,
            connection: Mutex::new(None),
        }
    }

    fn connect(&self) -> Result<Conn, CellError> {
        let MySqlState {
            server,
            user,
            password,
            patience,
            ..
        } = &self.state;
        let connection = server::open(server, user, password, *patience);
        let mut connection = connection.map_err(|error| CellError::Failed(error.reason))?;
        let database = format!("`{}`", self.state.database.replace('`', "``"));
        let prepared = [
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'".to_owned(),
            "SET SESSION autocommit = 1, innodb_lock_wait_timeout = 5".to_owned(),
            format!("USE {database}"),
        ];
        for statement in prepared {
            connection.query_drop(statement).map_err(failed)?;
        }
        is_durable(&mut connection)?;
        check_version(&mut connection)?;
        Ok(connection)
    }

    /// Runs statements that can be repeated.
    fn with<T>(&self, run: impl Fn(&mut Conn) -> mysql::Result<T>) -> Result<T, CellError> {
        let mut held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut attempt = 1;
        loop {
            let mut connection = match held.take() {
                Some(connection) => connection,
                None => match self.connect() {
                    Ok(connection) => connection,
                    Err(_) if attempt < ATTEMPTS => {
                        attempt += 1;
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            match run(&mut connection) {
                Ok(value) => {
                    *held = Some(connection);
                    return Ok(value);
                }
                Err(error) => {
                    let is_answer = matches!(&error, mysql::Error::MySqlError(answer) if !TRANSIENT.contains(&answer.code));
                    if is_answer {
                        *held = Some(connection);
                    }
                    if is_answer || attempt == ATTEMPTS {
                        return Err(failed(error));
                    }
                    attempt += 1;
                }
            }
        }
    }

    fn project(&self) -> String {
        literal(self.state.project.as_bytes())
    }

    /// Whether the lock is still this one.
    fn is_held(&self, connection: &mut Conn, lock: &[u8]) -> mysql::Result<bool> {
        let found = connection.query_first::<u8, _>(format!(
            "SELECT 1 FROM shardwright_locks WHERE project = {} AND holder = {}",
            self.project(),
            literal(lock)
        ));
        found.map(|row| row.is_some())
    }

    fn lost(&self) -> CellError {
        match self.held() {
            Ok(Some(held)) => CellError::NotLocked(match held.holder() {
                Some(holder) => format!("now it is held by {holder}"),
                None => "now something else is there".to_owned(),
            }),
            Ok(None) => CellError::NotLocked("it was broken".to_owned()),
            Err(_) => CellError::NotLocked("it was broken, or has gone to somebody else".to_owned()),
        }
    }
}

impl Cells for MySqlCells {
    fn place(&self) -> &str {
        &self.place
    }

    fn put(&self, lock: &[u8], name: &str, value: &[u8]) -> Result<(), CellError> {
        let insertion = format!(
            "INSERT INTO shardwright_values (project, name, value) SELECT project, {}, {} FROM shardwright_locks \
             WHERE project = {} AND holder = {} ON DUPLICATE KEY UPDATE value = VALUES(value)",
            literal(name.as_bytes()),
            literal(value),
            self.project(),
            literal(lock)
        );
        let written = self.with(|connection| {
            connection.query_drop(&insertion)?;
            // The same value once more affects no row.
            Ok(connection.affected_rows() > 0 || self.is_held(connection, lock)?)
        })?;
        match written {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    fn remove(&self, lock: &[u8], from: &str, end: &[u8]) -> Result<(), CellError> {
        let deletion = format!(
            "DELETE FROM shardwright_values WHERE project = {0} AND name >= {1} AND name < {2} \
             AND EXISTS (SELECT 1 FROM shardwright_locks WHERE project = {0} AND holder = {3})",
            self.project(),
            literal(from.as_bytes()),
            literal(end),
            literal(lock)
        );
        let removed = self.with(|connection| {
            connection.query_drop(&deletion)?;
            Ok(connection.affected_rows() > 0 || self.is_held(connection, lock)?)
        })?;
        match removed {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CellError> {
        let query = format!(
            "SELECT value FROM shardwright_values WHERE project = {} AND name = {}",
            self.project(),
            literal(name.as_bytes())
        );
        self.with(|connection| connection.query_first(&query))
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        let query = format!(
            "SELECT SUBSTRING(name, {}), value FROM shardwright_values WHERE project = {} AND name >= {} \
             AND name < {} ORDER BY name",
            prefix.len() + 1,
            self.project(),
            literal(prefix.as_bytes()),
            literal(&after(prefix))
        );
        self.with(|connection| connection.query(&query))
    }

    fn acquire(&self, lock: &[u8], period: Duration) -> Result<Option<Held>, CellError> {
        let (project, holder, expires) = (self.project(), literal(lock), from_now(period));
        // One statement for both, with ON DUPLICATE KEY UPDATE, compares a blob with itself in MariaDB 10.11.
        let taking_over = format!(
            "UPDATE shardwright_locks SET holder = {holder}, expires = {expires} \
             WHERE project = {project} AND (expires < UTC_TIMESTAMP(6) OR holder = {holder})"
        );
        let taking = format!(
            "INSERT INTO shardwright_locks (project, holder, expires) VALUES ({project}, {holder}, {expires})"
        );
        let take = |connection: &mut Conn| {
            connection.query_drop(&taking_over)?;
            match connection.query_drop(&taking) {
                Err(mysql::Error::MySqlError(error)) if error.code == DUPLICATE => Ok(()),
                taken => taken,
            }
        };
        // Who had it may give it back between the two.
        for _ in 0..ATTEMPTS {
            self.with(take)?;
            match self.held()? {
                Some(held) if held.lock == lock => return Ok(None),
                Some(held) => return Ok(Some(held)),
                None => {}
            }
        }
        Err(CellError::Failed(
            "the lock goes from hand to hand: try again".to_owned(),
        ))
    }

    fn renew(&self, lock: &[u8], period: Duration) -> Result<(), CellError> {
        let renewal = format!(
            "UPDATE shardwright_locks SET expires = {} WHERE project = {} AND holder = {}",
            from_now(period),
            self.project(),
            literal(lock)
        );
        let renewed = self.with(|connection| {
            connection.query_drop(&renewal)?;
            Ok(connection.affected_rows() > 0 || self.is_held(connection, lock)?)
        })?;
        match renewed {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    fn release(&self, lock: &[u8]) -> Result<bool, CellError> {
        let deletion = format!(
            "DELETE FROM shardwright_locks WHERE project = {} AND holder = {}",
            self.project(),
            literal(lock)
        );
        self.with(|connection| {
            connection.query_drop(&deletion)?;
            Ok(connection.affected_rows() > 0)
        })
    }

    fn held(&self) -> Result<Option<Held>, CellError> {
        let query = format!(
            "SELECT holder, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) FROM shardwright_locks \
             WHERE project = {} AND expires >= UTC_TIMESTAMP(6)",
            self.project()
        );
        let row = self.with(|connection| connection.query_first::<(Vec<u8>, i64), _>(&query))?;
        Ok(row.map(|(lock, left)| Held {
            lock,
            expires_in: Duration::from_micros(left.try_into().unwrap_or(0)),
        }))
    }
}

/// Refuses a server that forgets what it has acknowledged.
fn is_durable(connection: &mut Conn) -> Result<(), CellError> {
    let flush: Option<u8> = connection
        .query_first("SELECT @@global.innodb_flush_log_at_trx_commit")
        .map_err(failed)?;
    match flush {
        Some(1) => Ok(()),
        other => Err(CellError::Failed(format!(
            "innodb_flush_log_at_trx_commit is {}: the server may forget what it has acknowledged; set it to 1",
            other.map_or_else(|| "unknown".to_owned(), |flush| flush.to_string())
        ))),
    }
}

/// Makes the tables where there are none, and refuses those of a newer program.
fn check_version(connection: &mut Conn) -> Result<(), CellError> {
    let query = "SELECT version FROM shardwright_version";
    let mut found: Option<u32> = match connection.query_first(query) {
        Err(mysql::Error::MySqlError(error)) if error.code == NO_SUCH_TABLE => None,
        found => found.map_err(failed)?,
    };
    if found.is_none() {
        let version = format!("INSERT IGNORE INTO shardwright_version VALUES (1, {VERSION})");
        for statement in TABLES.into_iter().chain([version.as_str()]) {
            connection.query_drop(statement).map_err(failed)?;
        }
        found = connection.query_first(query).map_err(failed)?;
    }
    match found {
        Some(VERSION) => Ok(()),
        other => Err(CellError::Failed(format!(
            "its tables have version {}, this program reads {VERSION}: use the newer program that made them",
            other.map_or_else(|| "unknown".to_owned(), |version| version.to_string())
        ))),
    }
}

fn failed(error: mysql::Error) -> CellError {
    CellError::Failed(reason(&error))
}

/// Bytes as a literal that no character set changes.
fn literal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(3 + 2 * bytes.len());
    text.push_str("x'");
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).expect("four bits are a digit"));
        text.push(char::from_digit(u32::from(byte & 15), 16).expect("four bits are a digit"));
    }
    text.push('\'');
    text
}

fn from_now(period: Duration) -> String {
    format!("UTC_TIMESTAMP(6) + INTERVAL {} MICROSECOND", period.as_micros())
}
