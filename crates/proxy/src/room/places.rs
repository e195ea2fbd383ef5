//! Who has the places of a room, and who may have one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::limit::{Limit, reserve};
use super::queue::Queue;
use super::{Limited, Request};

/// Of those that wait, how many are looked at to learn whether a connection is wanted elsewhere.
const FRONT: usize = 8;

/// How long the first login keeps the others waiting, at most: a server that hangs is nobody's to wait for in turn.
const FIRST_LOGIN: Duration = Duration::from_millis(250);

/// What is known of the server's limit.
#[derive(Clone, Copy, Debug, Default)]
enum Known {
    /// Nobody has asked.
    #[default]
    Nothing,
    /// The first login asks since then.
    Asked(Instant),
    /// What it says, if it does.
    Word,
}

/// The places of a room.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) server: Limit,
    known: Known,
    pub(super) queue: Queue,
    /// The server takes writes of this proxy.
    pub(super) takes_writes: bool,
    /// When a refusal was logged.
    pub(super) told: Option<Instant>,
    accounts: FxHashMap<Arc<str>, Limit>,
    /// Connections by member.
    members: FxHashMap<u64, usize>,
}

impl Places {
    /// The limit that keeps a request waiting.
    pub(super) fn limited(&self, request: &Request) -> Option<Limited> {
        let has_reserve = self.has_reserve(request);
        let kept = if has_reserve { reserve(request.most) } else { 0 };
        if self.open_to(request.member) >= request.most - kept {
            return Some(Limited::Member);
        }
        if matches!(self.known, Known::Asked(_)) || !self.server.has_room(has_reserve) {
            return Some(Limited::Server);
        }
        let account = self.accounts.get(&request.user);
        account
            .is_some_and(|account| !account.has_room(false))
            .then_some(Limited::Account)
    }

    fn has_reserve(&self, request: &Request) -> bool {
        request.is_read && self.takes_writes
    }

    pub(super) fn open_to(&self, member: u64) -> usize {
        self.members.get(&member).copied().unwrap_or(0)
    }

    pub(super) fn wants(&self, member: u64, user: &str) -> bool {
        let reads = self.queue.reads.iter().take(FRONT);
        let mut of_others = reads.filter(|waiter| waiter.request.member != member);
        self.wants_for_writes(member, user)
            || of_others.any(|waiter| self.helps(&waiter.request, member, user))
    }

    pub(super) fn wants_for_writes(&self, member: u64, user: &str) -> bool {
        let mut writes = self.queue.writes.iter().take(FRONT);
        writes.any(|waiter| self.helps(&waiter.request, member, user))
    }

    /// Whether a request would have room without a connection of `user` to `member`.
    fn helps(&self, request: &Request, member: u64, user: &str) -> bool {
        match self.limited(request) {
            None => false,
            Some(Limited::Member) => request.member == member,
            Some(Limited::Server) => true,
            Some(Limited::Account) => *request.user == *user,
        }
    }

    pub(super) fn add(&mut self, request: &Request) {
        self.server.open += 1;
        if matches!(self.known, Known::Nothing) {
            self.known = Known::Asked(Instant::now());
        }
        *self.members.entry(request.member).or_default() += 1;
        if !self.accounts.contains_key(&request.user) {
            self.accounts.insert(request.user.clone(), Limit::default());
        }
        if let Some(account) = self.accounts.get_mut(&request.user) {
            account.open += 1;
        }
    }

    pub(super) fn remove(&mut self, member: u64, user: &str) {
        self.server.open -= 1;
        self.known = Known::Word;
        if let Some(open) = self.members.get_mut(&member) {
            *open -= 1;
            if *open == 0 {
                self.members.remove(&member);
            }
        }
        if let Some(account) = self.accounts.get_mut(user) {
            account.open -= 1;
            if account.is_forgotten() {
                self.accounts.remove(user);
            }
        }
    }

    pub(super) fn opened(&mut self, user: &str) {
        self.known = Known::Word;
        self.server.opened();
        // As one was taken, the next may be, too.
        if self.server.is_learned() {
            self.raise_server();
        }
        if self.accounts.get(user).is_some_and(Limit::is_learned) {
            self.raise_account(user);
        }
    }

    /// A connection that was open is closed.
    pub(super) fn closed(&mut self, user: &str, now: Instant) {
        self.server.closed(now);
        if let Some(account) = self.accounts.get_mut(user) {
            account.closed(now);
        }
    }

    /// Whether the server may still count a connection that was closed.
    pub(super) fn is_closing(&self, user: &str, limited: Limited, now: Instant) -> bool {
        match limited {
            Limited::Member | Limited::Server => self.server.is_closing(now),
            Limited::Account => self
                .accounts
                .get(user)
                .is_some_and(|account| account.is_closing(now)),
        }
    }

    pub(super) fn refused(&mut self, user: &str, limited: Limited, why: &str, now: Instant) {
        match limited {
            Limited::Server | Limited::Member => self.server.refused(why, now),
            Limited::Account => {
                if let Some(account) = self.accounts.get_mut(user) {
                    account.refused(why, now);
                }
            }
        }
    }

    pub(super) fn why(&self, user: &str, limited: Limited) -> Option<Arc<str>> {
        match limited {
            Limited::Member => None,
            Limited::Server => self.server.why(),
            Limited::Account => self.accounts.get(user)?.why(),
        }
    }

    /// The server says how many connections it has.
    pub(super) fn learn(&mut self, max_connections: u32, server: u64) {
        self.known = Known::Word;
        self.server.learn(max_connections, server);
    }

    pub(super) fn retry(&mut self, now: Instant) {
        if matches!(self.known, Known::Asked(since) if now.saturating_duration_since(since) >= FIRST_LOGIN) {
            self.known = Known::Word;
        }
        if self.server.is_due(now) {
            self.server.tried(now);
            self.raise_server();
        }
        let due = |(user, account): (&Arc<str>, &Limit)| account.is_due(now).then(|| user.clone());
        let due: Vec<Arc<str>> = self.accounts.iter().filter_map(due).collect();
        for user in due {
            if let Some(account) = self.accounts.get_mut(&user) {
                account.tried(now);
            }
            self.raise_account(&user);
        }
    }

    /// Raises the server's limit so that the first of those that wait for it gets a place.
    fn raise_server(&mut self) {
        let mut waiting = self.queue.writes.iter().chain(&self.queue.reads);
        let first = waiting.find(|waiter| self.limited(&waiter.request) == Some(Limited::Server));
        if let Some(has_reserve) = first.map(|first| self.has_reserve(&first.request)) {
            self.server.raise(has_reserve);
        }
    }

    fn raise_account(&mut self, user: &str) {
        let mut waiting = self.queue.writes.iter().chain(&self.queue.reads);
        let waits = waiting.any(|waiter| *waiter.request.user == *user);
        let Some(account) = self.accounts.get_mut(user) else {
            return;
        };
        if waits {
            account.raise(false);
        } else if account.open == 0 {
            self.accounts.remove(user);
        }
    }

    /// Gives places to those that wait, as far as there are any.
    pub(super) fn call_up(&mut self) {
        while self.queue.len() > 0 && self.server.has_room(false) {
            let mut queue = std::mem::take(&mut self.queue);
            let next = queue.take(|request| self.limited(request).is_none());
            self.queue = queue;
            let Some(next) = next else {
                return;
            };
            self.add(&next.request);
            next.call();
        }
    }
}
