//! How many connections to a member a worker has.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::members::MemberRuntime;

/// Counts a connection among those that its worker has, as long as it exists.
pub(crate) struct Counted {
    open: Rc<Cell<usize>>,
    member: Arc<MemberRuntime>,
}

impl Counted {
    pub(crate) fn new(open: Rc<Cell<usize>>, member: Arc<MemberRuntime>) -> Self {
        if open.get() == 0 {
            member.workers.fetch_add(1, Ordering::Relaxed);
        }
        open.set(open.get() + 1);
        Self { open, member }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            self.member.workers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
