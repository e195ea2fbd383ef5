//! Errors for prepared statements.

use shardwright_rules::{Statement, prepared};
use shardwright_wire::{MysqlError, errors};

use super::earlier::is_question;
use super::statement_words::{asked, rejected};

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

/// MySQL takes the value of ROW_COUNT() and FOUND_ROWS() when it prepares a comparison with a BIGINT column (seen on 9.7.4), and
/// the proxy prepares again on other connections.
pub(super) fn counts_taken_early(statement: &Statement<'_>, is_mariadb: bool) -> Option<MysqlError> {
    let asked = asked(statement);
    let is_early = !is_mariadb && (asked.row_count || asked.found_rows) && !is_question(statement);
    is_early.then(|| {
        errors::UNSUPPORTED_PS.with(
            "ROW_COUNT() and FOUND_ROWS() beside a table cannot be prepared: MySQL may take their value when it prepares the \
             statement, which the proxy does on each connection; send it as a text, or read the number in a statement of its own",
        )
    })
}
