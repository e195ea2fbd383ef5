//! The sessions that hold or want more than their shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use slab::Slab;

/// Time after which a session that has begun a statement must have gone on, if others wait.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes that must come within that time.
const LEAST_RECEIVED: u64 = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) entries: Slab<Entry>,
    pub(super) next_ticket: u64,
}

/// A session that holds or wants more than its share.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) signal: Arc<Signal>,
    pub(super) held: usize,
    /// What it will ask for besides.
    pub(super) later: usize,
    pub(super) activity: Activity,
    pub(super) wait: Option<Wait>,
    /// When it was looked at while others waited, and what had been received then.
    mark: Option<(Instant, u64)>,
}

#[derive(Debug)]
pub(super) struct Wait {
    pub(super) request: Request,
    pub(super) ticket: u64,
    pub(super) until: Instant,
    pub(super) waker: Waker,
}

/// What a session does with what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// It keeps it from one statement to the next.
    Keeps,
    /// A statement is on its way from the client.
    Receives,
    /// A statement runs: it is not ended.
    Runs,
}

/// What a session and the budget tell each other without a lock.
#[derive(Debug, Default)]
pub(super) struct Signal {
    /// Bytes that have come.
    pub(super) received: AtomicU64,
    /// It must end.
    pub(super) must_end: AtomicBool,
}

/// A session in the book.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) key: usize,
    pub(super) signal: Arc<Signal>,
}

/// What a session asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// What it wants to hold in all.
    pub(super) bytes: usize,
    /// What it will ask for besides, before it can give anything back.
    pub(super) later: usize,
    /// With that, it asks for nothing more until it gives all back by itself.
    pub(super) is_given_back: bool,
    pub(super) activity: Activity,
}

impl Book {
    pub(super) fn entry(&mut self, place: &mut Option<Place>) -> &mut Entry {
        let key = match place {
            Some(place) => place.key,
            None => {
                let signal = Arc::<Signal>::default();
                let key = self.entries.insert(Entry {
                    signal: signal.clone(),
                    held: 0,
                    later: 0,
                    activity: Activity::Keeps,
                    wait: None,
                    mark: None,
                });
                *place = Some(Place { key, signal });
                key
            }
        };
        &mut self.entries[key]
    }

    /// Room that must be left when a request is granted: those that receive will ask for more, and one after the other must get it.
    /// What gives all back by itself may use it until then.
    pub(super) fn headroom(&self, request: &Request, key: usize) -> usize {
        if request.is_given_back {
            return 0;
        }
        let others = self.entries.iter().filter(|(other, _)| *other != key);
        let most = others.map(|(_, entry)| entry.later).max().unwrap_or(0);
        most.max(request.later)
    }

    /// The session that waits and is the first to go on, and the room that it takes. Those that will give all back by themselves come first, then
    /// the one that wants the least.
    pub(super) fn next_in_line(&self) -> Option<(usize, usize)> {
        let waiting = self.entries.iter().filter(|(_, entry)| !entry.must_end());
        let waiting = waiting.filter_map(|(key, entry)| Some((key, entry, entry.wait.as_ref()?)));
        let (key, entry, wait) = waiting.min_by_key(|(_, entry, wait)| {
            let request = &wait.request;
            let missing = request.bytes.saturating_sub(entry.held) + request.later;
            (!request.is_given_back, missing, wait.ticket)
        })?;
        let missing = wait.request.bytes.saturating_sub(entry.held);
        Some((key, missing + self.headroom(&wait.request, key)))
    }

    /// What those hold that are about to end.
    pub(super) fn ending(&self) -> usize {
        let ending = self.entries.iter().filter(|(_, entry)| entry.must_end());
        ending.map(|(_, entry)| entry.held).sum()
    }

    /// The session that holds and wants the most, of those that can be ended and are `meant`.
    pub(super) fn greediest(&mut self, meant: impl Fn(&Entry) -> bool) -> Option<&mut Entry> {
        let entries = self.entries.iter_mut().map(|(_, entry)| entry);
        let entries = entries.filter(|entry| entry.can_end() && meant(entry));
        entries.max_by_key(|entry| entry.greed())
    }

    /// Ends the greediest. Those whose time is over and who are not meant wait a little longer, for what it leaves.
    pub(super) fn give_way(&mut self, now: Instant) {
        if let Some(entry) = self.greediest(|_| true) {
            entry.end();
        }
        for (_, entry) in &mut self.entries {
            if let Some(wait) = entry.wait.as_mut().filter(|wait| wait.until <= now) {
                wait.until = now + GRACE / 4;
            }
        }
    }

    /// Begins to watch those that receive.
    pub(super) fn mark(&mut self, now: Instant) {
        for (_, entry) in &mut self.entries {
            let received = entry.signal.received.load(Ordering::Relaxed);
            let is_fresh = |(since, _): (Instant, u64)| now.saturating_duration_since(since) < GRACE;
            if entry.activity != Activity::Receives || entry.wait.is_some() {
                entry.mark = None;
            } else if !entry.mark.is_some_and(is_fresh) {
                entry.mark = Some((now, received));
            }
        }
    }
}

impl Entry {
    fn must_end(&self) -> bool {
        self.signal.must_end.load(Ordering::Relaxed)
    }

    fn can_end(&self) -> bool {
        !self.must_end() && (self.activity != Activity::Runs || self.wait.is_some())
    }

    fn greed(&self) -> usize {
        let wanted = |wait: &Wait| wait.request.bytes + wait.request.later;
        self.held.max(self.wait.as_ref().map_or(0, wanted))
    }

    /// Its client has begun a statement and sends no more of it.
    pub(super) fn has_stalled(&self, now: Instant) -> bool {
        let is_receiving = self.activity == Activity::Receives && self.wait.is_none();
        let received = self.signal.received.load(Ordering::Relaxed);
        is_receiving
            && self.mark.is_some_and(|(since, then)| {
                now.saturating_duration_since(since) >= GRACE && received - then < LEAST_RECEIVED
            })
    }

    pub(super) fn end(&mut self) {
        self.signal.must_end.store(true, Ordering::Relaxed);
        if let Some(wait) = &self.wait {
            wait.waker.wake_by_ref();
        }
    }
}
