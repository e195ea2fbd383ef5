//! Ids of hostgroups, rules and flags that stay where live systems have them.
//!
//! Names and pinned ids go in, ids come out. [`Lock`] is what the lock file pins. [`Probe`] numbers things without an order
//! (hostgroups, flags): each gets an id from the hash of its name, so two branches that add things seldom take the same.
//! Rules have an order, which is that of their ids. [`tree_ids`] numbers the rules of one tree, whose pinned rules decide the
//! order, and [`sequence`] numbers all rules in a given order.

mod lock;
mod probe;
pub mod sequence;
pub mod tree_ids;

pub use lock::{Lock, LockError};
pub use probe::Probe;

/// Ids from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// The lowest id.
    pub first: u32,
    /// The highest id.
    pub last: u32,
}

impl IdRange {
    fn contains(self, id: u32) -> bool {
        (self.first..=self.last).contains(&id)
    }
}

impl From<&std::ops::RangeInclusive<u32>> for IdRange {
    fn from(range: &std::ops::RangeInclusive<u32>) -> Self {
        Self {
            first: *range.start(),
            last: *range.end(),
        }
    }
}
