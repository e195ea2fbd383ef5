//! Ending what a server does for a session: KILL, clients that go away, statement timeouts.
//!
//! The session that has the statement does it. An order waits at its `SessionHandle`; the session looks there while it waits for
//! the server, kills over a connection of its own, and goes on only when that has answered. So a KILL never meets the
//! statement of another session that has the server's connection by then.

use std::sync::Arc;

use shardwright_wire::{MysqlError, errors};
use tokio::sync::oneshot;

/// What ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillScope {
    /// The statement.
    Query,
    /// The session.
    Connection,
}

/// What became of a KILL.
#[derive(Debug)]
pub(crate) enum Killed {
    /// It has ended, or had nothing to do.
    Done,
    /// There is no such session.
    Unknown,
    /// The session is another user's.
    Denied,
    /// The server could not be told.
    Failed(String),
}

/// A KILL on its way to the session that it is for.
pub(crate) struct KillOrder {
    pub(crate) scope: KillScope,
    /// `None`: nobody waits for the answer.
    pub(crate) answer: Option<oneshot::Sender<Killed>>,
}

impl KillOrder {
    /// Who asked may have gone; then nobody misses the answer.
    pub(crate) fn done(self, killed: Killed) {
        if let Some(answer) = self.answer {
            let _gone = answer.send(killed);
        }
    }
}

/// A KILL of a session, as its worker is told.
pub(crate) struct KillRequest {
    pub(crate) id: u32,
    pub(crate) user: Arc<str>,
    pub(crate) order: KillOrder,
}

/// The error of a statement that was ended.
pub(crate) fn interrupted() -> MysqlError {
    errors::QUERY_INTERRUPTED.with("Query execution was interrupted")
}

/// The error of a session that was ended.
pub(crate) fn connection_killed() -> MysqlError {
    errors::CONNECTION_KILLED.with("Connection was killed")
}
