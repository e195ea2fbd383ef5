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

    /// The share of keys that are words: letters, digits and `_`. A range counts by its first key.
    pub(crate) fn share_of_words(&self) -> f64 {
        let is_word = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let (words, all) = match &self.values {
            Values::Integers(ranges) => (ranges.iter().filter(|range| range.0 >= 0).count(), ranges.len()),
            Values::Texts(texts) => (texts.iter().filter(|text| is_word(text)).count(), texts.len()),
        };
        words as f64 / all as f64
    }

    /// The first key, as the lock file names it.
    pub(crate) fn name(&self) -> String {
        match &self.values {
            Values::Integers(ranges) => ranges[0].0.to_string(),
            Values::Texts(texts) => lock_name::of_text(&texts[0]),
        }
    }
}
