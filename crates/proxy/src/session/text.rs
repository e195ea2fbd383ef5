//! What the words of a statement say to the proxy itself.

use shardwright_rules::{Rejection, Statement};
use shardwright_sql::{LexMode, Lexer, SessionEffects, Shape, StatementClass};
use shardwright_wire::{MysqlError, errors};

use super::holds::Ending;

/// Words of questions about earlier statements. `CONNECTION_ID()` is none: it has an answer on any connection.
const QUESTIONS: [&[u8]; 6] = [
    b"LAST_INSERT_ID",
    b"FOUND_ROWS",
    b"ROW_COUNT",
    b"IDENTITY",
    b"WARNING_COUNT",
    b"ERROR_COUNT",
];

/// Statements that no rule could make safe.
pub(super) fn unroutable(shape: &Shape) -> Option<MysqlError> {
    match shape.class {
        StatementClass::Empty => Some(errors::EMPTY_QUERY.with("Query was empty")),
        StatementClass::Kill => Some(errors::UNKNOWN_COM.with("KILL is not supported through the proxy")),
        // The body of a procedure or trigger is one statement.
        class if shape.several && class != StatementClass::Ddl => Some(errors::PARSE.with(
            "several statements in one query are not supported by the proxy; send them one by one",
        )),
        StatementClass::Set if shape.executable_comment => Some(errors::PARSE.with(
            "SET in or with an executable comment is not supported by the proxy: it could not know what is set",
        )),
        _ => None,
    }
}

pub(super) fn rejected(rejection: &Rejection) -> MysqlError {
    let mut sqlstate = *b"HY000";
    if let Ok(state) = rejection.sqlstate.as_bytes().try_into() {
        sqlstate = state;
    }
    MysqlError {
        code: rejection.code,
        sqlstate,
        message: rejection.message.clone(),
    }
}

/// What is sent to the server takes another number of packets than what came: the numbers of the answer's packets
/// would not fit.
pub(super) fn other_packets() -> MysqlError {
    errors::NET_PACKET_TOO_LARGE.with("the statement comes too close to a multiple of 16 MiB to be rewritten")
}

pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    Lexer::new(text, LexMode::default())
        .significant()
        .map(|token| token.span.of(text))
}

/// Whether the statement asks about the session's earlier statements.
pub(super) fn asks(statement: &Statement<'_>) -> bool {
    if asks_for_diagnostics(statement) {
        return true;
    }
    if !statement
        .shape()
        .effects
        .intersects(SessionEffects::READS_SESSION)
    {
        return false;
    }
    let text = statement.text();
    QUESTIONS.iter().any(|question| {
        text.windows(question.len())
            .any(|window| window.eq_ignore_ascii_case(question))
    })
}

/// `SHOW WARNINGS`, `SHOW ERRORS`, `SHOW COUNT(*) WARNINGS`, `GET DIAGNOSTICS`.
fn asks_for_diagnostics(statement: &Statement<'_>) -> bool {
    let is = |word: Option<&[u8]>, expected: &[&str]| {
        word.is_some_and(|word| {
            expected
                .iter()
                .any(|expected| word.eq_ignore_ascii_case(expected.as_bytes()))
        })
    };
    match statement.shape().class {
        StatementClass::Show => is(words(statement.text()).nth(1), &["WARNINGS", "ERRORS", "COUNT"]),
        StatementClass::Other => {
            is(words(statement.text()).next(), &["GET"])
                && words(statement.text())
                    .take(3)
                    .any(|word| is(Some(word), &["DIAGNOSTICS"]))
        }
        _ => false,
    }
}

/// What the statement puts an end to.
pub(super) fn ending(statement: &Statement<'_>, asks: bool) -> Ending {
    let starts = |expected: [&str; 2]| {
        let mut found = words(statement.text());
        expected.iter().all(|word| {
            found
                .next()
                .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
        })
    };
    match statement.shape().class {
        StatementClass::Lock if starts(["UNLOCK", "TABLES"]) => Ending::TableLocks,
        StatementClass::Xa if starts(["XA", "COMMIT"]) || starts(["XA", "ROLLBACK"]) => Ending::Xa,
        StatementClass::Select | StatementClass::Show | StatementClass::Other if asks => Ending::Asks,
        _ => Ending::None,
    }
}

/// Whether the statement is about the bounds of a transaction and writes nothing by itself.
pub(super) fn is_transaction_bound(shape: &Shape) -> bool {
    matches!(
        shape.class,
        StatementClass::Begin | StatementClass::Savepoint | StatementClass::Rollback
    )
}
