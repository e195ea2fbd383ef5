//! A backend that runs MySQL-flavoured SQL on SQLite: each schema is a temporary database file.

mod access;
mod answers;
mod catalog;
mod create_table;
mod dispatch;
mod errors;
mod functions;
mod information;
mod lexer;
mod limits;
mod names;
mod run;
mod schemas;
mod session;
mod set;
mod show;
mod stop;
mod translate;
mod variables;

use std::io;
use std::sync::Arc;

use shardwright_wire::MysqlError;

pub use limits::StatementLimits;
pub use session::SqliteSession;

use crate::backend::{Backend, Session, SessionContext};
use catalog::Catalog;

/// Schemas on SQLite, shared by all sessions of a server.
///
/// Temporary schemas live as long as the backend and its sessions.
#[derive(Clone)]
pub struct SqliteBackend {
    catalog: Arc<Catalog>,
    server_version: String,
}

impl SqliteBackend {
    /// A backend without schemas. `server_version` is what `VERSION()` answers; it should be the server's.
    ///
    /// # Errors
    /// There is no temporary directory to be had.
    pub fn new(server_version: impl Into<String>) -> io::Result<Self> {
        Ok(Self {
            catalog: Arc::new(Catalog::new()?),
            server_version: server_version.into(),
        })
    }

    /// Adds a temporary schema; one that exists is left as it is.
    ///
    /// # Errors
    /// SQLite cannot open it, or there are too many.
    pub fn add_schema(&self, name: &str) -> Result<(), MysqlError> {
        self.catalog.add_temporary(name)
    }

    /// Runs a script in a session of its own: statements that end with `;`, in `schema` where it is given.
    ///
    /// # Errors
    /// The error of the first statement that fails; those before it stay done.
    pub fn run_script(&self, schema: Option<&str>, script: &str) -> Result<(), MysqlError> {
        let context = SessionContext {
            connection_id: 0,
            user: "root".to_owned(),
            peer: std::net::SocketAddr::from(([127, 0, 0, 1], 0)),
            local: std::net::SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let mut session = self.session(&context)?;
        if let Some(schema) = schema {
            session.use_schema(schema)?;
        }
        for statement in lexer::statements(script)? {
            session.query(statement.as_bytes(), &mut crate::Table::default())?;
        }
        Ok(())
    }

    /// Opens a session, for callers that put their own commands in front of it.
    ///
    /// # Errors
    /// SQLite cannot open it.
    pub fn session(&self, context: &SessionContext) -> Result<SqliteSession, MysqlError> {
        SqliteSession::open(Arc::clone(&self.catalog), &self.server_version, context)
    }
}

impl Backend for SqliteBackend {
    fn open_session(&self, context: &SessionContext) -> Result<Box<dyn Session>, MysqlError> {
        Ok(Box::new(self.session(context)?))
    }
}
