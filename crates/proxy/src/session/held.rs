//! Backend connections that stay with their session, as long as there is a reason to.

use std::rc::Rc;
use std::task::Context;
use std::time::{Duration, Instant};

use shardwright_rules::{HostgroupId, Transaction};
use shardwright_wire::{Command, StatusFlags};

use super::holds::Holds;
use crate::backend::Backend;
use crate::event_loop;
use crate::pool::Pool;
use crate::worker::Worker;

/// Time that a connection is given to forget its session.
const RESET_TIMEOUT: Duration = Duration::from_secs(5);
/// A question that InnoDB answers for every user of a MySQL.
const OF_INNODB: &[u8] = b"SELECT 1 FROM information_schema.SCHEMATA LIMIT 1";

/// A backend connection that a session has.
pub(super) struct Held {
    pub(super) hostgroup: HostgroupId,
    pub(super) backend: Box<Backend>,
    /// Why it stays with the session.
    pub(super) holds: Holds,
    /// When brief holds end.
    pub(super) until: Option<Instant>,
}

impl Held {
    /// A connection that nothing holds yet but what its server has run on it.
    pub(super) fn new(hostgroup: HostgroupId, backend: Box<Backend>) -> Self {
        let holds = if backend.has_run_init_connect {
            Holds::OUTLASTS_RESET
        } else {
            Holds::empty()
        };
        Self {
            hostgroup,
            backend,
            holds,
            until: None,
        }
    }
}

/// The connections that a session holds, at most one for each hostgroup.
#[derive(Default)]
pub(super) struct HeldConnections {
    connections: Vec<Held>,
}

impl HeldConnections {
    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.connections.iter()
    }

    /// The connection to this hostgroup.
    pub(super) fn on(&self, hostgroup: HostgroupId) -> Option<&Held> {
        self.connections.iter().find(|held| held.hostgroup == hostgroup)
    }

    /// The connection to this hostgroup, which the caller gives back.
    pub(super) fn take(&mut self, hostgroup: HostgroupId) -> Option<Held> {
        let is_there = |held: &Held| held.hostgroup == hostgroup;
        let position = self.connections.iter().position(is_there)?;
        Some(self.connections.swap_remove(position))
    }

    /// Every connection; the caller gives them back.
    pub(super) fn take_all(&mut self) -> Vec<Held> {
        std::mem::take(&mut self.connections)
    }

    /// Keeps a connection, whether there is a reason to or not.
    pub(super) fn keep(&mut self, held: Held) {
        self.connections.push(held);
    }

    /// Keeps a connection as long as there is a reason to, else gives it back.
    pub(super) fn keep_or_give(&mut self, held: Held, pool: &Pool) {
        self.keep_or_give_at(held, pool, Instant::now);
    }

    /// The same, at a time that is known.
    pub(super) fn keep_or_give_at(&mut self, held: Held, pool: &Pool, now: impl FnOnce() -> Instant) {
        if held.holds.is_empty() {
            pool.give_at(held.backend, now());
        } else {
            self.connections.push(held);
        }
    }

    /// The open transaction.
    pub(super) fn transaction(&self) -> Option<Transaction> {
        let mut hostgroups = self.hostgroups_with(Holds::IN_TRANSACTION);
        hostgroups.next().map(|hostgroup| Transaction { hostgroup })
    }

    /// What the status of its server says of the open transaction.
    pub(super) fn status_of_transaction(&self) -> StatusFlags {
        let of_transaction =
            StatusFlags::SERVER_STATUS_IN_TRANS | StatusFlags::SERVER_STATUS_IN_TRANS_READONLY;
        let is_open = |held: &&Held| held.holds.intersects(Holds::IN_TRANSACTION);
        self.connections
            .iter()
            .find(is_open)
            .map_or(StatusFlags::empty(), |held| {
                let said = held.backend.scanner.outcome().status;
                said.unwrap_or(StatusFlags::SERVER_STATUS_IN_TRANS) & of_transaction
            })
    }

    /// Hostgroups whose connections are held for one of these reasons.
    pub(super) fn hostgroups_with(&self, holds: Holds) -> impl Iterator<Item = HostgroupId> {
        let held = self.connections.iter();
        held.filter(move |held| held.holds.intersects(holds))
            .map(|held| held.hostgroup)
    }

    /// The hostgroup whose connection is held for one of these reasons, where there is one and no other.
    pub(super) fn only_hostgroup_with(&self, holds: Holds) -> Option<HostgroupId> {
        let mut hostgroups = self.hostgroups_with(holds);
        hostgroups.next().filter(|_| hostgroups.next().is_none())
    }

    /// When the next brief hold ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.connections.iter().filter_map(|held| held.until).min()
    }

    /// Drops connections that their servers have closed, or said something on unasked. The reasons that they were held for.
    pub(super) fn poll_lost(&mut self, cx: &mut Context<'_>) -> Holds {
        let mut lost = Holds::empty();
        self.connections.retain_mut(|held| {
            let is_silent = held.backend.channel.poll_silent(cx);
            if !is_silent {
                lost |= held.holds;
            }
            is_silent
        });
        lost
    }

    /// Lets go of what is kept for questions that were not asked in time.
    pub(super) fn end_brief_holds(&mut self, now: impl FnOnce() -> Instant, pool: &Pool) {
        if self.connections.iter().all(|held| held.until.is_none()) {
            return;
        }
        let now = now();
        if self
            .connections
            .iter()
            .all(|held| held.until.is_none_or(|until| until > now))
        {
            return;
        }
        for mut held in self.take_all() {
            if held.until.is_some_and(|until| until <= now) {
                held.holds.remove(Holds::BRIEF);
                held.until = None;
            }
            self.keep_or_give(held, pool);
        }
    }

    /// Ends these reasons on every connection.
    pub(super) fn end(&mut self, outdated: Holds, pool: &Pool) {
        if self.hostgroups_with(outdated).next().is_none() {
            return;
        }
        for mut held in self.take_all() {
            held.holds.remove(outdated);
            self.keep_or_give(held, pool);
        }
    }

    /// Gives every connection back once it has forgotten the session; those that cannot are closed.
    pub(super) fn release_all(&mut self, worker: &Rc<Worker>) {
        for held in self.release_clean(worker) {
            event_loop::spawn(reset_and_give(worker.clone(), held));
        }
    }

    /// The same, done when it returns: whoever asks next, on whatever connection, finds the session's locks free.
    pub(super) async fn finish_all(&mut self, worker: &Rc<Worker>) {
        for held in self.release_clean(worker) {
            reset_and_give(worker.clone(), held).await;
        }
    }

    /// Gives back what needs no reset, and closes what none would help; the others.
    fn release_clean(&mut self, worker: &Rc<Worker>) -> Vec<Held> {
        let mut others = Vec::new();
        for held in self.take_all() {
            // A prepared XA transaction belongs to nobody but this session; only closing leaves it as a server would.
            // What a switch of autocommit has hidden from the server outlasts everything else.
            if held.holds.intersects(Holds::UNTIL_CLOSED) {
                let by_code = held.holds.intersection(Holds::UNTIL_CLOSED) == Holds::AUTOCOMMIT_BY_CODE;
                if by_code && !held.backend.is_mariadb {
                    event_loop::spawn(mend_and_close(held));
                }
            } else if held.holds.is_empty() {
                worker.pool.give(held.backend);
            } else {
                others.push(held);
            }
        }
        others
    }
}

/// Resets a connection, which rolls back what is open, and gives it back; it is closed if that does not work.
async fn reset_and_give(worker: Rc<Worker>, mut held: Held) {
    if is_reset(&mut held.backend).await {
        worker.pool.give(held.backend);
    }
}

/// MySQL 9.7.4: code that sets autocommit from a table leaves a mark on what InnoDB keeps for the connection. Closed with it,
/// the next connection that begins a transaction gets the mark, and its COMMIT commits nothing. A statement outside of
/// transactions that InnoDB answers takes the mark away.
async fn mend_and_close(mut held: Held) {
    if !is_reset(&mut held.backend).await {
        return;
    }
    let error = match held.backend.exchange(Command::Query(OF_INNODB)).await {
        Ok(outcome) => outcome.error.map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(error) = error {
        tracing::warn!(%error, "a connection was closed with an autocommit that code has set");
    }
}

/// Resets a connection, and tells why that did not work.
async fn is_reset(backend: &mut Backend) -> bool {
    let clock = backend.clock.clone();
    match clock.timeout(RESET_TIMEOUT, backend.reset()).await {
        Ok(Ok(Ok(()))) => return true,
        Ok(Ok(Err(error))) => tracing::warn!(%error, "a server does not reset connections"),
        Ok(Err(error)) => tracing::debug!(%error, "a backend connection was lost while it was reset"),
        Err(_) => tracing::warn!("a backend connection was not reset in time"),
    }
    false
}
