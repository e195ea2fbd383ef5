//! `SELECT DATABASE()` in a logical schema, which no server could answer: its connection is in a schema of a shard,
//! or in none.

use std::rc::Rc;

use shardwright_sql::{LexMode, Lexer, Token, TokenKind};
use shardwright_wire::binary::{BinaryCell, put_row};
use shardwright_wire::{ColumnDefinition, ColumnType, PrepareOk, ResultSetWriter, append_packet};

use super::statements::SessionStatement;
use super::{Flow, Session};

/// Longest schema name in bytes, as servers say it of the column: 64 characters.
const LENGTH: u32 = 64 * 4;

/// How the rows of an answer are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// As COM_QUERY wants them.
    Text,
    /// As COM_STMT_EXECUTE wants them.
    Binary,
}

impl Session {
    /// Whether the session is in a schema that no server has under this name.
    pub(super) fn is_in_logical_schema(&self) -> bool {
        self.login.is_logical(self.settings.schema.as_deref())
    }

    /// Answers with the session's schema; `column` is the expression as the client wrote it.
    pub(super) async fn answer_schema(&mut self, column: &[u8], rows: Rows, seq: u8) -> Flow {
        let status = self.status();
        let schema = self.settings.schema.as_ref().map(|schema| schema.as_bytes());
        let mut bytes = Vec::new();
        let mut writer = ResultSetWriter::begin(
            &mut bytes,
            seq,
            self.client.capabilities,
            &[definition(column)],
            status,
        );
        match rows {
            Rows::Text => writer.text_row(&mut bytes, [schema]),
            Rows::Binary => {
                let cell = schema.map_or(BinaryCell::Null, BinaryCell::Bytes);
                writer.row(&mut bytes, |out| put_row(out, &[cell]));
            }
        }
        writer.end(&mut bytes, status, 0);
        self.client.send_packets(&bytes).await
    }

    /// Prepares the question.
    pub(super) async fn prepare_schema_question(&mut self, text: Rc<[u8]>, column: &[u8], seq: u8) -> Flow {
        let id = self.statements.next_id();
        let prepared = PrepareOk {
            statement_id: id,
            columns: 1,
            ..PrepareOk::default()
        };
        let (mut bytes, mut seq) = (Vec::new(), seq);
        append_packet(&mut bytes, &mut seq, |out| prepared.encode(out));
        let columns = [definition(column)];
        let _ = ResultSetWriter::prepared(
            &mut bytes,
            seq,
            self.client.capabilities,
            &[&columns],
            self.status(),
        );
        self.statements.insert(
            id,
            SessionStatement {
                text,
                schema: self.settings.schema.clone(),
                parameters: 0,
                types: Vec::new(),
                long_data: Vec::new(),
                decided: None,
            },
        );
        self.client.send_packets(&bytes).await
    }
}

fn definition(column: &[u8]) -> ColumnDefinition {
    ColumnDefinition {
        length: LENGTH,
        ..ColumnDefinition::new(column, ColumnType::MYSQL_TYPE_VAR_STRING)
    }
}

/// The expression of a `SELECT DATABASE()` or `SELECT SCHEMA()` that asks nothing else.
pub(super) fn schema_question(text: &[u8]) -> Option<&[u8]> {
    let mut tokens = Lexer::new(text, LexMode::default()).significant();
    let is_word = |token: &Token, expected: &[&str]| {
        let word = token.span.of(text);
        token.kind == TokenKind::Word
            && expected
                .iter()
                .any(|expected| word.eq_ignore_ascii_case(expected.as_bytes()))
    };
    tokens.next().filter(|token| is_word(token, &["SELECT"]))?;
    let function = tokens
        .next()
        .filter(|token| is_word(token, &["DATABASE", "SCHEMA"]))?;
    tokens.next().filter(|token| token.kind == TokenKind::LeftParen)?;
    let end = tokens
        .next()
        .filter(|token| token.kind == TokenKind::RightParen)?;
    tokens
        .all(|token| token.kind == TokenKind::Semicolon)
        .then(|| &text[function.span.start..end.span.end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_known_however_it_is_written() {
        for (text, column) in [
            ("SELECT DATABASE()", Some("DATABASE()")),
            ("select Schema ( ) ; ", Some("Schema ( )")),
            (
                "/* driver */ SELECT\n-- which\ndatabase() # now",
                Some("database()"),
            ),
            ("SELECT DATABASE(), 1", None),
            ("SELECT `DATABASE`()", None),
            ("SELECT DATABASE() FROM t", None),
            ("SELECT DATABASE() /*! , 1 */", None),
            ("SELECT 'DATABASE()'", None),
            ("SELECT DATABASE(", None),
        ] {
            assert_eq!(
                schema_question(text.as_bytes()),
                column.map(str::as_bytes),
                "{text}"
            );
        }
    }
}
