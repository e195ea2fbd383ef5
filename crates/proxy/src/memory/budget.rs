//! Who holds how much, who waits, and who has to end.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use shardwright_wire::{MysqlError, errors};

use super::book::{Activity, Book, Place, Request, Wait};
use crate::options::Limits;
use crate::seldom::Seldom;

/// Bytes of a worker's scratch buffer, through which everything is read.
pub(crate) const SCRATCH: usize = 64 * 1024;
/// Bytes that a session is counted with, whatever it does: its state, and buffers of at most [`super::KEPT_CAPACITY`].
const SHARE: usize = 16 * 1024;

/// The budget, and what is taken of it.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    /// Room for shares that nobody else gets.
    set_aside: usize,
    /// Time that a session waits for room.
    patience: Duration,
    shares: AtomicUsize,
    /// What sessions hold beyond their shares.
    held: AtomicUsize,
    waiting: AtomicUsize,
    is_spent: AtomicBool,
    book: Mutex<Book>,
    counts: Counts,
    told: Seldom,
    /// How often a session was told to end: workers look at those that wait for their clients when it has changed.
    orders: AtomicU64,
}

/// What has happened at the limit.
#[derive(Debug, Default)]
struct Counts {
    waits: AtomicU64,
    refused: AtomicU64,
    ended: AtomicU64,
}

/// What the admin port shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BudgetFigures {
    /// Bytes in all.
    pub(crate) limit: usize,
    /// Bytes that are taken, shares of sessions included.
    pub(crate) used: usize,
    /// Sessions that wait for room.
    pub(crate) waiting: usize,
    /// How often a session has waited.
    pub(crate) waits: u64,
    /// Statements and sessions that got no room.
    pub(crate) refused: u64,
    /// Sessions that were ended because others waited.
    pub(crate) ended: u64,
}

/// The answer to a session that asks for room.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted,
    /// The waker is called when something has changed.
    Waits,
    /// There is not so much in all.
    Never,
}

/// Why a session does not get memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory within the budget")]
pub(crate) struct OutOfMemory {
    reason: Reason,
    bytes: usize,
    limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It would take more than there is in all.
    TooMuch,
    /// There was no room in time.
    NoRoom,
    /// It held the most, and others wait.
    Greediest,
}

impl OutOfMemory {
    /// The error for the client.
    pub(crate) fn error(&self) -> MysqlError {
        let (bytes, limit) = (mib(self.bytes), mib(self.limit));
        let all = format_args!("the {limit} MiB that there are for all clients (--max-memory of the proxy)");
        errors::OUT_OF_RESOURCES.with(match self.reason {
            Reason::TooMuch => {
                format!("Out of memory: this takes {bytes} MiB, which is more than fits into {all}")
            }
            Reason::NoRoom => {
                format!("Out of memory: this takes {bytes} MiB, for which there was no room within {all}")
            }
            Reason::Greediest => {
                format!("Out of memory: this session held {bytes} MiB and others wait for room within {all}")
            }
        })
    }
}

/// Rounded up.
fn mib(bytes: usize) -> usize {
    bytes.div_ceil(1 << 20)
}

impl Budget {
    /// A budget of `limit` bytes for at most so many sessions, who wait for room for at most `patience`.
    pub(crate) fn new(limit: usize, sessions: usize, patience: Duration) -> Self {
        Self {
            limit,
            set_aside: sessions.saturating_mul(SHARE).min(limit / 4),
            patience,
            shares: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            is_spent: AtomicBool::new(false),
            book: Mutex::default(),
            counts: Counts::default(),
            told: Seldom::default(),
            orders: AtomicU64::new(0),
        }
    }

    /// How often a session was told to end.
    pub(crate) fn orders(&self) -> u64 {
        self.orders.load(Ordering::Relaxed)
    }

    /// The budget that these limits ask for.
    pub(crate) fn of_limits(limits: &Limits) -> Self {
        let limit = limits.max_memory.unwrap_or_else(|| match super::available() {
            Some(bytes) => bytes / 2,
            None => {
                tracing::warn!("neither /proc/meminfo nor a control group says how much memory there is: --max-memory is 1G");
                1 << 30
            }
        });
        Self::new(limit, limits.max_sessions, limits.checkout_timeout)
    }

    #[cfg(test)]
    pub(crate) fn unlimited() -> Self {
        Self::new(usize::MAX / 2, 0, Duration::ZERO)
    }

    /// Bytes in all.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// What sessions may hold beyond their shares.
    fn room(&self) -> usize {
        let shares = self.shares.load(Ordering::Relaxed);
        self.limit.saturating_sub(shares.max(self.set_aside))
    }

    /// Whether so many bytes more may be held, as far as is known.
    #[inline]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.held.load(Ordering::Relaxed).saturating_add(bytes) <= self.room()
    }

    /// Whether there is no room for what is read at once. One relaxed load: every reading of a socket looks.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// Follows a change of what is taken. The book is locked, so the last change decides.
    fn refresh(&self) {
        self.is_spent.store(!self.has_room(SCRATCH), Ordering::Relaxed);
    }

    /// The share of one more session; `None` when there is no room.
    pub(crate) fn share(self: &Arc<Self>) -> Option<Share> {
        let _book = self.book();
        let held = self.held.load(Ordering::Relaxed);
        let most = self.set_aside.max(self.limit.saturating_sub(held));
        if self.shares.load(Ordering::Relaxed) + SHARE > most {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.shares.fetch_add(SHARE, Ordering::Relaxed);
        self.refresh();
        Some(Share {
            budget: self.clone(),
            bytes: SHARE,
        })
    }

    pub(crate) fn figures(&self) -> BudgetFigures {
        BudgetFigures {
            limit: self.limit,
            used: self.held.load(Ordering::Relaxed) + self.shares.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            waits: self.counts.waits.load(Ordering::Relaxed),
            refused: self.counts.refused.load(Ordering::Relaxed),
            ended: self.counts.ended.load(Ordering::Relaxed),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a session holds. It is in the book as long as that is anything.
    pub(super) fn note(&self, place: &mut Option<Place>, bytes: usize, activity: Activity) {
        if place.is_none() && bytes == 0 {
            return;
        }
        let mut book = self.book();
        let entry = book.entry(place);
        let before = std::mem::replace(&mut entry.held, bytes);
        entry.activity = activity;
        if activity != Activity::Receives {
            entry.later = 0;
        }
        let was_waiting = entry.wait.take().is_some();
        self.moved(before, bytes);
        if was_waiting {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        if bytes == 0
            && let Some(place) = place.take()
        {
            book.entries.remove(place.key);
        }
        if bytes < before {
            self.grant(&mut book);
        }
        self.refresh();
    }

    /// Room for a session that wants to hold so many bytes in all. `waker`: it waits where there is none now.
    pub(super) fn ask(&self, place: &mut Option<Place>, request: Request, waker: Option<&Waker>) -> Answer {
        let mut book = self.book();
        let ticket = book.next_ticket;
        let entry = book.entry(place);
        entry.activity = request.activity;
        let missing = request.bytes.saturating_sub(entry.held);
        let key = place.as_ref().map_or(0, |place| place.key);
        if missing == 0 || self.has_room(missing + book.headroom(&request, key)) {
            let entry = &mut book.entries[key];
            entry.held += missing;
            entry.later = request.later;
            if entry.wait.take().is_some() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
            self.held.fetch_add(missing, Ordering::Relaxed);
            self.refresh();
            return Answer::Granted;
        }
        if request.bytes + request.later > self.limit - self.set_aside {
            return Answer::Never;
        }
        let Some(waker) = waker else {
            return Answer::Waits;
        };
        let entry = &mut book.entries[key];
        match &mut entry.wait {
            Some(wait) => {
                wait.request = request;
                wait.waker.clone_from(waker);
            }
            None => {
                entry.wait = Some(Wait {
                    request,
                    ticket,
                    until: Instant::now() + self.patience,
                    waker: waker.clone(),
                });
                book.next_ticket += 1;
                self.waiting.fetch_add(1, Ordering::Relaxed);
                self.counts.waits.fetch_add(1, Ordering::Relaxed);
            }
        }
        Answer::Waits
    }

    /// A session that waits is refused, and need not end.
    pub(super) fn withdraw(&self, place: &Place) {
        let mut book = self.book();
        let entry = &mut book.entries[place.key];
        if entry.wait.take().is_some() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            entry.signal.must_end.store(false, Ordering::Relaxed);
        }
    }

    /// A statement is refused for want of so many bytes.
    pub(crate) fn no_room(&self, bytes: usize) -> OutOfMemory {
        self.refusal(Reason::NoRoom, bytes)
    }

    /// The error for a session that gets no memory, which is counted.
    pub(super) fn refusal(&self, reason: Reason, bytes: usize) -> OutOfMemory {
        let (count, what) = match reason {
            Reason::TooMuch | Reason::NoRoom => (&self.counts.refused, "refused"),
            Reason::Greediest => (&self.counts.ended, "ended"),
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(count) = self.told.count(Instant::now()) {
            let (held_mib, limit_mib) = (mib(bytes), mib(self.limit));
            tracing::warn!(
                count,
                held_mib,
                limit_mib,
                "sessions were {what} because clients hold too much: see --max-memory"
            );
        }
        OutOfMemory {
            reason,
            bytes,
            limit: self.limit,
        }
    }

    fn moved(&self, before: usize, after: usize) {
        if after >= before {
            self.held.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.held.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Gives room to those that wait, to the one that wants the least first.
    fn grant(&self, book: &mut Book) {
        while self.waiting.load(Ordering::Relaxed) > 0 {
            let Some((key, missing)) = book.next_in_line().filter(|(_, missing)| self.has_room(*missing))
            else {
                return;
            };
            let entry = &mut book.entries[key];
            let Some(wait) = entry.wait.take() else {
                return;
            };
            let granted = wait.request.bytes.saturating_sub(entry.held);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            entry.held += granted;
            entry.later = wait.request.later;
            debug_assert!(granted <= missing);
            self.held.fetch_add(granted, Ordering::Relaxed);
            wait.waker.wake();
        }
    }

    /// Sees to it that whoever waits does not do so for ever. It is called a few times a second.
    pub(crate) fn look(&self, now: Instant) {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut book = self.book();
        self.grant(&mut book);
        self.refresh();
        let Some((_, wanted)) = book.next_in_line() else {
            return;
        };
        let mut freed = book.ending();
        while !self.has_room_with(wanted, freed) {
            let Some(entry) = book.greediest(|entry| entry.has_stalled(now)) else {
                break;
            };
            freed += entry.held;
            entry.end();
            self.orders.fetch_add(1, Ordering::Relaxed);
        }
        book.mark(now);
        let mut waits = book.entries.iter().filter_map(|(_, entry)| entry.wait.as_ref());
        let late = waits.any(|wait| wait.until <= now);
        if late && !self.has_room_with(wanted, freed) {
            book.give_way(now);
            self.orders.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_room_with(&self, bytes: usize, freed: usize) -> bool {
        self.held.load(Ordering::Relaxed).saturating_sub(freed) + bytes <= self.room()
    }
}

/// The share of a session; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The session takes more from now on than others do, whatever it does.
    pub(super) fn grow(&mut self, bytes: usize) {
        let _book = self.budget.book();
        self.budget.shares.fetch_add(bytes, Ordering::Relaxed);
        self.budget.refresh();
        self.bytes += bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut book = self.budget.book();
        self.budget.shares.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.grant(&mut book);
        self.budget.refresh();
    }
}
