//! Why a member gave no connection.

use std::sync::Arc;

use shardwright_wire::MysqlError;

/// Why a member gave no connection.
pub(super) enum NotConnected {
    Refused(MysqlError),
    /// Another server may do.
    RefusedHere(MysqlError),
    Unreachable(String),
    /// It refuses logins of everybody for now.
    Busy(String),
    /// Every connection that may be opened stayed in use.
    Full {
        most: usize,
        /// The server's words, if it has refused one.
        why: Option<Arc<str>>,
    },
    /// It takes no more connections, and another server has room.
    FullHere,
    Killed,
}
