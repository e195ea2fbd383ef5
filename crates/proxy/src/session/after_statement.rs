//! After a statement: counting it, learning what it left behind, and what follows from a connection that was lost.

use shardwright_rules::{Statement, TransactionEnd};
use shardwright_sql::names::mentions;
use shardwright_sql::{SessionEffects, Shape, StatementClass};
use shardwright_wire::{Command, StatusFlags};

use super::diagnostics::Answer;
use super::forward::{Broken, Traffic};
use super::held::Held;
use super::holds::{After, Ending, Holds, SetLeft, after};
use super::repeat::{Relayed, Rest};
use super::routed::RoutedStatement;
use super::set_statement::SetPlan;
use super::statement_words::{instruments_threads, is_transaction_bound, may_leave_id, releases};
use super::{End, Flow, Session};
use crate::backend::{Backend, BackendError, OwnCommands};
use crate::insert_id::Loss;
use crate::kill::connection_killed;
use crate::reading::{TOLD, is_read_in};
use crate::server_defaults::ServerDefaults;
use crate::stats::{Sample, bump};

/// ER_XA_RBROLLBACK, ER_XA_RBTIMEOUT, ER_XA_RBDEADLOCK
const XA_ROLLED_BACK: [u16; 3] = [1402, 1613, 1614];

/// What a server said of a statement.
struct Answered {
    failed: bool,
    /// Its number.
    error: Option<u16>,
    status: Option<StatusFlags>,
    insert_id: u64,
    warnings: u16,
    /// Of the connection, by then.
    own: OwnCommands,
}

impl Session {
    /// The answer did not come whole. A statement is never sent twice: nobody knows whether it was executed.
    pub(super) async fn broken(&mut self, broken: Broken, held: Held, shape: &Shape, seq: u8) -> Flow {
        match broken {
            Broken::Client | Broken::GivenUp => {
                self.abandon(held, shape);
                Err(End::ClientGone)
            }
            Broken::NotRun => Err(End::Closed),
            Broken::Killed { is_partial: true } => Err(End::Closed),
            Broken::Killed { is_partial: false } => self.refuse_and_close(connection_killed(), seq).await,
            Broken::Backend { error, is_partial } => {
                bump(&self.worker.counters.totals.backend_lost);
                self.has_lost_connection = true;
                let session = self.login.connection_id;
                tracing::warn!(session, hostgroup = %held.hostgroup, %error, "a backend connection was lost");
                if is_partial {
                    return Err(End::Closed);
                }
                if !shape.is_safe_read() && !shape.is_session_setup() {
                    self.note_lost_write(&held);
                }
                let error = error.for_client();
                if held.holds.is_empty() {
                    self.refuse(seq, error).await
                } else {
                    self.refuse_and_close(error, seq).await
                }
            }
        }
    }

    /// Counts an answered statement, learns what it left, and keeps the connection or gives it back.
    ///
    /// # Errors
    /// The session ends.
    pub(super) fn after_statement<'a>(
        &'a mut self,
        held: Held,
        routed: &'a RoutedStatement<'_>,
        traffic: Traffic,
    ) -> Flow<Option<Rest<'a>>> {
        self.answered_at = Some(traffic.ended);
        self.has_lost_connection = false;
        self.count(&held, routed, traffic);
        self.note_table_change(routed.statement.shape());
        let outcome = held.backend.scanner.outcome();
        let answered = Answered {
            failed: outcome.error.is_some(),
            error: outcome.error.as_ref().map(|error| error.code),
            status: outcome.status,
            insert_id: outcome.last_insert_id,
            warnings: outcome.warnings,
            own: held.backend.own,
        };
        if answered.failed && may_have_changed_transaction(&held, routed) {
            return Ok(Some(Box::pin(self.after_error(held, routed, traffic, answered))));
        }
        if !answered.failed && self.may_release(routed.statement) {
            return Ok(Some(Box::pin(
                self.after_release(held, routed, traffic, answered),
            )));
        }
        self.learn(held, routed, traffic, answered)
    }

    /// Whether the server may close the connection behind its OK: `COMMIT RELEASE`, or a session with such a completion_type.
    fn may_release(&self, statement: &Statement<'_>) -> bool {
        statement.transaction_end().is_some()
            && (releases(statement)
                || self.settings.defaults.contains(ServerDefaults::CHAINS)
                || self.settings.history.has_set("completion_type"))
    }

    /// The server is asked whether it has closed the connection; then the client's is closed, too.
    async fn after_release(
        &mut self,
        mut held: Held,
        routed: &RoutedStatement<'_>,
        traffic: Traffic,
        mut answered: Answered,
    ) -> Flow<Relayed> {
        if let Err(error) = held.backend.exchange(Command::Ping).await {
            tracing::debug!(%error, "a server has released a connection");
            return Err(End::Closed);
        }
        answered.own = held.backend.own;
        self.learn_whole(held, routed, traffic, answered).await
    }

    /// An error says nothing of the transaction: the server is asked.
    async fn after_error(
        &mut self,
        mut held: Held,
        routed: &RoutedStatement<'_>,
        traffic: Traffic,
        mut answered: Answered,
    ) -> Flow<Relayed> {
        match status_after_error(&mut held.backend).await {
            Ok(status) => answered.status = status,
            Err(error) => return Err(self.broken_after(&error)),
        }
        self.learn_whole(held, routed, traffic, answered).await
    }

    /// [`Session::learn`], and what that leaves to do.
    async fn learn_whole(
        &mut self,
        held: Held,
        routed: &RoutedStatement<'_>,
        traffic: Traffic,
        answered: Answered,
    ) -> Flow<Relayed> {
        match self.learn(held, routed, traffic, answered)? {
            Some(rest) => rest.await,
            None => Ok(Relayed::Done),
        }
    }

    /// Learns what a statement left that may need a server, and concludes if it does not.
    fn learn<'a>(
        &'a mut self,
        held: Held,
        routed: &'a RoutedStatement<'_>,
        traffic: Traffic,
        answered: Answered,
    ) -> Flow<Option<Rest<'a>>> {
        if !self.is_read_as_set(&held, routed, &answered) {
            return Ok(Some(Box::pin(
                self.after_hidden_mode(held, routed, traffic, answered),
            )));
        }
        self.learn_rest(held, routed, traffic, answered)
    }

    /// Code has changed sql_mode: the server is asked, which is the last statement of the connection by then.
    async fn after_hidden_mode(
        &mut self,
        mut held: Held,
        routed: &RoutedStatement<'_>,
        traffic: Traffic,
        answered: Answered,
    ) -> Flow<Relayed> {
        tracing::debug!(hostgroup = %held.hostgroup, "sql_mode has become another than the session has set");
        let followed = self.follow_mode(&mut held).await;
        followed.map_err(|error| self.broken_after(&error))?;
        let relayed = match self.learn_rest(held, routed, traffic, answered)? {
            Some(rest) => rest.await?,
            None => Relayed::Done,
        };
        self.diagnostics.lose_warnings();
        Ok(relayed)
    }

    fn learn_rest<'a>(
        &'a mut self,
        mut held: Held,
        routed: &'a RoutedStatement<'_>,
        traffic: Traffic,
        answered: Answered,
    ) -> Flow<Option<Rest<'a>>> {
        if self.learn_autocommit(&mut held, routed, answered.status) {
            return Ok(Some(Box::pin(
                self.after_autocommit(held, routed, traffic, answered),
            )));
        }
        self.conclude(held, routed, traffic, &answered);
        Ok(None)
    }

    /// The session's autocommit was turned on, which commits on its other connections.
    async fn after_autocommit(
        &mut self,
        held: Held,
        routed: &RoutedStatement<'_>,
        traffic: Traffic,
        answered: Answered,
    ) -> Flow<Relayed> {
        if let Err(error) = self.commit_by_autocommit().await {
            tracing::warn!(?error, "a connection of the session did not take autocommit");
            return Err(End::Closed);
        }
        self.conclude(held, routed, traffic, &answered);
        Ok(Relayed::Done)
    }

    /// Learns the rest, and keeps the connection or gives it back.
    fn conclude(
        &mut self,
        mut held: Held,
        routed: &RoutedStatement<'_>,
        traffic: Traffic,
        answered: &Answered,
    ) {
        let shape = routed.statement.shape();
        let runs_unseen = SessionEffects::UNKNOWN | SessionEffects::TEXT_PREPARE;
        if shape.effects.intersects(runs_unseen) && !routed.requirements.is_question {
            held.backend.ran_unknown_code();
        }
        if held.backend.is_suspect || shape.class == StatementClass::Set || shape.executable_comment {
            held.backend.is_utf8 = false;
        }
        self.learn_insert_id(&mut held, routed.statement, answered);
        self.hidden.note(&held, routed.statement, answered.failed);
        self.learn_own_writes(&mut held, routed, answered.status);
        let in_transaction = answered
            .status
            .is_some_and(|status| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS));
        self.learn_next_transaction(&mut held, routed.statement, (in_transaction, answered.error));
        self.learn_holds(&mut held, routed, answered);
        if !shape.is_safe_read() && !routed.statement.is_session_setup() && !is_transaction_bound(shape) {
            self.routing.last_write = Some(traffic.ended);
        }
        let next_query_flag_in = routed.besides.effects.next_query_flag_in;
        self.routing.next_query_flag_in = next_query_flag_in.or(self.routing.next_query_flag_in);
        let answer = Answer {
            failed: answered.failed,
            warnings: answered.warnings,
            own: answered.own,
        };
        self.diagnostics
            .note_statement(&mut held, routed.statement, answer);
        held.backend.last_session = self.number;
        held.until = held
            .holds
            .intersects(Holds::BRIEF)
            .then(|| traffic.ended + self.worker.shared.limits.brief_hold);
        self.held
            .keep_or_give_at(held, &self.worker.pool, || traffic.ended);
    }

    /// Whether the server reads texts in the mode that the session has set, with this statement or before.
    fn is_read_as_set(&self, held: &Held, routed: &RoutedStatement<'_>, answered: &Answered) -> bool {
        let set = routed.set.as_ref().filter(|_| !answered.failed);
        let set = set.and_then(|plan| plan.sql_mode.as_ref());
        let mode = set.map_or(self.settings.mode, |set| set.mode);
        let is_read = |status| is_read_in(mode, status, held.backend.is_mariadb);
        answered.status.is_none_or(is_read)
    }

    /// Follows the autocommit of the connection, which the statement may have switched: a SET of an expression, a procedure, or a
    /// text that was run. Before the statement the two were the same. Whether it was turned on.
    fn learn_autocommit(
        &mut self,
        held: &mut Held,
        routed: &RoutedStatement<'_>,
        status: Option<StatusFlags>,
    ) -> bool {
        self.settings.begin_with(&mut held.backend.begins_with);
        self.settings.is_fresh = false;
        held.backend.note_status(status);
        let autocommit = held.backend.autocommit;
        let is_said = routed.set.as_deref().is_some_and(SetPlan::says_autocommit);
        if autocommit != self.settings.autocommit && !is_said {
            held.holds |= Holds::AUTOCOMMIT_BY_CODE;
        }
        let turns_on = autocommit && !self.settings.autocommit;
        self.settings.autocommit = autocommit;
        turns_on
    }

    /// Notes that the session's LAST_INSERT_ID() is on this connection, if the statement may have left one.
    fn learn_insert_id(&mut self, held: &mut Held, statement: &Statement<'_>, answered: &Answered) {
        let shape = statement.shape();
        let insert_id = answered.insert_id;
        // Errors and rows have no field for the id in their answer, the OK of LOAD DATA leaves it empty, and that of others
        // does for LAST_INSERT_ID(0).
        let is_insert = matches!(shape.class, StatementClass::Insert | StatementClass::Replace);
        let may_hide = may_leave_id(shape)
            && (!is_insert || answered.failed || mentions(statement.text(), b"LAST_INSERT_ID"));
        let is_here = self
            .insert_id
            .as_ref()
            .is_some_and(|id| held.backend.has_this(id));
        if insert_id != 0 || may_hide || (is_here && may_leave_id(shape)) {
            let loss = self.insert_id.as_ref().filter(|_| is_here).map(|id| id.loss());
            let loss = loss.unwrap_or(Loss::None);
            self.insert_id = Some(held.backend.leave_insert_id(held.hostgroup, None, loss));
        }
    }

    /// Learns why the connection must stay with the session, and which reasons end elsewhere.
    fn learn_holds(&mut self, held: &mut Held, routed: &RoutedStatement<'_>, answered: &Answered) {
        let set = match &routed.set {
            Some(plan) if !answered.failed => {
                self.note_set(held, plan, routed.statement.text(), answered.status)
            }
            _ => SetLeft::Nothing,
        };
        let in_transaction = |status: StatusFlags| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
        held.holds = after(
            held.holds,
            &After {
                shape: routed.statement.shape(),
                in_transaction: answered.status.map(in_transaction),
                autocommit: self.settings.autocommit,
                ends_transaction: routed.statement.transaction_end() == Some(TransactionEnd::Over),
                failed: answered.failed,
                was_rolled_back: answered
                    .error
                    .is_some_and(|error| XA_ROLLED_BACK.contains(&error)),
                warnings: answered.warnings,
                set,
                ending: routed.ending,
                begins_xa: routed.statement.begins_xa(),
                is_question: routed.requirements.is_question,
                multiplex: routed.besides.effects.multiplex,
            },
        );
        // A SET that fails may have set what stands before the mistake.
        let by_set = routed.set.as_ref().is_some_and(|plan| plan.outlasts_reset);
        let outlasts = by_set || instruments_threads(routed.statement, self.settings.schema.as_deref());
        held.holds.set(
            Holds::OUTLASTS_RESET,
            outlasts || held.holds.intersects(Holds::OUTLASTS_RESET),
        );
        // What other connections were held for to be asked about is not the session's latest any more.
        let mut outdated = Holds::empty();
        outdated.set(Holds::WARNINGS | Holds::FOUND_ROWS, routed.ending != Ending::Asks);
        self.held.end(outdated, &self.worker.pool);
    }

    /// A SET that a server has executed.
    fn note_set(
        &mut self,
        held: &mut Held,
        plan: &SetPlan,
        text: &[u8],
        status: Option<StatusFlags>,
    ) -> SetLeft {
        if let Some(names) = &plan.names {
            self.settings.names = Some(names.clone());
            held.backend.names = Some(names.clone());
        }
        self.settings.take_charsets(plan);
        self.note_set_of_transaction(held, plan.next_transaction, plan.defaults);
        if let Some(timeout) = plan.wait_timeout {
            self.settings.wait_timeout_s = Some(u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX));
        }
        if plan.is_global {
            self.settings.global_on = Some(held.hostgroup);
        }
        if let Some(tracks_schema) = plan.tracks_schema {
            let defaults = &mut self.settings.defaults;
            defaults.set(ServerDefaults::TRACKS_SCHEMA, tracks_schema);
        }
        let history = &mut self.settings.history;
        if plan.left == SetLeft::Replayable {
            history.push(text, &plan.variables, plan.supersedes());
            held.backend.replayed = history.last();
        }
        if let Some(set) = &plan.sql_mode {
            self.settings.mode = set.mode;
            self.settings.mode_told = status.unwrap_or_default() & TOLD;
            if plan.left != SetLeft::Replayable
                && let Some(alone) = &set.alone
            {
                history.push(alone, &["sql_mode".to_owned()], true);
                held.backend.replayed = history.last();
            }
        }
        self.count_kept();
        plan.left
    }

    fn count(&self, held: &Held, routed: &RoutedStatement<'_>, traffic: Traffic) {
        let outcome = held.backend.scanner.outcome();
        let digest = self.worker.counters.statement(&Sample {
            member: held.backend.member.number,
            hostgroup: held.hostgroup,
            user: &self.login.user.name,
            schema: self.settings.schema.as_deref(),
            statement: routed.statement,
            time: traffic.time,
            bytes_sent: traffic.bytes_sent,
            bytes_received: traffic.bytes_received,
            rows_affected: outcome.affected_rows,
            rows_sent: outcome.rows,
            failed: outcome.error.is_some(),
        });
        let error = outcome.error.as_ref().map(|error| error.code);
        self.measure(held, routed, digest, traffic.ended, error);
    }

    /// The answer was forwarded; the connection is gone, and with it what the session had there.
    fn broken_after(&self, error: &BackendError) -> End {
        bump(&self.worker.counters.totals.backend_lost);
        tracing::warn!(%error, "a backend connection was lost");
        End::Closed
    }
}

/// An error does not say whether the transaction is still open; the answer to a ping does.
async fn status_after_error(backend: &mut Backend) -> Result<Option<StatusFlags>, BackendError> {
    backend.outlive_kill().await?;
    Ok(backend.exchange(Command::Ping).await?.status)
}

/// Whether a failed statement may have opened or ended a transaction, or switched autocommit.
fn may_have_changed_transaction(held: &Held, routed: &RoutedStatement<'_>) -> bool {
    let shape = routed.statement.shape();
    !held.backend.autocommit
        || shape.class == StatementClass::Set
        || held.holds.intersects(Holds::IN_TRANSACTION)
        || shape
            .effects
            .intersects(SessionEffects::UNKNOWN | SessionEffects::TRANSACTION)
}
