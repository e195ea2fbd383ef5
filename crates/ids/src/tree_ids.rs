//! Ids for the rules of a tree of which some are pinned: what is pinned stays, and what is new goes where its
//! chain allows it.
//!
//! An engine walks rules by their ids, so an id is a position. Rules that hand keys on get theirs first (see
//! [`openers`]), in front of the pinned rules below them, so that the rules of keys stay where they
//! are as long as there is any room. Then each chain is filled: pinned rules stay, and a new rule goes behind
//! them and in front of the end of the chain. It takes an id from the hash of its name among several, so two
//! branches that add rules seldom take the same.
//!
//! Invariants:
//!
//! * A rule stands behind the rule that jumps to its chain. That rule is in a chain with a smaller number, so
//!   it has its id by then. A rule whose pinned id is not greater gets a new one.
//! * A rule stands in front of the rules that end its chain. Only keys of no shard meet an end, so an end may
//!   move.
//! * No id is given twice: pinned ids are taken from the start, also those that their rules give up. Two
//!   rules can be pinned to one id, as after a merge of two branches. Both keep it here, and
//!   [`crate::sequence::allocate`] moves one of them.
//!
//! Nothing else binds rules. Those of one chain match different keys, so their order changes costs, not
//! routes, and it is given up where there is no room for it.
//!
//! Example with ids from 6 to 99:
//!
//! ```text
//! rule             chain  pinned  id
//! enters chain 1   0      10      10
//! key a            1      11      11
//! key b            1      -       13
//! end of chain 0   0      90      90
//! end of chain 1   1      95      95
//! ```
//!
//! Key b must stand between 11 and 95. It gets one of the first 84 / 16 + 1 = 6 ids there, 12 to 17, and the
//! hash of its name, b, gives the second of them.

mod chains;
mod openers;

use std::collections::HashSet;

use crate::probe::hash;
use chains::Chains;
pub use chains::{Bounds, TreeRule};

/// Ids for the rules of a tree, in their order, between two ids that others have; `None` when there is no
/// room for one of them, or nothing is pinned.
pub fn allocate(rules: &[TreeRule<'_>], bounds: Bounds) -> Option<Vec<u32>> {
    let chains = Chains::of(rules, bounds);
    let mut taken: HashSet<u32> = (0..rules.len()).filter_map(|at| chains.locked(at)).collect();
    if taken.is_empty() {
        return None;
    }
    let openers = openers::allocate(&chains, &mut taken);
    let mut ids = vec![0; rules.len()];
    // In the order of numbers, so the rule that jumps to a chain has its id before the chain is filled.
    for (chain, opener) in chains.opener.iter().enumerate() {
        let above = match (chain, opener) {
            (0, _) | (_, None) => bounds.above,
            (_, Some(opener)) => ids[*opener],
        };
        Filling {
            chains: &chains,
            openers: &openers,
            bounds: Bounds { above, ..bounds },
        }
        .fill(chain, &mut ids, &mut taken)?;
    }
    Some(ids)
}

/// Ids for the rules of one chain.
struct Filling<'c, 'r, 'n> {
    chains: &'c Chains<'r, 'n>,
    /// Ids of the rules that hand keys on, where they have one.
    openers: &'c [Option<u32>],
    /// The id of the rule that jumps here, and the first behind the tree.
    bounds: Bounds,
}

impl Filling<'_, '_, '_> {
    fn fill(&self, chain: usize, ids: &mut [u32], taken: &mut HashSet<u32>) -> Option<()> {
        let Bounds { above, below } = self.bounds;
        let rules = self.chains.rules;
        let keeps = |at: usize| {
            let id = match rules[at].opens {
                Some(_) => self.openers[at],
                None => self.chains.locked(at),
            };
            id.filter(|&id| above < id)
        };
        // The greatest id of the chain so far. What is new goes behind all that stays.
        let mut last = above;
        for at in self.chains.tests(chain) {
            if let Some(id) = keeps(at) {
                ids[at] = id;
                last = last.max(id);
            }
        }
        let ends: Vec<usize> = self.chains.of_chain[chain]
            .iter()
            .copied()
            .filter(|&at| rules[at].ends)
            .collect();
        // An end that already stands in front of a rule of the chain moves, and bounds nothing.
        let end = ends
            .first()
            .and_then(|&at| self.chains.locked(at))
            .filter(|&id| last < id);
        for at in self.chains.tests(chain).filter(|&at| keeps(at).is_none()) {
            let name = rules[at].name;
            // In front of the end; else the end moves behind it; else in front of rules that stay.
            let id = end
                .and_then(|end| {
                    behind(
                        Bounds {
                            above: last,
                            below: end,
                        },
                        16,
                        name,
                        taken,
                    )
                })
                .or_else(|| behind(Bounds { above: last, below }, 256, name, taken))
                .or_else(|| free(self.bounds, name, taken))?;
            ids[at] = id;
            last = last.max(id);
        }
        for &at in &ends {
            let kept = self.chains.locked(at).filter(|&id| last < id);
            ids[at] = match kept {
                Some(id) => id,
                None => behind(Bounds { above: last, below }, 256, rules[at].name, taken)?,
            };
            last = ids[at];
        }
        Some(())
    }
}

/// A free id between two others, near the first: in one part of `share` parts of the room, because the rest
/// must last for all that comes later.
fn behind(bounds: Bounds, share: u32, name: &str, taken: &mut HashSet<u32>) -> Option<u32> {
    const NEAR: u32 = 64;
    let Bounds { above, below } = bounds;
    let room = below.saturating_sub(above);
    let mut near = 2 + (room / share).min(NEAR);
    loop {
        let found = free(
            Bounds {
                above,
                below: above.saturating_add(near).min(below),
            },
            name,
            taken,
        );
        if found.is_some() || near >= room {
            return found;
        }
        // The ids near the first are all taken.
        near = near.saturating_mul(4);
    }
}

/// A free id between two others, from the hash of a name on.
fn free(bounds: Bounds, name: &str, taken: &mut HashSet<u32>) -> Option<u32> {
    let Bounds { above, below } = bounds;
    let size = below
        .checked_sub(above)?
        .checked_sub(1)
        .filter(|&size| size > 0)?;
    let start = u32::try_from(hash(name) % u64::from(size)).expect("a remainder of a u32");
    // Around the end, so that every free id is found.
    let id = (0..size)
        .map(|step| {
            above
                + 1
                + u32::try_from((u64::from(start) + u64::from(step)) % u64::from(size)).expect("below a u32")
        })
        .find(|id| !taken.contains(id))?;
    taken.insert(id);
    Some(id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn between(above: u32, below: u32) -> Bounds {
        Bounds { above, below }
    }

    fn rule(chain: usize, locked: Option<u32>, name: &str) -> TreeRule<'_> {
        TreeRule {
            chain,
            opens: None,
            ends: false,
            locked,
            name,
        }
    }

    fn opening(chain: usize, opens: usize, locked: Option<u32>) -> TreeRule<'static> {
        TreeRule {
            opens: Some(opens),
            ..rule(chain, locked, "in")
        }
    }

    fn end(chain: usize, locked: Option<u32>) -> TreeRule<'static> {
        TreeRule {
            ends: true,
            ..rule(chain, locked, "end")
        }
    }

    #[test]
    fn a_new_leaf_stands_behind_its_neighbours_and_before_the_end() {
        let rules = [
            opening(0, 1, Some(10)),
            rule(1, Some(11), "a"),
            rule(1, None, "b"),
            end(0, Some(90)),
            end(1, Some(95)),
        ];
        let ids = allocate(&rules, between(5, 100)).expect("room");
        assert_eq!((ids[0], ids[1], ids[3], ids[4]), (10, 11, 90, 95));
        assert!((12..95).contains(&ids[2]), "{ids:?}");
    }

    #[test]
    fn a_new_chain_takes_rules_that_stay_where_they_are() {
        let rules = [
            rule(0, Some(20), "a"),
            opening(0, 1, None),
            rule(1, Some(130), "b"),
            rule(1, Some(140), "c"),
            end(0, Some(160)),
            end(1, None),
        ];
        let ids = allocate(&rules, between(5, 200)).expect("room");
        assert_eq!((ids[0], ids[2], ids[3], ids[4]), (20, 130, 140, 160));
        assert!((21..130).contains(&ids[1]), "{ids:?}");
        assert!((141..200).contains(&ids[5]), "{ids:?}");
    }

    #[test]
    fn rules_without_room_before_them_move() {
        let rules = [
            rule(0, Some(20), "a"),
            opening(0, 1, None),
            rule(1, Some(21), "b"),
            end(0, Some(60)),
            end(1, None),
        ];
        let ids = allocate(&rules, between(19, 100)).expect("room");
        assert_eq!((ids[0], ids[3]), (20, 60));
        assert!(ids[1] < ids[2] && ids[2] < ids[4], "{ids:?}");
        assert_eq!(allocate(&rules, between(19, 22)), None);
        assert_eq!(allocate(&[rule(0, None, "a")], between(5, 100)), None);
    }

    /// A tree of random shape over leaves that have ids in any order.
    fn tree() -> impl Strategy<Value = (Vec<TreeRule<'static>>, u32)> {
        (prop::collection::vec(any::<u16>(), 2..60), any::<u64>()).prop_map(|(draws, seed)| {
            let mut rules: Vec<TreeRule<'static>> = Vec::new();
            let mut chains = 1;
            for &draw in &draws {
                let chain = usize::from(draw) % chains;
                if draw % 3 == 0 {
                    rules.push(opening(chain, chains, None));
                    chains += 1;
                } else {
                    rules.push(rule(chain, None, "leaf"));
                }
            }
            let leaves = rules.iter().filter(|rule| rule.opens.is_none()).count() as u32;
            let entries = rules.len() as u32 - leaves;
            let mut nth = 0;
            for rule in rules.iter_mut().filter(|rule| rule.opens.is_none()) {
                // Ids in a random order, with room for every entry in front of each.
                nth += 1;
                let mixed = (u64::from(nth) * 7_919 + seed) % 10_007;
                rule.locked = Some(1_000 + mixed as u32 * (entries + 1) + nth);
            }
            for chain in 0..chains {
                rules.push(end(chain, None));
            }
            (rules, 1_000)
        })
    }

    proptest! {
        #[test]
        fn leaves_stay_while_there_is_room((rules, low) in tree()) {
            let low = low - rules.len() as u32;
            let Some(ids) = allocate(&rules, between(low, 10_000_000)) else {
                prop_assert!(rules.iter().all(|rule| rule.locked.is_none()));
                return Ok(());
            };
            let distinct: HashSet<u32> = ids.iter().copied().collect();
            prop_assert_eq!(distinct.len(), ids.len());
            for (at, rule) in rules.iter().enumerate() {
                if rule.locked.is_some() {
                    prop_assert_eq!(Some(ids[at]), rule.locked, "{:?}", rules);
                }
                let opener = rules.iter().position(|opener| opener.opens == Some(rule.chain));
                prop_assert!(opener.is_none_or(|opener| ids[opener] < ids[at]), "{:?}: {:?}", rules, ids);
                let end = rules.iter().rposition(|end| end.ends && end.chain == rule.chain);
                prop_assert!(rule.ends || end.is_none_or(|end| ids[at] < ids[end]), "{:?}: {:?}", rules, ids);
            }
        }
    }
}
