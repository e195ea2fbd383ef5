//! Log lines about what may happen thousands of times a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::half_open::Origin;

/// Time between two lines.
const BETWEEN: Duration = Duration::from_secs(1);

/// Origins that are told apart. While all of them have had a line within a second, others get none.
const ORIGINS: usize = 1024;

/// How often something happened, of which one line a second tells.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<Counted>);

/// The same for each origin.
#[derive(Debug, Default)]
pub(crate) struct SeldomByOrigin(Mutex<FxHashMap<Origin, Counted>>);

#[derive(Debug, Default)]
struct Counted {
    told: Option<Instant>,
    untold: u64,
}

impl Seldom {
    /// Counts one. How often it happened since the last line, if one is due.
    pub(crate) fn count(&self, now: Instant) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count(now)
    }
}

impl SeldomByOrigin {
    /// Counts one. How often it happened since the last line of this origin, if one is due.
    pub(crate) fn count(&self, origin: Origin, now: Instant) -> Option<u64> {
        let mut origins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if origins.len() >= ORIGINS && !origins.contains_key(&origin) {
            origins.retain(|_, counted| !counted.is_due(now));
            if origins.len() >= ORIGINS {
                return None;
            }
        }
        origins.entry(origin).or_default().count(now)
    }
}

impl Counted {
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        if !self.is_due(now) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.told
            .is_none_or(|told| now.saturating_duration_since(told) >= BETWEEN)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

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

    #[test]
    fn origins_have_lines_of_their_own_and_are_bounded() {
        let (seldom, now) = (SeldomByOrigin::default(), Instant::now());
        let origin = |number: usize| Origin::V4(Ipv4Addr::from(number as u32));
        for number in 0..ORIGINS {
            assert_eq!(seldom.count(origin(number), now), Some(1));
            assert_eq!(seldom.count(origin(number), now), None);
        }
        assert_eq!(seldom.count(origin(ORIGINS), now), None);
        assert_eq!(seldom.count(origin(0), now + BETWEEN), Some(2));
        assert_eq!(seldom.count(origin(ORIGINS), now + BETWEEN), Some(1));
        assert_eq!(seldom.0.lock().unwrap().len(), 2);
    }
}
