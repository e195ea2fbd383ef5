//! Keeps a remembered shape near the best one with changes as small as the edit was.
//!
//! A chain from one of its items on is a subtree. Where an edit has made a subtree cost more than
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

use super::build::Sizes;
use super::shape::{self, Item};

/// A subtree costs at most this much of the best one for its keys.
const TOLERATED: f64 = 1.2;

/// What repairing goes by.
#[derive(Debug)]
pub(crate) struct Repair<'a> {
    /// The best costs.
    pub sizes: &'a Sizes,
    /// What a chain costs, as in `sizes`.
    pub chain_price: f64,
    /// Entries that are new, or stand beside one that is gone.
    pub edited: &'a [bool],
    /// The largest subtree that may be laid out again.
    pub most: usize,
}

struct Repaired {
    items: Vec<Item>,
    cost: f64,
    count: usize,
    edited: bool,
}

impl Repair<'_> {
    /// The shape with its overgrown parts laid out again.
    pub(crate) fn repaired(&self, items: Vec<Item>) -> Vec<Item> {
        self.chain(items).items
    }

    fn chain(&self, items: Vec<Item>) -> Repaired {
        // The rest of the chain is built from its end, in reverse.
        let mut rest: Vec<Item> = Vec::new();
        let (mut cost, mut count, mut edited) = (0.0, 0, false);
        for item in items.into_iter().rev() {
            let below = self.item(item);
            count += below.count;
            edited |= below.edited;
            // This item is tested by its own keys and by all that stand behind it in the chain.
            cost += count as f64 + below.cost;
            rest.extend(below.items);
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
            items: rest,
            cost,
            count,
            edited,
        }
    }

    /// One item; a chain of a single entry is that entry.
    fn item(&self, item: Item) -> Repaired {
        let mut chain = match item {
            Item::Leaf(entry) => {
                return Repaired {
                    items: vec![Item::Leaf(entry)],
                    cost: 0.0,
                    count: 1,
                    edited: self.edited[entry as usize],
                };
            }
            Item::Chain(chain) => chain,
        };
        let below = self.chain(std::mem::take(&mut chain.items));
        // A chain of one key only adds a test.
        if below.count <= 1 {
            return Repaired { cost: 0.0, ..below };
        }
        // The chain keeps its name, even where all below it is laid out again.
        chain.items = below.items;
        Repaired {
            items: vec![Item::Chain(chain)],
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

    fn repaired(items: Vec<Item>, count: usize, edited: &[u32]) -> Vec<Item> {
        let sizes = Sizes::up_to(count, 0.0);
        let edited: Vec<bool> = (0..count as u32).map(|at| edited.contains(&at)).collect();
        let repair = Repair {
            sizes: &sizes,
            chain_price: 0.0,
            edited: &edited,
            most: usize::MAX,
        };
        repair.repaired(items)
    }

    #[test]
    fn what_was_not_edited_stays() {
        let items: Vec<Item> = (0..20).map(Item::Leaf).collect();
        assert_eq!(repaired(items.clone(), 20, &[]), items);
        let laid = repaired(items, 20, &[3]);
        assert_eq!(shape::entries(&laid), (0..20).collect::<Vec<u32>>());
        assert!(laid.iter().any(|item| matches!(item, Item::Chain(_))));
    }

    #[test]
    fn the_end_of_a_chain_is_laid_out_again_and_its_beginning_stays() {
        let first = Item::chain((0..64).map(Item::Leaf).collect());
        let Item::Chain(chain) = &first else {
            unreachable!()
        };
        let sizes = Sizes::up_to(64, 0.0);
        let mut chain = chain.clone();
        chain.items = sizes.lay(&(0..64).collect::<Vec<u32>>());
        let mut items = vec![Item::Chain(chain.clone())];
        items.extend((64..76).map(Item::Leaf));
        let laid = repaired(items, 76, &[75]);
        assert_eq!(laid[0], Item::Chain(chain));
        assert!(laid.len() < 13);
    }

    #[test]
    fn chains_of_one_key_dissolve() {
        let items = vec![Item::chain(vec![Item::Leaf(0)]), Item::Leaf(1)];
        assert_eq!(repaired(items, 2, &[]), [Item::Leaf(0), Item::Leaf(1)]);
    }
}
