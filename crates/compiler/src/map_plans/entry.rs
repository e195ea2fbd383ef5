//! Keys that one rule decides.

use crate::key_patterns::lock_name;

/// Keys that stand together and lie on one shard.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Index of the shard in the map.
    pub shard: usize,
    /// The keys.
    pub values: Values,
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
    /// How many keys it holds; a range counts as one.
    pub(crate) fn keys(&self) -> u64 {
        match &self.values {
            Values::Integers(ranges) => ranges.len() as u64,
            Values::Texts(texts) => texts.len() as u64,
        }
    }

    /// The first key, as the lock file names it.
    pub(crate) fn name(&self) -> String {
        match &self.values {
            Values::Integers(ranges) => ranges[0].0.to_string(),
            Values::Texts(texts) => lock_name::of_text(&texts[0]),
        }
    }
}
