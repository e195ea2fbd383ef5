//! SET statements: which the proxy keeps, and what a server that has executed one changes for the session.

use shardwright_rules::Statement;
use shardwright_sql::StatementClass;
use shardwright_wire::{Command, MysqlError, StatusFlags, errors};

use super::holds::{Holds, SetLeft};
use super::place::{lost, note_autocommit};
use super::set::SetPlan;
use super::statement::Run;
use super::text::inside_executable_comment;
use super::{Flow, Held, Session};

impl Session {
    /// Reads a SET statement; `None` for other statements.
    pub(super) fn plan_set(&self, statement: &Statement<'_>) -> Result<Option<SetPlan>, MysqlError> {
        if statement.shape().class != StatementClass::Set {
            return Ok(None);
        }
        let mut plan = if statement.shape().executable_comment {
            plan_of_comment(statement)?
        } else {
            SetPlan::of(statement.text(), statement.mode())?
        };
        if plan.names.is_some() && plan.left == SetLeft::Nothing && self.history.touches_charset() {
            // It takes back what an earlier SET did to a part of the character set; the order counts.
            plan.left = SetLeft::Replayable;
        }
        if !self.pending.is_empty() && plan.is_about_transactions() {
            return Err(errors::UNKNOWN.with(
                "BEGIN opens its transaction with the first statement that has a key, and this SET would change how: set \
                 it before BEGIN, or after that statement, so that the proxy can tell which transaction it is about",
            ));
        }
        let limit = self.worker.shared.limits.max_set_history;
        if plan.left == SetLeft::Replayable && !self.history.has_room(&plan.variables, limit) {
            return Err(errors::UNKNOWN.with(format_args!(
                "the session has set more than {limit} different groups of variables; they could not be repeated on \
                 further connections"
            )));
        }
        Ok(Some(plan))
    }

    /// A SET that a server has executed.
    pub(super) fn note_set(&mut self, held: &mut Held, run: &Run<'_>) -> SetLeft {
        let Some(plan) = &run.set else {
            return SetLeft::Nothing;
        };
        if let Some(names) = &plan.names {
            self.names = Some(names.clone());
            held.backend.names = Some(names.clone());
        }
        if plan.left == SetLeft::Replayable {
            self.history.push(run.statement.text(), &plan.variables);
            held.replayed = self.history.last();
        }
        plan.left
    }

    /// A SET that the proxy keeps and hands on when a connection needs it.
    pub(super) async fn keep_set(&mut self, plan: &SetPlan, text: &[u8], seq: u8) -> Flow {
        if let Some(names) = &plan.names {
            self.names = Some(names.clone());
        }
        if plan.next_transaction {
            self.next_transaction = Some(text.to_vec());
        }
        if let Some(autocommit) = plan.autocommit {
            // Where it is on already, SET autocommit=1 ends no transaction.
            let turns_on = autocommit && !self.autocommit;
            self.autocommit = autocommit;
            if turns_on && let Err(error) = self.commit_by_autocommit().await {
                return self.refuse_and_close(&error, seq).await;
            }
        }
        self.send_ok(seq, b"").await
    }

    /// Takes the autocommit of a connection that has just run a statement for the session's: a SET of an expression, a
    /// procedure, or a text that was run may have switched it. Before the statement the two were the same.
    pub(super) async fn follow_autocommit(&mut self, held: &Held) -> Result<(), MysqlError> {
        let turns_on = held.backend.autocommit && !self.autocommit;
        self.autocommit = held.backend.autocommit;
        if turns_on {
            self.commit_by_autocommit().await?;
        }
        Ok(())
    }

    /// Turning autocommit on commits: connections that have it off, or a transaction, hear of it at once.
    async fn commit_by_autocommit(&mut self) -> Result<(), MysqlError> {
        self.pending.clear();
        for mut held in std::mem::take(&mut self.held) {
            if held.backend.autocommit && held.holds.intersects(Holds::TRANSACTION) {
                // Begun before autocommit was off, and the connection has not heard of that yet. Where it is on, turning
                // it on commits nothing.
                switch_autocommit(&mut held, b"SET autocommit=0").await?;
            }
            if !held.backend.autocommit {
                switch_autocommit(&mut held, b"SET autocommit=1").await?;
                held.holds = held.holds.without(Holds::AUTOCOMMIT);
            }
            held.backend.last_session = self.number;
            self.keep_or_give(held);
        }
        Ok(())
    }
}

async fn switch_autocommit(held: &mut Held, text: &[u8]) -> Result<(), MysqlError> {
    let exchange = held.backend.exchange(Command::Query(text)).await;
    let outcome = exchange.map_err(|error| lost(&error))?;
    if let Some(error) = outcome.error {
        return Err(error);
    }
    note_autocommit(&mut held.backend, outcome.status);
    let is_open = |status: StatusFlags| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
    if outcome.status.is_some_and(|status| !is_open(status)) {
        held.holds = held.holds.without(Holds::TRANSACTION);
    }
    Ok(())
}

/// A SET that only some servers execute: it is sent to each connection, as what it leaves depends on the server.
fn plan_of_comment(statement: &Statement<'_>) -> Result<SetPlan, MysqlError> {
    let Some(inside) = inside_executable_comment(statement.text()) else {
        return Err(errors::PARSE.with(
            "SET with an executable comment inside is not supported by the proxy: it could not know what is set",
        ));
    };
    let mut plan = SetPlan::of(inside, statement.mode())?;
    if plan.left == SetLeft::Nothing && (plan.names.is_some() || plan.next_transaction) {
        plan.left = match plan.user_variables {
            true => SetLeft::Unknown,
            false => SetLeft::Replayable,
        };
    }
    // A server of another version does not execute it, and keeps what it has.
    (plan.names, plan.autocommit) = (None, None);
    Ok(plan)
}
