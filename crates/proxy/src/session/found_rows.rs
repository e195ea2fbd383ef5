//! What a statement does to FOUND_ROWS(), as measured on MariaDB 10.11 and MySQL 9.7.

use shardwright_rules::Statement;
use shardwright_sql::names::mentions;
use shardwright_sql::schema::tables;
use shardwright_sql::{StatementClass, TokenKind};

use super::statement_words::asks_for_diagnostics;

/// What a statement that was answered has done to FOUND_ROWS() of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundRowsChange {
    /// It is this statement's.
    Begins,
    /// It is as it was before.
    Keeps,
    /// The text does not tell.
    Unknown,
}

/// `failed`: with an error, which may come before or after a SELECT inside has run.
pub(super) fn change_of_found_rows(
    statement: &Statement<'_>,
    is_mariadb: bool,
    failed: bool,
) -> FoundRowsChange {
    use StatementClass as C;
    let shape = statement.shape();
    let is_plain = !shape.executable_comment && !shape.several && !shape.has_subquery;
    let keeps = match shape.class {
        C::Select if !failed && is_select(statement) => return FoundRowsChange::Begins,
        C::Set | C::Begin | C::Commit | C::Rollback | C::Savepoint | C::Use => is_plain,
        C::Insert | C::Replace => is_plain && !has_word(statement, &["TABLE", "RETURNING"]),
        // MySQL counts the rows that it finds.
        C::Update | C::Delete => is_mariadb && is_plain && is_of_one_table(statement),
        C::Do => is_mariadb && is_plain,
        C::Show | C::Other => asks_for_diagnostics(statement) && !has_word(statement, &["COUNT"]),
        _ => false,
    };
    if keeps {
        FoundRowsChange::Keeps
    } else {
        FoundRowsChange::Unknown
    }
}

/// Whether a query begins with SELECT or WITH: on MariaDB, VALUES leaves FOUND_ROWS().
fn is_select(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    let is_first = |word: &[u8]| {
        text.get(..word.len())
            .is_some_and(|first| first.eq_ignore_ascii_case(word))
    };
    if is_first(b"SELECT") {
        return true;
    }
    let mut tokens = statement.tokens();
    tokens
        .find(|token| token.kind != TokenKind::LeftParen)
        .is_some_and(|token| token.is_word(text, "SELECT") || token.is_word(text, "WITH"))
}

fn has_word(statement: &Statement<'_>, words: &[&str]) -> bool {
    let text = statement.text();
    statement
        .tokens()
        .any(|token| words.iter().any(|word| token.is_word(text, word)))
}

fn is_of_one_table(statement: &Statement<'_>) -> bool {
    let named = tables(statement.text(), statement.mode());
    named.is_ok_and(|tables| tables.len() == 1)
        && !has_word(statement, &["JOIN", "STRAIGHT_JOIN", "USING", "RETURNING"])
        && !mentions(statement.text(), b"SQL_CALC_FOUND_ROWS")
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::FoundRowsChange::{Begins, Keeps, Unknown};
    use super::*;

    #[test]
    fn what_servers_have_shown() {
        for (text, mariadb, mysql) in [
            ("SELECT 1", Begins, Begins),
            ("(SELECT 1) UNION SELECT 2", Begins, Begins),
            ("WITH w AS (SELECT 1) SELECT * FROM w", Begins, Begins),
            ("VALUES (1), (2)", Unknown, Unknown),
            ("SET @a = 1", Keeps, Keeps),
            ("SET @a = (SELECT 1)", Unknown, Unknown),
            ("INSERT INTO t VALUES (1)", Keeps, Keeps),
            ("INSERT INTO t SELECT 1", Unknown, Unknown),
            ("INSERT INTO t (a) VALUES (1) RETURNING a", Unknown, Unknown),
            ("REPLACE INTO t SET a=1", Keeps, Keeps),
            ("UPDATE t SET a=1 WHERE b=2", Keeps, Unknown),
            ("UPDATE t JOIN u ON t.a=u.a SET t.a=1", Unknown, Unknown),
            ("UPDATE t, u SET t.a=1", Unknown, Unknown),
            ("UPDATE t SET a=(SELECT 1)", Unknown, Unknown),
            ("DELETE FROM t WHERE a=1", Keeps, Unknown),
            ("DELETE t FROM t JOIN u", Unknown, Unknown),
            ("DO 1", Keeps, Unknown),
            ("BEGIN", Keeps, Keeps),
            ("COMMIT", Keeps, Keeps),
            ("SHOW WARNINGS", Keeps, Keeps),
            ("SHOW COUNT(*) WARNINGS", Unknown, Unknown),
            ("SHOW TABLES", Unknown, Unknown),
            ("CALL p()", Unknown, Unknown),
            ("EXPLAIN SELECT 1", Unknown, Unknown),
            ("/*! INSERT INTO t VALUES (1) */", Unknown, Unknown),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let found = [true, false].map(|is_mariadb| change_of_found_rows(&statement, is_mariadb, false));
            assert_eq!(found, [mariadb, mysql], "{text}");
        }
        let failed = Statement::new(b"SELECT a FROM t", LexMode::default());
        assert_eq!(change_of_found_rows(&failed, true, true), Unknown);
    }
}
