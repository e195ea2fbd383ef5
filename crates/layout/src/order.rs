//! The position of each rule of a tree in the one list that an engine walks.
//!
//! The rules of a chain need not stand together: a rule of another chain costs one visit and nothing else. A
//! rule must stand behind the rule that jumps to its chain, and behind the nodes before it in its chain. The
//! ends of chains are only met by keys of no shard, so they stand behind everything. Any order that keeps to
//! this routes alike. The best one has the least visits, which are the weight of each leaf times its
//! position.
//!
//! This is scheduling of jobs under precedences that form an out-tree, for the least weighted completion
//! time. Horn's rule solves it: of all beginnings that may come next, the densest goes first, where density
//! is weight for each rule (W. A. Horn, SIAM J. Appl. Math. 23, 1972). [`by_weight`] works from the last rule
//! to the first. For each rule it has a heap of blocks that may follow. While the densest of them is denser
//! than the rule's own block, the rule takes it up, because nothing would stand between them. Invariant: no
//! block in the heap of a rule is denser than the block that must stand before it, so taking blocks off the
//! heap gives the order. Heaps are melded in O(log n), and the whole takes O(n log n).
//!
//! Example: `(0 1) 2` with the weights 1 1 10, where `in` is the rule that enters the chain.
//!
//! ```text
//! in 0 1 2    visits 1 * 2 + 1 * 3 + 10 * 4 = 45    as a Preorder gives them
//! in 2 0 1    visits 10 * 2 + 1 * 3 + 1 * 4 = 27    by weight
//! ```
//!
//! From the last rule to the first, 2, 1 and 0 are blocks of density 10, 1 and 1. `in` has density 0 and
//! takes up 2: a block of two rules and density 5. The blocks 0 and 1 are less dense, so they stay behind it.

use std::cmp::Ordering;

use crate::shape::Node;

/// Where a rule stands in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its chain: 0 is the root, then in the order of [`Preorder`].
    pub chain: u32,
    /// How many rules of its chain stand in front of it.
    pub nth: u32,
}

/// A rule of a tree, in the order of a [`Preorder`].
#[derive(Clone, Copy, Debug)]
pub struct TreeRule<'a> {
    /// What the rule is for.
    pub node: &'a Node,
    /// Where it stands in the tree.
    pub position: Position,
    /// Patterns that a statement has run when this one has been.
    pub evaluations: u64,
    /// Chains on the path to it, its own included.
    pub depth: usize,
}

/// The rules of a tree without the ends of chains, each chain's where they stand when all weigh alike: behind
/// the rule that hands it its entries, depth first.
#[derive(Debug)]
pub(crate) struct Preorder<'a> {
    open: Vec<Open<'a>>,
    chains: u32,
}

/// A chain that the walk is in.
#[derive(Debug)]
struct Open<'a> {
    nodes: &'a [Node],
    chain: u32,
    next: u32,
    /// Evaluations in front of it.
    before: u64,
}

impl<'a> Preorder<'a> {
    pub(crate) fn new(root: &'a [Node]) -> Self {
        let root = Open {
            nodes: root,
            chain: 0,
            next: 0,
            before: 0,
        };
        Self {
            open: vec![root],
            chains: 1,
        }
    }
}

impl<'a> Iterator for Preorder<'a> {
    type Item = TreeRule<'a>;

    fn next(&mut self) -> Option<TreeRule<'a>> {
        let (open, node) = loop {
            let open = self.open.last_mut()?;
            match open.nodes.get(open.next as usize) {
                Some(node) => break (open, node),
                None => self.open.pop(),
            };
        };
        let position = Position {
            chain: open.chain,
            nth: open.next,
        };
        open.next += 1;
        let evaluations = open.before + u64::from(open.next);
        let depth = self.open.len();
        if let Node::Chain(chain) = node {
            self.open.push(Open {
                nodes: &chain.nodes,
                chain: self.chains,
                next: 0,
                before: evaluations,
            });
            self.chains += 1;
        }
        Some(TreeRule {
            node,
            position,
            evaluations,
            depth,
        })
    }
}

/// The order of least visits under weights of entries, as indexes in `rules`, which are those of a [`Preorder`].
pub(crate) fn by_weight(rules: &[TreeRule<'_>], weights: &[f64]) -> Vec<u32> {
    let is_chain = |rule: &&TreeRule<'_>| matches!(rule.node, Node::Chain(_));
    let chains = 1 + rules.iter().filter(is_chain).count();
    // Of each chain the rule that was met last, from the end.
    let mut behind: Vec<Option<u32>> = vec![None; chains];
    let mut heaps = Heaps::new(rules.len());
    for (at, rule) in rules.iter().enumerate().rev() {
        let at = at as u32;
        let (weight, first) = match rule.node {
            Node::Leaf(entry) => (weights[*entry as usize], None),
            // Statements stop at leaves, so only leaves weigh. The first rule below is the next of the walk.
            Node::Chain(chain) => (0.0, (!chain.nodes.is_empty()).then_some(at + 1)),
        };
        // Two rules may follow directly: the next one of the same chain, and the first one below.
        let next = behind[rule.position.chain as usize].replace(at);
        heaps.add(at, weight, [next, first]);
    }
    heaps.drain()
}

/// For each rule, a leftist heap of the blocks that follow it, the densest on top.
struct Heaps {
    weight: Vec<f64>,
    count: Vec<u32>,
    /// The rules of a block are a linked list from the block's own number on.
    next: Vec<u32>,
    last: Vec<u32>,
    left: Vec<u32>,
    right: Vec<u32>,
    rank: Vec<u32>,
    /// The heap behind each rule, with the rule's own block.
    heap: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Heaps {
    fn new(size: usize) -> Self {
        Self {
            weight: vec![0.0; size],
            count: vec![1; size],
            next: vec![NONE; size],
            last: (0..size as u32).collect(),
            left: vec![NONE; size],
            right: vec![NONE; size],
            rank: vec![1; size],
            heap: vec![NONE; size],
        }
    }

    fn add(&mut self, rule: u32, weight: f64, behind: [Option<u32>; 2]) {
        self.weight[rule as usize] = weight;
        let mut heap = NONE;
        for other in behind.into_iter().flatten() {
            heap = self.meld(heap, self.heap[other as usize]);
        }
        while heap != NONE && self.before(heap, rule) == Ordering::Less {
            let top = heap;
            heap = self.meld(self.left[top as usize], self.right[top as usize]);
            self.weight[rule as usize] += self.weight[top as usize];
            self.count[rule as usize] += self.count[top as usize];
            // The rules of the block that was taken up stand behind those of this one.
            let last = self.last[rule as usize];
            self.next[last as usize] = top;
            self.last[rule as usize] = self.last[top as usize];
        }
        self.heap[rule as usize] = self.meld(heap, rule);
    }

    /// The blocks of the first rule's heap, as rules in order.
    fn drain(mut self) -> Vec<u32> {
        let mut rules = Vec::with_capacity(self.heap.len());
        let mut heap = self.heap.first().copied().unwrap_or(NONE);
        while heap != NONE {
            let mut rule = heap;
            while rule != NONE {
                rules.push(rule);
                rule = self.next[rule as usize];
            }
            heap = self.meld(self.left[heap as usize], self.right[heap as usize]);
        }
        rules
    }

    /// Less: the first block is denser; of equals the one that comes first in place.
    fn before(&self, a: u32, b: u32) -> Ordering {
        // weight / count, compared without a division.
        let (x, y) = (a as usize, b as usize);
        let crossed = (self.weight[y] * f64::from(self.count[x]))
            .total_cmp(&(self.weight[x] * f64::from(self.count[y])));
        crossed.then(a.cmp(&b))
    }

    /// Recursive only along right spines, which are logarithmic in a leftist heap.
    fn meld(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        let (top, other) = if self.before(b, a) == Ordering::Less {
            (b, a)
        } else {
            (a, b)
        };
        let at = top as usize;
        self.right[at] = self.meld(self.right[at], other);
        let rank = |heaps: &Self, node: u32| {
            if node == NONE {
                0
            } else {
                heaps.rank[node as usize]
            }
        };
        let (left, right) = (rank(self, self.left[at]), rank(self, self.right[at]));
        // A leftist heap has its longer spine on the left.
        if left < right {
            (self.left[at], self.right[at]) = (self.right[at], self.left[at]);
        }
        self.rank[at] = 1 + left.min(right);
        top
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::build;

    fn visits(order: &[u32], rules: &[TreeRule<'_>], weights: &[f64]) -> f64 {
        let place = |(at, &rule): (usize, &u32)| match rules[rule as usize].node {
            Node::Leaf(entry) => weights[*entry as usize] * (at + 1) as f64,
            Node::Chain(_) => 0.0,
        };
        order.iter().enumerate().map(place).sum()
    }

    /// Every order that keeps rules behind those that lead to them, by trying; the least visits.
    fn least(root: &[Node], weights: &[f64]) -> f64 {
        /// `heads` are the rests of chains that were handed entries.
        fn go(heads: &mut Vec<&[Node]>, at: f64, weights: &[f64]) -> f64 {
            let mut best = f64::MAX;
            for pick in 0..heads.len() {
                let Some((node, rest)) = heads[pick].split_first() else {
                    continue;
                };
                let saved = heads.clone();
                heads[pick] = rest;
                let mut here = 0.0;
                match node {
                    Node::Leaf(entry) => here = weights[*entry as usize] * at,
                    Node::Chain(chain) => heads.push(&chain.nodes),
                }
                best = best.min(here + go(heads, at + 1.0, weights));
                *heads = saved;
            }
            if best == f64::MAX { 0.0 } else { best }
        }
        go(&mut vec![root], 1.0, weights)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_order_has_fewer_visits(weights in prop::collection::vec(1u32..50, 1..6), fan_out in 2usize..4) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let all: Vec<u32> = (0..weights.len() as u32).collect();
            let root = build::complete(&all, fan_out);
            let rules: Vec<TreeRule<'_>> = Preorder::new(&root).collect();
            let order = by_weight(&rules, &weights);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..rules.len() as u32).collect::<Vec<_>>());
            let (found, least) = (visits(&order, &rules, &weights), least(&root, &weights));
            prop_assert!((found - least).abs() < 1e-6, "{} and {}", found, least);
        }
    }
}
