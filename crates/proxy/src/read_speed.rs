//! How fast a reader answers beside the other readers of its hostgroup, and the part of its share of reads that it gets for it.
//!
//! # Idea
//!
//! A read goes to a reader at random, so readers of equal speed take equally long over the same kind of statement. Each read is
//! compared with what its digest usually takes on any of them ([`usual`]): the distance is counted in octaves, of which one is
//! twice as long. Kinds of statements, and who sends which, say nothing of a server then. Workers count the distances of a reader
//! as [`Evidence`]. Twice a second one thread adds them up for all workers, and a [`Judge`] compares the readers: alone, a worker
//! would see too few reads to tell, and each would have another opinion.
//!
//! One that is four times as slow as the reader in the middle gets fewer reads; one that is not three times as slow gets more, until
//! it has its share again. Only reads that could have gone to any reader count: what a session holds on one server, as a
//! transaction, may be a kind of work of its own.
//!
//! # Invariants
//!
//! The share of a reader is whole unless there is evidence against it, and never below [`LEAST_SHARE`], so that its recovery is seen.
//! Never do more than half of the readers that serve get less than their share.
//!
//! # Example
//!
//! `b` and `c` have an equal weight, and a kind of read takes 2 ms on both. `c` comes to take 40 ms: 4 octaves above `b`. After
//! 1.5 s it gets a sixteenth of its share: 6 % of the reads. When it takes 2 ms again, it gets a tenth of its share more twice a
//! second.

mod evidence;
mod judge;
#[cfg(test)]
mod tests;
mod usual;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

pub(crate) use self::evidence::Evidence;
pub(crate) use self::judge::{Judge, LOOK_EVERY, Reader, Verdict};
pub(crate) use self::usual::UsualTimes;

/// The whole of a share.
pub(crate) const WHOLE_SHARE: u64 = 1000;
/// The least of its share that a slow reader gets.
pub(crate) const LEAST_SHARE: u64 = 50;

/// The speed of a reader, shared by all workers.
#[derive(Debug)]
pub(crate) struct ReadSpeed {
    is_compared: AtomicBool,
    count: AtomicU64,
    sum: AtomicI64,
    squares: AtomicU64,
    /// Thousandths.
    share: AtomicU64,
    /// Tenths; 0: not known.
    times_slower: AtomicU32,
}

impl Default for ReadSpeed {
    fn default() -> Self {
        Self {
            is_compared: AtomicBool::new(false),
            count: AtomicU64::new(0),
            sum: AtomicI64::new(0),
            squares: AtomicU64::new(0),
            share: AtomicU64::new(WHOLE_SHARE),
            times_slower: AtomicU32::new(0),
        }
    }
}

impl ReadSpeed {
    /// Whether its reads are compared with those of others.
    pub(crate) fn is_compared(&self) -> bool {
        self.is_compared.load(Ordering::Relaxed)
    }

    /// Has its reads compared, or not.
    pub(crate) fn compare(&self, is_compared: bool) {
        self.is_compared.store(is_compared, Ordering::Relaxed);
    }

    /// Adds what a worker has measured.
    pub(crate) fn add(&self, evidence: Evidence) {
        self.count.fetch_add(evidence.count, Ordering::Relaxed);
        self.sum.fetch_add(evidence.sum, Ordering::Relaxed);
        self.squares.fetch_add(evidence.squares, Ordering::Relaxed);
    }

    /// What all workers have measured so far.
    pub(crate) fn evidence(&self) -> Evidence {
        Evidence {
            count: self.count.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed),
            squares: self.squares.load(Ordering::Relaxed),
        }
    }

    /// The part of its share that it gets, in thousandths.
    pub(crate) fn share(&self) -> u64 {
        self.share.load(Ordering::Relaxed)
    }

    /// How many times slower it is than the reader in the middle, if it was compared.
    pub(crate) fn times_slower(&self) -> Option<f64> {
        let tenths = self.times_slower.load(Ordering::Relaxed);
        (tenths > 0).then(|| f64::from(tenths) / 10.0)
    }

    /// Takes up what it gets, and how many times slower it is, if it was compared.
    pub(crate) fn judged(&self, share: u64, times_slower: Option<f64>) {
        let tenths = times_slower.map_or(0, |times| (times * 10.0).round().max(1.0) as u32);
        self.share.store(share, Ordering::Relaxed);
        self.times_slower.store(tenths, Ordering::Relaxed);
    }
}
