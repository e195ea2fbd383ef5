//! Ids for the rules of a tree of which some are pinned: what is pinned stays, and what is new goes where its chain
//! allows it.
//!
//! A rule must stand behind the one that jumps to its chain and in front of the rule that ends the chain; a rule that
//! hands keys on must stand in front of theirs. Nothing else binds the rules of different chains, so a new rule takes
//! an id from the hash of its name among many: two branches that add rules seldom take the same.

use std::collections::HashSet;

use super::probe::hash;

/// A rule of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Slot<'n> {
    /// Number of its chain; 0 is the root, and a chain has a greater number than the one that jumps to it.
    pub chain: usize,
    /// The chain that it jumps to, when that is of the tree.
    pub opens: Option<usize>,
    /// It is one of those that end the chain.
    pub ends: bool,
    /// The pinned id.
    pub locked: Option<u32>,
    /// What the lock file calls it.
    pub name: &'n str,
}

/// Ids for the rules of a tree, in their order, between two ids that others have; `None` when there is no room for one
/// of them, or nothing is pinned.
pub(crate) fn place(slots: &[Slot<'_>], (low, high): (u32, u32)) -> Option<Vec<u32>> {
    let inside = |id: &u32| low < *id && *id < high;
    let mut taken: HashSet<u32> = slots
        .iter()
        .filter_map(|slot| slot.locked)
        .filter(inside)
        .collect();
    if taken.is_empty() {
        return None;
    }
    let chains = slots.iter().map(|slot| slot.chain + 1).max().unwrap_or(0);
    let mut of_chain: Vec<Vec<usize>> = vec![Vec::new(); chains];
    let mut opener: Vec<Option<usize>> = vec![None; chains];
    for (at, slot) in slots.iter().enumerate() {
        of_chain[slot.chain].push(at);
        if let Some(opens) = slot.opens {
            opener[opens] = Some(at);
        }
    }
    let least = least_below(slots, &of_chain, &opener, inside);
    let mut ids = vec![0; slots.len()];
    for (chain, of_chain) in of_chain.iter().enumerate() {
        let above = match (chain, opener[chain]) {
            (0, _) | (_, None) => low,
            (_, Some(opener)) => ids[opener],
        };
        Chain {
            slots,
            least: &least,
            bounds: (above, high),
        }
        .place(of_chain, &mut ids, &mut taken)?;
    }
    Some(ids)
}

/// The least pinned id of the items of each chain and those below it.
fn least_below(
    slots: &[Slot<'_>],
    of_chain: &[Vec<usize>],
    opener: &[Option<usize>],
    inside: impl Fn(&u32) -> bool,
) -> Vec<Option<u32>> {
    let mut least: Vec<Option<u32>> = vec![None; of_chain.len()];
    for chain in (0..of_chain.len()).rev() {
        let own = of_chain[chain]
            .iter()
            .filter(|&&at| !slots[at].ends)
            .filter_map(|&at| slots[at].locked.filter(&inside));
        least[chain] = own.chain(least[chain]).min();
        if let (Some(opener), Some(here)) = (opener[chain], least[chain]) {
            let outer = &mut least[slots[opener].chain];
            *outer = Some(outer.map_or(here, |outer| outer.min(here)));
        }
    }
    least
}

/// Ids that are left free in front of keys for chains that will be made around them.
const ROOM: u32 = 16;

struct Chain<'s, 'n> {
    slots: &'s [Slot<'n>],
    least: &'s [Option<u32>],
    /// The id of the rule that jumps here, and the first behind the tree.
    bounds: (u32, u32),
}

impl Chain<'_, '_> {
    fn place(&self, of_chain: &[usize], ids: &mut [u32], taken: &mut HashSet<u32>) -> Option<()> {
        let (above, high) = self.bounds;
        let (ends, items): (Vec<usize>, Vec<usize>) = of_chain.iter().partition(|&&at| self.slots[at].ends);
        let end = ends
            .first()
            .and_then(|&at| self.slots[at].locked)
            .filter(|&id| above < id && id < high);
        let keeps = |at: usize| {
            let id = self.slots[at]
                .locked
                .filter(|&id| above < id && id < end.unwrap_or(high))?;
            // Keys below that were pinned in front of it would have to move.
            let below = self.slots[at].opens.and_then(|chain| self.least[chain]);
            below.is_none_or(|below| id < below).then_some(id)
        };
        let mut last = above;
        for &at in &items {
            if let Some(id) = keeps(at) {
                ids[at] = id;
                last = last.max(id);
            }
        }
        // Items are listed as they should be tested, so a new one stands in front of those behind it that stay.
        let mut behind: Vec<Option<u32>> = vec![None; items.len()];
        for nth in (1..items.len()).rev() {
            behind[nth - 1] = keeps(items[nth]).into_iter().chain(behind[nth]).min();
        }
        for (nth, &at) in items.iter().enumerate().filter(|(_, at)| keeps(**at).is_none()) {
            let below = self.slots[at].opens.and_then(|chain| self.least[chain]);
            let below = below
                .filter(|&id| id > above)
                .map(|below| behind[nth].map_or(below, |behind| below.min(behind)));
            let name = self.slots[at].name;
            let id = match below {
                None => {
                    let until = end.unwrap_or(high);
                    let near = last
                        .saturating_add(2 + until.saturating_sub(last) / 16)
                        .min(until);
                    free(last, near, name, taken)
                        .or_else(|| free(last, until, name, taken))
                        // The end of the chain is nobody's shard, and may move.
                        .or_else(|| free(last, high, name, taken))
                }
                Some(below) => {
                    // Near those that should be tested before it, so that there is room for chains below chains.
                    let ahead = items[..nth].iter().map(|&item| ids[item]);
                    let ahead = ahead.filter(|id| id.saturating_add(ROOM) <= below).max();
                    let after = ahead.map_or(above, |ahead| ahead.max(above));
                    let near = after
                        .saturating_add(2 + below.saturating_sub(after) / 16)
                        .min(below);
                    free(after, near, name, taken)
                        .or_else(|| free(after, below, name, taken))
                        .or_else(|| free(above, below, name, taken))
                }
            };
            ids[at] = id
                .or_else(|| free(above, end.unwrap_or(high), name, taken))
                .or_else(|| free(above, high, name, taken))?;
            last = last.max(ids[at]);
        }
        for &at in &ends {
            let kept = self.slots[at].locked.filter(|&id| last < id && id < high);
            ids[at] = match kept {
                Some(id) => id,
                None => free(last, high, self.slots[at].name, taken)?,
            };
            last = ids[at];
        }
        Some(())
    }
}

/// A free id between two others, from the hash of a name on.
fn free(above: u32, below: u32, name: &str, taken: &mut HashSet<u32>) -> Option<u32> {
    let size = below
        .checked_sub(above)?
        .checked_sub(1)
        .filter(|&size| size > 0)?;
    let start = u32::try_from(hash(name) % u64::from(size)).expect("a remainder of a u32");
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
    use super::*;

    fn slot(chain: usize, locked: Option<u32>, name: &str) -> Slot<'_> {
        Slot {
            chain,
            opens: None,
            ends: false,
            locked,
            name,
        }
    }

    fn opening(chain: usize, opens: usize, locked: Option<u32>) -> Slot<'static> {
        Slot {
            opens: Some(opens),
            ..slot(chain, locked, "in")
        }
    }

    fn end(chain: usize, locked: Option<u32>) -> Slot<'static> {
        Slot {
            ends: true,
            ..slot(chain, locked, "end")
        }
    }

    #[test]
    fn a_new_leaf_stands_behind_its_neighbours_and_before_the_end() {
        let slots = [
            opening(0, 1, Some(10)),
            slot(1, Some(11), "a"),
            slot(1, None, "b"),
            end(0, Some(90)),
            end(1, Some(95)),
        ];
        let ids = place(&slots, (5, 100)).expect("room");
        assert_eq!((ids[0], ids[1], ids[3], ids[4]), (10, 11, 90, 95));
        assert!((12..95).contains(&ids[2]), "{ids:?}");
    }

    #[test]
    fn a_new_chain_takes_rules_that_stay_where_they_are() {
        let slots = [
            slot(0, Some(20), "a"),
            opening(0, 1, None),
            slot(1, Some(130), "b"),
            slot(1, Some(140), "c"),
            end(0, Some(160)),
            end(1, None),
        ];
        let ids = place(&slots, (5, 200)).expect("room");
        assert_eq!((ids[0], ids[2], ids[3], ids[4]), (20, 130, 140, 160));
        assert!((21..130).contains(&ids[1]), "{ids:?}");
        assert!((141..200).contains(&ids[5]), "{ids:?}");
    }

    #[test]
    fn rules_without_room_before_them_move() {
        let slots = [
            slot(0, Some(20), "a"),
            opening(0, 1, None),
            slot(1, Some(21), "b"),
            end(0, Some(60)),
            end(1, None),
        ];
        let ids = place(&slots, (19, 100)).expect("room");
        assert_eq!((ids[0], ids[3]), (20, 60));
        assert!(ids[1] < ids[2] && ids[2] < ids[4], "{ids:?}");
        assert_eq!(place(&slots, (19, 22)), None);
        assert_eq!(place(&[slot(0, None, "a")], (5, 100)), None);
    }
}
