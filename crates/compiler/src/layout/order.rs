//! The place of each rule of a tree in the one list that an engine walks.
//!
//! The rules of a chain need not stand together: a rule of another chain is a visit and no more. What must hold is that
//! a rule stands behind the one that jumps to its chain and behind the items before it. The ends of chains are only met
//! by keys of no shard, so they stand behind everything. For the rest, least visits are least weighted completion times
//! under an out-tree of precedences, which Horn's rule solves: the heaviest beginning, by weight for each rule, goes
//! first (W. A. Horn, SIAM J. Appl. Math. 23, 1972).

use std::cmp::Ordering;

use super::shape::Item;

/// A rule of a tree: the place of its chain (0 is the root, then as [`chains`] counts them) and its place in it.
pub(crate) type Place = (u32, u32);

/// Items of every chain of a tree: the root first, a chain behind the one that hands it its entries, depth first.
pub(crate) fn chains(root: &[Item]) -> Vec<&[Item]> {
    let mut all = Vec::new();
    let mut waiting = vec![root];
    while let Some(items) = waiting.pop() {
        all.push(items);
        waiting.extend(items.iter().rev().filter_map(|item| match item {
            Item::Chain(chain) => Some(chain.items.as_slice()),
            Item::Leaf(_) => None,
        }));
    }
    all
}

/// For each chain of [`chains`], the numbers of the chains that its items hand entries to, in the order of the items.
pub(crate) fn children(chains: &[&[Item]]) -> Vec<Vec<u32>> {
    let mut children = vec![Vec::new(); chains.len()];
    // Chains that still wait for chains below them: their number, and how many.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (number, items) in chains.iter().enumerate() {
        if let Some((parent, left)) = open.last_mut() {
            children[*parent].push(number as u32);
            *left -= 1;
        }
        let below = items.iter().filter(|item| matches!(item, Item::Chain(_))).count();
        open.push((number, below));
        while open.last().is_some_and(|&(_, left)| left == 0) {
            open.pop();
        }
    }
    children
}

/// The rules of a tree in order, without the ends of chains: each chain's rules where they stand when all weigh alike.
pub(crate) fn in_place(root: &[Item]) -> Vec<Place> {
    let chains = chains(root);
    let children = children(&chains);
    let mut order = Vec::new();
    let mut open = vec![(0u32, 0u32, 0usize)];
    while let Some((chain, at, below)) = open.pop() {
        let Some(item) = chains[chain as usize].get(at as usize) else {
            continue;
        };
        order.push((chain, at));
        match item {
            Item::Leaf(_) => open.push((chain, at + 1, below)),
            Item::Chain(_) => {
                open.push((chain, at + 1, below + 1));
                open.push((children[chain as usize][below], 0, 0));
            }
        }
    }
    order
}

/// The rules of a tree in the order of least visits under weights of entries, without the ends of chains.
pub(crate) fn by_weight(root: &[Item], weights: &[f64]) -> Vec<Place> {
    let places = in_place(root);
    let chains = chains(root);
    let children = children(&chains);
    // `in_place` gives a rule a smaller number than those that must stand behind it.
    let mut number: Vec<Vec<u32>> = chains.iter().map(|items| vec![0; items.len()]).collect();
    for (at, &(chain, nth)) in places.iter().enumerate() {
        number[chain as usize][nth as usize] = at as u32;
    }
    let mut below: Vec<usize> = vec![0; chains.len()];
    let mut firsts: Vec<Option<u32>> = vec![None; places.len()];
    for (at, &(chain, nth)) in places.iter().enumerate() {
        if let Item::Chain(_) = chains[chain as usize][nth as usize] {
            let child = children[chain as usize][below[chain as usize]];
            below[chain as usize] += 1;
            firsts[at] = number[child as usize].first().copied();
        }
    }
    let mut heaps = Heaps::new(places.len());
    for at in (0..places.len()).rev() {
        let (chain, nth) = places[at];
        let next = number[chain as usize].get(nth as usize + 1).copied();
        let weight = match chains[chain as usize][nth as usize] {
            Item::Leaf(entry) => weights[entry as usize],
            Item::Chain(_) => 0.0,
        };
        heaps.add(at as u32, weight, [next, firsts[at]]);
    }
    heaps.drain().into_iter().map(|at| places[at as usize]).collect()
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

    use super::super::build;
    use super::*;

    fn visits(order: &[Place], root: &[Item], weights: &[f64]) -> f64 {
        let chains = chains(root);
        let place = |(at, &(chain, nth)): (usize, &Place)| match chains[chain as usize][nth as usize] {
            Item::Leaf(entry) => weights[entry as usize] * (at + 1) as f64,
            Item::Chain(_) => 0.0,
        };
        order.iter().enumerate().map(place).sum()
    }

    /// Every order that keeps rules behind those that lead to them, by trying; the least visits.
    fn least(root: &[Item], weights: &[f64]) -> f64 {
        fn go(
            chains: &[&[Item]],
            children: &[Vec<u32>],
            heads: &mut Vec<(u32, u32)>,
            at: f64,
            weights: &[f64],
        ) -> f64 {
            let mut best = f64::MAX;
            for pick in 0..heads.len() {
                let (chain, nth) = heads[pick];
                let Some(item) = chains[chain as usize].get(nth as usize) else {
                    continue;
                };
                let saved = heads.clone();
                heads[pick].1 += 1;
                let mut here = 0.0;
                match item {
                    Item::Leaf(entry) => here = weights[*entry as usize] * at,
                    Item::Chain(_) => {
                        let before = &chains[chain as usize][..nth as usize];
                        let below = before
                            .iter()
                            .filter(|item| matches!(item, Item::Chain(_)))
                            .count();
                        heads.push((children[chain as usize][below], 0));
                    }
                }
                best = best.min(here + go(chains, children, heads, at + 1.0, weights));
                *heads = saved;
            }
            if best == f64::MAX { 0.0 } else { best }
        }
        let chains = chains(root);
        let children = children(&chains);
        go(&chains, &children, &mut vec![(0, 0)], 1.0, weights)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_order_has_fewer_visits(weights in prop::collection::vec(1u32..50, 1..6), fan_out in 2usize..4) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let all: Vec<u32> = (0..weights.len() as u32).collect();
            let root = build::complete(&all, fan_out);
            let order = by_weight(&root, &weights);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            let mut expected = in_place(&root);
            expected.sort_unstable();
            prop_assert_eq!(sorted, expected);
            let (found, least) = (visits(&order, &root, &weights), least(&root, &weights));
            prop_assert!((found - least).abs() < 1e-6, "{} and {}", found, least);
        }
    }
}
