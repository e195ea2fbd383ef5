//! Whether two configurations decide every statement with a digest alike, though a digest does not tell how each decides it.
//!
//! The rules that may match such a statement are compared: those whose conditions on the session and the digest hold, in the
//! chains that they lead to. If both sides have the same ones in the same order, and nothing else differs, both make the same of
//! every statement.
//!
//! A pattern on the text decides between `tenant=7` and `tenant=8`, and the digest has neither. Yet with the same rules on both
//! sides, each statement meets the same ones.

use std::collections::{BTreeSet, HashMap};

use shardwright_rules::{Body, Chains, Configuration, Rule};

/// For each rule of two sides a number; rules that ask and do the same have the same one.
pub(super) struct Bodies {
    of: [Vec<usize>; 2],
}

impl Bodies {
    /// `None` if a rule cannot be compared.
    pub(super) fn of(sides: [&Configuration; 2]) -> Option<Self> {
        let mut known = HashMap::new();
        let mut number = |rule: &Rule| {
            let text = serde_json::to_string(&(rule.flag_in, &rule.body)).ok()?;
            let next = known.len();
            Some(*known.entry(text).or_insert(next))
        };
        let mut of_side = |side: &Configuration| -> Option<Vec<usize>> {
            side.graph.rules.iter().map(&mut number).collect()
        };
        Some(Self {
            of: [of_side(sides[0])?, of_side(sides[1])?],
        })
    }
}

/// One side of the comparison. `may_match`: whether the rule at a position may match a statement with the digest.
pub(super) struct Possible<'p> {
    pub(super) configuration: &'p Configuration,
    pub(super) chains: &'p Chains,
    pub(super) may_match: &'p dyn Fn(usize) -> bool,
}

/// Whether the rules that may match are the same on both sides.
pub(super) fn decides_alike(bodies: &Bodies, sides: [&Possible<'_>; 2]) -> bool {
    let [left, right] = [0, 1].map(|side: usize| {
        let positions = reachable(sides[side]).into_iter();
        positions.map(move |position| bodies.of[side][position])
    });
    left.eq(right)
}

/// The positions of the rules that may match, in order. Chains that a rule may lead to are followed from their beginning.
fn reachable(side: &Possible<'_>) -> BTreeSet<usize> {
    let rules = &side.configuration.graph.rules;
    let mut reached = BTreeSet::new();
    let mut flags = vec![0];
    let mut known: BTreeSet<u32> = flags.iter().copied().collect();
    while let Some(flag) = flags.pop() {
        let mut from = 0;
        while let Some(position) = side.chains.next(flag, from) {
            from = position + 1;
            if !(side.may_match)(position) {
                continue;
            }
            reached.insert(position);
            for next in leads_to(&rules[position]) {
                if known.insert(next) {
                    flags.push(next);
                }
            }
        }
    }
    reached
}

/// The chains that a rule may lead to. The steps of the bundled engine lead to none.
fn leads_to(rule: &Rule) -> impl Iterator<Item = u32> {
    let row = match &rule.body {
        Body::Engine(row) => Some(row),
        Body::Native { .. } => None,
    };
    row.into_iter().flat_map(|row| row.jumps())
}
