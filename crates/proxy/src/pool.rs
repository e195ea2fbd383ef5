//! The idle backend connections of one worker, and the sessions that wait for one.

mod idle;
mod line;
mod making_room;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use self::idle::Idle;
pub(crate) use self::line::Waiting;
use self::line::{Line, Waiter};
pub(crate) use self::making_room::Wanted;
use self::making_room::retire;
use crate::backend::Backend;
use crate::counted::Counted;
use crate::insert_id::InsertId;
use crate::members::MemberRuntime;
use crate::pool_key::{PoolKey, WantedKey};

/// Which connection a session would like best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    /// The session.
    pub(crate) session: u64,
    /// The one connection that will do; others will not.
    pub(crate) only: Option<u64>,
}

/// Idle connections by member. Nothing here waits or does I/O.
///
/// Limits count for all workers. A connection cannot move to another worker: it is closed here and opened there, which costs more
/// than many statements. So a worker that has its share of a member's connections waits for one of its own, unless it writes; see
/// [`Pool::give`].
#[derive(Default)]
pub(crate) struct Pool {
    members: RefCell<FxHashMap<u64, MemberPool>>,
}

struct MemberPool {
    member: Arc<MemberRuntime>,
    /// Used most recently last.
    idle: Vec<Idle>,
    line: Line,
    /// Connections of this worker, idle or not.
    open: Rc<Cell<usize>>,
}

impl MemberPool {
    fn new(member: Arc<MemberRuntime>) -> Self {
        Self {
            member,
            idle: Vec::new(),
            line: Line::default(),
            open: Rc::default(),
        }
    }

    /// Whether an idle connection of a user is better closed than kept, for sessions that wait.
    fn is_for_others(&self, user: &str) -> bool {
        let member = &self.member;
        if member.room.waiting() == 0 {
            return false;
        }
        let is_over = || self.open.get() > member.share_of_worker();
        let waits = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
        let is_for_workers = || waits(&member.starving) || (waits(&member.waiting) && is_over());
        self.line.is_empty() && (is_for_workers() || member.room.wants(member.number, user))
    }
}

/// Figures about one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberFigures {
    pub(crate) member: u64,
    pub(crate) idle: usize,
}

impl Pool {
    /// Takes an idle connection that fits: the one the session used last, else the one used most recently. Connections
    /// that the server has closed, or said something on unasked, are dropped on the way.
    pub(crate) fn take(
        &self,
        member: u64,
        key: WantedKey<'_>,
        preference: Preference,
    ) -> Option<Box<Backend>> {
        let mut members = self.members.borrow_mut();
        let idle = &mut members.get_mut(&member)?.idle;
        loop {
            let fits = |idle: &Idle| !idle.is_over && idle.backend.key == key;
            let is_own = |idle: &Idle| idle.session == preference.session && fits(idle);
            let is_this = |idle: &Idle, serial| {
                idle.session == preference.session && idle.backend.serial == serial && idle.backend.key == key
            };
            let position = match preference.only {
                Some(serial) => idle.iter().rposition(|idle| is_this(idle, serial)),
                None => idle
                    .iter()
                    .rposition(is_own)
                    .or_else(|| idle.iter().rposition(fits)),
            }?;
            let mut backend = idle.remove(position).backend;
            if backend.channel.is_silent() {
                return Some(backend);
            }
        }
    }

    /// Whether an idle connection fits.
    pub(crate) fn has(&self, member: u64, key: WantedKey<'_>) -> bool {
        let members = self.members.borrow();
        let idle = members.get(&member).map_or(&[][..], |pool| &pool.idle);
        idle.iter().any(|idle| !idle.is_over && idle.backend.key == key)
    }

    /// Takes the idle connection that has this id.
    pub(crate) fn take_with(&self, id: &Rc<InsertId>) -> Option<Box<Backend>> {
        let mut members = self.members.borrow_mut();
        let idle = &mut members.get_mut(&id.member)?.idle;
        let position = idle.iter().position(|idle| idle.backend.has_this(id))?;
        let mut backend = idle.remove(position).backend;
        backend.channel.is_silent().then_some(backend)
    }

    /// Gives a connection back that is as a session must find it: to a session that waits in line here. It is closed for a session that
    /// waits elsewhere, if that writes and nobody does here; and where nobody waits here, if the other's worker has no connection, or
    /// this worker has more than its share.
    pub(crate) fn give(&self, backend: Box<Backend>) {
        self.give_at(backend, Instant::now());
    }

    /// The same, where the time is known.
    pub(crate) fn give_at(&self, mut backend: Box<Backend>, now: Instant) {
        let mut members = self.members.borrow_mut();
        let number = backend.member.number;
        let pool = members
            .entry(number)
            .or_insert_with(|| MemberPool::new(backend.member.clone()));
        if backend.is_over(now) && (backend.must_change_password || !backend.has_insert_id()) {
            // Who waits may open another in its place.
            return;
        }
        if backend.statements.has_long_texts() && !backend.has_insert_id() {
            // They would be held for nobody.
            return;
        }
        backend.idle_since = now;
        if pool.line.has_only_reads() && pool.member.room.wants_for_writes(number, &backend.key.user) {
            retire(backend);
            return;
        }
        let Some(waiter) = pool.line.next() else {
            match pool.is_for_others(&backend.key.user) {
                true => {
                    retire(backend);
                }
                false => pool.idle.push(Idle::new(backend, now)),
            }
            return;
        };
        if waiter.key == backend.key && !backend.is_over(now) {
            waiter.hand_over(backend);
        } else {
            pool.idle.push(Idle::new(backend, now));
            waiter.call();
        }
    }

    /// Counts a connection that is about to be opened.
    pub(crate) fn count(&self, member: &Arc<MemberRuntime>) -> Counted {
        let mut members = self.members.borrow_mut();
        let pool = members
            .entry(member.number)
            .or_insert_with(|| MemberPool::new(member.clone()));
        Counted::new(pool.open.clone(), member.clone())
    }

    /// Connections of this worker to a member, idle or not.
    pub(crate) fn open(&self, member: u64) -> usize {
        self.members
            .borrow()
            .get(&member)
            .map_or(0, |pool| pool.open.get())
    }

    /// Waits in line for the next connection to this member that is given back. Dropping the entry leaves the line.
    pub(crate) fn wait(&self, member: &Arc<MemberRuntime>, key: PoolKey, is_read: bool) -> Waiting<'_> {
        let waiter = Rc::new(Waiter::new(key, is_read));
        let mut members = self.members.borrow_mut();
        let pool = members
            .entry(member.number)
            .or_insert_with(|| MemberPool::new(member.clone()));
        pool.line.push(waiter.clone());
        Waiting::new(self, member.number, waiter)
    }

    /// Closes connections that have been idle too long, those whose login was too long ago, and those to members that are not `wanted` any more.
    pub(crate) fn prune(&self, idle_timeout: Duration, wanted: impl Fn(u64) -> bool) {
        let now = Instant::now();
        self.members.borrow_mut().retain(|member, pool| {
            let is_wanted = wanted(*member);
            pool.close(|idle| {
                idle.is_over = idle.backend.is_over(now);
                let is_kept = !idle.is_over || idle.backend.has_insert_id();
                !(is_wanted && is_kept && now - idle.backend.idle_since < idle_timeout)
            });
            is_wanted || !pool.line.is_empty()
        });
    }

    pub(crate) fn figures(&self) -> Vec<MemberFigures> {
        let members = self.members.borrow();
        members
            .iter()
            .map(|(&member, pool)| MemberFigures {
                member,
                idle: pool.idle.len(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
