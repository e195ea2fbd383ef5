//! How fast a replica applies while it has something to apply.
//!
//! A replica that has nothing to apply shows how fast is written, and not how fast it could apply. So only the time between two looks
//! counts in which it always had something: at the second one, it is behind by more than that time. Or it has applied more than was
//! thought possible: what was seen of a replica that stood still for a moment is not all that it can do.

use std::time::Duration;

/// Over what time it is averaged.
const AVERAGED_OVER: Duration = Duration::from_millis(1500);
/// A replica that stands still for a moment does not stand still for good: it is taken for half as fast as it was over this time.
const LONG_AVERAGED_OVER: Duration = Duration::from_secs(10);

/// How fast a replica applies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    short: Average,
    long: Average,
}

/// An average over the last time of some length; of all there is until then.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    value: f64,
    known_for: Duration,
}

impl Average {
    fn add(&mut self, value: f64, step: Duration, over: Duration) {
        self.known_for = (self.known_for + step).min(over);
        let weight = step.as_secs_f64() / self.known_for.as_secs_f64();
        self.value += weight.min(1.0) * (value - self.value);
    }
}

impl Speed {
    /// Takes up a look: how many transactions the replica has applied since the one before, how long that is ago, and how far it is
    /// behind now.
    pub fn add(&mut self, applied: f64, step: Duration, behind: Duration) {
        if step.is_zero() {
            return;
        }
        let per_s = applied / step.as_secs_f64();
        let is_faster = self.per_s().is_some_and(|known| per_s > known);
        if behind < step && !is_faster {
            return;
        }
        self.short.add(per_s, step, AVERAGED_OVER);
        self.long.add(per_s, step, LONG_AVERAGED_OVER);
    }

    /// Transactions in a second; `None`: it has not had enough to apply yet.
    #[must_use]
    pub fn per_s(&self) -> Option<f64> {
        let is_known = !self.long.known_for.is_zero();
        is_known.then(|| self.short.value.max(self.long.value / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The speed after looks every 100 ms, each with what was applied since the last and how far the replica was behind, ms.
    fn speed(looks: &[(u32, u64)]) -> Option<f64> {
        let mut speed = Speed::default();
        for (applied, behind_ms) in looks {
            let step = Duration::from_millis(100);
            speed.add(f64::from(*applied), step, Duration::from_millis(*behind_ms));
        }
        speed.per_s().map(f64::round)
    }

    #[test]
    fn only_a_replica_that_has_something_to_apply_shows_its_speed() {
        assert_eq!(speed(&[(50, 0), (50, 99)]), None);
        assert_eq!(speed(&[(50, 500)]), Some(500.0));
        assert_eq!(speed(&[(50, 500), (1, 0), (1, 0)]), Some(500.0));
        assert_eq!(speed(&[(30, 500), (50, 500)]), Some(400.0));
        assert_eq!(speed(&[(30, 500), (50, 0)]), Some(400.0));
    }

    #[test]
    fn a_replica_that_stands_still_is_half_as_fast_as_it_was() {
        let looks: Vec<(u32, u64)> = std::iter::repeat_n((50, 500), 200)
            .chain(std::iter::repeat_n((0, 500), 20))
            .collect();
        let halved = speed(&looks).unwrap();
        assert!((200.0..=250.0).contains(&halved), "{halved}");
    }
}
