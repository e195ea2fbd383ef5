//! What a statement with a known key costs on its path through a tree.
//!
//! There are two costs. An evaluation is one pattern that runs: only the rules of the chains that the
//! statement is in have theirs run. A visit is one rule that the engine looks at: every rule of the list up
//! to the leaf, of other chains too. Means are over entries, by weight.
//!
//! Example: `(0 1) 2` with equal weights. The list is: enter the chain, 0, 1, 2. The evaluations up to the
//! leaves are 2, 3 and 2 (the entry 2 skips the patterns of the chain), 7/3 on average. The visits are 2, 3
//! and 4, 3 on average. With one end for each of the two chains, the tree has 6 rules.

use crate::order::{self, Preorder, TreeRule};
use crate::price::Price;
use crate::shape::Node;

/// A mean over entries by weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
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
    /// Chains on the longest path.
    pub depth: usize,
}

/// How much each entry counts; rules stand in the order that these weights ask for.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// Of each entry.
    pub of: &'a [f64],
    /// They are the same for every entry.
    pub alike: bool,
}

/// What layouts are compared by.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'a> {
    /// How much each entry counts.
    pub weights: Weights<'a>,
    /// What the engine's work costs.
    pub price: Price,
}

impl Weights<'_> {
    /// The rules of a tree in their order, without the ends of chains.
    pub fn order<'i>(&self, root: &'i [Node]) -> Vec<TreeRule<'i>> {
        let rules: Vec<TreeRule<'_>> = Preorder::new(root).collect();
        if self.alike {
            return rules;
        }
        let order = order::by_weight(&rules, self.of);
        order.into_iter().map(|at| rules[at as usize]).collect()
    }
}

/// Costs a shape whose rules stand in the order of its weights.
pub fn cost(root: &[Node], measure: Measure<'_>) -> Cost {
    let Measure { weights, price } = measure;
    let rules = weights.order(root);
    let (mut total, mut evaluations, mut visits) = (0.0, 0.0, 0.0);
    let (mut chains, mut depth) = (1, 1);
    for (at, rule) in rules.iter().enumerate() {
        match rule.node {
            Node::Leaf(entry) => {
                let weight = weights.of[*entry as usize];
                total += weight;
                evaluations += weight * rule.evaluations as f64;
                // The engine looks at every rule of the list up to this one.
                visits += weight * (at + 1) as f64;
            }
            Node::Chain(_) => {
                chains += 1;
                depth = depth.max(rule.depth + 1);
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
        rules: rules.len() + chains,
        chains,
        depth,
    }
}
