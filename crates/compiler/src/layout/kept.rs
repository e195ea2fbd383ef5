//! The shape that live systems already have: chains of the lock file, with the keys of today in them.
//!
//! A chain is remembered by the first and last key that it was made for. A key that came later belongs to the smallest
//! chain around it, so adding, moving or removing a shard changes one chain and no other.

use super::shape::Item;

/// A chain as the lock file remembers it: its name and the keys it was made for, as places among the keys of today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// What the lock file calls it.
    pub name: String,
    /// The first entry that is not below its first key.
    pub from: usize,
    /// The first entry that is above its last key.
    pub to: usize,
}

/// The remembered shape over `entries` keys; `None` when the chains do not nest, as after a merge of two branches.
pub(crate) fn shape(entries: usize, mut chains: Vec<Remembered>) -> Option<Vec<Item>> {
    chains.retain(|chain| chain.to > chain.from + 1 && chain.to <= entries);
    chains.sort_by(|a, b| {
        a.from
            .cmp(&b.from)
            .then(b.to.cmp(&a.to))
            .then(a.name.cmp(&b.name))
    });
    chains.dedup_by(|a, b| (a.from, a.to) == (b.from, b.to));
    chains.retain(|chain| chain.to - chain.from < entries);
    // Chains are sorted by their start, so it is enough to look at those that are still open.
    let mut open: Vec<usize> = Vec::new();
    for (at, chain) in chains.iter().enumerate() {
        while open.last().is_some_and(|&outer| chains[outer].to <= chain.from) {
            open.pop();
        }
        if open.last().is_some_and(|&outer| chains[outer].to < chain.to) {
            return None;
        }
        open.push(at);
    }
    let mut rest = chains.into_iter().peekable();
    Some(items(0, entries, &mut rest))
}

fn items(
    from: usize,
    to: usize,
    rest: &mut std::iter::Peekable<std::vec::IntoIter<Remembered>>,
) -> Vec<Item> {
    let mut items_here = Vec::new();
    let mut at = from;
    while at < to {
        match rest.next_if(|chain| chain.from == at && chain.to <= to) {
            Some(chain) => {
                let below = items(chain.from, chain.to, rest);
                items_here.push(Item::Chain {
                    items: below,
                    name: Some(chain.name.into()),
                });
                at = chain.to;
            }
            None => {
                items_here.push(Item::Leaf);
                at += 1;
            }
        }
    }
    items_here
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(from: usize, to: usize) -> Remembered {
        Remembered {
            name: format!("{from}..{to}"),
            from,
            to,
        }
    }

    fn show(items: &[Item]) -> String {
        let parts = items.iter().map(|item| match item {
            Item::Leaf => ".".to_owned(),
            Item::Chain { items, .. } => format!("({})", show(items)),
        });
        parts.collect()
    }

    #[test]
    fn keys_of_today_stand_in_the_smallest_chain_around_them() {
        for (entries, chains, expected) in [
            (4, vec![], Some("....")),
            (6, vec![chain(0, 3), chain(3, 5)], Some("(...)(..).")),
            (
                6,
                vec![chain(3, 5), chain(0, 5), chain(0, 2)],
                Some("((..).(..))."),
            ),
            (3, vec![chain(0, 1), chain(1, 1)], Some("...")),
            (3, vec![chain(0, 3)], Some("...")),
            (6, vec![chain(0, 3), chain(2, 5)], None),
        ] {
            assert_eq!(shape(entries, chains).as_deref().map(show).as_deref(), expected);
        }
    }
}
