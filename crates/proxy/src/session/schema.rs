//! The session's schema: USE, COM_INIT_DB, and the columns of its tables.

use shardwright_rules::{Outcome as Decided, Statement};
use shardwright_sql::lex::identifier;
use shardwright_sql::{LexMode, Lexer};
use shardwright_wire::{ResponseShape, errors};

use super::login::schema_name;
use super::{Flow, Session};
use crate::channel::Frame;

impl Session {
    /// `USE name`
    pub(super) async fn use_schema(&mut self, text: &[u8], seq: u8) -> Flow {
        let name = Lexer::new(text, LexMode::default())
            .significant()
            .nth(1)
            .and_then(|token| identifier(&token, text));
        match name.map(|name| schema_name(&name)) {
            Some(Ok(schema)) => {
                self.settings.schema = Some(schema);
                self.send_ok(seq, b"").await
            }
            Some(Err(error)) => self.refuse(seq, &error).await,
            None => {
                let error = errors::PARSE
                    .with("You have an error in your SQL syntax: USE takes the name of a schema");
                self.refuse(seq, &error).await
            }
        }
    }

    /// COM_INIT_DB: decided like USE.
    pub(super) async fn init_db(&mut self, name: &[u8], seq: u8) -> Flow {
        let schema = match schema_name(name) {
            Ok(schema) => schema,
            Err(error) => return self.refuse(seq, &error).await,
        };
        let text = format!("USE `{}`", schema.replace('`', "``"));
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        if let Decided::Reject(rejection) = self.decide(&statement).outcome {
            return self.reject(seq, &rejection).await;
        }
        self.settings.schema = Some(schema);
        self.send_ok(seq, b"").await
    }

    /// COM_FIELD_LIST: decided like SHOW FIELDS.
    pub(super) async fn field_list(&mut self, table: &[u8], frame: &Frame) -> Flow {
        let seq = frame.next_seq();
        let text = format!(
            "SHOW FIELDS FROM `{}`",
            String::from_utf8_lossy(table).replace('`', "``")
        );
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        let route = match self.decide(&statement).outcome {
            Decided::Route(route) => route,
            Decided::Reject(rejection) => return self.reject(seq, &rejection).await,
            Decided::Answer { .. } | Decided::Own { .. } | Decided::DeferBegin => {
                return self.unsupported(seq, "Unknown command").await;
            }
        };
        let routed = self.routed_statement(&statement, &route, None);
        self.relay(&routed, frame, ResponseShape::Definitions).await
    }
}
