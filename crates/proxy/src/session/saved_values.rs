//! `SET character_set_client = @saved`, `SET sql_mode = REPLACE(@@sql_mode, 'STRICT_ALL_TABLES', '')`: the value takes the
//! expression's place.
//!
//! Scripts save settings in user variables and set them back, as dumps do, and ORMs add modes to those of the server. The proxy
//! must know what a character set or an sql_mode is set to. So it asks a server: for user variables the connection that has
//! them, else any connection of the session.

use std::time::Duration;

use shardwright_rules::{Encoding, Outcome as Decided, Statement};
use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::set::{self, Scope, SetItem, Value};
use shardwright_sql::{LexMode, Lexer, Span, StatementClass, Token, TokenKind};
use shardwright_wire::{ColumnType, TextRows};

use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::Holds;
use super::requirements::Requirements;
use super::statement_words::ExecutableComment;
use super::{End, Flow, Session};

/// The types of numbers that a user variable or an expression has.
const NUMBERS: [ColumnType; 5] = [
    ColumnType::MYSQL_TYPE_LONG,
    ColumnType::MYSQL_TYPE_LONGLONG,
    ColumnType::MYSQL_TYPE_NEWDECIMAL,
    ColumnType::MYSQL_TYPE_DECIMAL,
    ColumnType::MYSQL_TYPE_DOUBLE,
];
/// Time for an answer to a question of the proxy's own.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Most bytes of a value.
const MAX_VALUE: usize = 2048;

impl Session {
    /// The statement with values in the place of the expressions that the proxy must know.
    pub(super) async fn with_values(&mut self, statement: &Statement<'_>) -> Flow<Option<Vec<u8>>> {
        if statement.shape().class != StatementClass::Set {
            return Ok(None);
        }
        let text = statement.text();
        let mut edits = Vec::new();
        for asked in to_be_asked(text, statement.mode()) {
            let Some(value) = Box::pin(self.value_of(statement, &asked)).await? else {
                return Ok(None);
            };
            let span = asked.span;
            edits.push(Edit { span, text: value });
        }
        Ok((!edits.is_empty()).then(|| rewrite::apply(text, &edits)))
    }

    /// A value as a literal; `None` where it is NULL or none that could be the value of a setting, or nobody can be asked.
    async fn value_of(&mut self, statement: &Statement<'_>, asked: &Asked) -> Flow<Option<Vec<u8>>> {
        let held = match asked.has_user_variable {
            true => self.connection_with_variables(),
            false => self.connection_for(statement).await?,
        };
        let Some(mut held) = held else {
            return Ok(None);
        };
        // The session may have set sql_select_limit.
        let question = [b"SELECT ", asked.span.of(statement.text()), b" LIMIT 1"].concat();
        let answer = held.backend.exchange_rows(&question, PATIENCE).await;
        // The question has taken the place of the statement that could be asked about.
        held.holds.remove(Holds::FOUND_ROWS);
        match answer {
            Ok(rows) => {
                let outcome = held.backend.scanner.outcome();
                // The SET itself would have warned of it. Without warnings MariaDB's list is as it was, and MySQL's begins
                // with the SET.
                if outcome.error.is_some() || outcome.warnings > 0 {
                    self.diagnostics.lose_warnings();
                }
                self.held.keep_or_give(held, &self.worker.pool);
                // An error is the statement's own.
                let is_converted = self.settings.encoding() == Encoding::Other;
                Ok(rows.ok().as_ref().and_then(|rows| literal(rows, is_converted)))
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was lost while a setting was asked for");
                Err(End::Closed)
            }
        }
    }

    /// The one connection that has the session's user variables.
    fn connection_with_variables(&mut self) -> Option<Held> {
        let mut having = self.held.hostgroups_with(Holds::USER_VARIABLES);
        let (Some(hostgroup), None) = (having.next(), having.next()) else {
            return None;
        };
        drop(having);
        self.held.take(hostgroup)
    }

    /// A connection with the session's settings, where the statement would run.
    pub(super) async fn connection_for(&mut self, statement: &Statement<'_>) -> Flow<Option<Held>> {
        self.routing.note_state(&self.held, statement);
        let router = &self.login.snapshot.router;
        let Decided::Route(route) = router.dispatch(&self.view(), statement).outcome else {
            return Ok(None);
        };
        match self
            .check_out(&Requirements::settings_only(route.hostgroup))
            .await
        {
            Ok(held) => Ok(Some(held)),
            // The statement itself will meet the same.
            Err(CheckoutError::Refused(_) | CheckoutError::Rejected(_)) => Ok(None),
            Err(CheckoutError::Fatal(error)) => {
                tracing::warn!(%error, "a connection that a session held was lost");
                Err(End::Closed)
            }
        }
    }
}

/// An expression whose value is to be asked for.
#[derive(Debug)]
struct Asked {
    span: Span,
    has_user_variable: bool,
}

/// Where a SET gives a system variable of the session the value of a user variable, or sql_mode or character_set_client that of an
/// expression.
fn to_be_asked(text: &[u8], mode: LexMode) -> Vec<Asked> {
    let inside = ExecutableComment::read(text, mode).map_or(text, |comment| comment.inside);
    // It is a part of the text.
    let offset = inside.as_ptr() as usize - text.as_ptr() as usize;
    let items = set::items(inside, mode);
    let asked = items.iter().filter_map(|item| {
        let SetItem::Variable {
            scope: Scope::Session,
            name,
            value: Value::Expression(span),
        } = item
        else {
            return None;
        };
        let expression = span.of(inside);
        let tokens: Vec<Token> = Lexer::new(expression, mode).significant().collect();
        let is_variable = matches!(tokens[..], [token] if token.kind == TokenKind::UserVariable);
        let is_mode = name == "sql_mode"
            && (tokens.iter().all(|token| is_of_modes(token, expression)) || is_computed(expression, mode));
        let is_charset = name == "character_set_client" && is_computed(expression, mode);
        (is_variable || is_mode || is_charset).then(|| Asked {
            span: Span {
                start: span.start + offset,
                end: span.end + offset,
            },
            has_user_variable: tokens.iter().any(|token| token.kind == TokenKind::UserVariable),
        })
    });
    asked.collect()
}

/// Whether an expression only computes: it reads no table, and runs and assigns nothing.
fn is_computed(expression: &[u8], mode: LexMode) -> bool {
    let question = [b"SELECT ", expression].concat();
    let statement = Statement::new(&question, mode);
    let shape = statement.shape();
    shape.is_safe_read()
        && !shape.names_table
        && !shape.has_subquery
        && !shape.executable_comment
        && !shape.several
}

/// Whether a token can stand in an expression that makes a list of modes of others, and does nothing else.
fn is_of_modes(token: &Token, text: &[u8]) -> bool {
    const WORDS: [&str; 12] = [
        "BINARY",
        "COALESCE",
        "CONCAT",
        "CONCAT_WS",
        "IF",
        "IFNULL",
        "LOWER",
        "NULL",
        "NULLIF",
        "REPLACE",
        "SELECT",
        "UPPER",
    ];
    const VARIABLES: [&[u8]; 4] = [
        b"@@sql_mode",
        b"@@session.sql_mode",
        b"@@local.sql_mode",
        b"@@global.sql_mode",
    ];
    match token.kind {
        // An introducer stands before a string.
        TokenKind::Word if token.span.of(text).starts_with(b"_") => true,
        TokenKind::Word => WORDS.iter().any(|word| token.is_word(text, word)),
        TokenKind::SystemVariable => {
            let name = token.span.of(text);
            VARIABLES
                .iter()
                .any(|variable| name.eq_ignore_ascii_case(variable))
        }
        TokenKind::String
        | TokenKind::Number
        | TokenKind::UserVariable
        | TokenKind::LeftParen
        | TokenKind::RightParen
        | TokenKind::Comma => token.terminated,
        _ => false,
    }
}

/// The value of an answer as a literal of the same type: a number, or plain text. Servers take no text for a number, nor the
/// other way round. `is_converted`: of ASCII in literals, servers make other bytes.
fn literal(rows: &TextRows, is_converted: bool) -> Option<Vec<u8>> {
    let kind = *rows.types.first()?;
    let value = rows.rows.first()?.first()?.as_deref()?;
    let is_number = NUMBERS.iter().any(|number| *number as u8 == kind);
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && !matches!(byte, b'\'' | b'"' | b'\\');
    if value.len() > MAX_VALUE || !value.iter().all(is_plain) {
        return None;
    }
    if !is_number {
        let introducer: &[u8] = if is_converted { b"_utf8mb4" } else { b"" };
        return Some([introducer, b"'", value, b"'"].concat());
    }
    Some([value, suffix_of(kind, value)].concat())
}

/// What keeps a number of its type where it is written like an integer.
fn suffix_of(kind: u8, value: &[u8]) -> &'static [u8] {
    const DOUBLE: u8 = ColumnType::MYSQL_TYPE_DOUBLE as u8;
    const DECIMALS: [u8; 2] = [
        ColumnType::MYSQL_TYPE_NEWDECIMAL as u8,
        ColumnType::MYSQL_TYPE_DECIMAL as u8,
    ];
    let is_integer = value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    if is_integer && kind == DOUBLE {
        b"e0"
    } else if is_integer && DECIMALS.contains(&kind) {
        b"."
    } else {
        b""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_known_is_asked_for_and_nothing_else() {
        for (text, expected) in [
            (
                "SET character_set_client = @saved_cs_client",
                vec![("@saved_cs_client", true)],
            ),
            (
                "/*!40101 SET SQL_MODE=@OLD_SQL_MODE */",
                vec![("@OLD_SQL_MODE", true)],
            ),
            (
                "SET time_zone=@a, @b=@c, unique_checks=@`d e`",
                vec![("@a", true), ("@`d e`", true)],
            ),
            ("SET sql_mode=CONCAT(@a, 'x')", vec![("CONCAT(@a, 'x')", true)]),
            (
                "SET @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',A'), ',B'), @@SESSION.wait_timeout = 9",
                vec![("CONCAT(CONCAT(@@sql_mode, ',A'), ',B')", false)],
            ),
            (
                "SET sql_mode=(SELECT REPLACE(@@GLOBAL.sql_mode, 'A', ''))",
                vec![("(SELECT REPLACE(@@GLOBAL.sql_mode, 'A', ''))", false)],
            ),
            (
                "SET a=1, SQL_MODE=concat(@@sql_mode, _utf8 ',NO_KEY_OPTIONS')",
                vec![("concat(@@sql_mode, _utf8 ',NO_KEY_OPTIONS')", false)],
            ),
            (
                "SET character_set_client=CONCAT('ucs', '2')",
                vec![("CONCAT('ucs', '2')", false)],
            ),
            ("SET character_set_client=(SELECT a FROM t)", vec![]),
            ("SET sql_mode=(SELECT a FROM t)", vec![]),
            ("SET sql_mode=f(@@sql_mode)", vec![]),
            ("SET sql_mode=CONCAT(@a:='x')", vec![]),
            ("SET time_zone=CONCAT('a', 'b')", vec![]),
            ("SET @a=@b", vec![]),
            ("SET GLOBAL sql_mode=@a", vec![]),
            ("SET sql_mode='@a'", vec![]),
        ] {
            let found = to_be_asked(text.as_bytes(), LexMode::default());
            let found: Vec<_> = found
                .iter()
                .map(|asked| {
                    (
                        std::str::from_utf8(asked.span.of(text.as_bytes())).unwrap(),
                        asked.has_user_variable,
                    )
                })
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn values_keep_their_type_and_are_plain() {
        let said = |kind: ColumnType, value: &str| {
            let rows = TextRows {
                columns: vec![b"a".to_vec()],
                types: vec![kind as u8],
                rows: vec![vec![Some(value.into())]],
            };
            let [plain, converted] = [false, true].map(|is_converted| literal(&rows, is_converted));
            let is_same = converted.as_deref() == plain.as_deref();
            assert!(is_same || converted.unwrap().starts_with(b"_utf8mb4'"));
            plain.map(|literal| String::from_utf8(literal).unwrap())
        };
        let text = ColumnType::MYSQL_TYPE_VAR_STRING;
        for value in ["utf8mb4", "", "10", "+00:00"] {
            assert_eq!(said(text, value), Some(format!("'{value}'")));
        }
        for refused in ["it's", "a\\b", "a\"b", "é", "a\nb"] {
            assert_eq!(said(text, refused), None, "{refused}");
        }
        let whole = ColumnType::MYSQL_TYPE_LONGLONG;
        assert_eq!(
            said(whole, "18446744073709551615").as_deref(),
            Some("18446744073709551615")
        );
        assert_eq!(
            said(ColumnType::MYSQL_TYPE_NEWDECIMAL, "-1.50").as_deref(),
            Some("-1.50")
        );
        assert_eq!(
            said(ColumnType::MYSQL_TYPE_DOUBLE, "1e-7").as_deref(),
            Some("1e-7")
        );
    }
}
