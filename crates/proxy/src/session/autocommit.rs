//! SET statements that a session takes on, and switching autocommit, which ends transactions.

use shardwright_rules::Statement;
use shardwright_wire::{Command, MysqlError, StatusFlags, errors};

use super::held::Held;
use super::holds::{Holds, SetLeft};
use super::set_statement::SetPlan;
use super::{Flow, Session};

impl Session {
    /// Reads a SET statement; `None` for other statements.
    ///
    /// # Errors
    /// The error for the client, where the session cannot take it on.
    pub(super) fn plan_set(&self, statement: &Statement<'_>) -> Result<Option<SetPlan>, MysqlError> {
        let Some(mut plan) = SetPlan::of_statement(statement)? else {
            return Ok(None);
        };
        let history = &self.settings.history;
        if plan.names.is_some() && plan.left == SetLeft::Nothing && history.touches_charset() {
            // It takes back what an earlier SET did to a part of the character set; the order counts.
            plan.left = SetLeft::Replayable;
        }
        if !self.pending.is_empty() && plan.is_about_transactions() {
            return Err(errors::UNKNOWN.with(
                "the proxy cannot do this SET between BEGIN and the first statement with a key, which opens the transaction: set it before BEGIN, or after that statement",
            ));
        }
        let limit = self.worker.shared.limits.max_set_history;
        if plan.left == SetLeft::Replayable && !history.has_room(&plan.variables, limit) {
            return Err(errors::UNKNOWN.with(format_args!(
                "the session has set more than {limit} different groups of variables; the proxy cannot repeat them on other connections"
            )));
        }
        Ok(Some(plan))
    }

    /// A SET that the proxy keeps and hands on when a connection needs it.
    pub(super) async fn keep_set(&mut self, plan: &SetPlan, text: &[u8], seq: u8) -> Flow {
        self.settings.take(plan, text);
        if let Some(autocommit) = plan.autocommit {
            // Where it is on already, SET autocommit=1 ends no transaction.
            let turns_on = autocommit && !self.settings.autocommit;
            self.settings.autocommit = autocommit;
            if turns_on && let Err(error) = self.commit_by_autocommit().await {
                return self.refuse_and_close(&error, seq).await;
            }
        }
        self.send_ok(seq, b"").await
    }

    /// Takes the autocommit of a connection that has just run a statement for the session's: a SET of an expression, a
    /// procedure, or a text that was run may have switched it. Before the statement the two were the same.
    pub(super) async fn follow_autocommit(&mut self, held: &Held) -> Result<(), MysqlError> {
        let turns_on = held.backend.autocommit && !self.settings.autocommit;
        self.settings.autocommit = held.backend.autocommit;
        if turns_on {
            self.commit_by_autocommit().await?;
        }
        Ok(())
    }

    /// Turning autocommit on commits: connections that have it off, or a transaction, hear of it at once.
    async fn commit_by_autocommit(&mut self) -> Result<(), MysqlError> {
        self.pending.clear();
        for mut held in self.held.take_all() {
            if held.backend.autocommit && held.holds.intersects(Holds::TRANSACTION) {
                // Begun before autocommit was off, and the connection has not heard of that yet. Where it is on, turning
                // it on commits nothing.
                switch_autocommit(&mut held, b"SET autocommit=0").await?;
            }
            if !held.backend.autocommit {
                switch_autocommit(&mut held, b"SET autocommit=1").await?;
                held.holds.remove(Holds::AUTOCOMMIT);
            }
            held.backend.last_session = self.number;
            self.held.keep_or_give(held, &self.worker.pool);
        }
        Ok(())
    }
}

async fn switch_autocommit(held: &mut Held, text: &[u8]) -> Result<(), MysqlError> {
    let exchange = held.backend.exchange(Command::Query(text)).await;
    let outcome = exchange.map_err(|error| error.for_client())?;
    if let Some(error) = outcome.error {
        return Err(error);
    }
    held.backend.note_status(outcome.status);
    let is_open = |status: StatusFlags| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
    if outcome.status.is_some_and(|status| !is_open(status)) {
        held.holds.remove(Holds::TRANSACTION);
    }
    Ok(())
}
