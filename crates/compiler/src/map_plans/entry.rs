//! Keys that one rule decides.

use crate::key_patterns::lock_name;

/// Keys that stand together and are served alike.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Indexes of their shards in the map, in the order of their keys; all on one cluster, in one schema.
    pub shards: Vec<usize>,
    /// The keys.
    pub values: Values,
    /// How many keys the map has here; a range counts as one.
    pub keys: u64,
}

/// Keys of one kind, ascending.
#[derive(Debug)]
pub(crate) enum Values {
    /// Ranges, both ends included.
    Integers(Vec<(i64, i64)>),
    /// Texts.
    Texts(Vec<String>),
}

impl Entry {
    /// One of the shards, for what they have in common.
    pub(crate) fn shard(&self) -> usize {
        self.shards[0]
    }

    /// The first key, as the lock file names it.
    pub(crate) fn name(&self) -> String {
        match &self.values {
            Values::Integers(ranges) => ranges[0].0.to_string(),
            Values::Texts(texts) => lock_name::of_text(&texts[0]),
        }
    }
}
