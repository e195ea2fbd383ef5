//! Server-side prepared statements: the client's numbers, prepared wherever a statement turns out to go.

use std::rc::Rc;

use shardwright_rules::{Dispatch, Outcome, SentAs, Statement, prepared};
use shardwright_sql::StatementClass;
use shardwright_wire::{Command, PrepareOk, ResponseShape, append_packet, errors};

use super::bound_keys::bound_keys;
use super::diagnostics::Answer;
use super::execute_parameters::{ExecutionFlags, not_in_bulk};
use super::execution::Execution;
use super::forward::Transmission;
use super::held::Held;
use super::prepared_errors::{counts_taken_early, not_preparable, unknown};
use super::questions::Rows;
use super::repeat::{Patience, Relayed, Repeats};
use super::routed::RoutedStatement;
use super::statement_words::{is_comment_only, other_packets, unroutable};
use super::statements::{Circumstances, Decided, LongData, OVERHEAD_OF_PIECES, SessionStatement, footprint};
use super::throttled::is_let_through;
use super::{Flow, Session};
use crate::backend_statements::{Bound, PreparedText};
use crate::channel::Frame;
use crate::stats::bump;

/// Bytes of a piece of a parameter, so that it fits a packet.
const PIECE: usize = 8 << 20;

/// What is sent to a server.
struct Packets {
    bytes: Vec<u8>,
    /// The sequence number of the answer.
    next_seq: u8,
}

impl Session {
    /// COM_STMT_PREPARE.
    pub(super) async fn prepare(&mut self, text: &[u8], seq: u8) -> Flow {
        bump(&self.worker.counters.totals.statements_prepared);
        self.statements.forget_last();
        let limit = self.worker.shared.limits.max_prepared_statements;
        if self.statements.len() >= limit {
            let error = errors::MAX_PREPARED_STMT_COUNT_REACHED.with(format_args!(
                "Can't create more than max_prepared_stmt_count statements (current value: {limit})"
            ));
            return self.refuse(seq, error).await;
        }
        let bytes = footprint(text, 0) + self.reading_bytes(text);
        if let Err(error) = self.reserve_kept(bytes).await {
            return self.refuse(seq, error).await;
        }
        let flow = self.prepare_within(text, seq).await;
        self.count_kept();
        flow
    }

    /// Prepares a text that there is room for.
    async fn prepare_within(&mut self, text: &[u8], seq: u8) -> Flow {
        let text: Rc<[u8]> = Rc::from(text);
        let statement = Statement::new(&text, self.mode())
            .encoded_in(self.settings.encoding())
            .sent_as(SentAs::Prepare);
        if !self.is_mariadb() && is_never_prepared(&statement) {
            return self.refuse(seq, not_preparable()).await;
        }
        let is_kill = statement.class() == StatementClass::Kill && prepared::is_text(&statement);
        if is_kill || is_comment_only(&statement) {
            return self.prepare_here(&text, None, seq).await;
        }
        let error = unroutable(&statement)
            .or_else(|| self.file_not_taken(&statement))
            .or_else(|| counts_taken_early(&statement, self.is_mariadb()));
        if let Some(error) = error {
            return self.refuse(seq, error).await;
        }
        if let Some(question) = self.question(&statement, None) {
            let column = question.definition(self.is_mariadb());
            return self.prepare_here(&text, Some(column), seq).await;
        }
        let route = match self.decide(&statement).outcome {
            Outcome::Reject(rejection) => return self.reject(seq, &rejection).await,
            // A server says whether there is such a variable, and how many parameters it has.
            Outcome::Route(route) if statement.class() == StatementClass::Set => route,
            _ if prepared::is_text(&statement) => return self.prepare_here(&text, None, seq).await,
            Outcome::Route(route) => route,
            // The end of a transaction that no server knows of yet.
            Outcome::Answer { .. } if statement.transaction_end().is_some() => {
                return self.prepare_here(&text, None, seq).await;
            }
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => {
                return self.refuse(seq, not_preparable()).await;
            }
        };
        let mut routed = self.routed_statement(&statement, &route, None);
        if self.may_mean_logical_schema(&routed) {
            Box::pin(self.look_for_logical_schema(&mut routed)).await?;
        }
        routed.requirements = routed.requirements.into_preparation();
        let sent = match self.sent_text(&routed) {
            Ok(sent) => sent,
            Err(error) => return self.refuse(seq, error).await,
        };
        let Some(mut held) = self.obtain_or_tell(&routed, seq).await? else {
            return Ok(());
        };
        let id = self.statements.next_id();
        let mut frame = Frame::default();
        frame.fill(&[b"\x16", sent.as_deref().unwrap_or(&text)]);
        let transmission = Transmission {
            bytes: frame.raw(),
            shape: ResponseShape::Prepare,
            next_seq: frame.next_seq(),
            statement_id: Some(id),
            statement: None,
            may_repeat: false,
        };
        let sending = self.transmit(&mut held.backend, &transmission, None);
        if let Err(broken) = sending.await {
            let not_again = (Repeats::NONE, &mut Patience::default());
            let relayed = self.not_relayed(broken, held, &routed, not_again, seq).await;
            return relayed.map(|_| ());
        }
        let outcome = held.backend.scanner.outcome();
        let answer = Answer {
            failed: outcome.error.is_some(),
            warnings: outcome.warnings,
            own: held.backend.own,
        };
        self.diagnostics.note_prepared(&mut held, &statement, answer);
        if let Some(prepared) = held.backend.scanner.outcome().prepared {
            let sent = sent.map_or_else(|| text.clone(), |sent| Rc::from(&*sent));
            self.remember_statement(&mut held, id, text.clone(), sent, prepared)
                .await;
        }
        held.backend.last_session = self.number;
        self.held.keep_or_give(held, &self.worker.pool);
        Ok(())
    }

    /// Notes a statement that the client has just prepared as its number `id`; `sent` is what the server got.
    async fn remember_statement(
        &mut self,
        held: &mut Held,
        id: u32,
        text: Rc<[u8]>,
        sent: Rc<[u8]>,
        prepared: PrepareOk,
    ) {
        let schema = held.backend.schema.clone();
        let names = self.settings.names.as_ref();
        let (reading, sets) = (self.settings.reading(), self.settings.history.last());
        let key = PreparedText::new(sent, schema, names, reading, sets);
        self.remember_prepared(held, (key, Bound::default()), prepared.statement_id)
            .await;
        let statement =
            SessionStatement::new(text, &self.settings, self.worker.servers(), prepared.parameters);
        self.statements.insert(id, statement);
    }

    /// The execution of a statement whose last execution has left a cursor, which ends, or whose parameters came in pieces, or whose text is
    /// long.
    pub(super) async fn execute_anew(
        &mut self,
        id: u32,
        flags: ExecutionFlags,
        block: &[u8],
        seq: u8,
    ) -> Flow {
        self.close_cursor(id).await;
        if let Err(error) = self.reserve_execution(id).await {
            return self.refuse(seq, error).await;
        }
        let flow = self.execute(id, flags, block, seq).await;
        self.count_kept();
        flow
    }

    /// COM_STMT_EXECUTE, COM_STMT_BULK_EXECUTE.
    pub(super) async fn execute(&mut self, id: u32, flags: ExecutionFlags, block: &[u8], seq: u8) -> Flow {
        let has_attributes = self.client.has_attributes();
        let Some(prepared) = self.statements.get_mut(id) else {
            return Box::pin(self.refuse(seq, unknown(id, flags.function()))).await;
        };
        prepared.read_for(self.worker.servers());
        if let Some(misfit) = prepared.misfit {
            let error = errors::WRONG_ARGUMENTS.with(format_args!(
                "Incorrect arguments to mysqld_stmt_send_long_data: {misfit}"
            ));
            return Box::pin(self.refuse(seq, error)).await;
        }
        let execution = match Execution::of(prepared, (flags, block), has_attributes, (id, seq)) {
            Ok(execution) => execution,
            Err(error) => return Box::pin(self.refuse(seq, error)).await,
        };
        let text = prepared.text.clone();
        let mut schema = prepared.schema.clone();
        let bound = (self.login.snapshot.binds_keys && prepared.parameters > 0)
            .then(|| match execution.parameters.is_bulk {
                // Each row has its own.
                true => Some(vec![None; usize::from(prepared.parameters)]),
                false => bound_keys(&execution.parameters, &execution.types, &prepared.long_data),
            })
            .flatten()
            .map(Vec::into_boxed_slice);
        // Its text is what it was when it was prepared; what is bound to it is of now.
        let encoding = prepared.encoding.min(self.settings.encoding());
        let mode = prepared.reading.mode.on(prepared.servers);
        let statement = Statement::new(&text, mode)
            .with_known(&prepared.known)
            .encoded_in(prepared.encoding);
        let mut statement = statement.sent_as(SentAs::Execute);
        if let Some(bound) = &bound {
            statement = statement.with_bound(bound).encoded_in(encoding);
        }
        if let Some(question) = self.question(&statement, schema.as_deref()) {
            return Box::pin(self.answer(question, Rows::Binary, seq)).await;
        }
        if prepared::is_text(&statement) || is_comment_only(&statement) {
            if execution.parameters.is_bulk {
                return Box::pin(self.refuse(seq, not_in_bulk())).await;
            }
            return Box::pin(self.execute_as_text(&text, &execution, schema)).await;
        }
        std::mem::swap(&mut self.settings.schema, &mut schema);
        let flow = wait_for!(self.execute_in_schema(&statement, &execution));
        self.settings.schema = schema;
        self.statements.forget_long_data(execution.id);
        flow
    }

    /// Executes with the session in the schema that the statement was prepared in.
    async fn execute_in_schema(&mut self, statement: &Statement<'_>, execution: &Execution<'_>) -> Flow {
        let seq = execution.seq;
        self.answered_at = None;
        let decision = self.decide_prepared(execution.id, statement);
        let route = match &decision.outcome {
            Outcome::Route(route) => route,
            Outcome::Reject(rejection) => return Box::pin(self.reject(seq, rejection)).await,
            Outcome::Answer { message } => {
                return Box::pin(self.answer_control(statement, message.clone(), seq)).await;
            }
            Outcome::Own { .. } | Outcome::DeferBegin => {
                return Box::pin(self.refuse(seq, not_preparable())).await;
            }
        };
        let mut routed = self.routed_statement(statement, route, None);
        routed.parameters = Some(&execution.parameters);
        self.follow_next_transaction(&mut routed);
        self.follow_set_global(&mut routed);
        if self.may_mean_logical_schema(&routed) {
            Box::pin(self.look_for_logical_schema(&mut routed)).await?;
        }
        let _passage = match is_let_through(&routed.besides.effects) {
            true => None,
            false => match Box::pin(self.admit(&routed, seq)).await? {
                Some(passage) => Some(Box::new(passage)),
                None => return Ok(()),
            },
        };
        let mut patience = Patience::default();
        while let Relayed::Again(not_on) = wait_for!(self.execute_once(&routed, execution, &mut patience))? {
            routed.requirements.keep_off(*not_on);
        }
        Ok(())
    }

    /// Executes on a connection that is found for it.
    async fn execute_once(
        &mut self,
        routed: &RoutedStatement<'_>,
        execution: &Execution<'_>,
        patience: &mut Patience,
    ) -> Flow<Relayed> {
        let &Execution { id, seq, .. } = execution;
        let statement = routed.statement;
        let Some(mut held) = wait_for!(self.obtain_or_tell(routed, seq))? else {
            return Ok(Relayed::Done);
        };
        if execution.parameters.is_bulk && !held.backend.takes_bulk {
            self.held.keep_or_give(held, &self.worker.pool);
            let told = Box::pin(self.refuse(seq, not_in_bulk())).await;
            return told.map(|()| Relayed::Done);
        }
        self.note_table_change(statement.shape());
        let server_id = match self.find_prepared(&mut held, execution, routed) {
            Ok(server_id) => server_id,
            Err(why) => match Box::pin(self.prepare_or_tell(held, *why, &routed.requirements, seq)).await? {
                Some((kept, server_id)) => {
                    held = kept;
                    server_id
                }
                None => return Ok(Relayed::Done),
            },
        };
        let takes_attributes = held.backend.takes_attributes();
        let Packets { bytes, next_seq } = self.packets(execution, server_id, takes_attributes);
        if next_seq != seq {
            self.held.keep_or_give(held, &self.worker.pool);
            let told = Box::pin(self.refuse(seq, other_packets())).await;
            return told.map(|()| Relayed::Done);
        }
        let repeats = self.repeats(&held, routed, patience);
        let transmission = Transmission {
            bytes: &bytes,
            shape: match execution.parameters.cursor {
                true => ResponseShape::BinaryResultsOrCursor,
                false => ResponseShape::BinaryResults,
            },
            next_seq,
            statement_id: None,
            statement: Some(statement),
            may_repeat: repeats.writes,
        };
        let limit = routed.besides.effects.timeout_ms;
        let sent = wait_for!(self.transmit(&mut held.backend, &transmission, limit))
            .inspect(|_| self.note_cursor(id, &mut held, server_id));
        match self.after_sending(sent, held, routed, (repeats, patience), seq)? {
            Some(rest) => rest.await,
            None => Ok(Relayed::Done),
        }
    }

    /// Decides an execution; what a decision of before depended on is compared first.
    fn decide_prepared(&mut self, id: u32, statement: &Statement<'_>) -> Rc<Dispatch> {
        self.routing.note_state(&self.held, statement);
        let circumstances = Circumstances {
            state_on: self.routing.state_on.clone(),
            generation: self.login.snapshot.generation,
            transaction: self.held.transaction(),
            transaction_pending: self.pending.kind(),
            autocommit_off: !self.settings.autocommit,
            next_query_flag_in: self.routing.next_query_flag_in,
        };
        let depends_on_time = self.login.snapshot.is_time_dependent && self.routing.last_write.is_some();
        let depends_on_values = statement.is_bound();
        let is_kept = !depends_on_time && !depends_on_values;
        let decided = self
            .statements
            .get(id)
            .and_then(|prepared| prepared.decided.as_ref());
        if let Some(before) = decided.filter(|before| is_kept && before.circumstances == circumstances) {
            let dispatch = before.dispatch.clone();
            self.worker.counters.hits(&self.login.snapshot, &dispatch.hits);
            return dispatch;
        }
        let dispatch = Rc::new(self.decide(statement));
        if let Some(prepared) = self.statements.get_mut(id).filter(|_| is_kept) {
            prepared.decided = Some(Decided {
                circumstances,
                dispatch: dispatch.clone(),
            });
        }
        dispatch
    }

    /// The packets of an execution: pieces of parameters first, which have no answer.
    fn packets(&self, execution: &Execution<'_>, server_id: u32, takes_attributes: bool) -> Packets {
        let Execution {
            id,
            parameters,
            types,
            ..
        } = execution;
        let mut bytes = Vec::with_capacity(parameters.encoded_len(types));
        let long_data = self
            .statements
            .get(*id)
            .map_or(&[][..], |statement| &statement.long_data);
        for LongData {
            parameter,
            bytes: data,
        } in long_data
        {
            // A parameter of no bytes is a piece as well: it is what makes the value come from pieces.
            let pieces = data.chunks(PIECE).chain(data.is_empty().then_some(&[][..]));
            for piece in pieces {
                let command = Command::StmtSendLongData {
                    statement_id: server_id,
                    parameter: *parameter,
                    data: piece,
                };
                append_packet(&mut bytes, &mut 0, |out| command.encode(out));
            }
        }
        let mut seq = 0;
        append_packet(&mut bytes, &mut seq, |out| {
            parameters.encode(server_id, types, takes_attributes, out);
        });
        Packets { bytes, next_seq: seq }
    }

    /// COM_STMT_SEND_LONG_DATA, which has no answer, not even to an error.
    pub(super) async fn long_data(&mut self, id: u32, parameter: u16, data: &[u8]) -> Flow {
        let is_refused = |statement: &SessionStatement| statement.misfit.is_some();
        if self.statements.get(id).is_none_or(is_refused) {
            return Ok(());
        }
        if self
            .reserve_kept(2 * data.len() + OVERHEAD_OF_PIECES)
            .await
            .is_ok()
        {
            let limit = self.worker.shared.limits.max_long_data;
            self.statements.add_long_data(id, parameter, data, limit);
        } else if let Some(statement) = self.statements.get_mut(id) {
            statement.misfit = Some("there is no memory for the pieces (--max-memory of the proxy)");
        }
        self.count_kept();
        Ok(())
    }
}

/// Whether MySQL prepares no such statement, and MariaDB does. Of what changes the session, MySQL 8.0 to 9.7 prepare SET and
/// KILL.
fn is_never_prepared(statement: &Statement<'_>) -> bool {
    let is_prepared = matches!(statement.class(), StatementClass::Set | StatementClass::Kill);
    is_comment_only(statement) || (prepared::is_text(statement) && !is_prepared)
}
