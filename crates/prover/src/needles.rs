//! Texts that a pattern needs, searched for all patterns at once.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

/// Patterns that share a needle: what more of them need does not tell them apart.
const MOST_SHARING: usize = 64;

/// Needles in one text.
#[derive(Debug, Default)]
pub(crate) struct Needles {
    search: Option<AhoCorasick>,
    /// By needle: the numbers of those who need it.
    needed_by: Vec<Vec<usize>>,
}

impl Needles {
    /// Needles in lower case, with the numbers of those who need each.
    pub(crate) fn of(needles: HashMap<Vec<u8>, Vec<usize>>) -> Self {
        let mut needles: Vec<(Vec<u8>, Vec<usize>)> = needles.into_iter().collect();
        needles.sort_unstable();
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(needles.iter().map(|(needle, _)| needle))
            .ok()
            .filter(|_| !needles.is_empty());
        Self {
            search,
            needed_by: needles.into_iter().map(|(_, numbers)| numbers).collect(),
        }
    }

    /// Nobody needs anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.needed_by.is_empty()
    }

    /// Adds the numbers of those whose needle the text holds, letter case aside; in no order, some twice.
    pub(crate) fn find(&self, text: &[u8], hits: &mut Vec<usize>) {
        let Some(search) = &self.search else {
            hits.extend(self.needed_by.iter().flatten());
            return;
        };
        for found in search.find_overlapping_iter(text) {
            hits.extend(&self.needed_by[found.pattern().as_usize()]);
        }
    }
}

/// Of what each needs, by the text that it stands in, the needle that the fewest share; none where all are common.
pub(crate) fn rarest(wanted: Vec<Vec<(usize, Vec<u8>)>>) -> Vec<Option<(usize, Vec<u8>)>> {
    let mut shared: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
    for needle in wanted.iter().flatten() {
        *shared.entry(needle.clone()).or_insert(0) += 1;
    }
    let rare = |key: &(usize, Vec<u8>)| shared.get(key).is_some_and(|&count| count <= MOST_SHARING);
    let best = |needles: Vec<(usize, Vec<u8>)>| {
        let rarest = needles
            .into_iter()
            .min_by_key(|key| (shared.get(key).copied(), usize::MAX - key.1.len()));
        rarest.filter(&rare)
    };
    wanted.into_iter().map(best).collect()
}
