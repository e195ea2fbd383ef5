//! Ending what a server does for a session: KILL, clients that go away, statement timeouts.
//!
//! The session that has the statement does it. An order waits at its `SessionHandle`; the session looks there while it waits for
//! the server, kills over a connection of its own, and goes on only when that has answered. So a KILL never meets the
//! statement of another session that has the server's connection by then.

use std::sync::Arc;

use shardwright_wire::{MysqlError, errors};

/// What ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillScope {
    /// The statement.
    Query,
    /// The session.
    Connection,
}

impl KillScope {
    /// As KILL names it.
    pub(crate) const fn keyword(self) -> &'static str {
        match self {
            Self::Query => "QUERY",
            Self::Connection => "CONNECTION",
        }
    }
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
    /// Takes the answer; `None`: nobody waits for it.
    pub(crate) answer: Option<Box<dyn FnOnce(Killed) + Send>>,
}

impl KillOrder {
    pub(crate) fn done(self, killed: Killed) {
        if let Some(answer) = self.answer {
            answer(killed);
        }
    }
}

/// A KILL of a session, as its worker is told.
pub(crate) struct KillRequest {
    pub(crate) id: u32,
    /// The user whose sessions it may end; `None`: everybody's.
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) order: KillOrder,
}

/// The error where no session has this number.
pub(crate) fn unknown_thread(id: impl std::fmt::Display) -> MysqlError {
    errors::NO_SUCH_THREAD.with(format_args!("Unknown thread id: {id}"))
}

/// The error where a server could not be told to end a statement.
pub(crate) fn not_told(why: &str) -> MysqlError {
    errors::UNKNOWN.with(format_args!("the server was not told to end it: {why}"))
}

/// The error of a statement that was ended.
pub(crate) fn interrupted() -> MysqlError {
    errors::QUERY_INTERRUPTED.with("Query execution was interrupted")
}

/// The error of a session that was ended.
pub(crate) fn connection_killed() -> MysqlError {
    errors::CONNECTION_KILLED.with("Connection was killed")
}
