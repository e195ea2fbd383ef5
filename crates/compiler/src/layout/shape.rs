//! The shape of a tree of chains: which keys a chain decides itself and which it passes on.
//!
//! Entries are numbered in the order of their keys. In comments, a number is a leaf and brackets are a chain:
//! `(0 1) 2` is a root chain of two items. The first item hands the entries 0 and 1 to a chain, the second
//! item decides the entry 2. Every entry stands in a tree exactly once.

/// One item of a chain: it either decides an entry or hands a run of entries to a chain of its own. Items are
/// tested in their order. A run may have gaps, for entries that stand elsewhere in the tree. The rule that
/// enters the chain does not match those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Decides the entry at this place.
    Leaf(u32),
    /// Hands entries on.
    Chain(Box<Chain>),
}

/// The items of a chain that another one hands entries to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Its items.
    pub items: Vec<Item>,
    /// What the lock file calls it, when it is remembered.
    pub name: Option<Box<str>>,
}

impl Item {
    /// A new chain.
    pub(crate) fn chain(items: Vec<Item>) -> Self {
        Item::Chain(Box::new(Chain { items, name: None }))
    }

    /// Calls `visit` with every entry below, in the order of the items.
    pub(crate) fn each(&self, visit: &mut impl FnMut(u32)) {
        match self {
            Item::Leaf(entry) => visit(*entry),
            Item::Chain(chain) => chain.items.iter().for_each(|item| item.each(visit)),
        }
    }

    /// The first and the last entry below, by place; `None` for a chain without any.
    pub(crate) fn span(&self) -> Option<(u32, u32)> {
        let mut span: Option<(u32, u32)> = None;
        self.each(&mut |entry| {
            span = Some(span.map_or((entry, entry), |(first, last)| {
                (first.min(entry), last.max(entry))
            }));
        });
        span
    }
}

/// The entries below items, ascending.
pub(crate) fn entries(items: &[Item]) -> Vec<u32> {
    let mut all = Vec::new();
    for item in items {
        item.each(&mut |entry| all.push(entry));
    }
    all.sort_unstable();
    all
}
