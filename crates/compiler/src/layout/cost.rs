//! What a statement with a known key costs on its way through a tree.
//!
//! There are two costs. An evaluation is one pattern that runs: only the rules of the chains that the
//! statement is in have theirs run. A visit is one rule that the engine looks at: every rule of the list up
//! to the leaf, of other chains too. Means are over entries, by weight.
//!
//! Example: `(0 1) 2` with equal weights. The list is: enter the chain, 0, 1, 2. The evaluations up to the
//! leaves are 2, 3 and 2 (the entry 2 skips the patterns of the chain), 7/3 on average. The visits are 2, 3
//! and 4, 3 on average. With one end for each of the two chains, the tree has 6 rules.

use shardwright_rules::{EngineProfile, RegexEngine};

use super::order::{self, Step, Walk};
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
    /// The rules of a tree in their order, without the ends of chains.
    pub(crate) fn order<'i>(&self, root: &'i [Item]) -> Vec<Step<'i>> {
        let steps: Vec<Step<'_>> = Walk::new(root).collect();
        if self.alike {
            return steps;
        }
        let order = order::by_weight(&steps, self.of);
        order.into_iter().map(|at| steps[at as usize]).collect()
    }
}

/// Costs a shape whose rules stand in the order of its weights.
pub(crate) fn cost(root: &[Item], weights: Weights<'_>, price: Price) -> Cost {
    let steps = weights.order(root);
    let (mut total, mut evaluations, mut visits) = (0.0, 0.0, 0.0);
    let (mut chains, mut depth) = (1, 1);
    for (at, step) in steps.iter().enumerate() {
        match step.item {
            Item::Leaf(entry) => {
                let weight = weights.of[*entry as usize];
                total += weight;
                evaluations += weight * step.evaluations as f64;
                // The engine looks at every rule of the list up to this one.
                visits += weight * (at + 1) as f64;
            }
            Item::Chain(_) => {
                chains += 1;
                depth = depth.max(step.depth + 1);
            }
        }
    }
    let total = if total > 0.0 { total } else { 1.0 };
    let (mean_evaluations, mean_visits) = (evaluations / total, visits / total);
    Cost {
        mean_evaluations,
        mean_visits,
        mean_ns: price.ns(mean_evaluations, mean_visits, 0.0),
        // Each chain has one more rule, its end.
        rules: steps.len() + chains,
        chains,
        depth,
    }
}
