//! Errors for prepared statements.

use shardwright_rules::prepared;
use shardwright_wire::{MysqlError, errors};

use super::statement_words::rejected;

pub(super) fn unknown(id: u32, function: &str) -> MysqlError {
    errors::UNKNOWN_STMT_HANDLER.with(format_args!(
        "Unknown prepared statement handler ({id}) given to {function}"
    ))
}

pub(super) fn read_otherwise() -> MysqlError {
    errors::NEED_REPREPARE.with(
        "Prepared statement needs to be re-prepared: the session has changed its sql_mode or character set since, and the \
         connection on which it was prepared is not the session's any more",
    )
}

/// A statement that MySQL does not prepare.
pub(super) fn not_preparable() -> MysqlError {
    rejected(&prepared::not_preparable())
}
