//! How often a client commits.

use std::time::{Duration, Instant};

/// One commit for each interval; none is caught up with after an outage, which would be a load of another kind.
pub(crate) struct Pace {
    interval: Option<Duration>,
    next: Instant,
}

impl Pace {
    /// `per_second`: none for as fast as answers come.
    pub(crate) fn new(per_second: Option<f64>, now: Instant) -> Self {
        Self {
            interval: per_second.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            next: now,
        }
    }

    /// How long to wait before the next commit.
    pub(crate) fn pause(&mut self, now: Instant) -> Duration {
        let Some(interval) = self.interval else {
            return Duration::ZERO;
        };
        let pause = self.next.saturating_duration_since(now);
        self.next = self.next.max(now) + interval;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_come_at_their_times_and_none_is_caught_up_with() {
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        let mut pace = Pace::new(Some(10.0), began);
        assert_eq!(pace.pause(began), Duration::ZERO);
        assert_eq!(pace.pause(ms(30)), Duration::from_millis(70));
        // An answer that took until 950 ms: the next one goes at once, those after it at their distance.
        assert_eq!(pace.pause(ms(950)), Duration::ZERO);
        assert_eq!(pace.pause(ms(960)), Duration::from_millis(90));
        assert_eq!(Pace::new(None, began).pause(ms(1)), Duration::ZERO);
    }
}
