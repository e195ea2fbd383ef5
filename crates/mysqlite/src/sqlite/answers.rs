//! Statements that SQLite does not run as they are: SET, SHOW, DESCRIBE.

use shardwright_wire::MysqlError;

use super::errors as sqlite_errors;
use super::errors::no_such_table;
use super::lexer::Token;
use super::session::SqliteSession;
use super::set::{Assignment, Setting, assignments};
use super::show::{self, Show};
use crate::answer::{Answer, RowSink, Table, Value};

impl SqliteSession {
    pub(super) fn set(&mut self, tokens: &[Token<'_>]) -> Result<Answer, MysqlError> {
        for assignment in assignments(tokens)? {
            match assignment {
                Assignment::Ignored => {}
                Assignment::CharacterSet(name) => {
                    let mut state = self.state.lock();
                    for variable in ["client", "connection", "results"] {
                        let value = Value::Text(name.to_ascii_lowercase());
                        state
                            .variables
                            .set_system(&format!("character_set_{variable}"), Some(value))?;
                    }
                }
                Assignment::User { name, expression } => {
                    let value = self.evaluate(expression)?;
                    self.state.lock().variables.set_user(&name, value)?;
                }
                Assignment::System { name, value } => {
                    let value = match value {
                        Setting::Default => None,
                        Setting::Value(value) => Some(value),
                        Setting::Expression(expression) => Some(self.evaluate(expression)?),
                    };
                    self.state.lock().variables.set_system(&name, value)?;
                    // Switching autocommit on commits (MySQL Reference Manual 15.3.1).
                    if name.to_ascii_lowercase().ends_with("autocommit")
                        && self.state.lock().variables.autocommit()
                    {
                        self.end("COMMIT")?;
                    }
                }
            }
        }
        Ok(Answer::ok())
    }

    pub(super) fn show(&mut self, words: &[Token<'_>], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let show = show::parse(words).ok_or_else(|| sqlite_errors::syntax("this SHOW is not supported"))?;
        match show {
            Show::Databases { like } => {
                let mut table = Table::of_text(&["Database"]);
                for name in self
                    .catalog
                    .names()
                    .into_iter()
                    .filter(|name| show::is_like(name, like.as_deref()))
                {
                    table = table.with_row([name.into()]);
                }
                table.send(rows)
            }
            Show::Tables {
                schema,
                like,
                is_full,
            } => {
                let schema = self.known_schema(schema)?;
                self.internal(&show::tables(&schema, like.as_deref(), is_full), rows)
            }
            Show::Columns { schema, table } => {
                let schema = self.known_schema(schema)?;
                let found = self.internal_table(&show::columns(&schema, &table))?;
                if found.rows.is_empty() {
                    Err(no_such_table(&schema, &table))
                } else {
                    found.send(rows)
                }
            }
            Show::CreateTable { schema, table } => {
                let schema = self.known_schema(schema)?;
                let found = self.internal_table(&show::create_table(&schema, &table))?;
                if found.rows.is_empty() {
                    Err(no_such_table(&schema, &table))
                } else {
                    found.send(rows)
                }
            }
            Show::Variables { like } => {
                let mut table = Table::of_text(&["Variable_name", "Value"]);
                let state = self.state.lock();
                let shown = state
                    .variables
                    .all()
                    .filter(|(name, _)| show::is_like(name, like.as_deref()));
                for (name, value) in shown {
                    table = table.with_row([name.into(), value.clone()]);
                }
                drop(state);
                table.send(rows)
            }
            Show::Empty(columns) => Table::of_text(columns).send(rows),
        }
    }
}
