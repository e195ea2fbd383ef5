//! The shape of a tree of chains: which keys a chain decides itself and which it passes on.
//!
//! Entries are numbered in the order of their keys. In comments, a number is a leaf and brackets are a chain:
//! `(0 1) 2` is a root chain of two nodes. The first node hands the entries 0 and 1 to a chain, the second
//! node decides the entry 2. Every entry stands in a tree exactly once.

/// One node of a chain: it either decides an entry or hands a run of entries to a chain of its own. Nodes are
/// tested in their order. A run may have gaps, for entries that stand elsewhere in the tree. The rule that
/// enters the chain does not match those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Decides this entry.
    Leaf(u32),
    /// Hands entries on.
    Chain(Box<Chain>),
}

/// The nodes of a chain that another one hands entries to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// What the lock file calls it, when it is remembered.
    pub name: Option<Box<str>>,
}

impl Node {
    /// A new chain.
    pub(crate) fn chain(nodes: Vec<Node>) -> Self {
        Node::Chain(Box::new(Chain { nodes, name: None }))
    }

    /// Calls `visit` with every entry below, in the order of the nodes.
    pub(crate) fn each(&self, visit: &mut impl FnMut(u32)) {
        match self {
            Node::Leaf(entry) => visit(*entry),
            Node::Chain(chain) => chain.nodes.iter().for_each(|node| node.each(visit)),
        }
    }

    /// The first and the last entry below, by index; `None` for a chain without any.
    pub fn span(&self) -> Option<(u32, u32)> {
        let mut span: Option<(u32, u32)> = None;
        self.each(&mut |entry| {
            span = Some(span.map_or((entry, entry), |(first, last)| {
                (first.min(entry), last.max(entry))
            }));
        });
        span
    }
}

/// The entries below nodes, ascending.
pub fn entries(nodes: &[Node]) -> Vec<u32> {
    let mut all = Vec::new();
    for node in nodes {
        node.each(&mut |entry| all.push(entry));
    }
    all.sort_unstable();
    all
}
