//! How far a replica is behind in time, from what was written and what it has applied.
//!
//! # Idea
//!
//! `Seconds_Behind_Source` counts whole seconds, and is 0 while a replica does not get what its source writes. Both servers also
//! say by number what they have: the writer's last transaction is `0-1-500`, the replica's `0-1-300`. When the writer was at
//! 300 is known from earlier looks. So the replica has what the writer had then, and that is how far it is behind.
//!
//! ```text
//! looks at the writer   12.0 s: 200   12.25 s: 280   12.5 s: 360   …   15.0 s: 500
//! the replica, at 15.0 s: 300         the writer was there at about 12.31 s: 2.69 s behind, 200 transactions
//! ```
//!
//! Numbers count within a domain (MariaDB) or an origin (MySQL); the worst of them counts.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// The least time between two looks that are kept.
const KEPT_EVERY: Duration = Duration::from_millis(100);
/// Looks that are kept: two minutes or more.
const MOST_LOOKS: usize = 1200;

/// The last transaction in each domain or of each origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Positions(BTreeMap<String, u64>);

/// How far a replica is behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Behind {
    pub(crate) time: Duration,
    /// The looks do not reach back far enough: it is so far behind or more.
    pub(crate) or_more: bool,
    pub(crate) transactions: u64,
}

impl Positions {
    /// `0-1-500,2-1-77` of MariaDB, or sets such as `3e11fa47-…:1-500:502` of MySQL, of which what follows a gap is not yet
    /// there. `None`: it is neither, or empty.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut positions = BTreeMap::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (origin, number) = match part.split_once(':') {
                Some((origin, intervals)) => {
                    let first = intervals
                        .split(':')
                        .find(|interval| interval.starts_with(|c: char| c.is_ascii_digit()))?;
                    let (_, last) = first.split_once('-').unwrap_or((first, first));
                    (origin, last)
                }
                None => {
                    let (domain_and_server, number) = part.rsplit_once('-')?;
                    (domain_and_server.split_once('-')?.0, number)
                }
            };
            positions.insert(origin.to_owned(), number.parse().ok()?);
        }
        (!positions.is_empty()).then_some(Self(positions))
    }

    /// Transactions in all.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// What a server had written, look by look.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<(Instant, Positions)>);

impl History {
    /// Takes up a look.
    pub(crate) fn add(&mut self, at: Instant, positions: &Positions) {
        let one_before = self.0.len().checked_sub(2).and_then(|before| self.0.get(before));
        let is_close =
            one_before.is_some_and(|(before, _)| at.saturating_duration_since(*before) < KEPT_EVERY);
        let is_back = self.0.back().is_some_and(|(_, last)| {
            let fell =
                |(origin, number): (&String, &u64)| positions.0.get(origin).is_none_or(|now| now < number);
            last.0.iter().any(fell)
        });
        if is_back {
            // Another server stands there, or its numbers begin anew.
            self.0.clear();
        } else if is_close {
            self.0.pop_back();
        }
        self.0.push_back((at, positions.clone()));
        if self.0.len() > MOST_LOOKS {
            self.0.pop_front();
        }
    }

    /// How far a replica is behind that had applied `positions` at a moment. `None`: nothing of both can be compared.
    pub(crate) fn behind(&self, positions: &Positions, at: Instant) -> Option<Behind> {
        let (_, written) = self.0.back()?;
        let mut worst: Option<Behind> = None;
        for (origin, last) in &written.0 {
            // A domain that the replica does not have is one that it does not follow.
            let Some(&applied) = positions.0.get(origin) else {
                continue;
            };
            let (written_at, or_more) = match applied >= *last {
                true => (at, false),
                false => self.written_at(origin, applied),
            };
            let behind = Behind {
                time: at.saturating_duration_since(written_at),
                or_more,
                transactions: last.saturating_sub(applied),
            };
            worst = Some(match worst {
                None => behind,
                Some(other) => Behind {
                    time: other.time.max(behind.time),
                    or_more: other.or_more || behind.or_more,
                    transactions: other.transactions + behind.transactions,
                },
            });
        }
        worst
    }

    /// When the server was at a transaction that is not its last, between two looks in proportion; and whether that was even
    /// earlier.
    fn written_at(&self, origin: &str, number: u64) -> (Instant, bool) {
        let of = |at: usize| {
            let (seen, positions) = &self.0[at];
            (*seen, positions.0.get(origin).copied().unwrap_or(0))
        };
        let after = self
            .0
            .partition_point(|(_, positions)| positions.0.get(origin).is_none_or(|seen| *seen <= number));
        let Some(before) = after.checked_sub(1) else {
            return (of(0).0, true);
        };
        let ((before_at, first), (after_at, second)) = (of(before), of(after.min(self.0.len() - 1)));
        let share = match second.saturating_sub(first) {
            0 => 0.0,
            count => number.saturating_sub(first) as f64 / count as f64,
        };
        let step = after_at.saturating_duration_since(before_at);
        (before_at + step.mul_f64(share.clamp(0.0, 1.0)), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(text: &str) -> Positions {
        Positions::parse(text).unwrap()
    }

    #[test]
    fn positions_of_both_flavours_are_read() {
        assert_eq!(
            positions("0-1-500, 2-7-77"),
            Positions([("0".into(), 500), ("2".into(), 77)].into())
        );
        let sets =
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-500:502-600,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:7";
        assert_eq!(positions(sets).total(), 507);
        for text in ["", " ", "5", "0-1", "0-1-x", "uuid:", "uuid:x"] {
            assert_eq!(Positions::parse(text), None, "{text}");
        }
    }

    fn history(begin: Instant, looks: &[(u64, u64)]) -> History {
        let mut history = History::default();
        for (at_ms, number) in looks {
            history.add(
                begin + Duration::from_millis(*at_ms),
                &positions(&format!("0-1-{number}")),
            );
        }
        history
    }

    #[test]
    fn a_replica_has_what_was_written_then() {
        let begin = Instant::now();
        let history = history(begin, &[(0, 200), (250, 280), (500, 360), (3000, 500)]);
        let at = begin + Duration::from_millis(3000);
        let behind = |text: &str| {
            let behind = history.behind(&positions(text), at)?;
            Some((behind.time.as_millis(), behind.or_more, behind.transactions))
        };
        assert_eq!(behind("0-1-300"), Some((2687, false, 200)));
        assert_eq!(behind("0-1-360"), Some((2500, false, 140)));
        assert_eq!(behind("0-9-500"), Some((0, false, 0)));
        assert_eq!(behind("0-1-501"), Some((0, false, 0)));
        assert_eq!(behind("0-1-100"), Some((3000, true, 400)));
        assert_eq!(behind("1-1-100"), None);
    }

    #[test]
    fn a_transaction_after_a_long_pause_is_no_long_lag() {
        let begin = Instant::now();
        let looks: Vec<(u64, u64)> = (0..100)
            .map(|look| (look * 250, 7))
            .chain([(25_000, 8)])
            .collect();
        let history = history(begin, &looks);
        let behind = history
            .behind(&positions("0-1-7"), begin + Duration::from_millis(25_010))
            .unwrap();
        assert_eq!((behind.time.as_millis(), behind.transactions), (260, 1));
    }

    #[test]
    fn looks_are_kept_in_steps_and_forgotten_when_numbers_fall() {
        let begin = Instant::now();
        let looks: Vec<(u64, u64)> = (0..100).map(|look| (look * 10, look)).collect();
        let mut history = history(begin, &looks);
        assert!(history.0.len() <= 12, "{}", history.0.len());
        assert_eq!(history.0.back().unwrap().1, positions("0-1-99"));
        history.add(begin + Duration::from_secs(2), &positions("0-1-3"));
        assert_eq!(history.0.len(), 1);
    }
}
