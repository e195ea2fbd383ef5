//! Which chains and rules jumps lead to, whatever patterns say.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule_set::RuleSet;

/// More restarts than this count as unlimited: the answer then errs towards "entered".
const MOST_RESTARTS: u32 = 64;

/// The first position of each chain that a jump, or the beginning, can lead to.
#[derive(Debug, PartialEq, Eq)]
pub struct Structure {
    first: BTreeMap<u32, usize>,
}

impl Structure {
    /// With this many restarts.
    pub fn with_restarts(set: &RuleSet<'_>, restarts: u32) -> Self {
        let unlimited = restarts > MOST_RESTARTS;
        let restarts = restarts.min(MOST_RESTARTS);
        // By flag and restarts left: the first position that evaluation goes on from.
        let mut seen: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut open: BTreeSet<(u32, u32)> = BTreeSet::new();
        for &flag in &set.start_flags {
            seen.insert((flag, restarts), 0);
            open.insert((flag, restarts));
        }
        while let Some((flag, left)) = open.pop_first() {
            let from = seen[&(flag, left)];
            for &position in set.chain(flag).iter().filter(|&&position| position >= from) {
                for target in set.jumps(position) {
                    let (entry, left) = match left {
                        0 => (position + 1, 0),
                        left if unlimited => (0, left),
                        left => (0, left - 1),
                    };
                    let known = seen.entry((target, left)).or_insert(usize::MAX);
                    if entry < *known {
                        *known = entry;
                        open.insert((target, left));
                    }
                }
            }
        }
        let mut first: BTreeMap<u32, usize> = BTreeMap::new();
        for ((flag, _), from) in seen {
            let known = first.entry(flag).or_insert(from);
            *known = from.min(*known);
        }
        Self { first }
    }

    /// Whether some jump, or the beginning, leads to the chain.
    pub fn enters(&self, flag: u32) -> bool {
        self.first.contains_key(&flag)
    }

    /// Whether the rule can be asked.
    pub fn asks(&self, set: &RuleSet<'_>, position: usize) -> bool {
        self.first
            .get(&set.flag_in(position))
            .is_some_and(|&from| position >= from)
    }

    /// Whether some rule of the chain can be asked.
    pub fn asks_any(&self, set: &RuleSet<'_>, flag: u32) -> bool {
        set.chain(flag).iter().any(|&position| self.asks(set, position))
    }
}
