//! The session's schema: USE, COM_INIT_DB, and the columns of its tables.

use std::borrow::Cow;
use std::sync::Arc;

use shardwright_rules::{Outcome as Decided, Statement};
use shardwright_sql::lex::identifier;
use shardwright_sql::{LexMode, TokenKind};
use shardwright_wire::{ResponseShape, SessionChange, errors};

use super::login::schema_name;
use super::query::Query;
use super::{Flow, Session};
use crate::channel::Frame;
use crate::server_defaults::ServerDefaults;

impl Session {
    /// `USE name`
    pub(super) async fn use_schema(&mut self, statement: &Statement<'_>, seq: u8) -> Flow {
        let client = self.settings.client;
        match used_schema(statement).map(|name| schema_name(&name, client)) {
            Some(Ok(schema)) => {
                self.diagnostics.begins_list_here();
                self.enter(schema, seq).await
            }
            Some(Err(error)) => self.refuse(seq, error).await,
            None => {
                let error = errors::PARSE.with(
                    "You have an error in your SQL syntax: USE takes the name of a schema, and nothing else",
                );
                self.refuse(seq, error).await
            }
        }
    }

    async fn enter(&mut self, schema: Arc<str>, seq: u8) -> Flow {
        if let Some(error) = self.schema_error(&schema).await? {
            return self.refuse(seq, error).await;
        }
        self.settings.schema = Some(schema.clone());
        let change = SessionChange::Schema(schema.as_bytes());
        let change = Some(change).filter(|_| self.settings.defaults.contains(ServerDefaults::TRACKS_SCHEMA));
        self.send_changed(seq, change.as_slice()).await
    }

    /// COM_INIT_DB: decided like USE.
    pub(super) async fn init_db(&mut self, name: &[u8], seq: u8) -> Flow {
        let schema = match schema_name(name, self.settings.client) {
            Ok(schema) => schema,
            Err(error) => return self.refuse(seq, error).await,
        };
        let text = format!("USE `{}`", schema.replace('`', "``"));
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        if let Decided::Reject(rejection) = self.decide(&statement).outcome {
            return self.reject(seq, &rejection).await;
        }
        self.enter(schema, seq).await
    }

    /// COM_FIELD_LIST: decided like SHOW FIELDS.
    pub(super) async fn field_list(&mut self, table: &[u8], frame: &Frame) -> Flow {
        let seq = frame.next_seq();
        let text = format!(
            "SHOW FIELDS FROM `{}`",
            String::from_utf8_lossy(table).replace('`', "``")
        );
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        let statement = statement.encoded_in(self.settings.encoding());
        let route = match self.decide(&statement).outcome {
            Decided::Route(route) => route,
            Decided::Reject(rejection) => return self.reject(seq, &rejection).await,
            Decided::Answer { .. } | Decided::Own { .. } | Decided::DeferBegin => {
                return self.unsupported(seq, "Unknown command").await;
            }
        };
        let mut routed = self.routed_statement(&statement, &route, None);
        if self.may_mean_logical_schema(&routed) {
            self.look_for_logical_schema(&mut routed).await?;
        }
        self.relay(&mut routed, &Query::plain(frame), ResponseShape::Definitions)
            .await
    }
}

/// The schema that a session is in after `USE name`, if it can be.
pub(super) fn named_schema(statement: &Statement<'_>) -> Option<Arc<str>> {
    used_schema(statement).and_then(|name| schema_name(&name, statement.encoding()).ok())
}

/// The schema of `USE name`; `None` where anything else stands in it.
fn used_schema<'a>(statement: &Statement<'a>) -> Option<Cow<'a, [u8]>> {
    let mut tokens = statement.tokens().skip(1);
    let name = tokens
        .next()
        .and_then(|token| identifier(&token, statement.text()))?;
    let is_over = tokens.all(|token| token.kind == TokenKind::Semicolon);
    is_over.then_some(name)
}
