//! Builds shapes of low cost: from a table over sizes when all keys weigh the same, by halving weights when
//! they differ.
//!
//! A statement pays one evaluation for each test that it meets. A chain has a price too, because the rule
//! that enters it makes the list longer. A test for a run of keys parts the keys in two; a test for one key
//! decides that key. So a shape is a binary search tree in which tests for equality may stand anywhere. The
//! entropy of the weights bounds the cost of such trees, and the tests compare with it.
//!
//! Equal weights ([`Sizes`]): only the number of keys counts. All n keys meet the first test. It decides one
//! key, or hands p keys on:
//!
//! ```text
//! cost(n) = n + min(cost(n - 1), chain_price + cost(p) + cost(n - p))   over p from 2 to n - 1
//! ```
//!
//! With `chain_price` 0, cost(1) to cost(4) are 1, 3, 6, 10, as in a flat chain. cost(5) = 5 + cost(2) +
//! cost(3) = 14, where a flat chain costs 15, so five keys become `(0 1) 2 3 4`. All p of all n would take
//! O(n²) steps. The best p is near n / 2 or a power of two, so at most about 30 are tried for each n. The
//! result is less than 0.4 % worse than the best (see the tests).
//!
//! Different weights ([`weighted`]): a key with a large share of the weight gets the first test. Otherwise
//! the keys are cut, in their order, where both parts weigh most nearly the same, and the first part becomes
//! a chain. Where a flat chain costs no more, it replaces the result. Example with the weights 8 1 1 1 1 1
//! and `chain_price` 0: key 0 has 8 of 13, so it comes first. The other five are cut into two and three,
//! which gives `0 (1 2) 3 4 5`. That costs 13 + 14 = 27; a flat chain costs 28.

use crate::shape::Node;

/// A key that holds this share of what is left is asked for first. For search trees with tests for equality
/// the best threshold lies between 1/4 and 3/7 of the weight; 0.35 measured best over Zipf weights.
const ALONE: f64 = 0.35;
/// Longest chain that is tried without splits.
const LONGEST: usize = 1024;

/// One chain with a leaf for every entry, the heaviest first.
pub(crate) fn flat(entries: &[u32], weights: &[f64]) -> Vec<Node> {
    by_weight(entries, weights).into_iter().map(Node::Leaf).collect()
}

fn by_weight(entries: &[u32], weights: &[f64]) -> Vec<u32> {
    let mut sorted = entries.to_vec();
    sorted.sort_by(|&a, &b| {
        weights[b as usize]
            .total_cmp(&weights[a as usize])
            .then(a.cmp(&b))
    });
    sorted
}

/// The complete tree in which every inner chain has `fan_out` nodes of nearly equal size. Panics below 2.
pub(crate) fn complete(entries: &[u32], fan_out: usize) -> Vec<Node> {
    assert!(fan_out >= 2, "a tree needs two branches");
    let count = entries.len();
    if count <= fan_out {
        return entries.iter().map(|&entry| Node::Leaf(entry)).collect();
    }
    (0..fan_out)
        .map(
            |nth| match &entries[count * nth / fan_out..count * (nth + 1) / fan_out] {
                &[one] => Node::Leaf(one),
                part => Node::chain(complete(part, fan_out)),
            },
        )
        .collect()
}

/// For each number of keys of equal weight, the cheapest way to lay them out when a chain costs so many
/// evaluations, summed over all keys.
#[derive(Debug)]
pub(crate) struct Sizes {
    cost: Vec<f64>,
    /// The number of keys of the first node; a rest of 1 is a leaf.
    first: Vec<u32>,
}

impl Sizes {
    /// The table up to `most` keys.
    pub(crate) fn up_to(most: usize, chain_price: f64) -> Self {
        let mut cost = vec![0.0; most + 1];
        let mut first = vec![1; most + 1];
        for size in 1..=most {
            // A leaf first. A chain must be cheaper, so few keys stay flat.
            let mut best = cost[size - 1];
            for part in near_half(size).filter(|&part| part >= 2 && part < size) {
                let price = chain_price + cost[part] + cost[size - part];
                if price < best {
                    best = price;
                    first[size] = part as u32;
                }
            }
            // Every key meets the first test.
            cost[size] = size as f64 + best;
        }
        Self { cost, first }
    }

    /// Evaluations over all keys, with the prices of chains.
    pub(crate) fn cost(&self, size: usize) -> f64 {
        self.cost[size]
    }

    /// The nodes for these entries, which are in the order of their keys.
    pub(crate) fn lay(&self, entries: &[u32]) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut rest = entries;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(self.first[rest.len()] as usize);
            nodes.push(match part {
                &[one] => Node::Leaf(one),
                part => Node::chain(self.lay(part)),
            });
            rest = after;
        }
        nodes
    }
}

/// Sizes around the half, and the powers of two and their multiples of a half beside it, at which costs bend.
fn near_half(size: usize) -> impl Iterator<Item = usize> {
    let half = size / 2;
    let reach = 2 + size / 8;
    let step = (reach / 8).max(1);
    let power = half.next_power_of_two();
    (half.saturating_sub(reach)..=half + reach)
        .step_by(step)
        .chain([half, half + 1, power, power / 2, power / 2 + power / 4])
        .chain([size - power.min(size), size - (power / 2).min(size)])
}

/// A shape for entries of different weights.
#[derive(Debug)]
pub(crate) struct Weighted {
    /// The nodes of the root chain.
    pub nodes: Vec<Node>,
    /// Evaluations times weight, with the prices of chains.
    pub cost: f64,
}

/// The nodes for entries of different weights when a chain costs `chain_price` evaluations times weight, and
/// their cost in the same unit.
pub(crate) fn weighted(entries: &[u32], weights: &[f64], chain_price: f64) -> Weighted {
    let weight = |entry: u32| weights[entry as usize];
    let total: f64 = entries.iter().map(|&entry| weight(entry)).sum();
    let Some(heaviest) = (0..entries.len()).max_by(|&a, &b| {
        let by_weight = weight(entries[a]).total_cmp(&weight(entries[b]));
        by_weight.then(b.cmp(&a))
    }) else {
        return Weighted {
            nodes: Vec::new(),
            cost: 0.0,
        };
    };
    if entries.len() == 1 {
        return Weighted {
            nodes: vec![Node::Leaf(entries[0])],
            cost: total,
        };
    }
    let laid = if entries.len() == 2 || weight(entries[heaviest]) >= ALONE * total {
        let mut rest = entries.to_vec();
        let alone = rest.remove(heaviest);
        let mut laid = weighted(&rest, weights, chain_price);
        laid.nodes.insert(0, Node::Leaf(alone));
        laid.cost += total;
        laid
    } else {
        split(entries, weights, total, chain_price)
    };
    // Where chains are free, a long flat chain seldom wins, and each comparison sorts the entries.
    let longest = if chain_price > 0.0 { LONGEST } else { 8 };
    if entries.len() <= longest {
        let sorted = by_weight(entries, weights);
        let flat: f64 = sorted
            .iter()
            .zip(1..)
            .map(|(&entry, nth)| weight(entry) * f64::from(nth))
            .sum();
        if flat <= laid.cost {
            return Weighted {
                nodes: sorted.into_iter().map(Node::Leaf).collect(),
                cost: flat,
            };
        }
    }
    laid
}

/// Two parts of nearly equal weight: the first is handed on, the second stays in the chain.
fn split(entries: &[u32], weights: &[f64], total: f64, chain_price: f64) -> Weighted {
    let mut before = 0.0;
    let mut at = 1;
    let mut distance = f64::MAX;
    // The last entry is left out, so that neither part is empty.
    for (index, &entry) in entries[..entries.len() - 1].iter().enumerate() {
        before += weights[entry as usize];
        let here = (before - total / 2.0).abs();
        if here < distance {
            (at, distance) = (index + 1, here);
        }
    }
    let (left, right) = entries.split_at(at);
    // A single key needs no chain, so it goes first.
    let (first, second) = if right.len() == 1 {
        (right, left)
    } else {
        (left, right)
    };
    let Weighted {
        mut nodes,
        cost: rest_cost,
    } = weighted(second, weights, chain_price);
    let (node, cost) = match first {
        &[one] => (Node::Leaf(one), 0.0),
        part => {
            let part = weighted(part, weights, chain_price);
            (Node::chain(part.nodes), part.cost + chain_price)
        }
    };
    nodes.insert(0, node);
    Weighted {
        nodes,
        cost: total + cost + rest_cost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    /// The best of all splits, whatever their sizes.
    fn exact(most: usize, chain_price: f64) -> Vec<f64> {
        let mut cost = vec![0.0; most + 1];
        for size in 1..=most {
            let parts = (2..size).map(|part| chain_price + cost[part] + cost[size - part]);
            cost[size] = size as f64 + parts.fold(cost[size - 1], f64::min);
        }
        cost
    }

    #[test]
    fn sizes_are_laid_out_as_well_as_by_trying_every_split() {
        for chain_price in [0.0, 1.0, 10.0, 40.0, 200.0] {
            let best = exact(1_200, chain_price);
            let found = Sizes::up_to(1_200, chain_price);
            for (size, best) in best.iter().enumerate().skip(1) {
                let ratio = found.cost(size) / best;
                assert!(ratio < 1.004, "{size} keys at {chain_price}: {ratio}");
            }
        }
    }

    #[test]
    fn equal_weights_cost_what_search_trees_cost() {
        for (size, expected) in [(200, 8.08), (1_000, 10.464), (10_000, 13.7712)] {
            let mean = Sizes::up_to(size, 0.0).cost(size) / size as f64;
            assert!(mean <= expected + 1e-9, "{size}: {mean}");
        }
    }

    /// Weights of Zipf's law with exponent 1 over `count` keys, in an order that a multiplicative walk mixes.
    fn zipf(count: u32, mixed: bool) -> Vec<f64> {
        let mut weights = vec![0.0; count as usize];
        for rank in 0..count {
            let at = if mixed {
                u64::from(rank) * 7_919 % u64::from(count)
            } else {
                u64::from(rank)
            };
            weights[at as usize] = 1.0 / f64::from(rank + 1);
        }
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    #[test]
    fn skewed_weights_cost_little_more_than_their_entropy() {
        for (mixed, most) in [(false, 0.45), (true, 0.45)] {
            let weights = zipf(10_000, mixed);
            let entropy: f64 = weights.iter().map(|weight| -weight * weight.log2()).sum();
            let all: Vec<u32> = (0..10_000).collect();
            let Weighted { nodes, cost } = weighted(&all, &weights, 0.0);
            assert_eq!(shape::entries(&nodes), all);
            assert!(cost < entropy + most, "{cost} of {entropy}");
        }
    }

    /// The best tree whose tests are for runs and for single keys at the ends of what is left.
    fn exact_weighted(weights: &[f64], chain_price: f64) -> f64 {
        let count = weights.len();
        let mut cost = vec![vec![0.0; count + 1]; count + 1];
        for length in 1..=count {
            for from in 0..=count - length {
                let to = from + length;
                let total: f64 = weights[from..to].iter().sum();
                let mut best: f64 = f64::min(cost[from + 1][to], cost[from][to - 1]);
                let parts = (from + 1..to).map(|at| chain_price + cost[from][at] + cost[at][to]);
                best = parts.fold(best, f64::min);
                cost[from][to] = total + best;
            }
        }
        cost[0][count]
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

        #[test]
        fn halving_weights_is_near_the_best(
            hits in proptest::collection::vec(1u32..10_000, 1..48), exponent in 0.3f64..2.5, price in 0.0f64..4.0,
        ) {
            let weights: Vec<f64> = hits.iter().map(|&hits| f64::from(hits).powf(exponent)).collect();
            let total: f64 = weights.iter().sum();
            let weights: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
            let all: Vec<u32> = (0..weights.len() as u32).collect();
            let Weighted { nodes, cost } = weighted(&all, &weights, price / 16.0);
            proptest::prop_assert_eq!(shape::entries(&nodes), all);
            let best = exact_weighted(&weights, price / 16.0);
            proptest::prop_assert!(cost <= best * 1.12 + 1e-9, "{} of {}", cost, best);
        }
    }
}
