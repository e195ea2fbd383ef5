//! A connection that nobody uses.

use std::time::Instant;

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
