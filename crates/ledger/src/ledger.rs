//! What clients were told, and how long writes were away.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::answers::ErrorKind;
use crate::load::Load;
use crate::told::{Errors, Told};

/// A time without an acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it began, from the beginning of the run.
    pub from: Duration,
    /// How long it was.
    pub length: Duration,
    /// It lasted until the clients were stopped.
    pub is_open: bool,
}

/// What clients were told.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) load: Load,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) told: Told,
}

impl Ledger {
    /// What they did.
    #[must_use]
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// How long the clients worked.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.ended - self.began
    }

    /// Commits that were acknowledged.
    pub fn acknowledged(&self) -> impl ExactSizeIterator<Item = u64> {
        self.told.acknowledged.iter().map(|one| one.number)
    }

    /// Rows of the commits that were acknowledged.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.acknowledged().map(|number| self.load.rows(number)).sum()
    }

    /// Commits that were refused.
    #[must_use]
    pub fn refused(&self) -> &[u64] {
        &self.told.refused
    }

    /// Commits of which nobody knows.
    #[must_use]
    pub fn unknown(&self) -> &[u64] {
        &self.told.unknown
    }

    /// Errors by kind and code.
    #[must_use]
    pub fn errors(&self) -> &BTreeMap<(ErrorKind, u16), Errors> {
        &self.told.errors
    }

    /// The longest time without an acknowledged commit since a moment of the run, of all clients together.
    #[must_use]
    pub fn longest_gap(&self, since: Instant) -> Gap {
        let mut last = since.max(self.began);
        let mut longest = Gap {
            from: last - self.began,
            length: Duration::ZERO,
            is_open: false,
        };
        let later = self.told.acknowledged.iter().map(|one| one.at);
        let later = later.filter(|at| *at > since).map(|at| (at, false));
        for (at, is_open) in later.chain([(self.ended, true)]) {
            let length = at.saturating_duration_since(last);
            if length > longest.length {
                longest = Gap {
                    from: last - self.began,
                    length,
                    is_open,
                };
            }
            last = at;
        }
        longest
    }

    /// When the first commit was acknowledged, if one was.
    #[must_use]
    pub fn first(&self) -> Option<Instant> {
        self.told.acknowledged.first().map(|one| one.at)
    }

    /// The longest time that a client waited for the acknowledgement of one commit.
    #[must_use]
    pub fn slowest(&self) -> Duration {
        let waits = self.told.acknowledged.iter().map(|one| one.at - one.sent);
        waits.max().unwrap_or_default()
    }

    /// When the clients were started.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use mysql::Opts;

    use super::*;
    use crate::table::Table;
    use crate::told::Acknowledged;

    fn ledger(at_ms: &[u64], ended_ms: u64) -> Ledger {
        let began = Instant::now();
        let ms = |ms: u64| began + Duration::from_millis(ms);
        let one = |(number, at): (usize, &u64)| Acknowledged {
            number: number as u64,
            sent: ms(at.saturating_sub(3)),
            at: ms(*at),
        };
        Ledger {
            load: Load {
                targets: vec![Opts::default()],
                table: Table::new("s", "t"),
                run: 1,
                clients: NonZeroU32::MIN,
                rate: None,
                transaction_every: 4,
            },
            began,
            ended: ms(ended_ms),
            told: Told {
                acknowledged: at_ms.iter().enumerate().map(one).collect(),
                ..Told::default()
            },
        }
    }

    #[test]
    fn a_gap_is_the_longest_time_without_a_commit() {
        let gap = |at: &[u64], ended, since| {
            let ledger = ledger(at, ended);
            let gap = ledger.longest_gap(ledger.began + Duration::from_millis(since));
            (gap.from.as_millis(), gap.length.as_millis(), gap.is_open)
        };
        assert_eq!(gap(&[10, 20, 320, 330], 340, 0), (20, 300, false));
        assert_eq!(gap(&[10, 20, 320, 330], 340, 100), (100, 220, false));
        // Writes that never come back.
        assert_eq!(gap(&[10, 20], 900, 0), (20, 880, true));
        assert_eq!(gap(&[], 900, 0), (0, 900, true));
    }

    #[test]
    fn every_fourth_commit_is_a_transaction() {
        let ledger = ledger(&[1, 2, 3, 4, 5], 6);
        assert_eq!(ledger.rows(), 6);
        assert_eq!(ledger.slowest(), Duration::from_millis(3));
    }
}
