//! Texts that a pattern needs, searched for all patterns at once.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

/// Patterns that share a needle: what more of them need does not tell them apart.
const MOST_SHARING: usize = 64;
/// The node that every needle begins at.
const ROOT: u32 = 0;

/// Needles as a tree of their bytes, which is walked from every place of a text. An Aho-Corasick automaton walks once, but
/// for 100,000 needles it takes longer to make than all the texts of an analysis take to search.
#[derive(Debug, Default)]
pub(crate) struct Needles {
    /// By node and byte: the next node.
    next: FxHashMap<(u32, u8), u32>,
    /// By node: the numbers of those whose needle ends there; empty without needles.
    needed_by: Vec<Vec<usize>>,
}

impl Needles {
    /// Needles in lower case, with the numbers of those who need each.
    pub(crate) fn of(needles: HashMap<Vec<u8>, Vec<usize>>) -> Self {
        let mut made = Self::default();
        for (needle, numbers) in needles {
            if made.needed_by.is_empty() {
                made.needed_by.push(Vec::new());
            }
            let mut node = ROOT;
            for byte in needle {
                let fresh = u32::try_from(made.needed_by.len()).expect("needles have fewer than 2^32 bytes");
                node = *made.next.entry((node, byte)).or_insert(fresh);
                if node == fresh {
                    made.needed_by.push(Vec::new());
                }
            }
            made.needed_by[node as usize].extend(numbers);
        }
        made
    }

    /// Nobody needs anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.needed_by.is_empty()
    }

    /// Adds the numbers of those whose needle the text holds, letter case aside; in no order, some twice.
    pub(crate) fn find(&self, text: &[u8], hits: &mut Vec<usize>) {
        hits.extend(self.needed_by.first().into_iter().flatten());
        for from in 0..text.len() {
            let mut node = ROOT;
            for byte in &text[from..] {
                let Some(&next) = self.next.get(&(node, byte.to_ascii_lowercase())) else {
                    break;
                };
                node = next;
                hits.extend(&self.needed_by[node as usize]);
            }
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
