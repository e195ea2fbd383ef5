//! The shape that live systems already have: chains of the lock file, with the keys of today in them.
//!
//! The lock file remembers a chain by the bounds of the keys that it had. Today's keys are sorted, so these
//! bounds are a range of entries, and the chains are nested ranges. Each key belongs to the smallest chain
//! around it. A new key between two chains, or at an end beside one, goes down into the smaller chain beside
//! it, which keeps the tree balanced. A new key beside a single key stands beside it.
//!
//! Invariants:
//!
//! * Every entry stands in the shape once. Ranges nest, so one walk from left to right meets each chain and
//!   each entry once. Ranges that cross have no shape: `None`.
//! * A rule with an id stands in its chain by its id, as it does in live systems. New rules stand behind
//!   those.
//! * An entry that was lifted out of the bounds of a chain stays in the chain that it was lifted to, as long
//!   as that chain is there.
//!
//! Example: the lock file has the chains 10 to 30 and 40 to 50, with the keys 10, 20, 30 and 40, 50. The key
//! 35 is new. The entries are 0 to 5, of which 3 is new, and the chains are the ranges 0..3 and 4..6. The
//! walk gives `(0 1 2) 3 (4 5)`. Entry 3 stands between two chains and goes into the second one, which is
//! smaller. The result is `(0 1 2) (4 5 3)`.

use std::collections::HashMap;
use std::ops::Range;

use crate::shape::{Chain, Node};

/// A chain as the lock file remembers it: its name and its bounds, as indexes of the keys of today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedChain {
    /// What the lock file calls it.
    pub name: String,
    /// The first entry that is not below its first key.
    pub from: usize,
    /// The first entry that is above its last key.
    pub to: usize,
    /// The id of the rule that jumps to it.
    pub id: Option<u32>,
}

/// An entry as the lock file remembers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RememberedEntry {
    /// The id of its rule; none: it is new.
    pub id: Option<u32>,
    /// The chain that it was lifted to, out of the bounds of a chain that would hold it; empty: the root.
    pub lifted: Option<String>,
}

/// The remembered shape over entries; `None` when the chains do not nest, as after a merge of two branches.
pub fn kept_shape(entries: &[RememberedEntry], mut chains: Vec<RememberedChain>) -> Option<Vec<Node>> {
    // A chain whose keys are all gone is gone.
    chains.retain(|chain| chain.to > chain.from && chain.to <= entries.len());
    // An outer chain stands before those inside it.
    chains.sort_by(|a, b| {
        a.from
            .cmp(&b.from)
            .then(b.to.cmp(&a.to))
            .then(a.name.cmp(&b.name))
    });
    // Without the keys that distinguished them, an outer and an inner chain can hold the same.
    chains.dedup_by(|a, b| (a.from, a.to) == (b.from, b.to));
    // Chains are sorted by their start, so it is enough to look at those that are still open.
    let mut open: Vec<usize> = Vec::new();
    for (at, chain) in chains.iter().enumerate() {
        while open.last().is_some_and(|&outer| chains[outer].to <= chain.from) {
            open.pop();
        }
        // It begins inside and ends outside.
        if open.last().is_some_and(|&outer| chains[outer].to < chain.to) {
            return None;
        }
        open.push(at);
    }
    // An entry whose chain is gone goes back to the smallest chain around it.
    let mut lifted: HashMap<&str, Vec<u32>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(chain) = entry.lifted.as_deref()
            && (chain.is_empty() || chains.iter().any(|other| other.name == chain))
        {
            lifted.entry(chain).or_default().push(at as u32);
        }
    }
    let mut building = Building {
        entries,
        gone: vec![false; entries.len()],
        lifted: &lifted,
    };
    for &at in lifted.values().flatten() {
        building.gone[at as usize] = true;
    }
    let mut rest = chains.iter().peekable();
    Some(building.nodes("", 0..entries.len(), &mut rest))
}

struct Building<'e> {
    entries: &'e [RememberedEntry],
    /// Entries that stand outside of the chain around them.
    gone: Vec<bool>,
    lifted: &'e HashMap<&'e str, Vec<u32>>,
}

/// A node with the id of its rule.
struct WithId {
    id: Option<u32>,
    node: Node,
}

impl Building<'_> {
    /// The nodes of one chain for a range of entries; `rest` has the chains that the walk has not met yet.
    fn nodes(
        &mut self,
        name: &str,
        range: Range<usize>,
        rest: &mut std::iter::Peekable<std::slice::Iter<'_, RememberedChain>>,
    ) -> Vec<Node> {
        let mut nodes: Vec<WithId> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            match rest.next_if(|chain| chain.from == at && chain.to <= range.end) {
                Some(chain) => {
                    let below = self.nodes(&chain.name, chain.from..chain.to, rest);
                    let name = Some(chain.name.as_str().into());
                    nodes.push(WithId {
                        id: chain.id,
                        node: Node::Chain(Box::new(Chain { nodes: below, name })),
                    });
                    at = chain.to;
                }
                None => {
                    if !self.gone[at] {
                        nodes.push(self.leaf(at as u32));
                    }
                    at += 1;
                }
            }
        }
        // Lifted entries come after, so that they do not part a new entry from a chain beside it.
        let mut nodes = descend(nodes);
        let lifted = self.lifted.get(name).into_iter().flatten();
        nodes.extend(lifted.map(|&at| self.leaf(at)));
        in_order(nodes)
    }

    fn leaf(&self, entry: u32) -> WithId {
        WithId {
            id: self.entries[entry as usize].id,
            node: Node::Leaf(entry),
        }
    }
}

/// Rules that have ids in their order, then those that are new.
fn in_order(mut nodes: Vec<WithId>) -> Vec<Node> {
    nodes.retain(|with_id| !matches!(&with_id.node, Node::Chain(chain) if chain.nodes.is_empty()));
    nodes.sort_by_key(|with_id| with_id.id.unwrap_or(u32::MAX));
    nodes.into_iter().map(|with_id| with_id.node).collect()
}

/// New entries that stand between chains, or at an end beside one, go down into the smaller chain beside
/// them. `nodes` are in the order of keys.
fn descend(nodes: Vec<WithId>) -> Vec<WithId> {
    let is_chain = |node: Option<&WithId>| matches!(node.map(|node| &node.node), Some(Node::Chain(_)));
    let mut kept: Vec<WithId> = Vec::with_capacity(nodes.len());
    let mut nodes = nodes.into_iter().peekable();
    while let Some(WithId { id, node }) = nodes.next() {
        let Node::Leaf(entry) = node else {
            kept.push(WithId { id, node });
            continue;
        };
        let (before, behind) = (is_chain(kept.last()), is_chain(nodes.peek()));
        // No single key stands on either side.
        let closed = (before || kept.is_empty()) && (behind || nodes.peek().is_none());
        if id.is_some() || !closed || !(before || behind) {
            kept.push(WithId { id, node });
            continue;
        }
        let size = |node: Option<&WithId>| node.map_or(usize::MAX, |node| count(&node.node));
        let left = before && (!behind || size(kept.last()) <= size(nodes.peek()));
        let into = if left { kept.last_mut() } else { nodes.peek_mut() };
        if let Some(Node::Chain(chain)) = into.map(|node| &mut node.node) {
            add(chain, entry, left);
        }
    }
    kept
}

fn count(node: &Node) -> usize {
    let mut count = 0;
    node.each(&mut |_| count += 1);
    count
}

/// Adds an entry beyond the last (or before the first) of a chain: at the end of it, or in the chain that
/// stands there. The rules of a chain are not in the order of keys, so the node with the outermost key is
/// sought.
fn add(chain: &mut Chain, entry: u32, last: bool) {
    let outermost = chain.nodes.iter_mut().max_by_key(|node| {
        let (low, high) = node.span().unwrap_or((0, 0));
        if last { i64::from(high) } else { -i64::from(low) }
    });
    match outermost {
        Some(Node::Chain(inner)) => add(inner, entry, last),
        Some(Node::Leaf(_)) | None => chain.nodes.push(Node::Leaf(entry)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(from: usize, to: usize) -> RememberedChain {
        RememberedChain {
            name: format!("{from}..{to}"),
            from,
            to,
            id: Some(from as u32 * 10 + 5),
        }
    }

    /// Entries with rules of their own, but for the new ones.
    fn remembered(count: usize, new: &[usize]) -> Vec<RememberedEntry> {
        let id = |at: usize| (!new.contains(&at)).then_some(at as u32 * 10 + 1);
        (0..count)
            .map(|at| RememberedEntry {
                id: id(at),
                lifted: None,
            })
            .collect()
    }

    fn show(nodes: &[Node]) -> String {
        let parts = nodes.iter().map(|node| match node {
            Node::Leaf(at) => at.to_string(),
            Node::Chain(chain) => format!("({})", show(&chain.nodes)),
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_of_today_stand_in_the_smallest_chain_around_them() {
        for (entries, new, chains, expected) in [
            (4, vec![], vec![], Some("0 1 2 3")),
            (6, vec![], vec![chain(0, 3), chain(3, 5)], Some("(0 1 2) (3 4) 5")),
            (
                6,
                vec![],
                vec![chain(3, 5), chain(0, 5), chain(0, 2)],
                Some("((0 1) 2 (3 4)) 5"),
            ),
            (
                6,
                vec![5],
                vec![chain(0, 3), chain(3, 5)],
                Some("(0 1 2) (3 4 5)"),
            ),
            (
                6,
                vec![0, 3],
                vec![chain(1, 3), chain(4, 6)],
                Some("(1 2 0) (4 5 3)"),
            ),
            (5, vec![4], vec![chain(0, 3)], Some("(0 1 2) 3 4")),
            (6, vec![], vec![chain(0, 3), chain(2, 5)], None),
        ] {
            let shape = kept_shape(&remembered(entries, &new), chains);
            assert_eq!(shape.as_deref().map(show).as_deref(), expected);
        }
    }

    #[test]
    fn lifted_keys_stay_where_they_were() {
        let mut entries = remembered(5, &[]);
        entries[1].lifted = Some(String::new());
        entries[1].id = Some(0);
        let shape = kept_shape(&entries, vec![chain(0, 4)]);
        assert_eq!(shape.as_deref().map(show).as_deref(), Some("1 (0 2 3) 4"));
    }
}
