//! What is known of the sockets of a thread: which can be read or written, and who waits for that.
//!
//! The system tells of changes and not of states (`EPOLLET`). So a socket counts as ready until a call on it says that it would
//! block, or takes less than it could.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::{self, EventData, EventFlags};
use slab::Slab;

/// Bits of a token that are the socket's place; the others tell it from those that had the place before.
const PLACE_BITS: u32 = 32;
/// To be told of what comes, and of the end.
pub(super) const TO_READ: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
/// To be told of room too.
pub(super) const TO_READ_AND_WRITE: EventFlags = TO_READ.union(EventFlags::OUT);
/// Nothing comes any more.
const ENDED: EventFlags = EventFlags::RDHUP.union(BROKEN);
const BROKEN: EventFlags = EventFlags::HUP.union(EventFlags::ERR);
const READABLE: EventFlags = EventFlags::IN.union(ENDED);
const WRITABLE: EventFlags = EventFlags::OUT.union(BROKEN);

/// The sockets, by their places.
#[derive(Default)]
pub(super) struct Sockets {
    places: RefCell<Slab<Rc<Readiness>>>,
    added: Cell<u64>,
}

/// One socket's.
pub(super) struct Readiness {
    token: u64,
    /// Something may be there to read.
    readable: Cell<bool>,
    /// The other end has closed, or the connection is broken: reading says so at any time from here on.
    ended: Cell<bool>,
    writable: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
}

impl Sockets {
    /// Watches a socket. What is there already is told of too.
    pub(super) fn add(
        &self,
        epoll: &OwnedFd,
        socket: impl AsFd,
        wanted: EventFlags,
    ) -> rustix::io::Result<Rc<Readiness>> {
        let mut places = self.places.borrow_mut();
        let entry = places.vacant_entry();
        let number = self.added.get();
        self.added.set(number + 1);
        let readiness = Rc::new(Readiness {
            token: (number << PLACE_BITS) | entry.key() as u64,
            readable: Cell::new(false),
            ended: Cell::new(false),
            writable: Cell::new(false),
            reader: RefCell::default(),
            writer: RefCell::default(),
        });
        epoll::add(epoll, socket, EventData::new_u64(readiness.token), wanted)?;
        entry.insert(readiness.clone());
        Ok(readiness)
    }

    /// Forgets a socket that is about to be closed, by which the system forgets it.
    pub(super) fn remove(&self, readiness: &Readiness) {
        self.places.borrow_mut().try_remove(place(readiness.token));
    }

    /// Notes what the system says of a socket, and wakes who waits for it. One that is closed here is told of as long as another
    /// process has a copy of it, such as one that is about to be another program.
    pub(super) fn tell(&self, token: u64, told: EventFlags) {
        let places = self.places.borrow();
        let Some(readiness) = places.get(place(token)) else {
            return;
        };
        if readiness.token != token {
            return;
        }
        if told.intersects(ENDED) {
            readiness.ended.set(true);
        }
        if told.intersects(READABLE) {
            readiness.readable.set(true);
            // It stays: most often the same task waits for what comes next.
            if let Some(waker) = &*readiness.reader.borrow() {
                waker.wake_by_ref();
            }
        }
        if told.intersects(WRITABLE) {
            readiness.writable.set(true);
            // There is room again whenever something has come, and seldom does anybody wait for that twice.
            if let Some(waker) = readiness.writer.take() {
                waker.wake();
            }
        }
    }
}

impl Readiness {
    #[cfg(test)]
    pub(super) fn place(&self) -> usize {
        place(self.token)
    }

    /// Has the system tell of something else too. What is so already is told of.
    pub(super) fn change(
        &self,
        epoll: &OwnedFd,
        socket: impl AsFd,
        wanted: EventFlags,
    ) -> rustix::io::Result<()> {
        epoll::modify(epoll, socket, EventData::new_u64(self.token), wanted)
    }

    pub(super) fn is_readable(&self) -> bool {
        self.readable.get()
    }

    /// Ready when something may be there to read. The task is woken when that changes.
    #[inline]
    pub(super) fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        if self.readable.get() {
            return Poll::Ready(());
        }
        self.wait_to_read(cx);
        Poll::Pending
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable.get()
    }

    /// Everything was read that was there.
    pub(super) fn emptied(&self) {
        self.readable.set(self.ended.get());
    }

    pub(super) fn would_block_reader(&self) {
        self.readable.set(false);
    }

    /// `is_writable`: until a call says otherwise.
    pub(super) fn set_writable(&self, is_writable: bool) {
        self.writable.set(is_writable);
    }

    /// Has this task woken when there is something to read.
    pub(super) fn wait_to_read(&self, cx: &Context<'_>) {
        register(&self.reader, cx);
    }

    /// Has this task woken when there is room to write.
    pub(super) fn wait_to_write(&self, cx: &Context<'_>) {
        register(&self.writer, cx);
    }
}

fn place(token: u64) -> usize {
    (token & ((1 << PLACE_BITS) - 1)) as usize
}

fn register(waiting: &RefCell<Option<Waker>>, cx: &Context<'_>) {
    let mut waiting = waiting.borrow_mut();
    if !waiting.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *waiting = Some(cx.waker().clone());
    }
}
