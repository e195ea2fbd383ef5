//! The rules of each flag, so that a jump costs a look-up and not a walk over every other chain.

use rustc_hash::FxHashMap;
use shardwright_rules::RuleGraph;

/// Positions of rules by flag, ascending.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    by_flag: FxHashMap<u32, Vec<usize>>,
}

impl Chains {
    pub(crate) fn of(graph: &RuleGraph) -> Self {
        let mut by_flag: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (position, rule) in graph.rules.iter().enumerate() {
            by_flag.entry(rule.flag_in).or_default().push(position);
        }
        Self { by_flag }
    }

    /// The first rule of chain `flag` at or behind position `from`.
    pub(crate) fn next(&self, flag: u32, from: usize) -> Option<usize> {
        let chain = self.by_flag.get(&flag)?;
        chain
            .get(chain.partition_point(|&position| position < from))
            .copied()
    }
}
