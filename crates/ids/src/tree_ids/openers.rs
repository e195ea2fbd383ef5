//! Ids for the rules that hand keys on to a chain: each in front of every pinned rule below it, and behind the rule that
//! jumps to its own chain.
//!
//! The least pinned id below a rule is its deadline. Rules take free ids in the order of their deadlines, so one finds
//! none only where fewer are free than rules need. An order of tests is kept on top of that where there is room for it.

use std::collections::{HashMap, HashSet};

use super::chains::{Bounds, Chains, TreeRule};
use crate::probe::hash;

/// What new ids are held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Rules that hand keys on stay, and stand among the other rules of their chain where they should be tested.
    OfAll,
    /// They stay, and stand in order among themselves.
    OfOpeners,
    /// They stay.
    Any,
    /// They may move.
    Moving,
}

/// For each rule that hands keys on and has pinned rules below it, an id that leaves those where they are; marks it as
/// taken. Where there is no room at all, those that can stay have their pinned ids.
pub(super) fn allocate(chains: &Chains<'_, '_>, taken: &mut HashSet<u32>) -> Vec<Option<u32>> {
    for order in [Order::OfAll, Order::OfOpeners, Order::Any, Order::Moving] {
        let mut allocation = Allocation::new(chains, order, taken);
        if allocation.complete() {
            *taken = allocation.free.taken;
            return allocation.ids;
        }
    }
    Allocation::new(chains, Order::Any, taken).ids
}

struct Allocation<'c, 'r, 'n> {
    chains: &'c Chains<'r, 'n>,
    order: Order,
    /// The least pinned id below each chain's opener.
    least: Vec<Option<u32>>,
    ids: Vec<Option<u32>>,
    free: Free,
}

impl<'c, 'r, 'n> Allocation<'c, 'r, 'n> {
    /// With the rules that stay.
    fn new(chains: &'c Chains<'r, 'n>, order: Order, taken: &HashSet<u32>) -> Self {
        let mut allocation = Self {
            chains,
            order,
            least: vec![None; chains.of_chain.len()],
            ids: vec![None; chains.rules.len()],
            free: Free {
                taken: taken.clone(),
                next: HashMap::new(),
            },
        };
        for chain in (0..chains.of_chain.len()).rev() {
            for at in chains.tests(chain) {
                let id = match chains.rules[at].opens {
                    None => chains.locked(at),
                    Some(opens) => {
                        let below = allocation.least[opens];
                        let stays =
                            |&id: &u32| order != Order::Moving && below.is_none_or(|below| id < below);
                        allocation.ids[at] = chains.locked(at).filter(stays);
                        allocation.ids[at].or(below)
                    }
                };
                allocation.least[chain] = allocation.least[chain].into_iter().chain(id).min();
            }
        }
        allocation.let_go();
        allocation
    }

    /// A rule in front of the one that jumps to its chain cannot stay.
    fn let_go(&mut self) {
        for chain in 0..self.chains.of_chain.len() {
            let above =
                self.chains.opener[chain].map_or(Some(self.chains.bounds.above), |opener| self.ids[opener]);
            for at in self.chains.tests(chain) {
                if above.is_some_and(|above| self.ids[at].is_some_and(|id| id <= above)) {
                    self.ids[at] = None;
                }
            }
        }
    }

    /// False where one finds no id.
    fn complete(&mut self) -> bool {
        let mut waiting = self.waiting();
        waiting.sort_unstable();
        let count = u32::try_from(waiting.len()).unwrap_or(u32::MAX);
        for Waiting { deadline, at, .. } in waiting {
            let release = self.release(at, deadline);
            let Some(id) = self.free.give(
                Bounds {
                    above: release,
                    below: deadline,
                },
                count,
                &self.chains.rules[at],
            ) else {
                return false;
            };
            self.ids[at] = Some(id);
        }
        true
    }

    /// The rules without an id and with a deadline.
    fn waiting(&self) -> Vec<Waiting> {
        let mut waiting = Vec::new();
        for chain in 0..self.chains.of_chain.len() {
            let tests: Vec<usize> = self.chains.tests(chain).collect();
            let mut behind: Option<u32> = None;
            for (nth, &at) in tests.iter().enumerate().rev() {
                let opens = self.chains.rules[at].opens;
                let own = opens.and_then(|opens| self.least[opens]);
                let deadline = own.map(|own| behind.map_or(own, |behind| behind.min(own)));
                if let (Some(deadline), None) = (deadline, self.ids[at]) {
                    waiting.push(Waiting {
                        deadline,
                        chain,
                        nth,
                        at,
                    });
                }
                let id = match opens {
                    Some(_) => self.ids[at].or(deadline),
                    None => self.chains.locked(at),
                };
                let counts = match self.order {
                    Order::OfAll => true,
                    Order::OfOpeners => opens.is_some(),
                    Order::Any | Order::Moving => false,
                };
                if counts {
                    behind = behind.into_iter().chain(id).min();
                }
            }
        }
        waiting
    }

    /// The id that a rule stands behind.
    fn release(&self, at: usize, deadline: u32) -> u32 {
        let chain = self.chains.rules[at].chain;
        let opener = self.chains.opener[chain].and_then(|opener| self.ids[opener]);
        let above = opener.unwrap_or(self.chains.bounds.above);
        let counts = |&rule: &usize| match self.order {
            Order::OfAll => true,
            Order::OfOpeners => self.chains.rules[rule].opens.is_some(),
            Order::Any | Order::Moving => false,
        };
        let ahead = self
            .chains
            .tests(chain)
            .take_while(|&rule| rule != at)
            .filter(counts);
        let id = |rule: usize| match self.chains.rules[rule].opens {
            Some(_) => self.ids[rule],
            None => self.chains.locked(rule),
        };
        let ahead = ahead.filter_map(id).filter(|id| *id < deadline).max();
        ahead.map_or(above, |ahead| ahead.max(above))
    }
}

/// A rule that needs an id. In this order the one that jumps to a rule's chain comes first: it has no later deadline and a
/// smaller chain.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// The id that it must stand in front of.
    deadline: u32,
    chain: usize,
    /// Which of the tests of its chain it is.
    nth: usize,
    /// Which of all rules it is.
    at: usize,
}

/// Ids that nobody has.
struct Free {
    taken: HashSet<u32>,
    /// For ids that are taken, one further on in front of which all are.
    next: HashMap<u32, u32>,
}

impl Free {
    /// A free id between two others, near the first; from the hash of a name, where there is room for that.
    fn give(&mut self, bounds: Bounds, count: u32, rule: &TreeRule<'_>) -> Option<u32> {
        let Bounds { above, below } = bounds;
        let room = below.saturating_sub(above).saturating_sub(1);
        // Rules below rules each take a part of what is left in front of the same deadline.
        let window = room / count.saturating_mul(4).max(1);
        let start = match window {
            0 => 0,
            window => u32::try_from(hash(rule.name) % u64::from(window)).expect("a remainder of a u32"),
        };
        [above.saturating_add(1 + start), above.saturating_add(1)]
            .into_iter()
            .map(|from| self.first(from))
            .find(|id| *id < below)
            .inspect(|id| {
                self.taken.insert(*id);
            })
    }

    /// The first free id from one on.
    fn first(&mut self, from: u32) -> u32 {
        let (mut at, mut passed) = (from, Vec::new());
        while self.taken.contains(&at) && at < u32::MAX {
            passed.push(at);
            at = self.next.get(&at).copied().unwrap_or(at + 1);
        }
        for id in passed {
            self.next.insert(id, at);
        }
        at
    }
}
