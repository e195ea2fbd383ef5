//! Questions that no server could answer: `SELECT DATABASE()` in a logical schema, where the connection is in a schema of a
//! shard or in none, and `SELECT CONNECTION_ID()`, for which each server has a number of its own.

use shardwright_rules::Statement;
use shardwright_sql::{Token, TokenKind};
use shardwright_wire::binary::{BinaryCell, put_row};
use shardwright_wire::{ColumnDefinition, ColumnFlags, ColumnType, ResultSetWriter};

use super::{Flow, Session};

/// Longest schema name in bytes, as servers say it of the column: 64 characters.
const SCHEMA_LENGTH: u32 = 64 * 4;
/// A connection's number, as MariaDB says it of the column, and as MySQL does.
const NUMBERS: [(ColumnType, u32); 2] = [
    (ColumnType::MYSQL_TYPE_LONG, 10),
    (ColumnType::MYSQL_TYPE_LONGLONG, 21),
];
/// Decimals of a string on MariaDB, where it is no column of a table; MySQL says 31.
const NO_DECIMALS: u8 = 39;

/// How the rows of an answer are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// As COM_QUERY wants them.
    Text,
    /// As COM_STMT_EXECUTE wants them.
    Binary,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Schema,
    ConnectionId,
}

/// A statement that asks for one thing and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question<'a> {
    pub(super) asked: Asked,
    /// The name of the answer's column.
    column: &'a [u8],
}

impl<'a> Question<'a> {
    /// `SELECT DATABASE()`, `SELECT SCHEMA()` or `SELECT CONNECTION_ID()`, perhaps with an alias.
    pub(super) fn read(statement: &Statement<'a>) -> Option<Self> {
        let text = statement.text();
        let mut tokens = statement.tokens();
        let is_word = |token: &Token, expected: &str| {
            token.kind == TokenKind::Word && token.span.of(text).eq_ignore_ascii_case(expected.as_bytes())
        };
        tokens.next().filter(|token| is_word(token, "SELECT"))?;
        let function = tokens.next()?;
        let asked = if is_word(&function, "DATABASE") || is_word(&function, "SCHEMA") {
            Asked::Schema
        } else if is_word(&function, "CONNECTION_ID") {
            Asked::ConnectionId
        } else {
            return None;
        };
        tokens.next().filter(|token| token.kind == TokenKind::LeftParen)?;
        let end = tokens
            .next()
            .filter(|token| token.kind == TokenKind::RightParen)?;
        let mut next = tokens.next();
        let mut column = &text[function.span.start..end.span.end];
        if next.as_ref().is_some_and(|token| is_word(token, "AS")) {
            let alias = tokens.next().filter(|token| token.kind == TokenKind::Word)?;
            column = alias.span.of(text);
            next = tokens.next();
        }
        let is_end = next.is_none_or(|token| token.kind == TokenKind::Semicolon)
            && tokens.all(|token| token.kind == TokenKind::Semicolon);
        is_end.then_some(Self { asked, column })
    }

    pub(super) fn definition(&self, is_mariadb: bool) -> ColumnDefinition {
        match self.asked {
            Asked::Schema => {
                let definition = ColumnDefinition {
                    length: SCHEMA_LENGTH,
                    ..ColumnDefinition::new(self.column, ColumnType::MYSQL_TYPE_VAR_STRING)
                };
                let decimals = if is_mariadb {
                    NO_DECIMALS
                } else {
                    definition.decimals
                };
                ColumnDefinition {
                    decimals,
                    ..definition
                }
            }
            Asked::ConnectionId => {
                let (column_type, length) = NUMBERS[usize::from(!is_mariadb)];
                ColumnDefinition {
                    length,
                    flags: ColumnFlags::NOT_NULL_FLAG | ColumnFlags::BINARY_FLAG | ColumnFlags::UNSIGNED_FLAG,
                    ..ColumnDefinition::new(self.column, column_type)
                }
            }
        }
    }
}

impl Session {
    /// The question that a statement is, if the proxy must answer it for a session in this schema.
    pub(super) fn question<'a>(
        &self,
        statement: &Statement<'a>,
        schema: Option<&str>,
    ) -> Option<Question<'a>> {
        if statement.shape().names_table {
            return None;
        }
        let question = Question::read(statement)?;
        let is_ours = match question.asked {
            Asked::Schema => self.is_in_logical_schema() || self.login.is_logical(schema),
            Asked::ConnectionId => true,
        };
        is_ours.then_some(question)
    }

    /// Whether the session is in a schema that no server has under this name.
    fn is_in_logical_schema(&self) -> bool {
        self.login.is_logical(self.settings.schema.as_deref())
    }

    /// Answers.
    pub(super) async fn answer(&mut self, question: Question<'_>, rows: Rows, seq: u8) -> Flow {
        let status = self.status();
        let mut bytes = Vec::new();
        let is_mariadb = self.is_mariadb();
        let columns = [question.definition(is_mariadb)];
        let dialect = self.client.dialect();
        let mut writer = ResultSetWriter::begin(&mut bytes, seq, dialect, &columns, status);
        let number = self.login.connection_id.to_string();
        let value = match question.asked {
            Asked::Schema => self.settings.schema.as_deref(),
            Asked::ConnectionId => Some(&*number),
        };
        let text = value.map(str::as_bytes);
        match rows {
            Rows::Text => writer.text_row(&mut bytes, [text]),
            Rows::Binary => {
                let cell = match question.asked {
                    Asked::Schema => text.map_or(BinaryCell::Null, BinaryCell::Bytes),
                    Asked::ConnectionId if is_mariadb => BinaryCell::Long(self.login.connection_id),
                    Asked::ConnectionId => BinaryCell::LongLong(i64::from(self.login.connection_id)),
                };
                writer.row(&mut bytes, |out| put_row(out, &[cell]));
            }
        }
        writer.end(&mut bytes, status, 0);
        self.diagnostics.answered_row();
        self.diagnostics.begins_list_here();
        self.client.send_packets(&bytes).await
    }
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn a_question_is_known_however_it_is_written() {
        for (text, expected) in [
            ("SELECT DATABASE()", Some((Asked::Schema, "DATABASE()"))),
            ("select Schema ( ) ; ", Some((Asked::Schema, "Schema ( )"))),
            (
                "/* driver */ SELECT\n-- which\ndatabase() # now",
                Some((Asked::Schema, "database()")),
            ),
            (
                "SELECT connection_id();",
                Some((Asked::ConnectionId, "connection_id()")),
            ),
            ("SELECT CONNECTION_ID() AS id", Some((Asked::ConnectionId, "id"))),
            ("SELECT DATABASE(), 1", None),
            ("SELECT `DATABASE`()", None),
            ("SELECT DATABASE() FROM t", None),
            ("SELECT DATABASE() /*! , 1 */", None),
            ("SELECT DATABASE() AS", None),
            ("SELECT DATABASE() AS a b", None),
            ("SELECT DATABASE(); SELECT 1", None),
            ("SELECT 'DATABASE()'", None),
            ("SELECT DATABASE(", None),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let read = Question::read(&statement);
            let expected = expected.map(|(asked, column)| (asked, column.as_bytes()));
            assert_eq!(read.map(|read| (read.asked, read.column)), expected, "{text}");
        }
    }
}
