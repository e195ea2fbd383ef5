//! Functions of MySQL that SQLite lacks or understands otherwise.

use std::cmp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ToSql};

use super::variables::Variables;
use crate::answer::Value;

/// The longest `SLEEP()`, in seconds.
const MAX_SLEEP_SECONDS: f64 = 3600.0;

/// How often a sleeping statement looks whether it must stop.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// What functions know of their session.
#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) schema: Option<String>,
    pub(super) last_insert_id: i64,
    pub(super) row_count: i64,
    pub(super) variables: Variables,
}

#[derive(Debug, Clone)]
pub(super) struct SharedState(Arc<Mutex<SessionState>>);

impl SharedState {
    pub(super) fn new(server_version: &str) -> Self {
        let variables = Variables::new(server_version);
        Self(Arc::new(Mutex::new(SessionState {
            schema: None,
            last_insert_id: 0,
            row_count: -1,
            variables,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Who the session belongs to, for the functions that tell.
pub(super) struct Identity<'i> {
    pub(super) user: String,
    pub(super) connection_id: u32,
    pub(super) server_version: &'i str,
}

pub(super) fn register(
    connection: &Connection,
    state: &SharedState,
    identity: &Identity<'_>,
    is_stopping: &Arc<AtomicBool>,
) -> rusqlite::Result<()> {
    for name in ["database", "schema"] {
        session_value(connection, name, state, |state| state.schema.clone().into())?;
    }
    session_value(connection, "last_insert_id", state, |state| {
        Value::Int(state.last_insert_id)
    })?;
    session_value(connection, "row_count", state, |state| {
        Value::Int(state.row_count)
    })?;
    for name in ["user", "current_user", "session_user", "system_user"] {
        constant(connection, name, Value::Text(identity.user.clone()))?;
    }
    constant(
        connection,
        "connection_id",
        Value::Int(i64::from(identity.connection_id)),
    )?;
    constant(
        connection,
        "version",
        Value::Text(identity.server_version.to_owned()),
    )?;
    variables(connection, state)?;
    for (name, sql) in [
        ("now", "SELECT datetime('now')"),
        ("curdate", "SELECT date('now')"),
        ("curtime", "SELECT time('now')"),
        ("unix_timestamp", "SELECT unixepoch('now')"),
    ] {
        clock(connection, name, sql)?;
    }
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("concat", -1, flags, concat)?;
    for (name, wanted) in [
        ("least", cmp::Ordering::Less),
        ("greatest", cmp::Ordering::Greater),
    ] {
        connection.create_scalar_function(name, -1, flags, move |context| extreme(context, wanted))?;
    }
    sleep(connection, Arc::clone(is_stopping))
}

fn session_value(
    connection: &Connection,
    name: &str,
    state: &SharedState,
    read: fn(&SessionState) -> Value,
) -> rusqlite::Result<()> {
    let state = state.clone();
    connection.create_scalar_function(name, 0, FunctionFlags::SQLITE_UTF8, move |_| {
        Ok(Owned(read(&state.lock())))
    })
}

fn constant(connection: &Connection, name: &str, value: Value) -> rusqlite::Result<()> {
    connection.create_scalar_function(name, 0, FunctionFlags::SQLITE_UTF8, move |_| {
        Ok(Owned(value.clone()))
    })
}

fn variables(connection: &Connection, state: &SharedState) -> rusqlite::Result<()> {
    let system = state.clone();
    connection.create_scalar_function(
        "mysql_system_variable",
        1,
        FunctionFlags::SQLITE_UTF8,
        move |context| {
            let name: String = context.get(0)?;
            let state = system.lock();
            state
                .variables
                .system(&name)
                .map(|value| Owned(value.clone()))
                .map_err(|error| Error::UserFunctionError(error.into()))
        },
    )?;
    let user = state.clone();
    connection.create_scalar_function(
        "mysql_user_variable",
        1,
        FunctionFlags::SQLITE_UTF8,
        move |context| {
            let name: String = context.get(0)?;
            Ok(Owned(user.lock().variables.user(&name)))
        },
    )
}

/// The clock is SQLite's, asked on a connection of its own because this one is busy.
fn clock(connection: &Connection, name: &str, sql: &'static str) -> rusqlite::Result<()> {
    let clock = Connection::open_in_memory()?;
    connection.create_scalar_function(name, 0, FunctionFlags::SQLITE_UTF8, move |_| {
        clock.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
    })
}

/// NULL when an argument is NULL, unlike SQLite's.
fn concat(context: &Context<'_>) -> rusqlite::Result<Option<String>> {
    let mut joined = String::new();
    for at in 0..context.len() {
        match context.get_raw(at) {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(value) => joined.push_str(&value.to_string()),
            ValueRef::Real(value) => joined.push_str(&crate::responder::real_text(value)),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => joined.push_str(&String::from_utf8_lossy(bytes)),
        }
    }
    Ok(Some(joined))
}

/// LEAST and GREATEST of numbers, and of texts by their bytes; NULL when an argument is NULL.
fn extreme(context: &Context<'_>, wanted: cmp::Ordering) -> rusqlite::Result<rusqlite::types::Value> {
    use rusqlite::types::Value as Cell;
    let mut best: Option<Cell> = None;
    for at in 0..context.len() {
        let cell = Cell::try_from(context.get_raw(at))?;
        let order = match (&best, &cell) {
            (_, Cell::Null) => return Ok(Cell::Null),
            (None, _) => wanted,
            (Some(Cell::Integer(best)), Cell::Integer(cell)) => cell.cmp(best),
            (Some(best), cell) => match (number(best), number(cell)) {
                (Some(best), Some(cell)) => cell.total_cmp(&best),
                _ => bytes(cell).cmp(&bytes(best)),
            },
        };
        if order == wanted {
            best = Some(cell);
        }
    }
    Ok(best.unwrap_or(Cell::Null))
}

fn number(cell: &rusqlite::types::Value) -> Option<f64> {
    match cell {
        rusqlite::types::Value::Integer(value) => Some(*value as f64),
        rusqlite::types::Value::Real(value) => Some(*value),
        _ => None,
    }
}

fn bytes(cell: &rusqlite::types::Value) -> Vec<u8> {
    match cell {
        rusqlite::types::Value::Null => Vec::new(),
        rusqlite::types::Value::Integer(value) => value.to_string().into_bytes(),
        rusqlite::types::Value::Real(value) => crate::responder::real_text(*value).into_bytes(),
        rusqlite::types::Value::Text(text) => text.clone().into_bytes(),
        rusqlite::types::Value::Blob(bytes) => bytes.clone(),
    }
}

/// `SLEEP(seconds)`: 0 when it slept, 1 when it was interrupted.
fn sleep(connection: &Connection, is_stopping: Arc<AtomicBool>) -> rusqlite::Result<()> {
    connection.create_scalar_function("sleep", 1, FunctionFlags::SQLITE_UTF8, move |context| {
        let seconds: f64 = context.get(0)?;
        let until = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, MAX_SLEEP_SECONDS));
        while let Some(left) = until
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        {
            if is_stopping.load(Ordering::Relaxed) {
                return Ok(1_i64);
            }
            thread::sleep(left.min(STOP_INTERVAL));
        }
        Ok(0_i64)
    })
}

/// A value that a function gives away.
struct Owned(Value);

impl ToSql for Owned {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}
