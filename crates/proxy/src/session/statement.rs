//! One statement: understood, decided, sent, forwarded, and what it leaves behind.

use std::time::{Duration, Instant};

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{
    AssumedTable, Destination, Dispatch, Effects, HostgroupId, Outcome as Decided, Rejection, Statement,
};
use shardwright_sql::{LexMode, SessionEffects, Shape, StatementClass};
use shardwright_wire::ResponseShape;

use super::database::{Rows, schema_question};
use super::forward::{Transmission, forward};
use super::holds::{Ending, Holds};
use super::place::{Target, Trouble};
use super::set::SetPlan;
use super::text::{asked, asks, ending, mentions, other_packets, unroutable};
use super::{Flow, Held, Session};
use crate::channel::Frame;

/// A statement on its way to a server.
pub(super) struct Run<'a> {
    pub(super) statement: &'a Statement<'a>,
    pub(super) target: Target,
    pub(super) effects: Effects,
    /// Tables that must be base tables.
    pub(super) assumed: Vec<AssumedTable>,
    pub(super) set: Option<SetPlan>,
    pub(super) ending: Ending,
}

impl Session {
    /// COM_QUERY.
    pub(super) async fn query(&mut self, text: &[u8], frame: &Frame) -> Flow {
        let seq = frame.next_seq();
        let statement = Statement::new(text, LexMode::default());
        if let Some(error) = unroutable(&statement) {
            return self.refuse(seq, &error).await;
        }
        if self.is_in_logical_schema()
            && let Some(column) = schema_question(text)
        {
            return self.answer_schema(column, Rows::Text, seq).await;
        }
        let set = match self.plan_set(&statement) {
            Ok(set) => set,
            Err(error) => return self.refuse(seq, &error).await,
        };
        let decision = self.decide(&statement);
        match decision.outcome {
            Decided::Route(route) => self.routed(&statement, route, set, frame).await,
            Decided::Reject(rejection) => match self.place_of_question(&statement, &rejection) {
                Some(route) => self.routed(&statement, route, set, frame).await,
                None => self.reject(seq, &rejection).await,
            },
            Decided::Answer { message } => {
                if let Err(error) = self.note_pending(&statement) {
                    return self.refuse(seq, &error).await;
                }
                self.send_ok(seq, message.as_bytes()).await
            }
            Decided::Own { .. } => self.send_ok(seq, b"").await,
            Decided::DeferBegin => {
                self.pending.begin(text);
                self.send_ok(seq, b"").await
            }
        }
    }

    /// Asks the router, and counts its answer.
    pub(super) fn decide(&mut self, statement: &Statement<'_>) -> Dispatch {
        self.note_state(statement);
        let decision = self.snapshot.router.dispatch(&self.view(), statement);
        self.worker.counters.hits(&self.snapshot, &decision.hits);
        decision
    }

    /// A question about an earlier statement goes where that ran, even where a key is missing.
    fn place_of_question(&self, statement: &Statement<'_>, rejection: &Rejection) -> Option<Destination> {
        let is_missing_key = rejection.refusal == Some(Refusal::MissingKey);
        let shape = statement.shape();
        let is_question = asks(statement) && !shape.runs_or_reads() && !shape.names_table;
        let previous = self.previous.filter(|_| is_missing_key && is_question)?;
        Some(Destination {
            hostgroup: previous.hostgroup,
            is_on_shard: false,
            rewritten: None,
            backend_schema: None,
            effects: Effects::default(),
            assumed: Vec::new(),
        })
    }

    async fn routed(
        &mut self,
        statement: &Statement<'_>,
        route: Destination,
        set: Option<SetPlan>,
        frame: &Frame,
    ) -> Flow {
        let seq = frame.next_seq();
        if statement.shape().class == StatementClass::Use {
            return self.use_schema(statement.text(), seq).await;
        }
        let is_open = self.transaction().is_some();
        if let Some(plan) = set
            .as_ref()
            .filter(|plan| plan.is_kept_here() && !(is_open && plan.next_transaction))
        {
            return self.keep_set(plan, statement.text(), seq).await;
        }
        let run = self.run_of(statement, &route, set);
        let own_frame;
        let frame = match &route.rewritten {
            Some(rewritten) => {
                own_frame = query_frame(rewritten);
                &own_frame
            }
            None => frame,
        };
        if frame.next_seq() != seq {
            return self.refuse(seq, &other_packets()).await;
        }
        self.pause(&run.effects).await;
        self.relay(&run, frame, ResponseShape::TextResults).await
    }

    /// Sends a frame to the server that its statement was routed to, and passes on the answer.
    pub(super) async fn relay(&mut self, run: &Run<'_>, frame: &Frame, shape: ResponseShape) -> Flow {
        let seq = frame.next_seq();
        let mut held = match self.obtain(&run.target).await {
            Ok(held) => held,
            Err(trouble) => return self.trouble(trouble, seq).await,
        };
        if let Err(trouble) = self.confirm(&mut held, run).await {
            return self.unconfirmed(trouble, held, seq).await;
        }
        self.note_table_change(run.statement.shape());
        let transmission = Transmission {
            bytes: frame.raw(),
            shape,
            next_seq: seq,
            statement_id: None,
        };
        let started = Instant::now();
        match forward(&mut self.client, &mut held.backend, &transmission).await {
            Ok(traffic) => {
                self.conclude(held, run, frame.raw().len(), traffic, started)
                    .await
            }
            Err(broken) => self.broken(broken, &held, seq).await,
        }
    }

    /// What is needed to run a statement that was routed.
    pub(super) fn run_of<'a>(
        &self,
        statement: &'a Statement<'a>,
        route: &Destination,
        set: Option<SetPlan>,
    ) -> Run<'a> {
        let shape = statement.shape();
        let asked = asked(statement);
        let asks = !asked.is_empty();
        // COMMIT and its kin go where the transaction is, or nowhere in particular: the session's schema may not exist there.
        let needs_no_schema = statement.follows_transaction();
        let own_schema = self
            .schema
            .as_ref()
            .filter(|schema| !needs_no_schema && !self.is_logical(Some(schema)))
            .cloned();
        let schema = route.backend_schema.clone().or(own_schema);
        let is_work = route.is_on_shard || !statement.is_session_setup();
        // A question about an earlier statement, and about nothing else, goes where that ran, whatever key it has.
        let is_question = asks && !shape.names_table && !shape.runs_or_reads();
        let home = is_question.then(|| self.home_of_question(shape)).flatten();
        let is_elsewhere = home.is_some_and(|home| home != route.hostgroup);
        Run {
            target: Target {
                hostgroup: home.unwrap_or(route.hostgroup),
                any_schema: schema.is_none() && self.schema.is_some(),
                needs_no_schema: needs_no_schema || is_elsewhere,
                schema,
                user_variables: shape.effects.intersects(SessionEffects::USER_VARIABLE),
                asks,
                asked,
                row_count: asked.intersects(Holds::FOUND_ROWS) && mentions(statement.text(), b"ROW_COUNT"),
                in_transaction: shape.effects.intersects(SessionEffects::READS_SESSION)
                    && mentions(statement.text(), b"IN_TRANSACTION"),
                // What a driver asks on the way does not open the transaction; a statement does, placed or not.
                opens: !self.pending.is_empty() && is_work,
                begins: is_work,
                is_work: is_work || shape.class == StatementClass::Show,
            },
            assumed: route.assumed.clone(),
            effects: route.effects.clone(),
            ending: ending(statement, asks),
            statement,
            set,
        }
    }

    fn home_of_question(&self, shape: &Shape) -> Option<HostgroupId> {
        let left_id = self
            .held
            .iter()
            .find(|held| held.holds.intersects(Holds::INSERT_ID));
        let about_id = shape.effects.intersects(SessionEffects::INSERT_ID);
        match left_id.filter(|_| about_id) {
            Some(held) => Some(held.hostgroup),
            None => self.previous.map(|previous| previous.hostgroup),
        }
    }

    pub(super) async fn pause(&self, effects: &Effects) {
        if let Some(delay_ms) = effects.delay_ms.filter(|delay_ms| *delay_ms > 0) {
            tokio::time::sleep(Duration::from_millis(u64::from(delay_ms))).await;
        }
    }

    /// A table was not what the router took it for: the client is told.
    pub(super) async fn unconfirmed(&mut self, trouble: Trouble, held: Held, seq: u8) -> Flow {
        if let Trouble::Refused(_) | Trouble::Rejected(_) = trouble {
            self.keep_or_give(held);
        }
        self.trouble(trouble, seq).await
    }

    /// No connection: the client is told.
    pub(super) async fn trouble(&mut self, trouble: Trouble, seq: u8) -> Flow {
        match trouble {
            Trouble::Refused(error) => self.refuse(seq, &error).await,
            Trouble::Rejected(rejection) => self.reject(seq, &rejection).await,
            Trouble::Fatal(error) => self.refuse_and_close(&error, seq).await,
        }
    }
}

/// A COM_QUERY of our own.
fn query_frame(text: &[u8]) -> Frame {
    let mut payload = Vec::with_capacity(1 + text.len());
    payload.push(3);
    payload.extend_from_slice(text);
    let mut frame = Frame::default();
    frame.fill(&payload);
    frame
}
