//! One statement: understood, decided, sent, forwarded, and what it leaves behind.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{
    Destination, Dispatch, HostgroupId, Outcome as Decided, Rejection, Statement, TransactionEnd,
};
use shardwright_sql::names::mentions;
use shardwright_sql::{SessionEffects, StatementClass};
use shardwright_wire::{MysqlError, ResponseShape, errors};

use super::checkout_error::CheckoutError;
use super::earlier::is_question;
use super::forward::Transmission;
use super::held::Held;
use super::holds::{Ending, Holds};
use super::named_locks::lock_names;
use super::opened_comments::open_comments;
use super::place::Place;
use super::query::Query;
use super::questions::Rows;
use super::repeat::{Patience, Relayed};
use super::requirements::{OwnConnections, Requirements};
use super::routed::RoutedStatement;
use super::set_statement::SetPlan;
use super::statement_words::{
    asks, asks_insert_id, ending, is_comment_only, kill_text, may_leave_id, other_packets,
    reads_schema_charset, releases, unroutable,
};
use super::throttled::is_let_through;
use super::{End, Flow, Session};
use crate::server_defaults::ServerDefaults;

impl Session {
    /// COM_QUERY.
    ///
    /// A future is moved into the one that waits for it, with all the room that it may need. So what statements seldom do is
    /// waited for behind a pointer, here and on the whole way of a statement.
    pub(super) async fn query(&mut self, text: &[u8], query: Query<'_>) -> Flow {
        let seq = query.frame.next_seq();
        let statement = self.worker.statement(text, self.mode());
        let statement = statement.encoded_in(self.settings.encoding());
        if is_comment_only(&statement) {
            return Box::pin(self.send_ok(seq, b"")).await;
        }
        if self.is_split(&statement) {
            return Box::pin(self.several(text, &query)).await;
        }
        if let Some(text) = kill_text(&statement) {
            return Box::pin(self.kill_statement(text, seq)).await;
        }
        if let Some(error) = unroutable(&statement).or_else(|| self.file_not_taken(&statement)) {
            return Box::pin(self.refuse(seq, error)).await;
        }
        if self.asks_own_error(&statement) {
            return Box::pin(self.show_own_error(seq)).await;
        }
        if let Some(question) = self.question(&statement, None) {
            return Box::pin(self.answer(question, Rows::Text, seq)).await;
        }
        match statement.shape().class {
            StatementClass::Set => Box::pin(self.set(&statement, &query)).await,
            _ => wait_for!(self.decide_and_run(&statement, &query)),
        }
    }

    /// A SET, with values in the place of what only this session knows.
    async fn set(&mut self, statement: &Statement<'_>, query: &Query<'_>) -> Flow {
        if statement.shape().beside_code
            && let Some(text) = open_comments(statement.text(), statement.mode())
        {
            let statement = Statement::new(&text, self.mode()).encoded_in(self.settings.encoding());
            let frame = query.frame_of(&text);
            return self.set_opened(&statement, &query.within(&frame)).await;
        }
        self.set_opened(statement, query).await
    }

    async fn set_opened(&mut self, statement: &Statement<'_>, query: &Query<'_>) -> Flow {
        let text = match Box::pin(self.with_default_names(statement)).await? {
            Some(Err(error)) => return self.refuse(query.frame.next_seq(), error).await,
            Some(Ok(text)) => Some(text),
            None => self.with_values(statement).await?,
        };
        let Some(text) = text else {
            return self.decide_and_run(statement, query).await;
        };
        let statement = Statement::new(&text, self.mode());
        let frame = query.frame_of(&text);
        self.decide_and_run(&statement, &query.within(&frame)).await
    }

    /// Decides a statement that was understood, and does what was decided.
    async fn decide_and_run(&mut self, statement: &Statement<'_>, query: &Query<'_>) -> Flow {
        let seq = query.frame.next_seq();
        self.answered_at = None;
        let set = match self.plan_set(statement) {
            Ok(set) => set,
            Err(error) => return Box::pin(self.refuse(seq, error)).await,
        };
        let route = match self.decide(statement).outcome {
            Decided::Route(route) => Ok(route),
            other => Err(Box::new(other)),
        };
        let route = match route {
            Ok(route) => route,
            Err(decided) => return Box::pin(self.run_decided(statement, *decided, set, query)).await,
        };
        wait_for!(self.run_routed(statement, &route, set, query))
    }

    /// Asks the router, and counts its answer. A question about an earlier statement goes where that ran, even where no key is read
    /// from it.
    pub(super) fn decide(&mut self, statement: &Statement<'_>) -> Dispatch {
        self.routing.note_state(&self.held, statement);
        let snapshot = &self.login.snapshot;
        let mut decision = snapshot.router.dispatch(&self.view(), statement);
        self.worker.counters.hits(snapshot, &decision.hits);
        if let Decided::Reject(rejection) = &decision.outcome
            && let Some(route) = self.destination_without_key(statement, rejection)
        {
            decision.outcome = Decided::Route(route);
        }
        decision
    }

    /// Does what was decided.
    async fn run_decided(
        &mut self,
        statement: &Statement<'_>,
        decided: Decided<Destination>,
        set: Option<Box<SetPlan>>,
        query: &Query<'_>,
    ) -> Flow {
        let seq = query.frame.next_seq();
        match decided {
            Decided::Route(route) => self.run_routed(statement, &route, set, query).await,
            Decided::Reject(rejection) => match self.unlocks_nothing(statement, &rejection) {
                true => self.send_ok(seq, b"").await,
                false => self.reject(seq, &rejection).await,
            },
            Decided::Answer { message } => self.answer_control(statement, message, seq).await,
            Decided::Own { .. } => self.send_ok(seq, b"").await,
            Decided::DeferBegin => {
                if let Some(error) = super::pending_transaction::PendingTransaction::too_long(statement) {
                    return Box::pin(self.refuse(seq, error)).await;
                }
                self.pending.begin(statement, !self.settings.next.is_empty());
                self.send_ok(seq, b"").await
            }
        }
    }

    /// Transaction control that a rule answers.
    pub(super) async fn answer_control(
        &mut self,
        statement: &Statement<'_>,
        message: String,
        seq: u8,
    ) -> Flow {
        match self.note_pending(statement) {
            Ok(()) if releases(statement) => {
                self.send_ok(seq, message.as_bytes()).await?;
                Err(End::Closed)
            }
            Ok(()) => self.send_ok(seq, message.as_bytes()).await,
            Err(error) => self.refuse(seq, error).await,
        }
    }

    /// What transaction control that a rule answers means for a transaction that waits.
    ///
    /// # Errors
    /// The error for the client.
    fn note_pending(&mut self, statement: &Statement<'_>) -> Result<(), MysqlError> {
        let chains = self.settings.defaults.contains(ServerDefaults::CHAINS)
            || self.settings.history.has_set("completion_type");
        let may_chain = statement.transaction_end().is_some() && chains;
        if statement.transaction_end() == Some(TransactionEnd::Over) {
            self.next_transaction_is_used();
        }
        let noted = match may_chain && !self.pending.is_empty() {
            false => self.pending.note(statement),
            true => Err(errors::UNKNOWN.with(
                "this session has a completion_type by which COMMIT and ROLLBACK may begin another transaction or end the connection; the \
                 proxy cannot do that before the transaction's first statement with a key: end it after that statement",
            )),
        };
        if let Err(error) = &noted {
            self.diagnostics.failed_here(error);
        }
        noted
    }

    /// Where a statement goes that has no key, or none that is read: UNLOCK TABLES to the locks, a question about an earlier statement to the
    /// place of that.
    fn destination_without_key(
        &self,
        statement: &Statement<'_>,
        rejection: &Rejection,
    ) -> Option<Destination> {
        let refusal = rejection.refusal;
        if refusal == Some(Refusal::MissingKey) && ending(statement, false) == Ending::TableLocks {
            let locks = self.held.only_hostgroup_with(Holds::TABLE_LOCKS);
            return locks.map(|locks| Destination::plain(locks, false));
        }
        let is_unplaced = matches!(refusal, Some(Refusal::MissingKey | Refusal::NotOneShard));
        let previous = self.diagnostics.previous().filter(|_| is_unplaced)?;
        (asks(statement) && is_question(statement)).then(|| Destination::plain(previous, false))
    }

    /// UNLOCK TABLES without a key, in a session that has locked none, nor has run code that may have.
    fn unlocks_nothing(&self, statement: &Statement<'_>, rejection: &Rejection) -> bool {
        let mut may_have_locks = self
            .held
            .hostgroups_with(Holds::TABLE_LOCKS | Holds::UNKNOWN_CODE);
        rejection.refusal == Some(Refusal::MissingKey)
            && ending(statement, false) == Ending::TableLocks
            && may_have_locks.next().is_none()
    }

    async fn run_routed(
        &mut self,
        statement: &Statement<'_>,
        route: &Destination,
        mut set: Option<Box<SetPlan>>,
        query: &Query<'_>,
    ) -> Flow {
        let seq = query.frame.next_seq();
        if statement.shape().class == StatementClass::Use {
            return Box::pin(self.use_schema(statement, seq)).await;
        }
        if set.as_ref().is_some_and(|plan| plan.sets_transactions())
            && let Err(error) = Box::pin(self.settle_if_asked()).await
        {
            return Box::pin(self.not_checked_out(error, seq)).await;
        }
        if let Some(plan) = set.take_if(|plan| self.can_keep(plan)) {
            return Box::pin(self.keep_set(plan, route.hostgroup, seq)).await;
        }
        let mut routed = self.routed_statement(statement, route, set);
        self.follow_next_transaction(&mut routed);
        self.follow_set_global(&mut routed);
        if self.may_mean_logical_schema(&routed) {
            Box::pin(self.look_for_logical_schema(&mut routed)).await?;
        }
        let other_text = match self.sent_text(&routed) {
            Ok(text) => text,
            Err(error) => return Box::pin(self.refuse(seq, error)).await,
        };
        let own_frame = other_text.map(|sent| Box::new(query.frame_of(&sent)));
        let query = query.within(own_frame.as_deref().unwrap_or(query.frame));
        if query.frame.next_seq() != seq {
            return Box::pin(self.refuse(seq, other_packets())).await;
        }
        // Its place among those that may run at once is kept until the client has the answer.
        let _passage = match is_let_through(&routed.besides.effects) {
            true => None,
            false => match Box::pin(self.admit(&routed, seq)).await? {
                Some(passage) => Some(Box::new(passage)),
                None => return Ok(()),
            },
        };
        wait_for!(self.relay(&mut routed, &query, ResponseShape::TextResults))
    }

    /// Sends a frame to the server that its statement was routed to, and passes on the answer.
    pub(super) async fn relay(
        &mut self,
        routed: &mut RoutedStatement<'_>,
        query: &Query<'_>,
        shape: ResponseShape,
    ) -> Flow {
        let seq = query.frame.next_seq();
        let mut patience = Patience::default();
        loop {
            let Some(mut held) = wait_for!(self.obtain_or_tell(routed, seq))? else {
                return Ok(());
            };
            self.note_table_change(routed.statement.shape());
            let repeats = self.repeats(&held, routed, &patience);
            let plain = match held.backend.takes_attributes() {
                true => None,
                false => query.without_attributes().map(Box::new),
            };
            let frame = plain.as_deref().unwrap_or(query.frame);
            if frame.next_seq() != seq {
                self.held.keep_or_give(held, &self.worker.pool);
                return Box::pin(self.refuse(seq, other_packets())).await;
            }
            let transmission = Transmission {
                bytes: frame.raw(),
                shape,
                next_seq: seq,
                statement_id: None,
                statement: Some(routed.statement),
                may_repeat: repeats.writes,
            };
            let limit = routed.besides.effects.timeout_ms;
            let sent = wait_for!(self.transmit(&mut held.backend, &transmission, limit));
            let Some(rest) = self.after_sending(sent, held, routed, (repeats, &mut patience), seq)? else {
                return Ok(());
            };
            match rest.await? {
                Relayed::Done => return Ok(()),
                Relayed::Again(not_on) => routed.requirements.keep_off(*not_on),
            }
        }
    }

    /// What is needed to run a statement that was routed.
    pub(super) fn routed_statement<'a>(
        &self,
        statement: &'a Statement<'a>,
        route: &'a Destination,
        set: Option<Box<SetPlan>>,
    ) -> RoutedStatement<'a> {
        let requirements = self.requirements(statement, route);
        RoutedStatement {
            besides: route.besides(),
            parameters: None,
            ending: ending(statement, requirements.asks()),
            requirements,
            statement,
            set,
        }
    }

    fn requirements(&self, statement: &Statement<'_>, route: &Destination) -> Requirements {
        let shape = statement.shape();
        let asked = self.diagnostics.asked_by(statement);
        let earlier = self.diagnostics.place(asked);
        let is_read_alone = shape.is_safe_read() && self.settings.autocommit && self.pending.is_empty();
        let is_work = route.is_on_shard || !statement.is_session_setup();
        let asks_id = asks_insert_id(statement);
        let hidden_variables = self.hidden.read_by(statement);
        let asks = !asked.is_nothing() || asks_id || hidden_variables.is_some();
        // A question about an earlier statement, and about nothing else, goes where that ran, whatever key it has.
        let is_question = asks && is_question(statement);
        let home = is_question
            .then(|| self.home_of_question(earlier, asks_id, hidden_variables.is_some()))
            .flatten();
        // COMMIT and its kin go where the transaction is, or nowhere in particular, and questions to an earlier statement's server: the
        // session's schema may not exist there.
        let needs_no_schema = is_question || statement.follows_transaction();
        let (schema, any_schema) = self.schema_for(statement, route);
        // Where an earlier statement ran says nothing of where the transaction belongs: that may have been a reader.
        let begins = is_work && home.is_none();
        Requirements {
            hostgroup: home.unwrap_or(route.hostgroup),
            any_schema,
            needs_no_schema,
            schema,
            user_variables: shape.effects.intersects(SessionEffects::USER_VARIABLE),
            hidden_variables,
            is_question,
            asked,
            insert_id: asks_id || may_leave_id(shape),
            asks_insert_id: asks_id,
            runs_unseen_code: shape.effects.intersects(SessionEffects::UNKNOWN),
            reads_schema_charset: reads_schema_charset(statement),
            own: OwnConnections::of(earlier, lock_names(statement)),
            in_transaction: shape.effects.intersects(SessionEffects::READS_SESSION)
                && mentions(statement.text(), b"IN_TRANSACTION"),
            // What a driver asks on the way does not open the transaction; a statement does, placed or not.
            opens: !self.pending.is_empty() && begins,
            begins,
            may_use_up: is_work || shape.class == StatementClass::Show || shape.runs_or_reads(),
            is_read_alone,
            is_marked: is_read_alone && !self.is_never_asked(),
            is_work: is_work || shape.class == StatementClass::Show,
            read_for: statement.mode().servers,
            not_on: None,
        }
    }

    /// LAST_INSERT_ID() comes along to any connection; the rest is where it is.
    fn home_of_question(
        &self,
        earlier: Option<Place>,
        asks_id: bool,
        hidden_variables: bool,
    ) -> Option<HostgroupId> {
        let id = self.insert_id.as_ref().filter(|_| asks_id);
        let hidden = || self.hidden.hostgroup().filter(|_| hidden_variables);
        earlier
            .map(|place| place.hostgroup)
            .or_else(hidden)
            .or_else(|| id.map(|id| id.hostgroup))
            .or_else(|| self.diagnostics.previous())
    }

    /// A connection for a statement whose tables are what the router took them for.
    pub(super) async fn obtain(&mut self, routed: &RoutedStatement<'_>) -> Result<Held, CheckoutError> {
        let withheld = &self.worker.shared.withheld;
        if !withheld.is_empty() && routed.statement.shape().is_safe_read() {
            withheld.check(routed.read()).map_err(CheckoutError::Refused)?;
        }
        let mut held = if routed.besides.effects.causal || routed.may_be_for_output() {
            Box::pin(self.check_out_seldom(routed)).await?
        } else {
            wait_for!(self.check_out(&routed.requirements))?
        };
        if self.is_confirmed(&held, routed) {
            return Ok(held);
        }
        match Box::pin(self.confirm(&mut held, routed)).await {
            Ok(()) => Ok(held),
            Err(error) => {
                self.return_unused(held, &error);
                Err(error)
            }
        }
    }

    /// The same for a read that waits for a reader, and for a CALL that may give its arguments values.
    async fn check_out_seldom(&mut self, routed: &RoutedStatement<'_>) -> Result<Held, CheckoutError> {
        let found = if routed.besides.effects.causal {
            self.check_out_caught_up(&routed.requirements).await
        } else {
            self.check_out(&routed.requirements).await
        };
        match found {
            Err(error) if routed.may_be_for_output() => self.check_out_for_output(routed, error).await,
            found => found,
        }
    }

    /// The same; `None`: there is none, and the client was told.
    pub(super) async fn obtain_or_tell(
        &mut self,
        routed: &RoutedStatement<'_>,
        seq: u8,
    ) -> Flow<Option<Held>> {
        match wait_for!(self.obtain(routed)) {
            Ok(held) => Ok(Some(held)),
            Err(error) => Box::pin(self.not_checked_out(error, seq)).await.map(|()| None),
        }
    }

    /// Keeps or gives back a connection on which its statement does not run, unless the connection is lost.
    pub(super) fn return_unused(&mut self, held: Held, error: &CheckoutError) {
        if !matches!(error, CheckoutError::Fatal(_)) {
            self.held.keep_or_give(held, &self.worker.pool);
        }
    }

    /// No connection: the client is told.
    pub(super) async fn not_checked_out(&mut self, error: CheckoutError, seq: u8) -> Flow {
        match error {
            CheckoutError::Refused(error) => self.refuse(seq, error).await,
            CheckoutError::Rejected(rejection) => self.reject(seq, &rejection).await,
            CheckoutError::Fatal(error) => self.refuse_and_close(error, seq).await,
        }
    }
}
