//! Idle connections that are closed so that others may be opened.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Idle, MemberPool, Pool};
use crate::backend::Backend;
use crate::event_loop::spawn;
use crate::room::{Limited, Room};

/// A connection that was idle for this long is not used all the time.
const SPARE: Duration = Duration::from_millis(10);
/// A connection that was idle for this long is closed where the proxy has a good part of all that the server takes.
const UNUSED: Duration = Duration::from_secs(1);

/// What keeps a session waiting.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) room: Arc<Room>,
    /// The number of the member.
    pub(crate) member: u64,
    pub(crate) user: Arc<str>,
    pub(crate) limited: Limited,
}

impl Wanted {
    /// Whether a connection to a member of the same server stands in the way; which of them, tells [`Wanted::is_user`].
    fn is_at(&self, pool: &MemberPool) -> bool {
        match self.limited {
            Limited::Member => pool.member.number == self.member,
            Limited::Server | Limited::Account => Arc::ptr_eq(&pool.member.room, &self.room),
        }
    }

    fn is_user(&self, user: &str) -> bool {
        self.limited != Limited::Account || *self.user == *user
    }
}

impl MemberPool {
    /// The place of the idle connection that is closed first: of those that no session needs for its LAST_INSERT_ID(), the one that
    /// was used least recently; else any.
    fn expendable(&self, wanted: &Wanted) -> Option<usize> {
        let fits = |at: &usize| wanted.is_user(&self.idle[*at].backend.key.user);
        let is_unneeded = |at: &usize| fits(at) && !self.idle[*at].backend.has_insert_id();
        let mut all = 0..self.idle.len();
        all.clone().find(is_unneeded).or_else(|| all.find(fits))
    }

    /// Closes connections that nobody has used for a while, as far as they are more than this proxy keeps.
    fn close_unused(&mut self, now: Instant) {
        let mut to_spare = self.member.room.to_spare();
        self.close(|idle| {
            let backend = &idle.backend;
            let is_unused =
                now.saturating_duration_since(backend.idle_since) > UNUSED && !backend.has_insert_id();
            let is_closed = is_unused && to_spare > 0;
            to_spare -= usize::from(is_closed);
            is_closed
        });
    }

    /// Closes idle connections.
    pub(super) fn close(&mut self, mut is_closed: impl FnMut(&mut Idle) -> bool) {
        for idle in self.idle.extract_if(.., |idle| is_closed(idle)) {
            retire(idle.backend);
        }
    }
}

/// Closes a connection that the proxy gives up by itself, and whose server is well. A session that has left its LAST_INSERT_ID() there
/// would lose it, so that is asked for first. Whether it is closed by now.
pub(super) fn retire(mut backend: Box<Backend>) -> bool {
    let has_insert_id = backend.has_insert_id();
    if has_insert_id {
        spawn(async move {
            if let Err(error) = backend.save_insert_id().await {
                tracing::debug!(%error, "an idle connection was lost");
            }
        });
    }
    !has_insert_id
}

impl Pool {
    /// Closes the idle connection that stands in the way and was used least recently; `false` when there is none, or when it is
    /// closed in a moment.
    pub(crate) fn evict(&self, wanted: &Wanted) -> bool {
        let mut members = self.members.borrow_mut();
        let found = members
            .values()
            .filter(|pool| wanted.is_at(pool))
            .filter_map(|pool| Some((pool, pool.expendable(wanted)?)))
            .min_by_key(|(pool, at)| {
                let backend = &pool.idle[*at].backend;
                (backend.has_insert_id(), backend.idle_since)
            })
            .map(|(pool, at)| (pool.member.number, at));
        let pool = found.and_then(|(number, at)| Some((members.get_mut(&number)?, at)));
        let closed = pool.map(|(pool, at)| pool.idle.remove(at));
        drop(members);
        closed.is_some_and(|idle| retire(idle.backend))
    }

    /// Closes a connection for a session on another worker, unless it is in use here.
    pub(crate) fn release(&self, wanted: &Wanted) {
        let is_due = {
            let members = self.members.borrow();
            let mut at_server = members.values().filter(|pool| wanted.is_at(pool));
            at_server.any(|pool| {
                pool.expendable(wanted).is_some_and(|at| {
                    let backend = &pool.idle[at].backend;
                    wanted.limited == Limited::Account
                        || pool.is_for_others(&backend.key.user)
                        || backend.idle_since.elapsed() > SPARE
                })
            })
        };
        if is_due {
            self.evict(wanted);
        }
    }

    /// Closes connections that sessions elsewhere wait for, where nobody has used them for a while, and has those that wait for a
    /// server try again.
    pub(crate) fn spare(&self) {
        let now = Instant::now();
        for pool in self.members.borrow_mut().values_mut() {
            pool.member.room.retry(now);
            if !pool.line.is_empty() {
                continue;
            }
            pool.close_unused(now);
            let member = pool.member.clone();
            let mut wanted = member.room.waiting();
            pool.close(|idle| {
                let backend = &idle.backend;
                let is_closed = wanted > 0
                    && now.saturating_duration_since(backend.idle_since) > SPARE
                    && (member.waiting.load(Ordering::Relaxed) > 0
                        || member.room.wants(member.number, &backend.key.user));
                wanted -= usize::from(is_closed);
                is_closed
            });
        }
    }
}
