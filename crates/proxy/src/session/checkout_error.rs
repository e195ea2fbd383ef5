//! Why there is no connection for a statement.

use shardwright_rules::Rejection;
use shardwright_wire::MysqlError;

/// Why there is no connection for a statement.
#[derive(Debug)]
pub(super) enum CheckoutError {
    /// The client gets this error, and the session goes on.
    Refused(MysqlError),
    /// The client gets the error of a rule, and the session goes on.
    Rejected(Box<Rejection>),
    /// The client gets this error, and the session ends: what it had on the connection is lost.
    Fatal(MysqlError),
}
