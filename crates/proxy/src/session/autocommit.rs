//! SET statements that a session takes on, and switching autocommit, which ends transactions.

use shardwright_rules::{HostgroupId, PendingKind, Statement, refusal};
use shardwright_sql::names::mentions;
use shardwright_wire::{Command, MysqlError, SessionChange, StatusFlags, errors};

use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::{Holds, SetLeft};
use super::set_statement::SetPlan;
use super::statement_words::rejected;
use super::{Flow, Session};
use crate::server_defaults::ServerDefaults;

impl Session {
    /// Reads a SET statement; `None` for other statements.
    ///
    /// # Errors
    /// The error for the client, where the session cannot take it on.
    pub(super) fn plan_set(&self, statement: &Statement<'_>) -> Result<Option<Box<SetPlan>>, MysqlError> {
        let Some(mut plan) = SetPlan::of_statement(statement)?.map(Box::new) else {
            return Ok(None);
        };
        if loses_transactions(statement, &plan) && !self.is_mariadb() {
            return Err(errors::UNKNOWN.with(
                "the proxy refuses a SET of autocommit that reads a table: after it, MySQL can lose what this session and later ones commit; set autocommit to 0 or 1",
            ));
        }
        let history = &self.settings.history;
        if plan.names.is_some() && plan.left == SetLeft::Nothing && history.touches_charset() {
            // It takes back what an earlier SET did to a part of the character set; the order counts.
            plan.left = SetLeft::Replayable;
        }
        if !self.pending.is_empty() && plan.next_transaction.is_some() {
            return Err(errors::CANT_CHANGE_TX_CHARACTERISTICS
                .with("Transaction characteristics can't be changed while a transaction is in progress"));
        }
        if !self.pending.is_empty() && plan.is_about_transactions() {
            return Err(errors::UNKNOWN.with(
                "the proxy cannot do this SET between BEGIN and the first statement with a key, which opens the transaction: set it before BEGIN, or after that statement",
            ));
        }
        // Turned on, it ends a transaction; only its server may say that it does not end this one.
        let may_turn_on = !self.settings.autocommit && plan.autocommit != Some(false);
        if self.pending.kind() == Some(PendingKind::Xa) && may_turn_on && plan.may_switch_autocommit() {
            return Err(rejected(&refusal::within_active_xa()));
        }
        if plan.changes_mode(self.settings.mode) && !self.pending.reads_alike() {
            return Err(errors::UNKNOWN.with(
                "the proxy cannot set this sql_mode between BEGIN and the first statement with a key: those texts would be read otherwise; set it before them",
            ));
        }
        let limit = self.worker.shared.limits.max_set_history;
        if plan.left == SetLeft::Replayable {
            self.can_keep_text(statement.text().len())?;
        }
        if plan.left == SetLeft::Replayable
            && !history.has_room(statement.text(), &plan.variables, plan.supersedes(), limit)
        {
            return Err(errors::UNKNOWN.with(format_args!(
                "the session has set more than {limit} different groups of variables, or in longer texts than {} KiB; the proxy cannot repeat them on other connections",
                super::settings::MOST_BYTES >> 10
            )));
        }
        Ok(Some(plan))
    }

    /// Whether the proxy keeps a SET, and hands it on when a connection needs it.
    pub(super) fn can_keep(&self, plan: &SetPlan) -> bool {
        let is_open = self.held.transaction().is_some();
        let is_for_server = plan.next_transaction.is_some() && (is_open || self.settings.next.is_given());
        plan.is_kept_here() && !is_for_server && !self.is_told_by_server(plan)
    }

    /// Keeps a SET, unless no server of the hostgroup takes its character set.
    pub(super) async fn keep_set(&mut self, plan: Box<SetPlan>, hostgroup: HostgroupId, seq: u8) -> Flow {
        if let Some(names) = &plan.names
            && let Some(error) = self.names_error(names, hostgroup).await?
        {
            return self.refuse(seq, error).await;
        }
        self.diagnostics.begins_list_here();
        self.settings.take(&plan);
        if let Some(autocommit) = plan.autocommit {
            // Where it is on already, SET autocommit=1 ends no transaction.
            let turns_on = autocommit && !self.settings.autocommit;
            self.settings.autocommit = autocommit;
            self.settings.is_fresh = false;
            if turns_on && let Err(error) = self.commit_by_autocommit().await {
                // Within XA it stays off.
                self.settings.autocommit = false;
                return self.not_checked_out(error, seq).await;
            }
        }
        let change = plan.autocommit.map(|autocommit| SessionChange::SystemVariable {
            name: b"autocommit",
            value: if autocommit { b"ON" } else { b"OFF" },
        });
        let change = change.filter(|_| self.settings.defaults.contains(ServerDefaults::TRACKS_AUTOCOMMIT));
        self.send_changed(seq, change.as_slice()).await
    }

    /// Whether a SET that the proxy could keep is sent to a server, which tells the client the character sets by their
    /// full names, and autocommit if the session has set to be told of it.
    fn is_told_by_server(&self, plan: &SetPlan) -> bool {
        let has_set = || self.settings.history.has_set("session_track_system_variables");
        let is_told = plan.names.is_some() || (plan.autocommit.is_some() && has_set());
        self.client.tracks_session() && is_told && self.pending.is_empty()
    }

    /// Turning autocommit on commits: connections that have it off, or a transaction, hear of it at once.
    ///
    /// # Errors
    /// A server refuses, or is lost. Fatal where another has committed by then.
    pub(super) async fn commit_by_autocommit(&mut self) -> Result<(), CheckoutError> {
        let mut has_committed = false;
        let mut result = Ok(());
        for mut held in self.held.take_all() {
            if result.is_ok() {
                result = self.turn_on_autocommit(&mut held, &mut has_committed).await;
            }
            match &result {
                Err(CheckoutError::Fatal(_)) => return result,
                _ => self.held.keep_or_give(held, &self.worker.pool),
            }
        }
        match result {
            Ok(()) => {
                self.pending.clear();
                // Servers leave them to the next transaction then.
                self.settings.next.in_use = false;
            }
            Err(CheckoutError::Refused(error)) if has_committed => return Err(CheckoutError::Fatal(error)),
            Err(_) => {}
        }
        result
    }

    async fn turn_on_autocommit(
        &mut self,
        held: &mut Held,
        has_committed: &mut bool,
    ) -> Result<(), CheckoutError> {
        if held.backend.autocommit && held.holds.intersects(Holds::TRANSACTION) {
            // Begun before autocommit was off, and the connection has not heard of that yet. Where it is on, turning it on
            // commits nothing.
            self.switch_autocommit(held, b"SET autocommit=0").await?;
        }
        if !held.backend.autocommit {
            self.switch_autocommit(held, b"SET autocommit=1").await?;
            held.holds.remove(Holds::SAVEPOINTS);
            *has_committed = true;
        }
        Ok(())
    }

    async fn switch_autocommit(&mut self, held: &mut Held, text: &[u8]) -> Result<(), CheckoutError> {
        let outcome = self
            .exchange_waiting(&mut held.backend, Command::Query(text))
            .await?;
        if let Some(error) = outcome.error {
            return Err(CheckoutError::Refused(error));
        }
        held.backend.note_status(outcome.status);
        let is_open = |status: StatusFlags| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
        if outcome.status.is_some_and(|status| !is_open(status)) {
            held.holds.remove(Holds::TRANSACTION);
        }
        self.learn_commit(held, &outcome);
        Ok(())
    }
}

/// Whether MySQL 9.7.4 may lose transactions after it: InnoDB begins one for the SET that the server does not know of. Where
/// autocommit is off then, no COMMIT reaches InnoDB; and once the connection is closed, the next that begins a transaction
/// gets what InnoDB kept for it, so that its COMMITs are lost, too.
fn loses_transactions(statement: &Statement<'_>, plan: &SetPlan) -> bool {
    plan.autocommit.is_none()
        && statement.shape().runs_or_reads()
        && mentions(statement.text(), b"autocommit")
}
