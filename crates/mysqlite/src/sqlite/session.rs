//! A session: a SQLite connection on which the schemas in use are attached, the current one first.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use shardwright_wire::MysqlError;

use super::access::SharedAccess;
use super::catalog::{BUSY_TIMEOUT, Catalog};
use super::errors as sqlite_errors;
use super::functions::{self, Identity, SharedState};
use super::stop::{STOP_CHECK_INTERVAL, Stop, overdue};
use crate::answer::Answer;
use crate::backend::SessionContext;

/// A session on a [`super::SqliteBackend`].
pub struct SqliteSession {
    pub(super) connection: Connection,
    pub(super) catalog: Arc<Catalog>,
    pub(super) access: SharedAccess,
    pub(super) state: SharedState,
    pub(super) stop: Stop,
    pub(super) time_limit: Option<Duration>,
    pub(super) schema: Option<String>,
    /// Attached schemas, in the order in which SQLite looks for tables.
    pub(super) attached: Vec<String>,
}

impl SqliteSession {
    pub(super) fn open(
        catalog: Arc<Catalog>,
        server_version: &str,
        context: &SessionContext,
    ) -> Result<Self, MysqlError> {
        let access = SharedAccess::default();
        let state = SharedState::new(server_version);
        let stop = Stop::default();
        let identity = Identity {
            user: format!("{}@{}", context.user, context.peer.ip()),
            connection_id: context.connection_id,
            server_version,
        };
        let connection =
            connect(&access, &state, &identity, &stop).map_err(|error| sqlite_errors::open(&error))?;
        Ok(Self {
            connection,
            catalog,
            access,
            state,
            stop,
            time_limit: None,
            schema: None,
            attached: Vec::new(),
        })
    }

    pub(super) fn begin_if_none(&self) -> Result<(), MysqlError> {
        if self.connection.is_autocommit() {
            self.control("BEGIN")
        } else {
            Ok(())
        }
    }

    /// COMMIT or ROLLBACK; without a transaction nothing happens.
    pub(super) fn end(&mut self, statement: &str) -> Result<Answer, MysqlError> {
        if !self.connection.is_autocommit() {
            self.control(statement)?;
        }
        Ok(Answer::ok())
    }

    fn control(&self, statement: &str) -> Result<(), MysqlError> {
        self.access
            .internally(|| self.connection.execute_batch(statement))
            .map_err(|error| self.failure(&error))
    }

    pub(super) fn failure(&self, error: &rusqlite::Error) -> MysqlError {
        if let Some(limit) = self.time_limit.filter(|_| self.stop.is_overdue()) {
            return overdue(limit);
        }
        let refused = self.access.lock().refused.take();
        sqlite_errors::statement(error, refused.as_ref(), self.schema.as_deref())
    }
}

fn connect(
    access: &SharedAccess,
    state: &SharedState,
    identity: &Identity<'_>,
    stop: &Stop,
) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", "on")?;
    functions::register(&connection, state, identity, &stop.is_stopping)?;
    let authorizer = access.clone();
    connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
        authorizer.authorize(&context)
    }))?;
    let stop = stop.clone();
    connection.progress_handler(STOP_CHECK_INTERVAL, Some(move || stop.is_due()))?;
    Ok(connection)
}
