//! Schemas of a session: which are attached, which is the current one, CREATE and DROP DATABASE.

use shardwright_wire::{MysqlError, errors};

use super::catalog::Schema;
use super::errors as sqlite_errors;
use super::errors::unknown_schema;
use super::lexer::Token;
use super::names::quote_name;
use super::session::SqliteSession;
use crate::answer::{Answer, Completion};

/// Schemas attached at a time; SQLite's own limit is 10.
const MAX_ATTACHED: usize = 9;

impl SqliteSession {
    /// Attaches a schema unless it is; `needed` are not detached to make room.
    pub(super) fn attach(&mut self, name: &str, needed: &[String]) -> Result<(), MysqlError> {
        if self.attached.iter().any(|attached| attached == name) {
            return Ok(());
        }
        let schema = self.catalog.get(name).ok_or_else(|| unknown_schema(name))?;
        if self.attached.len() >= MAX_ATTACHED
            && let Some(other) = self
                .attached
                .iter()
                .find(|other| !needed.contains(other))
                .cloned()
        {
            self.detach(&other)?;
        }
        let sql = format!("ATTACH ? AS {}", quote_name(name));
        let attached = self.access.internally(|| {
            self.connection.execute(&sql, [schema.uri])?;
            // A schema goes with its server, and need not survive a power failure.
            self.connection.pragma_update(Some(name), "synchronous", "off")
        });
        attached.map_err(|error: rusqlite::Error| sqlite_errors::statement(&error, None, None))?;
        self.attached.push(name.to_owned());
        Ok(())
    }

    pub(super) fn detach(&mut self, name: &str) -> Result<(), MysqlError> {
        let sql = format!("DETACH {}", quote_name(name));
        self.access
            .internally(|| self.connection.execute(&sql, []))
            .map_err(|_| {
                errors::UNKNOWN
                    .with("the current schema cannot change inside a transaction that has used another one")
            })?;
        self.attached.retain(|attached| attached != name);
        Ok(())
    }

    pub(super) fn schemas(&mut self, keyword: &str, rest: &[Token<'_>]) -> Result<Answer, MysqlError> {
        self.end("COMMIT")?;
        let is_conditional = rest.first().is_some_and(|token| token.is_word("IF"));
        let name = match (keyword, is_conditional) {
            (_, false) => rest.first(),
            ("CREATE", true) => rest.get(3),
            (_, true) => rest.get(2),
        };
        let name = name
            .and_then(Token::name)
            .ok_or_else(|| sqlite_errors::syntax("a schema without a name"))?;
        let exists = self.catalog.get(&name).is_some();
        let done = || {
            Ok(Answer::Ok(Completion {
                affected_rows: 1,
                ..Completion::default()
            }))
        };
        match (keyword, exists) {
            ("CREATE", true) if !is_conditional => Err(errors::DB_CREATE_EXISTS
                .with(format_args!("Can't create database '{name}'; database exists"))),
            ("CREATE", _) => {
                self.catalog.add_temporary(&name)?;
                done()
            }
            (_, false) if is_conditional => Ok(Answer::ok()),
            (_, false) => Err(errors::DB_DROP_EXISTS.with(format_args!(
                "Can't drop database '{name}'; database doesn't exist"
            ))),
            (_, true) => {
                if self
                    .schema
                    .as_ref()
                    .is_some_and(|schema| schema.eq_ignore_ascii_case(&name))
                {
                    self.set_schema(None);
                }
                if let Some(attached) = self
                    .attached
                    .iter()
                    .find(|known| known.eq_ignore_ascii_case(&name))
                    .cloned()
                {
                    self.detach(&attached)?;
                }
                self.catalog.remove(&name);
                done()
            }
        }
    }

    /// The schema that is meant, attached.
    pub(super) fn known_schema(&mut self, schema: Option<String>) -> Result<String, MysqlError> {
        let name = schema
            .or_else(|| self.schema.clone())
            .ok_or_else(|| errors::NO_DB.with("No database selected"))?;
        let Schema { name, .. } = self.catalog.get(&name).ok_or_else(|| unknown_schema(&name))?;
        let needed: Vec<String> = self.schema.iter().chain([&name]).cloned().collect();
        self.attach(&name, &needed)?;
        Ok(name)
    }

    pub(super) fn set_schema(&mut self, schema: Option<String>) {
        self.state.lock().schema.clone_from(&schema);
        self.schema = schema;
    }
}
