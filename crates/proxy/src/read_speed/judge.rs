//! Which readers of a hostgroup are slow.

use std::time::{Duration, Instant};

use super::evidence::Evidence;
use super::{LEAST_SHARE, WHOLE_SHARE};

/// From one look to the next.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Octaves above the reader in the middle from which on a reader is slow: 4 times.
const SLOW: f64 = 2.0;
/// Octaves up to which it is not: 3 times.
const NOT_SLOW: f64 = 1.58;
/// Standard errors by which the distance must exceed 0.
const CERTAIN: f64 = 4.0;
/// The least deviation that a single read is taken to have, octaves.
const LEAST_DEVIATION: f64 = 0.5;
/// Reads of each that are compared at least.
const LEAST_READS: u64 = 10;
/// Reads after which a comparison that says nothing ends.
const MOST_READS: u64 = 200;
/// Time after which one ends in any case.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a reader must be slow before it gets less: longer than a server stalls that writes its pages.
const PATIENCE: Duration = Duration::from_millis(1400);
/// Comparisons in which it must be slow, at least.
const LEAST_COMPARISONS: u32 = 2;
/// What a reader gets more of its share with each comparison in which it is not slow.
const STEP_UP: u64 = WHOLE_SHARE / 10;

/// A reader that serves in its hostgroup, as it is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    /// The number of the member.
    pub(crate) number: u64,
    /// What was measured of it so far.
    pub(crate) evidence: Evidence,
    /// It was reached, and its caches are not cold: it can be compared.
    pub(crate) is_steady: bool,
    /// What it gets of its share, thousandths.
    pub(crate) share: u64,
}

/// What a look has come to for a reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) number: u64,
    /// How many times slower than the reader in the middle it is, if it was compared.
    pub(crate) times_slower: Option<f64>,
    /// What it gets of its share from now on, thousandths.
    pub(crate) share: u64,
}

/// Compares the readers of one hostgroup.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    records: Vec<Record>,
}

/// What is remembered of a reader.
#[derive(Debug)]
struct Record {
    number: u64,
    /// When its comparison with the others began.
    began: Instant,
    /// What was known of each steady reader then.
    from: Vec<(u64, Evidence)>,
    /// Since when it is slow, and in how many comparisons.
    slow: Option<(Instant, u32)>,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Finding {
    /// The reader is slow, with certainty.
    Slow,
    NotSlow,
    /// It may be slow.
    Unclear,
}

impl Judge {
    /// Looks at all readers that serve beside each other. There is a verdict for each that there is something new of.
    pub(crate) fn look(&mut self, readers: &[Reader], now: Instant) -> Vec<Verdict> {
        self.records
            .retain(|record| readers.iter().any(|reader| reader.number == record.number));
        let mut verdicts = restored(readers);
        let is_reduced = |reader: &&Reader| reader.share < WHOLE_SHARE;
        let mut reduced = readers.iter().filter(is_reduced).count() - verdicts.len();
        for reader in readers {
            let record = self.record(reader.number, now);
            record.forget_unsteady(readers);
            let is_restored = verdicts.iter().any(|verdict| verdict.number == reader.number);
            if !reader.is_steady || is_restored {
                // What it does meanwhile counts neither for nor against it.
                record.begin(readers, now);
                record.slow = None;
                continue;
            }
            let Some((finding, octaves)) = record.compare(reader, readers, now) else {
                continue;
            };
            let is_whole = reader.share == WHOLE_SHARE;
            let share = match finding {
                Finding::Slow if !is_whole => (reader.share / 2).max(LEAST_SHARE),
                Finding::Slow if record.is_slow_for_long(now) && reduced < readers.len() / 2 => {
                    ((WHOLE_SHARE as f64 / octaves.exp2()) as u64).max(LEAST_SHARE)
                }
                Finding::NotSlow => (reader.share + STEP_UP).min(WHOLE_SHARE),
                Finding::Slow | Finding::Unclear => reader.share,
            };
            reduced += usize::from(is_whole && share < WHOLE_SHARE);
            verdicts.push(Verdict {
                number: reader.number,
                times_slower: Some(octaves.exp2()),
                share,
            });
        }
        verdicts
    }

    fn record(&mut self, number: u64, now: Instant) -> &mut Record {
        let known = self.records.iter().position(|record| record.number == number);
        let at = known.unwrap_or_else(|| {
            self.records.push(Record {
                number,
                began: now,
                from: Vec::new(),
                slow: None,
            });
            self.records.len() - 1
        });
        &mut self.records[at]
    }
}

/// Gives the fastest their share again where more than half of the readers have less, because others have ceased to serve. One that
/// serves alone gets every read, whatever its share is.
fn restored(readers: &[Reader]) -> Vec<Verdict> {
    let mut reduced: Vec<&Reader> = readers
        .iter()
        .filter(|reader| reader.share < WHOLE_SHARE)
        .collect();
    let most = (readers.len() / 2).max(usize::from(readers.len() == 1));
    let excess = reduced.len().saturating_sub(most);
    reduced.sort_by_key(|reader| std::cmp::Reverse(reader.share));
    let whole = |reader: &&Reader| Verdict {
        number: reader.number,
        times_slower: None,
        share: WHOLE_SHARE,
    };
    reduced.iter().take(excess).map(whole).collect()
}

impl Record {
    /// Begins to compare anew.
    fn begin(&mut self, readers: &[Reader], now: Instant) {
        self.began = now;
        let steady = readers.iter().filter(|reader| reader.is_steady);
        self.from = steady.map(|reader| (reader.number, reader.evidence)).collect();
    }

    /// A reader that was away for a part of the time is compared with nobody.
    fn forget_unsteady(&mut self, readers: &[Reader]) {
        let is_steady = |number: u64| {
            readers
                .iter()
                .any(|reader| reader.number == number && reader.is_steady)
        };
        self.from.retain(|(number, _)| is_steady(*number));
    }

    /// What has come of a reader since the comparison began.
    fn since(&self, reader: &Reader) -> Option<Evidence> {
        let (_, from) = self.from.iter().find(|(number, _)| *number == reader.number)?;
        let since = reader.evidence - *from;
        (since.count >= LEAST_READS).then_some(since)
    }

    /// Compares the reader with the one in the middle: by how many octaves it is slower. `None`: there are too few reads.
    fn compare(&mut self, reader: &Reader, readers: &[Reader], now: Instant) -> Option<(Finding, f64)> {
        let began = self.began;
        let is_old = now.saturating_duration_since(began) >= LONGEST;
        let is_part = self.from.iter().any(|(number, _)| *number == reader.number);
        let mut all: Vec<Evidence> = readers.iter().filter_map(|other| self.since(other)).collect();
        let own = self.since(reader).filter(|_| all.len() > 1);
        let Some(own) = own else {
            if is_old || !is_part {
                self.begin(readers, now);
            }
            return None;
        };
        all.sort_by(|one, other| one.mean().total_cmp(&other.mean()));
        let middle = all[(all.len() - 1) / 2];
        let octaves = own.mean() - middle.mean();
        let variance = own.variance_of_mean(LEAST_DEVIATION) + middle.variance_of_mean(LEAST_DEVIATION);
        let finding = if octaves < NOT_SLOW {
            Finding::NotSlow
        } else if octaves >= SLOW.max(CERTAIN * variance.sqrt()) {
            Finding::Slow
        } else {
            Finding::Unclear
        };
        match finding {
            Finding::Slow => {
                let (since, comparisons) = self.slow.unwrap_or((began, 0));
                self.slow = Some((since, comparisons + 1));
            }
            Finding::NotSlow => self.slow = None,
            // More reads may tell. Of one that gets fewer, they come slowly, and those from before it was faster count no more.
            Finding::Unclear if reader.share == WHOLE_SHARE && own.count < MOST_READS && !is_old => {
                return Some((finding, octaves));
            }
            Finding::Unclear => {}
        }
        self.begin(readers, now);
        Some((finding, octaves))
    }

    fn is_slow_for_long(&self, now: Instant) -> bool {
        self.slow.is_some_and(|(since, comparisons)| {
            comparisons >= LEAST_COMPARISONS && now.saturating_duration_since(since) >= PATIENCE
        })
    }
}
