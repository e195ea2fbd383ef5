//! What waits on a replica, how fast it is applied, and how fast more may be written.
//!
//! # Idea
//!
//! Lag shows what was written a while ago. While more is written than is applied, the lag to come is longer: what waits now takes
//! `transactions / applied_per_s` to apply, whatever is written from here on. That time is the outlook.
//!
//! A replica whose outlook is as long as it may be gets as much as it applies. If the outlook is shorter or longer, writers may write
//! so much more or less that the difference is gone after half that time.
//!
//! Replicas that wait for a disk apply in bursts. One that falls to half its speed for some seconds doubles the age of what waits, and no
//! delay can change that: it is written already. So the outlook rests below the middle between both levels: it takes longer to
//! come down than to grow.
//!
//! # Example
//!
//! Levels of 3 s and 1 s: the outlook rests at 1.8 s. 1,200 transactions wait on a replica that applies 500 a second: the outlook is
//! 2.4 s. Writers may write 500 × (1 − 0.6 / 0.9) = 167 a second.

use std::time::Duration;

use super::Signal;

/// Where the outlook rests, from the lower to the upper level.
const RESTS_AT: f64 = 0.4;
/// The part of the outlook at rest within which a difference is made up for.
const MADE_UP_WITHIN: f64 = 0.5;
/// A backlog is worked off at three quarters of the replica's speed: a delay that stops writers altogether would be far from where it
/// comes to rest when the lag is back.
const LEAST_PART: f64 = 0.25;

/// What waits on a replica, and how fast it is applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Transactions that are written and not applied.
    pub transactions: f64,
    /// What the replica applies in a second while something waits.
    pub applied_per_s: f64,
}

/// How fast writers write, and how fast they may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Transactions that the writer has written in all.
    pub written: f64,
    /// How long ago that was seen.
    pub age: Duration,
    /// What may be written in a second.
    pub may_per_s: f64,
}

impl Backlog {
    /// The lag to come, ms; `None`: the replica stands still.
    #[must_use]
    pub fn outlook_ms(&self) -> Option<f64> {
        if self.transactions <= 0.0 {
            return Some(0.0);
        }
        (self.applied_per_s > 0.0).then(|| self.transactions / self.applied_per_s * 1000.0)
    }

    /// What may be written in a second, so that the lag rests between the levels of its signal (ms).
    #[must_use]
    pub fn may_per_s(&self, signal: &Signal) -> f64 {
        let (start, stop) = (signal.start_above.get(), signal.stop_below.get());
        let rest_s = ((stop + (start - stop) * RESTS_AT) / 1000.0).max(0.001);
        let outlook_s = self
            .outlook_ms()
            .map_or(f64::INFINITY, |outlook| outlook / 1000.0);
        let part = 1.0 + (rest_s - outlook_s) / (rest_s * MADE_UP_WITHIN);
        self.applied_per_s * part.max(LEAST_PART)
    }
}

impl Pace {
    /// That of the replica that allows less.
    #[must_use]
    pub(super) fn slower(self, other: Self) -> Self {
        if other.may_per_s < self.may_per_s {
            other
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttle::SignalSource;

    #[test]
    fn more_may_be_written_where_less_waits() {
        let signal = Signal {
            source: SignalSource::ReplicationLag,
            start_above: 3000.0.into(),
            stop_below: 1000.0.into(),
        };
        let may = |transactions, applied_per_s| {
            let backlog = Backlog {
                transactions,
                applied_per_s,
            };
            backlog.may_per_s(&signal).round()
        };
        assert_eq!(may(900.0, 500.0), 500.0);
        assert_eq!(may(1200.0, 500.0), 167.0);
        assert_eq!(may(450.0, 500.0), 1000.0);
        assert_eq!(may(90_000.0, 500.0), 125.0);
        assert_eq!(may(0.0, 500.0), 1500.0);
        assert_eq!(may(7.0, 0.0), 0.0);
    }
}
