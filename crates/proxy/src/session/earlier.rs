//! Questions about a session's earlier statements, which go where those ran: a closed list of shapes that read and write nothing
//! on any server.
//!
//! | shape | as long as |
//! |---|---|
//! | `SELECT …`, `DO …` | it has no table, no query inside, no file, and calls built-in functions alone |
//! | `SET @a = …` | it sets user variables alone, and the rest is as above |
//! | `SHOW WARNINGS`, `SHOW ERRORS`, `SHOW COUNT(*) …` | nothing but a LIMIT follows |
//! | `GET DIAGNOSTICS …` | it has no query inside |
//!
//! Every other statement follows its key and the rules, whatever it asks beside: its connection must have the answer, or it is
//! refused.

use shardwright_rules::Statement;
use shardwright_sql::set::{self, SetItem};
use shardwright_sql::{ReadHazards, SessionEffects, StatementClass, Token, TokenKind};

/// Functions that wait for a server, or tell of one.
const OF_ONE_SERVER: [&str; 9] = [
    "MASTER_GTID_WAIT",
    "MASTER_POS_WAIT",
    "PS_CURRENT_THREAD_ID",
    "SOURCE_POS_WAIT",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    "WSREP_LAST_SEEN_GTID",
    "WSREP_LAST_WRITTEN_GTID",
    "WSREP_SYNC_WAIT_UPTO_GTID",
];
/// Words that open a query inside a statement.
const QUERIES: [&str; 4] = ["SELECT", "TABLE", "VALUES", "WITH"];
/// System variables that have one value for a session, whatever its connection.
const VARIABLES: [&str; 20] = [
    "autocommit",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "error_count",
    "identity",
    "in_transaction",
    "last_insert_id",
    "max_allowed_packet",
    "sql_mode",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "wait_timeout",
    "warning_count",
];

/// Whether a statement reads and writes nothing but what the session's connections have of it.
pub(super) fn is_question(statement: &Statement<'_>) -> bool {
    let shape = statement.shape();
    let is_opaque = shape.several || shape.executable_comment || shape.unterminated;
    if is_opaque || shape.names_table || shape.runs_or_reads() {
        return false;
    }
    match shape.class {
        StatementClass::Select => begins_with(statement, &["SELECT"]) && asks_the_session(statement),
        StatementClass::Do => asks_the_session(statement),
        StatementClass::Set => sets_user_variables(statement) && asks_the_session(statement),
        StatementClass::Show => is_show_of_diagnostics(statement),
        StatementClass::Other => is_get_diagnostics(statement),
        _ => false,
    }
}

/// Whether an expression is of literals, variables and built-in functions whose answer no server decides.
fn asks_the_session(statement: &Statement<'_>) -> bool {
    let shape = statement.shape();
    let hazards = ReadHazards::NOT_A_SELECT
        | ReadHazards::SESSION_FUNCTION
        | ReadHazards::USER_VARIABLE
        | ReadHazards::INTO;
    let effects = SessionEffects::USER_VARIABLE
        | SessionEffects::INSERT_ID
        | SessionEffects::READS_SESSION
        | SessionEffects::READS_SCHEMA
        | SessionEffects::READS_SYSTEM_VARIABLE
        | SessionEffects::SET;
    shape.read_hazards.without(hazards).is_empty()
        && shape.effects.without(effects).is_empty()
        && tokens_ask_the_session(statement)
}

fn tokens_ask_the_session(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    let opens_query = |token: &Token| QUERIES.iter().any(|word| token.is_word(text, word));
    if statement.tokens().skip(1).any(|token| opens_query(&token)) {
        return false;
    }
    let is_of_file = |token: &Token| {
        ["OUTFILE", "DUMPFILE"]
            .iter()
            .any(|word| token.is_word(text, word))
    };
    let is_of_server = |token: &Token| OF_ONE_SERVER.iter().any(|name| token.is_word(text, name));
    statement.tokens().all(|token| match token.kind {
        TokenKind::SystemVariable => is_of_session(token.span.of(text)),
        TokenKind::Word => !is_of_file(&token) && !is_of_server(&token),
        _ => true,
    })
}

/// Whether `@@name` has one value for a session.
fn is_of_session(written: &[u8]) -> bool {
    let mut parts = written[2..].split(|byte| *byte == b'.');
    let bare = |part: &[u8]| -> Vec<u8> {
        let letters = part.iter().filter(|byte| **byte != b'`');
        letters.map(u8::to_ascii_lowercase).collect()
    };
    let (first, second) = (parts.next().map(bare), parts.next().map(bare));
    let name = match (first, second) {
        (Some(scope), Some(name)) if matches!(&*scope, b"session" | b"local") => name,
        (Some(name), None) => name,
        _ => return false,
    };
    VARIABLES.iter().any(|known| known.as_bytes() == name)
}

fn sets_user_variables(statement: &Statement<'_>) -> bool {
    set::items(statement.text(), statement.mode())
        .iter()
        .all(|item| matches!(item, SetItem::UserVariable(_)))
}

/// `SHOW WARNINGS`, `SHOW ERRORS`, each with a LIMIT or none, and `SHOW COUNT(*) WARNINGS`.
fn is_show_of_diagnostics(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    let mut tokens = statement.tokens().skip(1);
    let Some(first) = tokens.next() else {
        return false;
    };
    let is_list = |token: &Token| token.is_word(text, "WARNINGS") || token.is_word(text, "ERRORS");
    if is_list(&first) {
        return tokens.all(|token| match token.kind {
            TokenKind::Word => token.is_word(text, "LIMIT") || token.is_word(text, "OFFSET"),
            TokenKind::Number | TokenKind::Comma | TokenKind::Semicolon => true,
            _ => false,
        });
    }
    let rest: Vec<Token> = tokens
        .filter(|token| token.kind != TokenKind::Semicolon)
        .collect();
    let is_count = matches!(&rest[..], [open, _, close, list]
        if open.kind == TokenKind::LeftParen && close.kind == TokenKind::RightParen && is_list(list));
    first.is_word(text, "COUNT") && is_count
}

fn is_get_diagnostics(statement: &Statement<'_>) -> bool {
    begins_with(statement, &["GET", "DIAGNOSTICS"])
        || begins_with(statement, &["GET", "CURRENT", "DIAGNOSTICS"])
        || begins_with(statement, &["GET", "STACKED", "DIAGNOSTICS"])
}

fn begins_with(statement: &Statement<'_>, words: &[&str]) -> bool {
    let mut tokens = statement.tokens();
    words.iter().all(|word| {
        tokens
            .next()
            .is_some_and(|token| token.is_word(statement.text(), word))
    })
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn the_list_is_closed() {
        for (text, expected) in [
            ("SELECT LAST_INSERT_ID()", true),
            ("select found_rows() as n, @@session.warning_count limit 1;", true),
            ("SELECT ROW_COUNT() INTO @n", true),
            ("SELECT COALESCE(@x, LAST_INSERT_ID(5)) + CONNECTION_ID()", true),
            ("DO LAST_INSERT_ID(5)", true),
            ("SET @n = ROW_COUNT(), @m = @n", true),
            ("SHOW WARNINGS LIMIT 1, 2", true),
            ("SHOW ERRORS", true),
            ("SHOW COUNT(*) WARNINGS", true),
            ("GET DIAGNOSTICS @n = NUMBER", true),
            ("GET CURRENT DIAGNOSTICS CONDITION 1 @n = MESSAGE_TEXT", true),
            // They have tables, queries or files.
            ("SELECT LAST_INSERT_ID() FROM t", false),
            ("SELECT (SELECT LAST_INSERT_ID())", false),
            ("WITH c AS (SELECT FOUND_ROWS()) SELECT * FROM c", false),
            ("SELECT ROW_COUNT() UNION TABLE t", false),
            ("SELECT FOUND_ROWS() INTO OUTFILE 'a'", false),
            ("SELECT FOUND_ROWS() INTO DUMPFILE 'a'", false),
            ("VALUES (LAST_INSERT_ID())", false),
            ("DO (SELECT LAST_INSERT_ID())", false),
            ("SET @n = (SELECT FOUND_ROWS())", false),
            // They write.
            ("UPDATE t SET a = LAST_INSERT_ID()", false),
            ("UPDATE t SET a = LAST_INSERT_ID(a + 1) WHERE id = 1", false),
            ("INSERT INTO t VALUES (LAST_INSERT_ID())", false),
            ("INSERT INTO t SET a = ROW_COUNT()", false),
            ("INSERT t SELECT @@identity", false),
            ("REPLACE t VALUES (FOUND_ROWS())", false),
            ("DELETE FROM t WHERE a = ROW_COUNT()", false),
            ("CALL p(LAST_INSERT_ID())", false),
            (
                "LOAD DATA INFILE 'a' INTO TABLE t SET a = LAST_INSERT_ID()",
                false,
            ),
            ("ALTER TABLE t AUTO_INCREMENT = 5", false),
            ("KILL LAST_INSERT_ID()", false),
            ("HANDLER t READ FIRST WHERE a = LAST_INSERT_ID()", false),
            ("EXPLAIN SELECT LAST_INSERT_ID()", false),
            ("EXECUTE s USING @a", false),
            ("EXECUTE IMMEDIATE CONCAT('SELECT ', ROW_COUNT())", false),
            ("PREPARE s FROM 'SELECT ROW_COUNT()'", false),
            // They run code, or set what is not the session's own.
            ("SELECT f(LAST_INSERT_ID())", false),
            ("SELECT s.f(), ROW_COUNT()", false),
            ("SELECT GET_LOCK('a', 0), ROW_COUNT()", false),
            ("SELECT NEXTVAL(s), LAST_INSERT_ID()", false),
            ("SELECT LOAD_FILE('a'), ROW_COUNT()", false),
            ("SELECT UUID_SHORT(), ROW_COUNT()", false),
            ("SELECT MASTER_POS_WAIT('a', 4), FOUND_ROWS()", false),
            ("SELECT WAIT_FOR_EXECUTED_GTID_SET('a'), FOUND_ROWS()", false),
            ("SELECT @@server_id, ROW_COUNT()", false),
            ("SELECT @@global.warning_count", false),
            ("SET GLOBAL max_connections = LAST_INSERT_ID()", false),
            ("SET @@global.max_connections = ROW_COUNT()", false),
            ("SET time_zone = @trig", false),
            ("SET @a = 1, SESSION wait_timeout = ROW_COUNT()", false),
            ("SET PASSWORD = @trig", false),
            // The text does not tell.
            ("SELECT /*! 1 FROM t WHERE */ ROW_COUNT()", false),
            ("/*! UPDATE t SET a = LAST_INSERT_ID() */", false),
            ("SELECT ROW_COUNT(); DELETE FROM t", false),
            ("SHOW WARNINGS WHERE f()", false),
            ("SHOW TABLES WHERE LAST_INSERT_ID(5)", false),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            assert_eq!(is_question(&statement), expected, "{text}");
        }
    }
}
