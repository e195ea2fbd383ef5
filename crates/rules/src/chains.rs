//! The rules of each flag by position: what a jump leads to.

use std::collections::BTreeMap;

use crate::Rule;

/// Positions of rules by flag, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chains {
    by_flag: BTreeMap<u32, Vec<usize>>,
}

impl Chains {
    /// The chains of rules in evaluation order.
    pub fn of(rules: &[Rule]) -> Self {
        let mut by_flag: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (position, rule) in rules.iter().enumerate() {
            by_flag.entry(rule.flag_in).or_default().push(position);
        }
        Self { by_flag }
    }

    /// The chain of a flag; empty when no rule is in it.
    pub fn of_flag(&self, flag: u32) -> &[usize] {
        self.by_flag.get(&flag).map_or(&[], Vec::as_slice)
    }

    /// The first rule of the chain at or behind position `from`.
    pub fn next(&self, flag: u32, from: usize) -> Option<usize> {
        let chain = self.of_flag(flag);
        chain
            .get(chain.partition_point(|&position| position < from))
            .copied()
    }

    /// The chains that have rules, by flag.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[usize])> {
        self.by_flag
            .iter()
            .map(|(&flag, positions)| (flag, positions.as_slice()))
    }
}
