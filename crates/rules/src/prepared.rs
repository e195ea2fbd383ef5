//! Prepared statements of the binary protocol: what an engine does with each of their commands.

use std::fmt;

use shardwright_sql::{StatementClass, TokenKind};

use crate::refusal::Rejection;
use crate::{SentAs, Statement, Withheld};

/// What an engine does with prepared statements of the binary protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedStatements {
    /// An execution is decided by the text as the preparation rewrote it, not by the text that was sent.
    pub executes_rewritten: bool,
    /// An execution is decided in the schema that was current when the statement was prepared, not in the session's.
    pub keeps_schema: bool,
    /// Preparing sets the flag that the session's next statements start at.
    pub preparing_sets_flag: bool,
    /// Statements that change the session cannot be prepared, unless their execution is their text ([`is_text`]).
    pub refuses_session_changes: bool,
    /// What becomes of the engine when rules refuse or answer an execution.
    pub refused_execution: RefusedExecution,
    /// What preparing goes without.
    pub at_prepare: Withheld,
    /// What an execution goes without.
    pub at_execute: Withheld,
}

/// What becomes of an engine whose rules refuse or answer an execution of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedExecution {
    /// The client gets the answer.
    Answered,
    /// The packet is freed twice: the next statements of all clients hang, or the process ends by signal 11.
    EndsEngine,
    /// Nobody has looked.
    Unknown,
}

impl PreparedStatements {
    /// The text that executions are decided by, where that is what preparing made of the text that was sent.
    pub fn kept<'t>(&self, rewritten: Option<&'t [u8]>) -> Option<&'t [u8]> {
        rewritten.filter(|_| self.executes_rewritten)
    }

    /// What a command goes without.
    pub fn withheld(&self, sent_as: SentAs) -> Withheld {
        match sent_as {
            SentAs::Query => Withheld::NOTHING,
            SentAs::Prepare => self.at_prepare,
            SentAs::Execute => self.at_execute,
        }
    }
}

/// Error 1295, SQLSTATE HY000: the statement cannot be prepared.
pub fn not_preparable() -> Rejection {
    Rejection {
        code: 1295,
        sqlstate: "HY000",
        refusal: None,
        message: "This command is not supported in the prepared statement protocol yet".to_owned(),
        address: None,
    }
}

/// Error 1243, SQLSTATE HY000: the session has no prepared statement of this name or number.
pub fn unknown_handler(name: impl fmt::Display) -> Rejection {
    Rejection {
        code: 1243,
        sqlstate: "HY000",
        refusal: None,
        message: format!("Unknown prepared statement handler ({name}) given to mysqld_stmt_execute"),
        address: None,
    }
}

/// Error 1210, SQLSTATE HY000: an execution with another number of values than the statement has parameters.
pub fn wrong_arguments(given: usize, parameters: usize) -> Rejection {
    Rejection {
        code: 1210,
        sqlstate: "HY000",
        refusal: None,
        message: format!(
            "Incorrect arguments to mysqld_stmt_execute (values: {given}, parameters: {parameters})"
        ),
        address: None,
    }
}

/// Whether an execution does what the text does when it is sent as a query: it changes the session and nothing else, and has no
/// rows. A SET may have parameters, whose values stand in the text then.
pub fn is_text(statement: &Statement<'_>) -> bool {
    let class = match statement.class() {
        StatementClass::Set
        | StatementClass::Use
        | StatementClass::Begin
        | StatementClass::Savepoint
        | StatementClass::Lock
        | StatementClass::Kill => true,
        StatementClass::Xa => {
            let second = statement.tokens().nth(1);
            second.is_some_and(|token| !token.is_word(statement.text(), "RECOVER"))
        }
        _ => false,
    };
    let has_parameters = || {
        statement
            .tokens()
            .any(|token| token.kind == TokenKind::Placeholder)
    };
    class && (statement.class() == StatementClass::Set || !has_parameters())
}

/// Whether the meaning of a statement lies in the session, which a proxy follows by reading texts.
pub(crate) fn changes_session(statement: &Statement<'_>) -> bool {
    matches!(
        statement.class(),
        StatementClass::Set
            | StatementClass::Use
            | StatementClass::Begin
            | StatementClass::Savepoint
            | StatementClass::Xa
            | StatementClass::Lock
            | StatementClass::Prepare
    )
}
