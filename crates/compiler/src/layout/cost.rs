//! What a statement with a known key costs on its way through a tree.

use shardwright_rules::{EngineProfile, RegexEngine};

use super::order::{self, Place};
use super::shape::Item;

/// Prices in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    /// One pattern run.
    pub evaluation_ns: f64,
    /// One rule looked at.
    pub visit_ns: f64,
    /// One look-up in a table.
    pub lookup_ns: f64,
}

impl Price {
    /// The prices of an engine.
    pub(crate) fn of(profile: &EngineProfile, regex: RegexEngine) -> Self {
        Self {
            evaluation_ns: profile.prices.evaluation_ns(regex),
            visit_ns: profile.prices.visit_ns,
            lookup_ns: profile.prices.lookup_ns,
        }
    }

    /// Nanoseconds of so many of each.
    pub(crate) fn ns(&self, evaluations: f64, visits: f64, lookups: f64) -> f64 {
        evaluations * self.evaluation_ns + visits * self.visit_ns + lookups * self.lookup_ns
    }
}

/// A mean over entries by weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Rules looked at, of other chains too.
    pub mean_visits: f64,
    /// By the prices.
    pub mean_ns: f64,
    /// Rules of the tree, the end of each chain included.
    pub rules: usize,
    /// Chains of the tree.
    pub chains: usize,
    /// Chains on the longest way.
    pub depth: usize,
}

/// How rules stand in the list, and whose weights count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a> {
    /// Of each entry.
    pub of: &'a [f64],
    /// They are the same for every entry.
    pub alike: bool,
}

impl Weights<'_> {
    /// The order of a tree's rules.
    pub(crate) fn order(&self, root: &[Item]) -> Vec<Place> {
        if self.alike {
            order::in_place(root)
        } else {
            order::by_weight(root, self.of)
        }
    }
}

/// Costs a shape whose rules stand in the order of its weights.
pub(crate) fn cost(root: &[Item], weights: Weights<'_>, price: Price) -> Cost {
    let chains = order::chains(root);
    let children = order::children(&chains);
    // Evaluations in front of a chain, and how deep it lies.
    let mut before = vec![0u64; chains.len()];
    let mut depths = vec![1usize; chains.len()];
    for (number, items) in chains.iter().enumerate() {
        let mut below = children[number].iter();
        for (at, item) in items.iter().enumerate() {
            if let Item::Leaf(_) = item {
                continue;
            }
            let child = *below.next().expect("every chain item has its chain") as usize;
            before[child] = before[number] + at as u64 + 1;
            depths[child] = depths[number] + 1;
        }
    }
    let (mut total, mut evaluations, mut visits) = (0.0, 0.0, 0.0);
    for (at, (chain, nth)) in weights.order(root).into_iter().enumerate() {
        if let Item::Leaf(entry) = chains[chain as usize][nth as usize] {
            let weight = weights.of[entry as usize];
            total += weight;
            evaluations += weight * (before[chain as usize] + u64::from(nth) + 1) as f64;
            visits += weight * (at + 1) as f64;
        }
    }
    let total = if total > 0.0 { total } else { 1.0 };
    let (mean_evaluations, mean_visits) = (evaluations / total, visits / total);
    Cost {
        mean_evaluations,
        mean_visits,
        mean_ns: price.ns(mean_evaluations, mean_visits, 0.0),
        rules: chains.iter().map(|items| items.len() + 1).sum(),
        chains: chains.len(),
        depth: depths.into_iter().max().unwrap_or(1),
    }
}
