//! After a statement: counting it, learning what it left behind, and what follows from a connection that was lost.

use std::time::Instant;

use shardwright_sql::{SessionEffects, StatementClass};
use shardwright_wire::{Command, StatusFlags};

use super::forward::{Broken, Traffic};
use super::holds::{After, Ending, Holds, SetLeft, after};
use super::place::{lost, note_autocommit};
use super::set::SetPlan;
use super::statement::Run;
use super::text::is_transaction_bound;
use super::{End, Flow, Held, Previous, Session};
use crate::backend::{BackendError, is_unreadable};
use crate::stats::{Sample, bump};

impl Session {
    /// The answer did not come whole. A statement is never sent twice: nobody knows whether it was executed.
    pub(super) async fn broken(&mut self, broken: Broken, held: &Held, seq: u8) -> Flow {
        match broken {
            Broken::Client => Err(End::ClientGone),
            Broken::Backend { error, is_partial } => {
                bump(&self.worker.counters.totals.backend_lost);
                tracing::warn!(session = self.connection_id, hostgroup = %held.hostgroup, %error, "a backend connection was lost");
                if is_partial {
                    return Err(End::Closed);
                }
                let error = lost(&error);
                if held.holds.is_empty() {
                    self.refuse(seq, &error).await
                } else {
                    self.refuse_and_close(&error, seq).await
                }
            }
        }
    }

    /// Counts an answered statement, learns what it left, and keeps the connection or gives it back.
    pub(super) async fn conclude(
        &mut self,
        mut held: Held,
        run: &Run<'_>,
        bytes_sent: usize,
        traffic: Traffic,
        started: Instant,
    ) -> Flow {
        self.count(&held, run, bytes_sent, traffic, started);
        self.note_table_change(run.statement.shape());
        let outcome = held.backend.scanner.outcome();
        let (failed, mut status) = (outcome.error.is_some(), outcome.status);
        let (insert_id, warnings) = (outcome.last_insert_id, outcome.warnings);
        let exchanges = held.backend.exchanges;
        if failed && may_have_changed_transaction(&held, run) {
            // An error does not say whether the transaction is still open; the answer to a ping does.
            match held.backend.exchange(Command::Ping).await {
                Ok(outcome) => status = outcome.status,
                Err(error) => return self.broken_after(&error),
            }
        }
        if status.is_some_and(is_unreadable) {
            tracing::error!(hostgroup = %held.hostgroup, "sql_mode has become one under which statements cannot be read");
            return Err(End::Closed);
        }
        note_autocommit(&mut held.backend, status);
        let is_said = run.set.as_ref().is_some_and(SetPlan::says_autocommit);
        if held.backend.autocommit != self.autocommit && !is_said {
            held.holds = held.holds.with(Holds::AUTOCOMMIT_BY_CODE);
        }
        if let Err(error) = self.follow_autocommit(&held).await {
            tracing::warn!(%error, "a connection of the session did not take autocommit");
            return Err(End::Closed);
        }
        held.backend.is_suspect |= run
            .statement
            .shape()
            .effects
            .intersects(SessionEffects::UNKNOWN | SessionEffects::TEXT_PREPARE);
        let set = if failed {
            SetLeft::Nothing
        } else {
            self.note_set(&mut held, run)
        };
        let shape = run.statement.shape();
        held.holds = after(
            held.holds,
            &After {
                shape,
                in_transaction: status.map(|status| status.contains(StatusFlags::SERVER_STATUS_IN_TRANS)),
                autocommit: self.autocommit,
                failed,
                insert_id,
                warnings,
                set,
                ending: run.ending,
                multiplex: run.effects.multiplex,
            },
        );
        self.outdate(run.ending, insert_id);
        self.is_answered_here = false;
        if !shape.is_safe_read() && !run.statement.is_session_setup() && !is_transaction_bound(shape) {
            self.last_write = Some(Instant::now());
        }
        self.next_query_flag_in = run.effects.next_query_flag_in.or(self.next_query_flag_in);
        self.note_warnings(&mut held, run.statement, failed, warnings);
        self.previous = Some(Previous {
            hostgroup: held.hostgroup,
            member: held.backend.member.number,
            serial: held.backend.serial,
            exchanges,
        });
        held.backend.last_session = self.number;
        held.until = held
            .holds
            .intersects(Holds::BRIEF)
            .then(|| Instant::now() + self.worker.shared.limits.brief_hold);
        self.keep_or_give(held);
        Ok(())
    }

    /// What other connections were held for to be asked about is not the session's latest any more.
    fn outdate(&mut self, ending: Ending, insert_id: u64) {
        let mut outdated = Holds::NONE;
        if ending != Ending::Asks {
            outdated = outdated.with(Holds::WARNINGS).with(Holds::FOUND_ROWS);
        }
        if insert_id != 0 {
            outdated = outdated.with(Holds::INSERT_ID);
        }
        if !self.held.iter().any(|held| held.holds.intersects(outdated)) {
            return;
        }
        for mut held in std::mem::take(&mut self.held) {
            held.holds = held.holds.without(outdated);
            self.keep_or_give(held);
        }
    }

    fn count(&self, held: &Held, run: &Run<'_>, bytes_sent: usize, traffic: Traffic, started: Instant) {
        let outcome = held.backend.scanner.outcome();
        self.worker.counters.statement(&Sample {
            member: held.backend.member.number,
            hostgroup: held.hostgroup,
            user: &self.user.name,
            schema: self.schema.as_deref(),
            statement: run.statement,
            time: started.elapsed(),
            bytes_sent: bytes_sent as u64,
            bytes_received: traffic.received,
            rows_affected: outcome.affected_rows,
            rows_sent: outcome.rows,
            failed: outcome.error.is_some(),
        });
    }

    /// The answer was forwarded; the connection is gone, and with it what the session had there.
    fn broken_after(&self, error: &BackendError) -> Flow {
        bump(&self.worker.counters.totals.backend_lost);
        tracing::warn!(%error, "a backend connection was lost");
        Err(End::Closed)
    }
}

/// Whether a failed statement may have opened or ended a transaction, or switched autocommit.
fn may_have_changed_transaction(held: &Held, run: &Run<'_>) -> bool {
    let shape = run.statement.shape();
    !held.backend.autocommit
        || shape.class == StatementClass::Set
        || held.holds.intersects(Holds::IN_TRANSACTION)
        || shape
            .effects
            .intersects(SessionEffects::UNKNOWN | SessionEffects::TRANSACTION)
}
