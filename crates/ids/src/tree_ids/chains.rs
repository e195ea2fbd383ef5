//! What is known of the rules of a tree before they have ids.

/// A rule of a tree.
#[derive(Clone, Debug)]
pub struct TreeRule<'n> {
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

/// Two ids that others have: those of the tree lie between them.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The ids are greater than this one.
    pub above: u32,
    /// The ids are less than this one.
    pub below: u32,
}

/// The rules of a tree by chain.
#[derive(Debug)]
pub(super) struct Chains<'r, 'n> {
    /// Every rule.
    pub rules: &'r [TreeRule<'n>],
    /// The rules of each chain, in the order in which they should be tested.
    pub of_chain: Vec<Vec<usize>>,
    /// The rule that jumps to each chain; none: the root.
    pub opener: Vec<Option<usize>>,
    /// Where the ids of the tree lie.
    pub bounds: Bounds,
}

impl<'r, 'n> Chains<'r, 'n> {
    pub(super) fn of(rules: &'r [TreeRule<'n>], bounds: Bounds) -> Self {
        let chains = rules.iter().map(|rule| rule.chain + 1).max().unwrap_or(0);
        let mut of_chain: Vec<Vec<usize>> = vec![Vec::new(); chains];
        let mut opener: Vec<Option<usize>> = vec![None; chains];
        for (at, rule) in rules.iter().enumerate() {
            of_chain[rule.chain].push(at);
            if let Some(opens) = rule.opens {
                opener[opens] = Some(at);
            }
        }
        Self {
            rules,
            of_chain,
            opener,
            bounds,
        }
    }

    /// The pinned id of a rule, where it lies inside the bounds.
    pub(super) fn locked(&self, at: usize) -> Option<u32> {
        let Bounds { above, below } = self.bounds;
        self.rules[at].locked.filter(|&id| above < id && id < below)
    }

    /// The rules of a chain without those that end it.
    pub(super) fn tests(&self, chain: usize) -> impl DoubleEndedIterator<Item = usize> {
        let rules = self.of_chain[chain].iter().copied();
        rules.filter(|&at| !self.rules[at].ends)
    }
}
