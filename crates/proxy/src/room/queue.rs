//! Those that wait for a place: writes and reads, in turn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::{Place, Request, Room};

/// A session that waits for a place.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) request: Request,
    /// It has its place. Changed under the lock of the room.
    has_place: AtomicBool,
    called: Notify,
}

impl Waiter {
    pub(super) fn new(request: Request) -> Self {
        Self {
            request,
            has_place: AtomicBool::new(false),
            called: Notify::new(),
        }
    }

    /// Tells the session that it has its place.
    pub(super) fn call(&self) {
        self.has_place.store(true, Ordering::Relaxed);
        self.called.notify_one();
    }
}

/// The line.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) writes: VecDeque<Arc<Waiter>>,
    pub(super) reads: VecDeque<Arc<Waiter>>,
    is_turn_of_reads: bool,
}

impl Queue {
    pub(super) fn push(&mut self, waiter: Arc<Waiter>) {
        let line = if waiter.request.is_read {
            &mut self.reads
        } else {
            &mut self.writes
        };
        line.push_back(waiter);
    }

    pub(super) fn len(&self) -> usize {
        self.writes.len() + self.reads.len()
    }

    /// Those at the front come first, of the kind whose turn it is.
    pub(super) fn take(&mut self, may: impl Fn(&Request) -> bool) -> Option<Arc<Waiter>> {
        let is_turn_of_reads = self.is_turn_of_reads;
        let mut from = |is_read: bool| {
            let line = if is_read {
                &mut self.reads
            } else {
                &mut self.writes
            };
            let at = line.iter().position(|waiter| may(&waiter.request))?;
            line.remove(at)
        };
        let waiter = from(is_turn_of_reads).or_else(|| from(!is_turn_of_reads))?;
        self.is_turn_of_reads = !waiter.request.is_read;
        Some(waiter)
    }

    fn remove(&mut self, waiter: &Arc<Waiter>) {
        let line = if waiter.request.is_read {
            &mut self.reads
        } else {
            &mut self.writes
        };
        line.retain(|other| !Arc::ptr_eq(other, waiter));
    }
}

/// A place in the line.
pub(crate) struct Turn {
    room: Arc<Room>,
    waiter: Arc<Waiter>,
    is_over: bool,
}

impl Turn {
    pub(super) fn new(room: Arc<Room>, waiter: Arc<Waiter>) -> Self {
        Self {
            room,
            waiter,
            is_over: false,
        }
    }

    /// Waits until it has come.
    pub(crate) async fn place(&mut self) -> Place {
        self.waiter.called.notified().await;
        self.is_over = true;
        Place::new(self.room.clone(), &self.waiter.request)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let waiter = &self.waiter;
        self.room.change(|places| {
            if waiter.has_place.load(Ordering::Relaxed) {
                places.remove(waiter.request.member, &waiter.request.user);
            } else {
                places.queue.remove(waiter);
            }
        });
    }
}
