//! The sessions of a worker that wait for a connection to one member: writes and reads, in turn.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::Notify;

use super::Pool;
use crate::backend::Backend;
use crate::pool_key::PoolKey;

/// A session that waits for a connection.
pub(super) struct Waiter {
    pub(super) key: PoolKey,
    is_read: bool,
    /// One that was handed over.
    given: RefCell<Option<Box<Backend>>>,
    called: Notify,
}

impl Waiter {
    pub(super) fn new(key: PoolKey, is_read: bool) -> Self {
        Self {
            key,
            is_read,
            given: RefCell::default(),
            called: Notify::new(),
        }
    }

    pub(super) fn hand_over(&self, backend: Box<Backend>) {
        *self.given.borrow_mut() = Some(backend);
        self.call();
    }

    /// Has the session look again.
    pub(super) fn call(&self) {
        self.called.notify_one();
    }
}

/// The line.
#[derive(Default)]
pub(super) struct Line {
    writes: VecDeque<Rc<Waiter>>,
    reads: VecDeque<Rc<Waiter>>,
    is_turn_of_reads: Cell<bool>,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty()
    }

    pub(super) fn has_only_reads(&self) -> bool {
        self.writes.is_empty() && !self.reads.is_empty()
    }

    pub(super) fn push(&mut self, waiter: Rc<Waiter>) {
        self.of(waiter.is_read).push_back(waiter);
    }

    /// Whoever has waited longest, of the kind whose turn it is.
    pub(super) fn next(&mut self) -> Option<Rc<Waiter>> {
        let is_turn_of_reads = self.is_turn_of_reads.get();
        let first = self.of(is_turn_of_reads).pop_front();
        let next = first.or_else(|| self.of(!is_turn_of_reads).pop_front())?;
        self.is_turn_of_reads.set(!next.is_read);
        Some(next)
    }

    fn of(&mut self, is_read: bool) -> &mut VecDeque<Rc<Waiter>> {
        if is_read {
            &mut self.reads
        } else {
            &mut self.writes
        }
    }

    /// Takes a waiter out; `false`: it was called up before.
    fn remove(&mut self, waiter: &Rc<Waiter>) -> bool {
        let line = self.of(waiter.is_read);
        let in_line = line.len();
        line.retain(|other| !Rc::ptr_eq(other, waiter));
        line.len() < in_line
    }
}

/// A place in the line for a member's connections.
pub(crate) struct Waiting<'a> {
    pool: &'a Pool,
    member: u64,
    waiter: Rc<Waiter>,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(pool: &'a Pool, member: u64, waiter: Rc<Waiter>) -> Self {
        Self { pool, member, waiter }
    }

    /// The connection that was handed over; `None`: one has come back that does not fit.
    pub(crate) async fn given(&self) -> Option<Box<Backend>> {
        self.waiter.called.notified().await;
        let given = self.waiter.given.take();
        given.and_then(|mut backend| backend.channel.is_silent().then_some(backend))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(given) = self.waiter.given.take() {
            return self.pool.give(given);
        }
        let mut members = self.pool.members.borrow_mut();
        let Some(pool) = members.get_mut(&self.member) else {
            return;
        };
        let was_called = !pool.line.remove(&self.waiter);
        // It was called up and leaves: whoever is next is called in its place, as what was given may be there still.
        if was_called
            && !pool.idle.is_empty()
            && let Some(next) = pool.line.next()
        {
            next.call();
        }
    }
}
