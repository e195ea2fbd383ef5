//! The room for connections on one server: how many this proxy has open there, how many the server takes, and who waits for one.
//!
//! The idea: a server has one limit for everybody, so its connections are counted in one place for all workers, hostgroups and
//! users. Three limits hold: that of the member (`max_connections` of the topology), that of the server, and that of an account. The
//! last two are learned: a login asks for `@@max_connections`, the first one before any other is tried, and a refusal (1040, 1203,
//! 1226) says that what is open now is all that can be had. A limit that was learned from a refusal is tried again as long as somebody waits, one connection at a time.
//!
//! A tenth of the member's and of the server's limit is kept for statements that write, where the server takes writes. A few of the
//! server's connections are left to others: monitors, KILL, people.
//!
//! Invariant: nobody waits who could have a place. Whatever frees a place or raises a limit looks at those that wait, in turn at
//! writes and at reads.
//!
//! Example: a server with 151 connections. 450 reads come at once. 7 connections are left to others, 15 to writes: 130 reads run, 320
//! wait. A write of another user comes, and connects at once. When 130 connections are idle and another user's read comes, one of
//! them is closed for it.

mod limit;
mod places;
mod queue;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::places::Places;
pub(crate) use self::queue::Turn;
use self::queue::Waiter;

/// Time between two log lines about a server that takes no more connections.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(1);

/// A connection that a session would like to open.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The number of the member.
    pub(crate) member: u64,
    /// Most connections to the member.
    pub(crate) most: usize,
    pub(crate) user: Arc<str>,
    /// It is for a statement that only reads, and is no part of a transaction.
    pub(crate) is_read: bool,
}

/// Whose limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    /// That of the member, which the topology says.
    Member,
    Server,
    /// That of the account on the server.
    Account,
}

/// The room for connections on one server.
#[derive(Debug)]
pub(crate) struct Room {
    places: Mutex<Places>,
    /// Sessions that wait; a copy, to be read without the lock.
    waiting: AtomicUsize,
    /// Most connections to the server; a copy as well.
    most: AtomicUsize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            places: Mutex::default(),
            waiting: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
        }
    }
}

impl Room {
    /// A place for a connection.
    ///
    /// # Errors
    /// The limit that is reached.
    pub(crate) fn enter(self: &Arc<Self>, request: &Request) -> Result<Place, Limited> {
        let mut places = self.lock();
        if let Some(limited) = places.limited(request) {
            return Err(limited);
        }
        places.add(request);
        Ok(Place::new(self.clone(), request))
    }

    /// The limit that keeps a request waiting now.
    pub(crate) fn limited(&self, request: &Request) -> Option<Limited> {
        self.lock().limited(request)
    }

    /// Waits in line for a place. Dropping the turn leaves the line.
    pub(crate) fn wait(self: &Arc<Self>, request: Request, now: Instant) -> Turn {
        let waiter = Arc::new(Waiter::new(request));
        self.change(|places| {
            places.queue.push(waiter.clone());
            places.retry(now);
        });
        Turn::new(self.clone(), waiter)
    }

    /// Sessions that wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Most connections that the server is known to take.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Whether a session waits that would get its place if a connection of `user` to `member` were closed: one that writes, or one of
    /// another member. Sessions that read on the same member have their worker's share.
    pub(crate) fn wants(&self, member: u64, user: &str) -> bool {
        self.waiting() > 0 && self.lock().wants(member, user)
    }

    /// Whether a session that writes waits and would get its place so.
    pub(crate) fn wants_for_writes(&self, member: u64, user: &str) -> bool {
        self.waiting() > 0 && self.lock().wants_for_writes(member, user)
    }

    /// Connections to a member.
    pub(crate) fn open_to(&self, member: u64) -> usize {
        self.lock().open_to(member)
    }

    /// Connections to the server beyond those that are kept when nobody has used them for a moment, so that other proxies find room.
    pub(crate) fn to_spare(&self) -> usize {
        self.lock().server.to_spare()
    }

    /// The server says how many connections it has for everybody. `server` tells servers at the same address apart.
    pub(crate) fn learn(&self, max_connections: u32, server: u64) {
        self.change(|places| places.learn(max_connections, server));
    }

    /// What the server has said.
    pub(crate) fn said(&self) -> Option<u32> {
        self.lock().server.said()
    }

    /// Whether the server takes writes of this proxy.
    pub(crate) fn takes_writes(&self, does: bool) {
        self.change(|places| places.takes_writes = does);
    }

    /// The server's words of the latest refusal, as far as it counts still.
    pub(crate) fn why(&self, user: &str, limited: Limited) -> Option<Arc<str>> {
        self.lock().why(user, limited)
    }

    /// Has one of those that wait try whether the server takes more by now.
    pub(crate) fn retry(&self, now: Instant) {
        if self.waiting() > 0 {
            self.change(|places| places.retry(now));
        }
    }

    /// Changes something, and calls those up that have room then.
    fn change(&self, change: impl FnOnce(&mut Places)) {
        let mut places = self.lock();
        change(&mut places);
        places.call_up();
        self.waiting.store(places.queue.len(), Ordering::Relaxed);
        self.most.store(places.server.most(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection of the room; free again when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    member: u64,
    user: Arc<str>,
    /// Its login has succeeded.
    is_open: AtomicBool,
}

impl Place {
    fn new(room: Arc<Room>, request: &Request) -> Self {
        Self {
            room,
            member: request.member,
            user: request.user.clone(),
            is_open: AtomicBool::new(false),
        }
    }

    /// Whether a refusal may be due to a connection that was closed a moment ago, and that the server still counts.
    pub(crate) fn is_early(&self, limited: Limited, now: Instant) -> bool {
        self.room.lock().is_closing(&self.user, limited, now)
    }

    /// The login has succeeded.
    pub(crate) fn opened(&self) {
        self.is_open.store(true, Ordering::Relaxed);
        self.room.change(|places| places.opened(&self.user));
    }

    /// The server has refused the login because there are too many connections, to the server or of the account; the place is given up
    /// next. Whether that is to be logged.
    pub(crate) fn refused(&self, limited: Limited, why: &str, now: Instant) -> bool {
        let mut places = self.room.lock();
        places.refused(&self.user, limited, why, now);
        let told = places.told;
        let is_news = told.is_none_or(|told| now.saturating_duration_since(told) >= BETWEEN_WARNINGS);
        if is_news {
            places.told = Some(now);
        }
        is_news
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_open = self.is_open.load(Ordering::Relaxed);
        self.room.change(|places| {
            if is_open {
                places.closed(&self.user, Instant::now());
            }
            places.remove(self.member, &self.user);
        });
    }
}

#[cfg(test)]
mod tests;
