//! When a connection goes to no further session.
//!
//! A server looks at an account when it logs in: an account that is locked or dropped, and a privilege that is taken away, leave
//! open connections as they are. So a connection that logged in too long ago is closed in place of being given to a session.

use std::time::{Duration, Instant};

use super::Backend;

/// The age of connections that sessions do not share.
pub(crate) const MAX_AGE_OF_OWN: Duration = Duration::from_secs(3600);
/// ER_MUST_CHANGE_PASSWORD
const MUST_CHANGE_PASSWORD: u16 = 1820;

/// The age of a connection: those that were opened together do not log in again together.
pub(super) fn spread(max_age: Duration, serial: u64) -> Duration {
    max_age - max_age / 32 * (serial % 8) as u32
}

impl Backend {
    /// Looks at the answer that has just ended.
    pub(crate) fn note_answer(&mut self) {
        let error = self.scanner.outcome().error.as_ref();
        self.must_change_password |= error.is_some_and(|error| error.code == MUST_CHANGE_PASSWORD);
    }

    /// Whether it goes to no further session.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.must_change_password || now >= self.over_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_differ_and_none_is_above_the_limit() {
        let limit = Duration::from_secs(320);
        let ages: Vec<u64> = (0..9).map(|serial| spread(limit, serial).as_secs()).collect();
        assert_eq!(ages, [320, 310, 300, 290, 280, 270, 260, 250, 320]);
    }
}
