//! Log lines about what may happen thousands of times a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines.
const BETWEEN: Duration = Duration::from_secs(1);

/// How often something happened, of which one line a second tells.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    told: Option<Instant>,
    untold: u64,
}

impl Seldom {
    /// Counts one. How often it happened since the last line, if one is due.
    pub(crate) fn count(&self, now: Instant) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.untold += 1;
        let told = counted.told;
        if told.is_some_and(|told| now.saturating_duration_since(told) < BETWEEN) {
            return None;
        }
        counted.told = Some(now);
        Some(std::mem::take(&mut counted.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_tells_how_many_there_were() {
        let (seldom, now) = (Seldom::default(), Instant::now());
        assert_eq!(seldom.count(now), Some(1));
        for _ in 0..10 {
            assert_eq!(seldom.count(now + BETWEEN / 2), None);
        }
        assert_eq!(seldom.count(now + BETWEEN), Some(11));
    }
}
