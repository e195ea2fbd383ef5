//! Statements that the proxy prepares itself: questions that it answers, and what changes the session.
//!
//! A SET or BEGIN that a server has prepared would change a connection behind the session's back. So no server prepares it:
//! its execution is the text, sent as a query.

use std::rc::Rc;
use std::sync::Arc;

use shardwright_sql::lex::reads_alike;
use shardwright_wire::{ColumnDefinition, PrepareOk, ResultSetWriter, append_packet};

use super::bound_text::with_values;
use super::execution::Execution;
use super::prepared_errors::{read_otherwise, unknown};
use super::query::{Query, frame_of};
use super::statement_words::other_packets;
use super::statements::SessionStatement;
use super::{Flow, Session};
use crate::reading::Reading;

impl Session {
    /// Prepares a statement that no server hears of; an execution has these columns.
    pub(super) async fn prepare_here(
        &mut self,
        text: &Rc<[u8]>,
        columns: Option<ColumnDefinition>,
        seq: u8,
    ) -> Flow {
        let id = self.statements.next_id();
        let prepared = PrepareOk {
            statement_id: id,
            columns: u16::from(columns.is_some()),
            ..PrepareOk::default()
        };
        let (mut bytes, mut seq) = (Vec::new(), seq);
        append_packet(&mut bytes, &mut seq, |out| prepared.encode(out));
        let _ = ResultSetWriter::prepared(
            &mut bytes,
            seq,
            self.client.dialect(),
            &[columns.as_slice()],
            self.status(),
        );
        self.diagnostics.begins_list_here();
        let statement = SessionStatement::new(text.clone(), &self.settings, self.worker.servers(), 0);
        self.statements.insert(id, statement);
        self.client.send_packets(&bytes).await
    }

    /// Executes what servers run only as a text.
    pub(super) async fn execute_as_text(
        &mut self,
        text: &[u8],
        execution: &Execution<'_>,
        schema: Option<Arc<str>>,
    ) -> Flow {
        // Servers change to the schema that it was prepared in, and back to another: a USE has no effect there.
        let is_elsewhere = self.settings.schema != schema;
        let former = std::mem::replace(&mut self.settings.schema, schema);
        let executed = self.execute_here(text, execution).await;
        if is_elsewhere {
            self.settings.schema = former;
        }
        executed
    }

    async fn execute_here(&mut self, text: &[u8], execution: &Execution<'_>) -> Flow {
        let seq = execution.seq;
        let Some(prepared) = self.statements.get(execution.id) else {
            return self
                .refuse(seq, unknown(execution.id, "mysqld_stmt_execute"))
                .await;
        };
        let reading = prepared.reading.clone();
        let has_attributes = self.client.has_attributes();
        let attributes = execution
            .parameters
            .as_query_attributes(prepared.parameters, has_attributes);
        if prepared.parameters == 0 {
            return self.execute_text(text, &attributes, &reading, seq).await;
        }
        let values = (&execution.parameters, &*execution.types, &*prepared.long_data);
        let text = with_values(text, reading.mode.on(prepared.servers), values);
        self.statements.forget_long_data(execution.id);
        match text {
            Ok(text) => self.execute_text(&text, &attributes, &reading, seq).await,
            Err(error) => self.refuse(seq, error).await,
        }
    }

    /// Executes what changes the session.
    async fn execute_text(&mut self, text: &[u8], attributes: &[u8], reading: &Reading, seq: u8) -> Flow {
        if !reads_alike(text) && reading.mode != self.settings.mode {
            return self.refuse(seq, read_otherwise()).await;
        }
        let frame = frame_of(attributes, text);
        if frame.next_seq() != seq {
            return self.refuse(seq, other_packets()).await;
        }
        let query = Query::with_attributes(&frame, attributes.len());
        self.diagnostics.executes_text();
        Box::pin(self.query(text, query)).await?;
        self.diagnostics.executed_text();
        Ok(())
    }
}
