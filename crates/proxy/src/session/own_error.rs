//! `SHOW WARNINGS` after an error of the proxy's own, which no server knows of.

use shardwright_rules::Statement;
use shardwright_sql::{StatementClass, TokenKind};
use shardwright_wire::{ColumnDefinition, ColumnFlags, ColumnType, ResultSetWriter};

use super::{Flow, Session};

impl Session {
    /// Whether a statement asks for a list of warnings that is an error of the proxy's own.
    pub(super) fn asks_own_error(&self, statement: &Statement<'_>) -> bool {
        self.diagnostics.own_error().is_some()
            && statement.class() == StatementClass::Show
            && is_show_warnings(statement)
    }

    pub(super) async fn show_own_error(&mut self, seq: u8) -> Flow {
        let Some(error) = self.diagnostics.own_error() else {
            return Ok(());
        };
        let text = |name, length| ColumnDefinition {
            length,
            flags: ColumnFlags::NOT_NULL_FLAG,
            ..ColumnDefinition::new(name, ColumnType::MYSQL_TYPE_VAR_STRING)
        };
        let code = ColumnDefinition {
            length: 4,
            flags: ColumnFlags::NOT_NULL_FLAG | ColumnFlags::UNSIGNED_FLAG | ColumnFlags::BINARY_FLAG,
            ..ColumnDefinition::new("Code", ColumnType::MYSQL_TYPE_LONG)
        };
        let columns = [text("Level", 7 * 4), code, text("Message", 512 * 4)];
        let status = self.status();
        let mut bytes = Vec::new();
        let dialect = self.client.dialect();
        let mut writer = ResultSetWriter::begin(&mut bytes, seq, dialect, &columns, status);
        let code = error.code.to_string();
        let row = ["Error", &code, &error.message].map(|cell| Some(cell.as_bytes()));
        writer.text_row(&mut bytes, row);
        writer.end(&mut bytes, status, 0);
        self.diagnostics.showed_own_error();
        self.client.send_packets(&bytes).await
    }
}

/// `SHOW WARNINGS` or `SHOW ERRORS`, without LIMIT.
fn is_show_warnings(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    let mut tokens = statement.tokens().skip(1);
    let asks = tokens.next().is_some_and(|token| {
        let word = token.span.of(text);
        [&b"WARNINGS"[..], b"ERRORS"]
            .iter()
            .any(|asked| word.eq_ignore_ascii_case(asked))
    });
    asks && tokens.all(|token| token.kind == TokenKind::Semicolon)
}
