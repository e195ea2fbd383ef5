//! What a server asks of the thing that answers statements.

use std::net::SocketAddr;

use shardwright_wire::auth::Verifier;
use shardwright_wire::{ColumnDefinition, MysqlError, StatusFlags, errors};

use crate::answer::{Answer, RowSink, Value};

/// Who opens a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionContext {
    /// The connection's number.
    pub connection_id: u32,
    /// The user who logged in.
    pub user: String,
    /// Where the client is.
    pub peer: SocketAddr,
    /// The address that it connected to.
    pub local: SocketAddr,
}

/// Answers statements; shared by all connections.
pub trait Backend: Send + Sync {
    /// Opens a session for a user who has logged in.
    ///
    /// # Errors
    /// The client gets the error in place of the login's OK.
    fn open_session(&self, context: &SessionContext) -> Result<Box<dyn Session>, MysqlError>;

    /// The password of a user whom the server's configuration does not name.
    fn verifier(&self, user: &str) -> Option<Verifier> {
        let _ = user;
        None
    }
}

/// Stops what a session is doing, from another thread.
pub type Interrupt = Box<dyn Fn() + Send>;

/// Whether the client of a session has gone; asked while a statement runs.
pub type IsGone = Box<dyn Fn() -> bool + Send>;

/// One client's session; used by one thread at a time. Dropping it rolls back.
pub trait Session {
    /// Makes `schema` the current one (COM_INIT_DB and the login's schema).
    ///
    /// # Errors
    /// 1049 when there is no such schema.
    fn use_schema(&mut self, schema: &str) -> Result<(), MysqlError>;

    /// The current schema.
    fn schema(&self) -> Option<&str>;

    /// The status that goes with every answer.
    fn status(&self) -> StatusFlags;

    /// Runs a statement, whose text is in the client's character set; rows go into `rows`.
    ///
    /// # Errors
    /// The error for the client, also after rows.
    fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError>;

    /// Looks at a statement that will be executed with parameters.
    ///
    /// # Errors
    /// 1295 when the session does not prepare statements.
    fn prepare(&mut self, sql: &[u8]) -> Result<StatementShape, MysqlError> {
        let _ = sql;
        Err(not_preparable())
    }

    /// Runs a statement with a value for each `?`.
    ///
    /// # Errors
    /// As [`Session::query`].
    fn execute(
        &mut self,
        sql: &[u8],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        let _ = (sql, values, rows);
        Err(not_preparable())
    }

    /// The columns of a table (COM_FIELD_LIST).
    ///
    /// # Errors
    /// 1146 when there is no such table; 1047 when the session does not answer the command.
    fn field_list(&mut self, table: &str) -> Result<Vec<ColumnDefinition>, MysqlError> {
        let _ = table;
        Err(errors::UNKNOWN_COM.with("Unknown command"))
    }

    /// Whether this session may end a connection (COM_PROCESS_KILL), which happens next.
    ///
    /// # Errors
    /// 1227 when it may not.
    fn kill(&mut self, connection_id: u32) -> Result<(), MysqlError> {
        let _ = connection_id;
        Ok(())
    }

    /// Gives up the transaction and its locks, because another session takes this one's place on the connection.
    ///
    /// # Errors
    /// The connection is ended with the error.
    fn close(&mut self) -> Result<(), MysqlError> {
        Ok(())
    }

    /// Takes a question whose answer may end a running statement: whether its client has gone.
    fn watch(&mut self, is_gone: IsGone) {
        drop(is_gone);
    }

    /// A handle that stops a running statement when the server goes down.
    fn interrupt(&self) -> Option<Interrupt> {
        None
    }
}

/// What is known of a statement before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementShape {
    /// Number of `?`.
    pub parameters: u16,
    /// Columns of its result; none for a statement without rows.
    pub columns: Vec<ColumnDefinition>,
}

fn not_preparable() -> MysqlError {
    errors::UNSUPPORTED_PS.with("This command is not supported in the prepared statement protocol yet")
}
