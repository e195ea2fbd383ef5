//! Whether a connection still has what the session has set for its next transaction.

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::StatementClass;
use shardwright_wire::{Command, errors};

use super::Session;
use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::Holds;
use super::requirements::Requirements;
use super::routed::RoutedStatement;
use crate::backend::BackendError;
use crate::characteristics::{Characteristics, SessionDefaults};
use crate::server_defaults::ServerDefaults;

/// ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
const READ_ONLY: u16 = 1792;
/// ER_PARSE_ERROR
const PARSE: u16 = 1064;
/// Errors that come before a statement has opened its tables. Both servers; what else fails has used the characteristics up.
const EARLY: [u16; 16] = [
    1044, 1045, 1046, 1049, 1064, 1065, 1109, 1142, 1143, 1146, 1193, 1227, 1295, 1305, 1370, READ_ONLY,
];

impl Session {
    /// Finds out whether the connection that was given the characteristics still has them, if the statement cannot go there.
    ///
    /// # Errors
    /// Nobody can tell, or the connection is lost.
    pub(super) async fn settle_for(&mut self, requirements: &Requirements) -> Result<(), CheckoutError> {
        let next = &self.settings.next;
        let is_held = |on: HostgroupId| {
            let held = self.held.on(on);
            held.is_some_and(|held| held.holds.intersects(Holds::NEXT_TRANSACTION))
        };
        if next.on.is_some_and(|on| !is_held(on)) {
            // The connection is lost, and what it had with it.
            self.settings.next.clear();
        }
        if self.settings.next.in_use || self.settings.next.suits(requirements) {
            return Ok(());
        }
        self.settle_next_transaction().await
    }

    /// Finds out whether the connection that was given the characteristics still has them, if it can be asked.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn settle_if_asked(&mut self) -> Result<(), CheckoutError> {
        let held = self.settings.next.on.and_then(|on| self.held.on(on));
        let given = held.and_then(|held| held.backend.next_transaction);
        if given.is_some_and(Characteristics::is_read_only) && !self.is_never_asked() {
            self.settle_next_transaction().await?;
        }
        Ok(())
    }

    /// Finds out whether the connection that was given the characteristics still has them.
    ///
    /// # Errors
    /// Nobody can tell, or the connection is lost.
    pub(super) async fn settle_next_transaction(&mut self) -> Result<(), CheckoutError> {
        let Some(on) = self.settings.next.on.filter(|_| !self.settings.next.in_use) else {
            return Ok(());
        };
        let Some(mut held) = self.held.take(on) else {
            self.settings.next.clear();
            return Ok(());
        };
        if self.settings.next.set.is_unknown {
            self.held.keep(held);
            return Err(CheckoutError::Refused(errors::PROXY_HOSTGROUP_LOCKED.with(format_args!(
                "the session holds a connection to hostgroup {on} (SET TRANSACTION), and this statement belongs elsewhere: write SET TRANSACTION ISOLATION LEVEL with the level, and READ ONLY or READ WRITE"
            ))));
        }
        let asked = match held.backend.next_transaction {
            Some(given) if given.is_read_only() && !self.is_never_asked() => {
                // Lost, it has nothing left, and the session nothing there.
                let asked = still_read_only(&mut held).await;
                asked.map_err(|error| CheckoutError::Fatal(error.for_client()))?
            }
            _ => None,
        };
        let is_used = asked.map_or(self.settings.next.is_used, |still| !still);
        self.settings.next.on = None;
        self.settings.next.is_marked = false;
        if is_used {
            self.settings.next.clear();
            if asked.is_some() {
                held.backend.next_transaction = None;
            }
        }
        held.holds.remove(Holds::NEXT_TRANSACTION);
        self.held.keep_or_give(held, &self.worker.pool);
        Ok(())
    }

    /// Brings a statement to where the characteristics are: a SET of the next transaction, or of all further ones, and a read that
    /// the writer can answer as well.
    pub(super) fn follow_next_transaction(&self, routed: &mut RoutedStatement<'_>) {
        let reader = routed.requirements.hostgroup;
        if routed.requirements.is_read_alone
            && let Some(writer) = self.writer_beside(reader)
            && (self.settings.next.on == Some(writer) || self.is_never_asked())
        {
            routed.requirements.hostgroup = writer;
        }
        let Some(plan) = &routed.set else {
            return;
        };
        let is_for_next = plan.next_transaction.is_some();
        if !is_for_next && plan.defaults == SessionDefaults::default() {
            return;
        }
        if let Some(on) = self.settings.next.on {
            // The server knows what they come to together.
            routed.requirements.hostgroup = on;
            return;
        }
        routed.requirements.may_use_up |= is_for_next;
    }

    /// The writer's hostgroup of a reader's cluster.
    fn writer_beside(&self, reader: HostgroupId) -> Option<HostgroupId> {
        if self.settings.next.is_empty() {
            return None;
        }
        let cluster = self.login.snapshot.configuration.cluster_of(reader)?;
        (cluster.reader == Some(reader)).then_some(cluster.writer)
    }

    /// Whether every transaction of the session may be read only: then a connection that refuses a write says nothing.
    pub(super) fn is_never_asked(&self) -> bool {
        self.settings.defaults.contains(ServerDefaults::READ_ONLY)
            || self.settings.history.has_set("transaction_read_only")
    }

    /// A transaction, or its end, has used the characteristics up.
    pub(super) fn next_transaction_is_used(&mut self) {
        self.settings.next.clear();
        self.held.end(Holds::NEXT_TRANSACTION, &self.worker.pool);
    }

    /// Learns what a statement that was answered means for them.
    pub(super) fn learn_next_transaction(
        &mut self,
        held: &mut Held,
        statement: &Statement<'_>,
        (in_transaction, error): (bool, Option<u16>),
    ) {
        let next = &mut self.settings.next;
        if next.is_empty() {
            return;
        }
        let is_here = next.on == Some(held.hostgroup);
        let ends = statement.transaction_end().is_some() && error.is_none();
        let was_in_use = next.in_use && is_here;
        if is_here {
            next.in_use = in_transaction;
        }
        if !in_transaction && (ends || (was_in_use && error.is_none())) {
            if is_here {
                held.backend.next_transaction = None;
                held.holds.remove(Holds::NEXT_TRANSACTION);
            }
            return self.next_transaction_is_used();
        }
        // Without autocommit, only the end of a transaction uses them up.
        if is_here && !in_transaction && self.settings.autocommit {
            let shape = statement.shape();
            let commits = shape.class == StatementClass::Ddl;
            let uses = |code: u16| {
                (commits && code != PARSE)
                    || (!EARLY.contains(&code) && (code != 1054 || held.backend.is_mariadb))
            };
            next.is_used |= error.map_or(shape.names_table || !shape.is_session_setup(), uses);
        }
    }

    /// A server has executed a SET of the next transaction, or of all further ones.
    pub(super) fn note_set_of_transaction(
        &mut self,
        held: &mut Held,
        set: Option<Characteristics>,
        defaults: SessionDefaults,
    ) {
        if let Some(set) = set {
            let next = &mut self.settings.next;
            if next.is_used {
                next.set = Characteristics::default();
            }
            next.take(set);
            let set = next.set;
            next.is_on(held, set);
        }
        // A transaction that is open keeps what it has.
        if defaults != SessionDefaults::default() && !self.settings.next.in_use {
            self.settings.next.give_way(defaults);
            if let Some(given) = &mut held.backend.next_transaction {
                given.give_way(defaults);
                self.settings.next.is_marked = *given != self.settings.next.set;
            }
        }
    }
}

/// Whether a connection refuses writes; `None`: its user may not write there in any case.
async fn still_read_only(held: &mut Held) -> Result<Option<bool>, BackendError> {
    const QUESTION: &[u8] = b"EXPLAIN DELETE FROM `shardwright_asks`";
    if held.backend.schema.is_none() {
        return Ok(None);
    }
    let outcome = held.backend.exchange(Command::Query(QUESTION)).await?;
    Ok(match outcome.error.map(|error| error.code) {
        Some(READ_ONLY) => Some(true),
        Some(1146) | None => Some(false),
        Some(_) => None,
    })
}
