//! Keeps a remembered shape near the best one with changes as small as the edit was.
//!
//! A chain from one of its nodes on is a subtree. Where an edit has made a subtree cost more than
//! [`TOLERATED`] times the best shape for as many keys, it is laid out again. Chains are looked at from the
//! inside out and each from its end, so the smallest such subtree goes first. What stands in front of it only
//! changes where the larger subtree still costs too much.
//!
//! Invariants:
//!
//! * Only a subtree with an edited entry is laid out again. Any other keeps its rules, whatever it costs.
//! * Only entries that follow each other are laid out again, so no new run reaches over an entry that stands
//!   elsewhere.
//! * A subtree that was looked at costs at most [`TOLERATED`] times the best, unless these two or `most`
//!   forbid it.
//!
//! A subtree of n keys that was laid out well bears an edit of a fixed share of n before it is laid out
//! again. So an edit changes O(log n) rules when the work is spread over the edits that led to it, as in
//! scapegoat trees.
//!
//! Example with `chain_price` 0: in the flat chain `0 1 2 3 4 5` the key 5 is new. From the end, the subtrees
//! of 1 to 6 keys cost 1, 3, 6, 10, 15 and 21, where the best shapes cost 1, 3, 6, 10, 14 and 18. 21 is less
//! than 1.2 * 18 = 21.6, so nothing changes. With one more key the chain costs 28, more than 1.2 * 23 = 27.6,
//! and becomes `(0 1 2) 3 4 5 6`.

use crate::build::Sizes;
use crate::price::Price;
use crate::shape::{self, Node};

/// A subtree costs at most this much of the best one for its keys.
const TOLERATED: f64 = 1.2;

/// What a chain adds to the path of those behind it, in rules.
const CHAIN_RULES: f64 = 0.5;

/// A kept shape with its overgrown parts laid out again. `edited` marks the entries that are new, or stand beside one that
/// is gone; no subtree of more than `most` entries is laid out again.
pub fn repaired(shape: Vec<Node>, edited: &[bool], most: usize, price: Price) -> Vec<Node> {
    let chain_price = price.chain(edited.len() as f64, CHAIN_RULES);
    let repair = Repair {
        sizes: &Sizes::up_to(most.min(edited.len()), chain_price),
        chain_price,
        edited,
        most,
    };
    repair.chain(shape).nodes
}

/// What repairing goes by.
#[derive(Debug)]
struct Repair<'a> {
    /// The best costs.
    sizes: &'a Sizes,
    /// What a chain costs, as in `sizes`.
    chain_price: f64,
    edited: &'a [bool],
    most: usize,
}

struct Repaired {
    nodes: Vec<Node>,
    cost: f64,
    count: usize,
    edited: bool,
}

impl Repair<'_> {
    fn chain(&self, nodes: Vec<Node>) -> Repaired {
        // The rest of the chain is built from its end, in reverse.
        let mut rest: Vec<Node> = Vec::new();
        let (mut cost, mut count, mut edited) = (0.0, 0, false);
        for node in nodes.into_iter().rev() {
            let below = self.node(node);
            count += below.count;
            edited |= below.edited;
            // This node is tested by its own keys and by all that stand behind it in the chain.
            cost += count as f64 + below.cost;
            rest.extend(below.nodes);
            if edited && count <= self.most && cost > TOLERATED * self.sizes.cost(count) {
                let entries = shape::entries(&rest);
                // A gap is an entry that stands elsewhere in the tree.
                if is_run(&entries) {
                    rest = self.sizes.lay(&entries);
                    rest.reverse();
                    cost = self.sizes.cost(count);
                }
            }
        }
        rest.reverse();
        Repaired {
            nodes: rest,
            cost,
            count,
            edited,
        }
    }

    /// One node; a chain of a single entry is that entry.
    fn node(&self, node: Node) -> Repaired {
        let mut chain = match node {
            Node::Leaf(entry) => {
                return Repaired {
                    nodes: vec![Node::Leaf(entry)],
                    cost: 0.0,
                    count: 1,
                    edited: self.edited[entry as usize],
                };
            }
            Node::Chain(chain) => chain,
        };
        let below = self.chain(std::mem::take(&mut chain.nodes));
        // A chain of one key only adds a test.
        if below.count <= 1 {
            return Repaired { cost: 0.0, ..below };
        }
        // The chain keeps its name, even where all below it is laid out again.
        chain.nodes = below.nodes;
        Repaired {
            nodes: vec![Node::Chain(chain)],
            cost: below.cost + self.chain_price,
            ..below
        }
    }
}

fn is_run(entries: &[u32]) -> bool {
    match (entries.first(), entries.last()) {
        (Some(first), Some(last)) => (last - first) as usize + 1 == entries.len(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_again(nodes: Vec<Node>, count: usize, edited: &[u32]) -> Vec<Node> {
        let sizes = Sizes::up_to(count, 0.0);
        let edited: Vec<bool> = (0..count as u32).map(|at| edited.contains(&at)).collect();
        let repair = Repair {
            sizes: &sizes,
            chain_price: 0.0,
            edited: &edited,
            most: usize::MAX,
        };
        repair.chain(nodes).nodes
    }

    #[test]
    fn what_was_not_edited_stays() {
        let nodes: Vec<Node> = (0..20).map(Node::Leaf).collect();
        assert_eq!(laid_again(nodes.clone(), 20, &[]), nodes);
        let laid = laid_again(nodes, 20, &[3]);
        assert_eq!(shape::entries(&laid), (0..20).collect::<Vec<u32>>());
        assert!(laid.iter().any(|node| matches!(node, Node::Chain(_))));
    }

    #[test]
    fn the_end_of_a_chain_is_laid_out_again_and_its_beginning_stays() {
        let first = Node::chain((0..64).map(Node::Leaf).collect());
        let Node::Chain(chain) = &first else {
            unreachable!()
        };
        let sizes = Sizes::up_to(64, 0.0);
        let mut chain = chain.clone();
        chain.nodes = sizes.lay(&(0..64).collect::<Vec<u32>>());
        let mut nodes = vec![Node::Chain(chain.clone())];
        nodes.extend((64..76).map(Node::Leaf));
        let laid = laid_again(nodes, 76, &[75]);
        assert_eq!(laid[0], Node::Chain(chain));
        assert!(laid.len() < 13);
    }

    #[test]
    fn chains_of_one_key_dissolve() {
        let nodes = vec![Node::chain(vec![Node::Leaf(0)]), Node::Leaf(1)];
        assert_eq!(laid_again(nodes, 2, &[]), [Node::Leaf(0), Node::Leaf(1)]);
    }
}
