//! What one server is known to have.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::position::Position;

/// What a server is known to have. Shared by all sessions.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The moments are counted from here, in microseconds.
    epoch: Instant,
    /// The server has everything that its cluster had at this moment; 0: nothing is known.
    synced_us: AtomicU64,
    /// The server did not catch up in time, and is not asked again until this moment.
    late_until_us: AtomicU64,
    /// Where its log was at a moment.
    position: Mutex<Option<(Instant, Position)>>,
    /// Its host name leads to several servers: nothing is known of the one at the other end of a connection.
    is_of_several: AtomicBool,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            synced_us: AtomicU64::new(0),
            late_until_us: AtomicU64::new(0),
            position: Mutex::new(None),
            is_of_several: AtomicBool::new(false),
        }
    }
}

impl Reach {
    fn us(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_micros()).unwrap_or(u64::MAX)
    }

    /// It has everything that its cluster had at a moment.
    pub(crate) fn synced(&self, at: Instant) {
        self.synced_us.fetch_max(self.us(at), Ordering::AcqRel);
        self.late_until_us.store(0, Ordering::Relaxed);
    }

    /// Whether it has everything that was written until `written`, as became known after `opened`.
    pub(crate) fn has_since(&self, written: Instant, opened: Instant) -> bool {
        let synced = self.synced_us.load(Ordering::Acquire);
        // Of two moments in one microsecond nobody knows which was first.
        !self.is_unknowable() && synced > self.us(written) && synced > self.us(opened)
    }

    /// Its log was at a position.
    pub(crate) fn reached(&self, at: Instant, position: Position) {
        let mut known = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(before, _)| *before < at) {
            *known = Some((at, position));
        }
        self.late_until_us.store(0, Ordering::Relaxed);
    }

    /// Whether its log was at a position or behind it, as became known after `opened`.
    pub(crate) fn has_position(&self, wanted: &Position, opened: Instant) -> bool {
        let known = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |(at, reached): &(Instant, Position)| *at > opened && wanted.is_in(reached, None);
        !self.is_unknowable() && known.as_ref().is_some_and(has)
    }

    /// It did not catch up in time: nobody waits for it for a while.
    pub(crate) fn is_late_for(&self, time: Duration) {
        self.late_until_us
            .store(self.us(Instant::now() + time), Ordering::Relaxed);
    }

    /// Nothing can be known of it any more: its host name leads to several servers.
    pub(crate) fn is_of_several(&self) {
        self.is_of_several.store(true, Ordering::Release);
    }

    fn is_unknowable(&self) -> bool {
        self.is_of_several.load(Ordering::Acquire)
    }

    /// Whether it did not catch up in time a moment ago, or nobody can tell.
    pub(crate) fn is_late(&self) -> bool {
        self.is_unknowable() || self.late_until_us.load(Ordering::Relaxed) > self.us(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_became_known_before_a_connection_was_opened_does_not_count() {
        let reach = Reach::default();
        let start = reach.epoch;
        assert!(!reach.has_since(start, start));
        reach.synced(start + 5 * MS);
        reach.synced(start + 3 * MS);
        assert!(reach.has_since(start + 4 * MS, start));
        assert!(!reach.has_since(start + 5 * MS, start));
        assert!(!reach.has_since(start + 4 * MS, start + 6 * MS));

        let position = |text: &[u8]| Position::of_mariadb(text).unwrap();
        reach.reached(start + 5 * MS, position(b"0-1-5"));
        assert!(reach.has_position(&position(b"0-1-5"), start));
        assert!(!reach.has_position(&position(b"0-1-6"), start));
        assert!(!reach.has_position(&position(b"0-1-5"), start + 5 * MS));
    }

    #[test]
    fn a_late_server_is_asked_again_once_it_has_caught_up() {
        let reach = Reach::default();
        reach.is_late_for(Duration::from_secs(3600));
        assert!(reach.is_late());
        reach.synced(Instant::now());
        assert!(!reach.is_late());
    }

    #[test]
    fn nothing_is_known_of_several_servers() {
        let reach = Reach::default();
        let start = reach.epoch;
        reach.synced(start + 5 * MS);
        assert!(reach.has_since(start, start));
        reach.is_of_several();
        assert!(reach.is_late() && !reach.has_since(start, start));
    }
}
