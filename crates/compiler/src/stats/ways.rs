//! The ways of keys through a tree: from its root to the leaf that decides them.

use std::collections::HashMap;

use shardwright_rules::{Body, Configuration, Rule};

use super::TreeRules;
use super::asker::Asker;
use super::evaluated::Evaluated;
use crate::draft::ChainRef;
use crate::engine_rules::MapTree;

/// One chain on a way.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// The rule that is taken.
    position: usize,
    /// Patterns of the chain up to and with it.
    evaluated: Evaluated,
}

/// What a way costs from the root to the leaf.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inside {
    pub(super) evaluated: Evaluated,
    pub(super) visits: u64,
}

/// A tree of one map, by entry. Chains go by their place in the tree; the root is 0.
pub(super) struct Ways<'c> {
    configuration: &'c Configuration,
    /// Of each chain: the chain that jumps to it, and how.
    up: Vec<Option<(usize, Hop)>>,
    /// Of each entry: the chain of its leaf, and how it is left.
    leaves: Vec<Option<(usize, Hop)>>,
}

impl<'c> Ways<'c> {
    /// `None` where no rule leads to the tree: it has been left out.
    pub(super) fn of(tree: &MapTree, trees: &TreeRules, asker: &Asker<'c>) -> Option<Self> {
        let configuration = asker.configuration();
        let mut by_flag: HashMap<u32, usize> = HashMap::new();
        let mut places: HashMap<ChainRef, usize> = HashMap::new();
        for (place, chain) in tree.chains.iter().enumerate() {
            by_flag.insert(*trees.flags.get(chain)?, place);
            places.insert(*chain, place);
        }
        let mut up = vec![None; tree.chains.len()];
        let mut hops: Vec<Vec<Hop>> = Vec::with_capacity(tree.chains.len());
        for (place, chain) in tree.chains.iter().enumerate() {
            let mut sum = Evaluated::default();
            let mut of_chain = Vec::new();
            for &position in trees.tree_rules.get(chain)? {
                let position = position as usize;
                sum += asker.of_text(position);
                let hop = Hop {
                    position,
                    evaluated: sum,
                };
                let below = jump(&configuration.graph.rules[position]).and_then(|flag| by_flag.get(&flag));
                if let Some(&below) = below {
                    up[below] = Some((place, hop));
                }
                of_chain.push(hop);
            }
            hops.push(of_chain);
        }
        let entries = tree.leaves.iter().map(|leaf| leaf.entry as usize + 1).max();
        let mut leaves = vec![None; entries.unwrap_or(0)];
        for leaf in &tree.leaves {
            let place = places[&leaf.chain];
            leaves[leaf.entry as usize] = Some((place, hops[place][leaf.nth as usize]));
        }
        Some(Self {
            configuration,
            up,
            leaves,
        })
    }

    /// Positions of the rules that the keys of an entry take, the leaf first; empty where the tree has no leaf for it.
    pub(super) fn positions(&self, entry: u32) -> Vec<usize> {
        self.hops(entry).map(|hop| hop.position).collect()
    }

    fn leaf(&self, entry: u32) -> Option<(usize, Hop)> {
        self.leaves.get(entry as usize).copied().flatten()
    }

    /// From the leaf to the root.
    fn hops(&self, entry: u32) -> impl Iterator<Item = Hop> {
        let above = |&(place, _): &(usize, Hop)| self.up[place];
        std::iter::successors(self.leaf(entry), above).map(|(_, hop)| hop)
    }

    /// What the way of an entry costs behind `jumps_before` jumps: a jump starts over at the first rule while the engine has
    /// restarts left.
    pub(super) fn inside(&self, entry: u32, jumps_before: u32) -> Inside {
        let hops: Vec<Hop> = self.hops(entry).collect();
        let restarts = self.configuration.settings.query_processor_iterations;
        let mut inside = Inside::default();
        for (jumps, hop) in (jumps_before..).zip(hops.iter().rev()) {
            inside.evaluated += hop.evaluated;
            let is_jump = jump(&self.configuration.graph.rules[hop.position]).is_some();
            if !is_jump || jumps < restarts {
                inside.visits += hop.position as u64 + 1;
            }
        }
        inside
    }

    /// The chain that a leaf goes on in, and how many chains it stands below the root.
    pub(super) fn shape(&self, entry: u32) -> Option<(Option<u32>, usize)> {
        let (_, hop) = self.leaf(entry)?;
        let onwards = jump(&self.configuration.graph.rules[hop.position]);
        Some((onwards, self.hops(entry).count()))
    }
}

/// The chain that a rule goes on in.
pub(super) fn jump(rule: &Rule) -> Option<u32> {
    match &rule.body {
        Body::Engine(rule) if !rule.apply => rule.flag_out,
        Body::Engine(_) | Body::Native { .. } => None,
    }
}
