//! What the words of a statement say to the proxy itself.

use shardwright_rules::{Rejection, Statement};
use shardwright_sql::names::mentions;
use shardwright_sql::set::{self, SetItem};
use shardwright_sql::{LexMode, Lexer, SessionEffects, Shape, StatementClass, TokenKind, dynamic};
use shardwright_wire::{MysqlError, errors};

use super::asked::Asked;
use super::bodies::{has_body, set_statement, stores_code};
use super::holds::Ending;
use super::system_variables::first_beyond_ascii;

/// The oldest server: what a comment with a later version says is not executed by all. (MariaDB leaves out what is for
/// MySQL 5.7 and later.)
const OLDEST_VERSION: &[u8] = b"50699";

/// Statements that no rule could make safe.
pub(super) fn unroutable(statement: &Statement<'_>) -> Option<MysqlError> {
    let shape = statement.shape();
    match shape.class {
        StatementClass::Empty if is_open(statement) => Some(errors::PARSE.with("a comment is not closed")),
        StatementClass::Empty => Some(errors::EMPTY_QUERY.with("Query was empty")),
        StatementClass::Kill => Some(errors::UNSUPPORTED_PS.with("KILL with placeholders cannot be prepared")),
        // The body of a procedure or trigger is one statement.
        class if shape.several && class != StatementClass::Ddl && !has_body(statement.text(), statement.mode()) => Some(errors::PARSE.with(
            "several statements in one text: the client has not asked for that (CLIENT_MULTI_STATEMENTS, COM_SET_OPTION), or the text cannot be split",
        )),
        StatementClass::Other if sets_how_to_read(statement) => Some(errors::PARSE.with(
            "SET STATEMENT must not change the character set, nor how EXECUTE IMMEDIATE and PREPARE read quotes and backslashes (sql_mode): the proxy could not read their texts; set sql_mode for the session",
        )),
        _ => first_beyond_ascii(statement),
    }
}

/// Whether it may read `character_set_database`, the character set of the session's schema: files are read in it, routines store it,
/// SET CHARACTER SET takes it on.
pub(super) fn reads_schema_charset(statement: &Statement<'_>) -> bool {
    use StatementClass as C;
    let shape = statement.shape();
    let mentions_any = |names: &[&str]| {
        let text = statement.text();
        names.iter().any(|name| mentions(text, name.as_bytes()))
    };
    match shape.class {
        C::Load | C::Ddl | C::Call => true,
        C::Set => mentions_any(&["character", "charset", "collation"]),
        C::Show => mentions_any(&["variables"]),
        _ if shape.effects.intersects(SessionEffects::UNKNOWN) => true,
        _ => {
            shape.effects.intersects(SessionEffects::READS_SYSTEM_VARIABLE)
                && mentions_any(&["character_set_database", "collation_database"])
        }
    }
}

/// An UPDATE of performance_schema, where the instrumentation of threads is set: a reset leaves it as it is.
pub(super) fn instruments_threads(statement: &Statement<'_>, schema: Option<&str>) -> bool {
    const SCHEMA: &[u8] = b"performance_schema";
    const UNDERSCORE: usize = 11;
    if statement.shape().class != StatementClass::Update {
        return false;
    }
    let text = statement.text();
    let is_named_around = |at: usize| {
        let start = at.checked_sub(UNDERSCORE);
        let name = start.and_then(|start| text.get(start..start + SCHEMA.len()));
        name.is_some_and(|name| name.eq_ignore_ascii_case(SCHEMA))
    };
    let mut underscores = text.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    schema.is_some_and(|schema| schema.as_bytes().eq_ignore_ascii_case(SCHEMA))
        || underscores.any(|(at, _)| is_named_around(at))
}

/// The KILL that a statement is: a server would take its number for one of its own.
pub(super) fn kill_text<'a>(statement: &Statement<'a>) -> Option<&'a [u8]> {
    let shape = statement.shape();
    if !shape.executable_comment {
        return (shape.class == StatementClass::Kill).then(|| statement.text());
    }
    let text = ExecutableComment::read(statement.text(), statement.mode())?.inside;
    let first = words_in(text, statement.mode()).next()?;
    first.eq_ignore_ascii_case(b"KILL").then_some(text)
}

/// A text of comments, which servers answer with OK; without any it is an error.
pub(super) fn is_comment_only(statement: &Statement<'_>) -> bool {
    let is_comment = |kind| matches!(kind, TokenKind::BlockComment | TokenKind::LineComment);
    statement.shape().class == StatementClass::Empty
        && !is_open(statement)
        && Lexer::new(statement.text(), statement.mode()).any(|token| is_comment(token.kind))
}

/// Whether a comment is not closed.
fn is_open(statement: &Statement<'_>) -> bool {
    Lexer::new(statement.text(), statement.mode()).any(|token| !token.terminated)
}

/// MariaDB's `SET STATEMENT … FOR …` with what decides how texts are read. MariaDB reads the statement itself in the mode of the
/// session, and a text that it runs in the mode that it sets. EXECUTE of what was prepared reads nothing anew.
fn sets_how_to_read(statement: &Statement<'_>) -> bool {
    let (text, mode) = (statement.text(), statement.mode());
    let Some((settings, _)) = set_statement(text, mode) else {
        return false;
    };
    let has = |name: &str| words(statement).any(|word| word.eq_ignore_ascii_case(name.as_bytes()));
    if has("character_set_client") || has("collation_connection") {
        return true;
    }
    let may_run_text = || dynamic::runs_text(text, mode) || statement.shape().executable_comment;
    has("sql_mode") && may_run_text() && !is_read_alike(settings, mode)
}

/// Whether statements are read under these settings as in this mode.
fn is_read_alike(settings: &[u8], mode: LexMode) -> bool {
    let set = [b"SET ", settings].concat();
    let is_alike = |item: &SetItem<'_>| match item {
        SetItem::Variable { name, value, .. } if name == "sql_mode" => {
            set::lex_mode_after(value).is_ok_and(|after| after.is_same_sql_mode(mode))
        }
        SetItem::Unknown => false,
        _ => true,
    };
    set::items(&set, mode).iter().all(is_alike)
}

/// A statement that consists of one executable comment: `/*!40101 SET … */`.
pub(super) struct ExecutableComment<'a> {
    /// What servers execute that execute it.
    pub(super) inside: &'a [u8],
    /// Every server does.
    pub(super) is_for_all: bool,
}

impl<'a> ExecutableComment<'a> {
    pub(super) fn read(text: &'a [u8], mode: LexMode) -> Option<Self> {
        let mut tokens = Lexer::new(text, mode).significant();
        let comment = tokens
            .next()
            .filter(|token| token.kind == TokenKind::ExecutableComment && token.terminated)?;
        if tokens.any(|token| token.kind != TokenKind::Semicolon) {
            return None;
        }
        let text = comment.span.of(text).strip_suffix(b"*/")?;
        let of_mariadb = text.strip_prefix(b"/*M!");
        let text = of_mariadb.or_else(|| text.strip_prefix(b"/*!"))?;
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (version, inside) = text.split_at(digits);
        let is_old = version.is_empty() || (digits == 5 && version <= OLDEST_VERSION);
        Some(Self {
            inside,
            is_for_all: is_old && of_mariadb.is_none(),
        })
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

/// The tokens of a statement without blanks and comments.
pub(super) fn words<'a>(statement: &Statement<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    words_in(statement.text(), statement.mode())
}

pub(super) fn words_in(text: &[u8], mode: LexMode) -> impl Iterator<Item = &[u8]> {
    Lexer::new(text, mode)
        .significant()
        .map(|token| token.span.of(text))
}

/// Whether the statement asks about the session's earlier statements.
pub(super) fn asks(statement: &Statement<'_>) -> bool {
    !asked(statement).is_nothing() || asks_insert_id(statement)
}

/// What a statement asks of the session's earlier statements. `CONNECTION_ID()` is nothing of that: it has an answer on any
/// connection.
pub(super) fn asked(statement: &Statement<'_>) -> Asked {
    let text = statement.text();
    if asks_for_diagnostics(statement) {
        return Asked {
            row_count: mentions(text, b"ROW_COUNT"),
            warnings: true,
            found_rows: false,
        };
    }
    let reads = statement
        .shape()
        .effects
        .intersects(SessionEffects::READS_SESSION);
    if (reads && !stores_code(text, statement.mode())) || runs_text(statement) {
        asked_in(text)
    } else {
        Asked::default()
    }
}

/// What a text that a server runs asks, wherever in it the words stand.
pub(super) fn asked_in(text: &[u8]) -> Asked {
    Asked {
        found_rows: mentions(text, b"FOUND_ROWS"),
        row_count: mentions(text, b"ROW_COUNT"),
        warnings: mentions(text, b"WARNING_COUNT") || mentions(text, b"ERROR_COUNT"),
    }
}

/// `EXECUTE s`, `EXECUTE IMMEDIATE '…'`
pub(super) fn runs_text(statement: &Statement<'_>) -> bool {
    let is_execute = |word: &[u8]| word.eq_ignore_ascii_case(b"EXECUTE");
    statement.shape().class == StatementClass::Prepare && words(statement).next().is_some_and(is_execute)
}

/// Whether the statement may leave another LAST_INSERT_ID(), or the one that is there.
pub(super) fn may_leave_id(shape: &Shape) -> bool {
    shape
        .effects
        .intersects(SessionEffects::INSERT_ID | SessionEffects::UNKNOWN)
}

/// Whether the statement asks for the id that an earlier one has left.
pub(super) fn asks_insert_id(statement: &Statement<'_>) -> bool {
    let reads = statement
        .shape()
        .effects
        .intersects(SessionEffects::READS_SESSION);
    reads
        && [&b"LAST_INSERT_ID"[..], b"IDENTITY"]
            .iter()
            .any(|name| mentions(statement.text(), name))
        && !stores_code(statement.text(), statement.mode())
}

/// `SHOW WARNINGS`, `SHOW ERRORS`, `SHOW COUNT(*) WARNINGS`, `GET DIAGNOSTICS`.
pub(super) fn asks_for_diagnostics(statement: &Statement<'_>) -> bool {
    let is = |word: Option<&[u8]>, expected: &[&str]| {
        word.is_some_and(|word| {
            expected
                .iter()
                .any(|expected| word.eq_ignore_ascii_case(expected.as_bytes()))
        })
    };
    match statement.shape().class {
        StatementClass::Show => is(words(statement).nth(1), &["WARNINGS", "ERRORS", "COUNT"]),
        StatementClass::Other => {
            is(words(statement).next(), &["GET"])
                && words(statement)
                    .take(3)
                    .any(|word| is(Some(word), &["DIAGNOSTICS"]))
        }
        _ => false,
    }
}

/// Whether it is a COMMIT or ROLLBACK with `RELEASE`, behind which servers close the connection.
pub(super) fn releases(statement: &Statement<'_>) -> bool {
    let mut is_refused = false;
    statement.transaction_end().is_some()
        && mentions(statement.text(), b"RELEASE")
        && words(statement).any(|word| {
            let found = word.eq_ignore_ascii_case(b"RELEASE") && !is_refused;
            is_refused = word.eq_ignore_ascii_case(b"NO");
            found
        })
}

/// What the statement puts an end to.
pub(super) fn ending(statement: &Statement<'_>, asks: bool) -> Ending {
    let starts = |expected: [&str; 2]| {
        let mut found = words(statement);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_comments_are_opened() {
        for (text, inside) in [
            ("/*!40101 SET NAMES utf8 */", Some((" SET NAMES utf8 ", true))),
            ("/*!SET NAMES utf8*/;", Some(("SET NAMES utf8", true))),
            ("/*!80000 SET a=1 */", Some((" SET a=1 ", false))),
            ("/*!100300 SET a=1 */", Some((" SET a=1 ", false))),
            ("/*M!100300 SET a=1 */", Some((" SET a=1 ", false))),
            ("/*!40101 SET a=1 */ SELECT 1", None),
            ("SET a=1 /*!40101 , b=2 */", None),
            ("/* SET a=1 */", None),
        ] {
            let read = ExecutableComment::read(text.as_bytes(), LexMode::default());
            let read = read.map(|comment| (comment.inside, comment.is_for_all));
            assert_eq!(
                read,
                inside.map(|(inside, all)| (inside.as_bytes(), all)),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_that_a_set_statement_has_read_otherwise_are_known() {
        for (text, expected) in [
            ("SET STATEMENT sql_mode = '' FOR EXECUTE s USING @a", false),
            ("SET STATEMENT sql_mode = ANSI_QUOTES FOR EXECUTE s", false),
            (
                "SET STATEMENT sql_mode = ONLY_FULL_GROUP_BY FOR EXECUTE IMMEDIATE 'x'",
                false,
            ),
            (
                "SET STATEMENT sql_mode = '', lock_wait_timeout = 1 FOR PREPARE s FROM 'x'",
                false,
            ),
            (
                "SET STATEMENT sql_mode = ANSI_QUOTES FOR EXECUTE IMMEDIATE 'x'",
                true,
            ),
            (
                "SET STATEMENT sql_mode = 'NO_BACKSLASH_ESCAPES' FOR PREPARE s FROM 'x'",
                true,
            ),
            (
                "SET STATEMENT sql_mode = (SELECT 'ANSI' FROM t) FOR EXECUTE IMMEDIATE 'x'",
                true,
            ),
            (
                "SET STATEMENT sql_mode = @m FOR BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'x'; END",
                true,
            ),
            ("SET STATEMENT sql_mode = ORACLE FOR EXECUTE IMMEDIATE 'x'", true),
            (
                "SET STATEMENT sql_mode = ANSI FOR /*! EXECUTE IMMEDIATE 'x' */",
                true,
            ),
            ("SET STATEMENT sql_mode = ANSI FOR SELECT 1", false),
            ("SET STATEMENT character_set_client = latin1 FOR SELECT 1", true),
            ("SET sql_mode = ANSI", false),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            assert_eq!(sets_how_to_read(&statement), expected, "{text}");
        }
        let ansi = LexMode {
            ansi_quotes: true,
            ..LexMode::default()
        };
        let text = b"SET STATEMENT sql_mode = '' FOR EXECUTE IMMEDIATE 'x'";
        assert!(sets_how_to_read(&Statement::new(text, ansi)));
    }

    #[test]
    fn questions_about_earlier_statements_are_known() {
        for (sql, expected) in [
            ("SHOW WARNINGS", true),
            ("SHOW COUNT(*) ERRORS", true),
            ("SELECT LAST_INSERT_ID()", true),
            ("SELECT ROW_COUNT()", true),
            ("SELECT @@warning_count", true),
            ("GET DIAGNOSTICS @n = NUMBER", true),
            ("SELECT CONNECTION_ID()", false),
            ("SHOW TABLES", false),
            ("SELECT 'LAST_INSERT_ID()'", false),
            (
                "CREATE PROCEDURE p() BEGIN SELECT ROW_COUNT(), LAST_INSERT_ID(); END",
                false,
            ),
            (
                "CREATE OR REPLACE DEFINER=a@b FUNCTION f() RETURNS INT RETURN FOUND_ROWS()",
                false,
            ),
            (
                "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a = LAST_INSERT_ID()",
                false,
            ),
            ("CREATE TABLE t SELECT ROW_COUNT()", true),
            (
                "CREATE EVENT e ON SCHEDULE AT NOW() + INTERVAL ROW_COUNT() DAY DO SELECT 1",
                true,
            ),
        ] {
            let statement = Statement::new(sql.as_bytes(), LexMode::default());
            assert_eq!(asks(&statement), expected, "{sql}");
        }
    }
}
