//! A limit that is learned from the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shardwright_rules::most_of_one_proxy;

/// Time after a refusal until the limit is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// Time in which a server may still count a connection that was closed.
const CLOSING: Duration = Duration::from_millis(100);

/// The part of a limit that is kept for statements that write.
const RESERVE: usize = 10;
/// The part of a server's limit that is kept when nobody uses it.
const KEPT: usize = 4;

/// How many connections there are, and how many there may be.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) open: usize,
    most: usize,
    /// What `most` never exceeds: the server's word, less what is left to others.
    ceiling: usize,
    /// Tells the server that has said so.
    server: Option<u64>,
    /// The server's word; none where the address leads to several.
    said: Option<u32>,
    /// `most` comes from a refusal, and is tried again from then on.
    retry_at: Option<Instant>,
    /// The words of the refusal.
    why: Option<Arc<str>>,
    /// When a connection was closed last.
    closed_at: Option<Instant>,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            open: 0,
            most: usize::MAX,
            ceiling: usize::MAX,
            server: None,
            said: None,
            retry_at: None,
            why: None,
            closed_at: None,
        }
    }
}

/// Connections of `most` that statements which only read leave to others.
pub(super) fn reserve(most: usize) -> usize {
    most / RESERVE
}

impl Limit {
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether one more may be opened, and `has_reserve` be left.
    pub(super) fn has_room(&self, has_reserve: bool) -> bool {
        let kept = if has_reserve { reserve(self.most) } else { 0 };
        self.open < self.most - kept
    }

    pub(super) fn to_spare(&self) -> usize {
        match self.ceiling {
            usize::MAX => 0,
            ceiling => self.open.saturating_sub(ceiling / KEPT),
        }
    }

    /// How many connections the server has in its own words; none where nobody was told, or the address leads to several servers.
    pub(super) fn said(&self) -> Option<u32> {
        self.said
    }

    pub(super) fn why(&self) -> Option<Arc<str>> {
        self.why.clone()
    }

    /// Whether nothing is known and nothing is open.
    pub(super) fn is_forgotten(&self) -> bool {
        self.open == 0 && self.retry_at.is_none()
    }

    /// Takes in the server's word. An address that leads to several servers has no such limit.
    pub(super) fn learn(&mut self, max_connections: u32, server: u64) {
        let is_another = self.server.is_some_and(|known| known != server);
        let are_several = is_another || self.said.is_none() && self.server.is_some();
        self.said = (!are_several).then_some(max_connections);
        self.server = Some(server);
        let ceiling = match self.said {
            Some(said) => most_of_one_proxy(said) as usize,
            None => usize::MAX,
        };
        if ceiling != self.ceiling {
            self.ceiling = ceiling;
            self.most = match self.retry_at {
                Some(_) => self.most.min(ceiling),
                None => ceiling,
            };
        }
    }

    /// The server takes no more than are open without the one that it has refused.
    pub(super) fn refused(&mut self, why: &str, now: Instant) {
        self.most = self.most.min(self.open.saturating_sub(1));
        self.retry_at = Some(now + RETRY);
        self.why = Some(why.into());
    }

    pub(super) fn closed(&mut self, now: Instant) {
        self.closed_at = Some(now);
    }

    /// Whether the server may still count one that was closed, and refuse another for that.
    pub(super) fn is_closing(&self, now: Instant) -> bool {
        self.closed_at
            .is_some_and(|at| now.saturating_duration_since(at) < CLOSING)
    }

    /// The server has taken one: nothing is known of a limit any more where the ceiling is reached.
    pub(super) fn opened(&mut self) {
        if self.retry_at.is_some() && self.open >= self.ceiling {
            self.most = self.ceiling;
            self.retry_at = None;
            self.why = None;
        }
    }

    /// Whether the limit was learned from a refusal, and may be tried by now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.retry_at.is_some_and(|at| at <= now)
    }

    pub(super) fn is_learned(&self) -> bool {
        self.retry_at.is_some()
    }

    /// Lets one more be tried.
    pub(super) fn raise(&mut self, has_reserve: bool) {
        while !self.has_room(has_reserve) && self.most < self.ceiling {
            self.most += 1;
        }
    }

    pub(super) fn tried(&mut self, now: Instant) {
        self.retry_at = Some(now + RETRY);
    }
}
