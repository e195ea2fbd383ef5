//! Keys: what a shard is found by.

use std::fmt;
use std::sync::Arc;

use shardwright_vocabulary::{KeyKind, Words};

/// What a shard map's key is.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The word in comments, and the default name of things.
    pub name: Arc<str>,
    /// How values compare.
    pub kind: KeyKind,
    /// All values that exist, for integers; gaps are errors.
    pub domain: Vec<KeyRange>,
    /// What the values of shards are compared with.
    pub placement: Placement,
}

/// Largest divisor of a key: a shard of a configuration lists its remainders one by one.
pub const MAX_MODULO: i64 = 1 << 20;

/// What the values of shards are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The key itself: shards have `keys` or `ranges`.
    Value,
    /// The key modulo this number (never negative): shards have `remainders`.
    Modulo(u64),
    /// A hash of the canonical key, modulo a number: shards have `remainders`.
    Hash {
        /// The function.
        function: HashFunction,
        /// The divisor.
        modulo: u64,
    },
}

/// A hash over the UTF-8 of the canonical decimal or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashFunction {
    /// XXH64 with seed 0.
    XxHash64,
}

/// Integers from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRange {
    /// The least value.
    pub first: i64,
    /// The greatest value; never below `first`.
    pub last: i64,
}

impl KeyRange {
    /// Whether the value lies in it.
    #[must_use]
    pub const fn contains(self, value: i64) -> bool {
        self.first <= value && value <= self.last
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            self.first.fmt(f)
        } else {
            write!(f, "{}..{}", self.first, self.last)
        }
    }
}

impl Words for HashFunction {
    const WORDS: &'static [(&'static str, Self)] = &[("xxhash64", Self::XxHash64)];
}
