//! What is known of the sockets of a thread: which can be read or written, and who waits for that.
//!
//! The system tells of changes and not of states (`EPOLLET`). So a socket counts as ready until a call on it says that it would
//! block, or takes less than it could.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use shardwright_sends::Sent;
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
    places: RefCell<Slab<Rc<Watched>>>,
    added: Cell<u64>,
}

/// One that is watched.
pub(super) struct Watched {
    token: u64,
    socket: OwnedFd,
    /// Something may be there to read.
    readable: Cell<bool>,
    /// The other end has closed, or the connection is broken: reading says so at any time from here on.
    ended: Cell<bool>,
    writable: Cell<bool>,
    /// The system tells of room to write: the first time that there was none, it is asked to.
    watches_room: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    writer: RefCell<Option<Waker>>,
    /// It has a message that is sent at the end of the turn.
    is_queued: Cell<bool>,
    /// What the socket had no room for of such a message.
    unsent: RefCell<Vec<u8>>,
    /// Why nothing can be sent any more, where no task was there to be told.
    failed: Cell<Option<Errno>>,
}

impl Sockets {
    /// Watches a socket. What is there already is told of too.
    pub(super) fn add(
        &self,
        epoll: &OwnedFd,
        socket: OwnedFd,
        wanted: EventFlags,
    ) -> rustix::io::Result<Rc<Watched>> {
        let mut places = self.places.borrow_mut();
        let entry = places.vacant_entry();
        let number = self.added.get();
        self.added.set(number + 1);
        let watched = Rc::new(Watched {
            token: (number << PLACE_BITS) | entry.key() as u64,
            socket,
            readable: Cell::new(false),
            ended: Cell::new(false),
            writable: Cell::new(false),
            watches_room: Cell::new(wanted.contains(EventFlags::OUT)),
            reader: RefCell::default(),
            writer: RefCell::default(),
            is_queued: Cell::new(false),
            unsent: RefCell::default(),
            failed: Cell::new(None),
        });
        epoll::add(epoll, &watched.socket, EventData::new_u64(watched.token), wanted)?;
        entry.insert(watched.clone());
        Ok(watched)
    }

    /// Forgets a socket that is about to be closed, by which the system forgets it.
    pub(super) fn remove(&self, watched: &Watched) {
        self.places.borrow_mut().try_remove(place(watched.token));
    }

    /// Notes what the system says of a socket, and wakes who waits for it. One that is closed here is told of as long as another
    /// process has a copy of it, such as one that is about to be another program.
    pub(super) fn tell(&self, token: u64, told: EventFlags) {
        let places = self.places.borrow();
        let Some(watched) = places.get(place(token)) else {
            return;
        };
        if watched.token != token {
            return;
        }
        if told.intersects(ENDED) {
            watched.ended.set(true);
        }
        if told.intersects(READABLE) {
            watched.has_something();
        }
        if told.intersects(WRITABLE) {
            watched.has_room();
        }
    }
}

impl Watched {
    #[cfg(test)]
    pub(super) fn place(&self) -> usize {
        place(self.token)
    }

    /// Has the system tell of room to write, which it looks at once.
    pub(super) fn watch_room(&self, epoll: &OwnedFd) -> rustix::io::Result<()> {
        if !self.watches_room.get() {
            epoll::modify(
                epoll,
                &self.socket,
                EventData::new_u64(self.token),
                TO_READ_AND_WRITE,
            )?;
            self.watches_room.set(true);
        }
        Ok(())
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

    /// What has made sending fail; reading and writing say so from then on.
    pub(super) fn check(&self) -> rustix::io::Result<()> {
        self.failed.get().map_or(Ok(()), Err)
    }

    pub(super) fn is_queued(&self) -> bool {
        self.is_queued.get()
    }

    pub(super) fn set_queued(&self, is_queued: bool) {
        self.is_queued.set(is_queued);
    }

    /// Whether a part of a message waits for room.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.borrow().is_empty()
    }

    /// Notes what has become of a message that nobody waits for. What the socket had no room for goes when there is room.
    pub(super) fn was_sent(&self, epoll: &OwnedFd, message: &[u8], sent: Sent) {
        let taken = match sent {
            Ok(taken) => taken,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => return self.fail(error),
        };
        if taken == message.len() {
            return;
        }
        self.unsent.borrow_mut().extend_from_slice(&message[taken..]);
        self.writable.set(false);
        // That there will be room is told of after a call that found none.
        self.has_room();
        if self.has_unsent()
            && let Err(error) = self.watch_room(epoll)
        {
            self.fail(error);
        }
    }

    fn fail(&self, error: Errno) {
        self.failed.set(Some(error));
        self.unsent.take();
        self.has_something();
        self.has_room();
    }

    /// Something may be there to read.
    fn has_something(&self) {
        self.readable.set(true);
        // It stays: most often the same task waits for what comes next.
        if let Some(waker) = &*self.reader.borrow() {
            waker.wake_by_ref();
        }
    }

    /// There may be room to write.
    fn has_room(&self) {
        let mut unsent = self.unsent.borrow_mut();
        while !unsent.is_empty() {
            match send(&self.socket, &unsent, SendFlags::NOSIGNAL) {
                Ok(taken) => drop(unsent.drain(..taken)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => {
                    drop(unsent);
                    return self.fail(error);
                }
            }
        }
        *unsent = Vec::new();
        self.writable.set(true);
        // There is room again whenever something has come, and seldom does anybody wait for that twice.
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
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

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
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
