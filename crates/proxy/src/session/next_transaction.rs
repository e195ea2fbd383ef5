//! Characteristics of the next transaction alone: `SET TRANSACTION`, which a server keeps until a transaction, or a statement
//! outside of one, has used it up.
//!
//! Which statement uses it up depends on the server, on the engines of its tables and on how it fails: on MariaDB 10.11, a SELECT from
//! an InnoDB table does, one from a MyISAM table does not, SHOW TABLES does not; on MySQL 9.7, SHOW TABLES does. So the proxy does
//! not guess. The connection that was given them stays with the session, and what follows there meets them or not, as on any server.
//! Only where the session goes on with another connection, the first one is [asked](super::Session::settle_next_transaction) whether
//! it still has them.
//!
//! The question is a write that does not run: one that READ ONLY refuses. So a read alone is given READ ONLY as well.

use shardwright_rules::HostgroupId;
use shardwright_wire::{Command, MysqlError};

use super::held::Held;
use super::holds::Holds;
use super::requirements::Requirements;
use crate::backend::BackendError;
use crate::characteristics::{Characteristics, SessionDefaults};

/// What the session has set for its next transaction, and where that may be used up by now.
#[derive(Debug, Default)]
pub(super) struct NextTransaction {
    pub(super) set: Characteristics,
    /// The connection to this hostgroup was given them.
    pub(super) on: Option<HostgroupId>,
    /// With READ ONLY, which the session has not set.
    pub(super) is_marked: bool,
    /// A transaction that is open there has them. One that a server has rolled back, as after a deadlock, leaves them to the next.
    pub(super) in_use: bool,
    /// Whether the last statement there has used them up, by what is known of it.
    pub(super) is_used: bool,
}

impl NextTransaction {
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.on.is_none()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a connection was given them.
    pub(super) fn is_given(&self) -> bool {
        self.on.is_some()
    }

    /// Takes on what a SET TRANSACTION sets, which no server has executed.
    pub(super) fn take(&mut self, set: Characteristics) {
        self.set = self.set.and(set);
    }

    /// `SET SESSION TRANSACTION …` takes the place of what was set for the next one alone.
    pub(super) fn give_way(&mut self, defaults: SessionDefaults) {
        self.set.give_way(defaults);
    }

    /// What a statement is to meet on its connection.
    fn wanted(&self, requirements: &Requirements) -> Characteristics {
        if self.in_use {
            return Characteristics::default();
        }
        let mut wanted = self.set;
        if requirements.is_marked && !wanted.is_empty() && !wanted.is_unknown {
            wanted.read_only = Some(true);
        }
        wanted
    }

    /// Whether a statement can go on where they were given.
    pub(super) fn suits(&self, requirements: &Requirements) -> bool {
        let suits = self.in_use || !self.is_marked || requirements.is_marked;
        self.on == Some(requirements.hostgroup) && suits
    }

    /// Whether a connection is as a statement needs it. `given`: what it was given before, which may be used up.
    pub(super) fn is_met(&self, given: Option<Characteristics>, requirements: &Requirements) -> bool {
        !requirements.may_use_up
            || self.suits(requirements)
            || ((self.is_empty() || self.in_use) && given.is_none())
    }

    /// Gives them to a connection, in the place of what it has.
    ///
    /// # Errors
    /// As [`crate::backend::Backend::exchange`]; the inner error is the server's.
    pub(super) async fn give(
        &mut self,
        held: &mut Held,
        requirements: &Requirements,
    ) -> Result<Option<MysqlError>, BackendError> {
        let wanted = self.wanted(requirements);
        let is_open = held.holds.intersects(Holds::IN_TRANSACTION);
        if is_open || self.is_met(held.backend.next_transaction, requirements) {
            return Ok(None);
        }
        if held.backend.next_transaction.take().is_some() {
            // It uses up whatever is left; no transaction is open.
            let outcome = held.backend.exchange(Command::Query(b"COMMIT")).await?;
            if outcome.error.is_some() {
                return Ok(outcome.error);
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let text = wanted.statement();
        let outcome = held.backend.exchange(Command::Query(text.as_bytes())).await?;
        if outcome.error.is_none() {
            self.is_on(held, wanted);
        }
        Ok(outcome.error)
    }

    /// A connection has them now.
    pub(super) fn is_on(&mut self, held: &mut Held, given: Characteristics) {
        held.backend.next_transaction = Some(given);
        held.holds |= Holds::NEXT_TRANSACTION;
        self.on = Some(held.hostgroup);
        self.is_marked = given != self.set;
        self.in_use = false;
        self.is_used = false;
    }
}

#[cfg(test)]
mod tests {
    use shardwright_rules::Statement;
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn characteristics_add_up_and_defaults_take_their_place() {
        let mut next = NextTransaction::default();
        let set = |text: &str| {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            Characteristics::read(&statement).unwrap()
        };
        next.take(set("SET TRANSACTION READ ONLY"));
        next.take(set("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"));
        assert_eq!(
            next.set.statement(),
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY"
        );
        next.give_way(SessionDefaults {
            isolation: true,
            access: false,
        });
        assert_eq!(next.set.statement(), "SET TRANSACTION READ ONLY");
        next.give_way(SessionDefaults {
            isolation: false,
            access: true,
        });
        assert!(next.is_empty());
    }
}
