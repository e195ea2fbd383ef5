//! The rules of each flag, so that a jump costs a look-up and not a walk over every other chain.

use rustc_hash::FxHashMap;
use shardwright_rules::RuleGraph;

/// No rule.
const NONE: u32 = u32::MAX;

/// Positions of rules by flag, ascending.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    by_flag: FxHashMap<u32, Vec<usize>>,
    /// The first rule of flag 0, where nearly every statement begins.
    first: Option<usize>,
    /// By position: the flag of the rule, and the next rule of that flag.
    followers: Vec<(u32, u32)>,
}

impl Chains {
    pub(crate) fn of(graph: &RuleGraph) -> Self {
        let mut by_flag: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let mut followers: Vec<(u32, u32)> = Vec::with_capacity(graph.rules.len());
        for (position, rule) in graph.rules.iter().enumerate() {
            let chain = by_flag.entry(rule.flag_in).or_default();
            if let Some(&before) = chain.last() {
                followers[before].1 = u32::try_from(position).unwrap_or(NONE);
            }
            chain.push(position);
            followers.push((rule.flag_in, NONE));
        }
        Self {
            first: by_flag.get(&0).and_then(|chain| chain.first().copied()),
            by_flag,
            followers,
        }
    }

    /// The first rule of chain `flag` at or behind position `from`.
    pub(crate) fn next(&self, flag: u32, from: usize) -> Option<usize> {
        if (flag, from) == (0, 0) {
            return self.first;
        }
        let before = from.checked_sub(1).and_then(|before| self.followers.get(before));
        if let Some(&(own, next)) = before
            && own == flag
        {
            return (next != NONE).then_some(next as usize);
        }
        let chain = self.by_flag.get(&flag)?;
        chain
            .get(chain.partition_point(|&position| position < from))
            .copied()
    }

    /// The rules of flag 0, in order.
    pub(crate) fn of_flag_0(&self) -> impl Iterator<Item = usize> {
        self.by_flag.get(&0).into_iter().flatten().copied()
    }
}
