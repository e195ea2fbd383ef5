//! A connection that nobody uses.

use std::time::Instant;

use super::Pool;
use crate::backend::Backend;

/// An idle connection.
pub(super) struct Idle {
    /// The session that used it last: looked for among all of them, without a look at each connection.
    pub(super) session: u64,
    /// Kept for the LAST_INSERT_ID() of a session alone: its login was too long ago.
    pub(super) is_over: bool,
    pub(super) backend: Box<Backend>,
}

impl Idle {
    pub(super) fn new(backend: Box<Backend>, now: Instant) -> Self {
        Self {
            session: backend.last_session,
            is_over: backend.is_over(now),
            backend,
        }
    }
}

impl Pool {
    /// Closes an idle connection of this user, whose limit on the server is reached: none of them fits who needs another.
    pub(crate) fn evict_of(&self, member: u64, user: &str) {
        let mut members = self.members.borrow_mut();
        let Some(pool) = members.get_mut(&member) else {
            return;
        };
        let is_of_user = |idle: &Idle| *idle.backend.key.user == *user;
        let unneeded = |idle: &Idle| is_of_user(idle) && !idle.backend.has_insert_id();
        let found = pool.idle.iter().position(unneeded);
        if let Some(at) = found.or_else(|| pool.idle.iter().position(is_of_user)) {
            pool.idle.remove(at);
        }
    }
}
