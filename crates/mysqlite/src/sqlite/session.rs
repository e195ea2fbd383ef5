//! A session: a SQLite connection on which the schemas in use are attached, the current one first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, OpenFlags};
use shardwright_wire::MysqlError;

use super::access::SharedAccess;
use super::catalog::{BUSY_TIMEOUT, Catalog};
use super::errors as sqlite_errors;
use super::functions::{self, Identity, SharedState};
use crate::answer::Answer;
use crate::backend::SessionContext;

/// Instructions of SQLite's machine between two looks at whether to stop.
const STOP_CHECK_INTERVAL: i32 = 10_000;

/// A session on a [`super::SqliteBackend`].
pub struct SqliteSession {
    pub(super) connection: Connection,
    pub(super) catalog: Arc<Catalog>,
    pub(super) access: SharedAccess,
    pub(super) state: SharedState,
    pub(super) is_stopping: Arc<AtomicBool>,
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
        let is_stopping = Arc::new(AtomicBool::new(false));
        let identity = Identity {
            user: format!("{}@{}", context.user, context.peer.ip()),
            connection_id: context.connection_id,
            server_version,
        };
        let connection =
            connect(&access, &state, &identity, &is_stopping).map_err(|error| sqlite_errors::open(&error))?;
        Ok(Self {
            connection,
            catalog,
            access,
            state,
            is_stopping,
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
        let refused = self.access.lock().refused.take();
        sqlite_errors::statement(error, refused.as_ref(), self.schema.as_deref())
    }
}

fn connect(
    access: &SharedAccess,
    state: &SharedState,
    identity: &Identity<'_>,
    is_stopping: &Arc<AtomicBool>,
) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", "on")?;
    functions::register(&connection, state, identity, is_stopping)?;
    let authorizer = access.clone();
    connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
        authorizer.authorize(&context)
    }))?;
    let is_stopping = Arc::clone(is_stopping);
    connection.progress_handler(
        STOP_CHECK_INTERVAL,
        Some(move || is_stopping.load(Ordering::Relaxed)),
    )?;
    Ok(connection)
}
