//! What a session does with a statement: the first word decides.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shardwright_wire::{ColumnDefinition, MysqlError, StatusFlags, errors};

use super::catalog::Schema;
use super::errors as sqlite_errors;
use super::errors::{no_such_table, unknown_schema};
use super::lexer::{self, Token, TokenKind, without_space};
use super::run::{declared, definitions, with_keyword};
use super::session::SqliteSession;
use super::show;
use crate::answer::{Answer, RowSink, Table, Value};
use crate::backend::{Interrupt, IsGone, Session, StatementShape};

impl SqliteSession {
    fn dispatch(
        &mut self,
        tokens: &[Token<'_>],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        let words = without_space(tokens);
        let Some(first) = words.first() else {
            return Err(errors::EMPTY_QUERY.with("Query was empty"));
        };
        let keyword = if first.kind == TokenKind::Word {
            first.text.to_ascii_uppercase()
        } else {
            String::new()
        };
        let is_second = |word: &str| words.get(1).is_some_and(|token| token.is_word(word));
        match keyword.as_str() {
            "USE" => {
                let schema = words
                    .get(1)
                    .and_then(Token::name)
                    .ok_or_else(|| sqlite_errors::syntax("USE without a name"))?;
                self.use_schema(&schema)?;
                Ok(Answer::ok())
            }
            "SET" => self.set(&words[1..]),
            "SHOW" | "DESCRIBE" | "DESC" => self.show(&words, rows),
            "BEGIN" | "START" => self.begin(),
            "COMMIT" => self.end("COMMIT"),
            "ROLLBACK" if !words.iter().any(|token| token.is_word("TO")) => self.end("ROLLBACK"),
            "CREATE" | "DROP" if is_second("DATABASE") || is_second("SCHEMA") => {
                self.schemas(&keyword, &words[2..])
            }
            "TRUNCATE" => {
                let name = if is_second("TABLE") {
                    &words[2..]
                } else {
                    &words[1..]
                };
                self.truncate(name, rows)
            }
            "UNLOCK" => Ok(Answer::ok()),
            "DO" => {
                self.run(
                    "SELECT",
                    &with_keyword("SELECT", &words[1..]),
                    values,
                    &mut Table::default(),
                )?;
                Ok(Answer::ok())
            }
            _ => self.run(&keyword, tokens, values, rows),
        }
    }

    fn begin(&mut self) -> Result<Answer, MysqlError> {
        self.end("COMMIT")?;
        self.begin_if_none()?;
        Ok(Answer::ok())
    }

    fn truncate(&mut self, name: &[Token<'_>], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.end("COMMIT")?;
        let delete = [
            Token {
                kind: TokenKind::Word,
                text: "DELETE",
            },
            Token {
                kind: TokenKind::Word,
                text: "FROM",
            },
        ];
        self.run("TRUNCATE", &[&delete, name].concat(), &[], rows)
    }
}

impl Session for SqliteSession {
    fn use_schema(&mut self, schema: &str) -> Result<(), MysqlError> {
        let Schema { name, .. } = self.catalog.get(schema).ok_or_else(|| unknown_schema(schema))?;
        if self.attached.first() != Some(&name) {
            // SQLite looks in the order of attachment: the current schema must come first.
            for attached in self.attached.clone() {
                self.detach(&attached)?;
            }
            self.attach(&name, &[])?;
        }
        self.set_schema(Some(name));
        Ok(())
    }

    fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    fn status(&self) -> StatusFlags {
        let mut status = StatusFlags::empty();
        status.set(
            StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            self.state.lock().variables.autocommit(),
        );
        status.set(
            StatusFlags::SERVER_STATUS_IN_TRANS,
            !self.connection.is_autocommit(),
        );
        status
    }

    fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.execute(sql, &[], rows)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<StatementShape, MysqlError> {
        let tokens = lexer::tokens(utf8(sql)?)?;
        let words = without_space(&tokens);
        let parameters = words.iter().filter(|token| token.is_symbol("?")).count();
        let parameters = u16::try_from(parameters)
            .map_err(|_| errors::PS_MANY_PARAM.with("Prepared statement contains too many placeholders"))?;
        let is_query = words.first().is_some_and(|word| {
            [
                "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "VALUES",
            ]
            .iter()
            .any(|known| word.is_word(known))
        });
        if !is_query {
            return Ok(StatementShape {
                parameters,
                columns: Vec::new(),
            });
        }
        let translated = self.translate(&tokens)?;
        let statement = self.statement(&translated)?;
        Ok(StatementShape {
            parameters,
            columns: definitions(&statement, &translated, None),
        })
    }

    fn execute(
        &mut self,
        sql: &[u8],
        values: &[Value],
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        self.begin_time();
        let tokens = lexer::tokens(utf8(sql)?)?;
        let answer = self.dispatch(&tokens, values, rows);
        if answer
            .as_ref()
            .is_err_and(|error| error.code == errors::LOCK_DEADLOCK.code)
        {
            // The victim of a deadlock has lost its transaction.
            self.end("ROLLBACK")?;
        }
        answer
    }

    fn field_list(&mut self, table: &str) -> Result<Vec<ColumnDefinition>, MysqlError> {
        let schema = self.known_schema(None)?;
        let found = self.internal_table(&show::columns(&schema, table))?;
        if found.rows.is_empty() {
            return Err(no_such_table(&schema, table));
        }
        let column = |row: &Vec<Value>| match (row.first(), row.get(1)) {
            (Some(Value::Text(name)), Some(Value::Text(kind))) => {
                let mut column = ColumnDefinition::new(name.as_str(), declared(kind));
                column.table = table.as_bytes().to_vec();
                column.schema = schema.clone().into_bytes();
                Some(column)
            }
            _ => None,
        };
        Ok(found.rows.iter().filter_map(column).collect())
    }

    fn close(&mut self) -> Result<(), MysqlError> {
        self.end("ROLLBACK")?;
        Ok(())
    }

    fn watch(&mut self, is_gone: IsGone) {
        // Without the handler only the time limit ends a statement.
        let _unwatched = self.stop_when_gone(is_gone);
    }

    fn interrupt(&self) -> Option<Interrupt> {
        let is_stopping = Arc::clone(&self.stop.is_stopping);
        Some(Box::new(move || is_stopping.store(true, Ordering::Relaxed)))
    }
}

fn utf8(sql: &[u8]) -> Result<&str, MysqlError> {
    std::str::from_utf8(sql)
        .map_err(|_| errors::INVALID_CHARACTER_STRING.with("Invalid utf8mb4 character string"))
}
