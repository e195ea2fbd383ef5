//! Patterns that are matched together, and where the walk goes from the rules that have them.
//!
//! # Idea
//!
//! Most rules of a compiled tree have one condition: a pattern that finds the key. These patterns begin alike, so they
//! are one [`Family`], which tells in one pass over the text which of its members match. A decision asks it once, when
//! the walk comes to the first rule with such a pattern. From then on the walk goes from one matching rule to the next.
//! It counts the rules between them, whose patterns the engine runs in vain, without touching them.
//!
//! # Invariant
//!
//! A rule is passed only if its one condition is a pattern over the text ([`asks_only_text`]) and its family has told
//! that the pattern does not match the text as rewritten so far. A run ends at the first rule of the chain that is not
//! such a rule of the same family, and the walk stops there. So the walk sees every rule that could do something, in
//! order, and the counts of evaluations and visits are those of the walk that asks each rule.
//!
//! # Example
//!
//! A chain has the rules 4 to 9. Of these, 4 to 8 ask only for keys `1` to `5`, and 9 refuses what is left. For the key
//! 3 the family tells that of its members only rule 6 matches. From 4 the walk goes to 6 and counts two patterns. For
//! the key 7 it goes to 9 and counts five.
//!
//! A rule that matches and does nothing but jump to another chain, or name a hostgroup and end the walk, is not touched
//! either: the table knows what it does, and where a jump lands. This holds only where nobody asks for the path.
//!
//! A table that was not asked often has no families, because making them takes longer than a few decisions.

use std::sync::Arc;

use shardwright_patterns::Family;
use shardwright_rules::decide::{KnownAction, RulePatterns, asks_only_text, only_action};
use shardwright_rules::{Body, Rule, RuleGraph};

/// No family, no rule.
pub(crate) const NONE: u32 = u32::MAX;

/// The families of a table, and the runs of rules whose only condition is a member of one.
#[derive(Debug, Default)]
pub(crate) struct Families {
    pub(crate) families: Vec<Family>,
    /// By position; empty where there are no families.
    pub(crate) rules: Vec<Place>,
}

/// What the families know of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) family: u32,
    pub(crate) flag: u32,
    /// How many rules of its chain stand before it.
    pub(crate) rank: u32,
    /// The first rule of its chain behind the run that this rule is in, and how many stand before that one. The rule
    /// itself where it is in none.
    pub(crate) end: u32,
    pub(crate) end_rank: u32,
}

impl Families {
    pub(crate) const NONE: Self = Self {
        families: Vec::new(),
        rules: Vec::new(),
    };

    /// Sorts the patterns over the text into families.
    pub(crate) fn among(graph: &RuleGraph, patterns: &[Arc<RulePatterns>]) -> Self {
        let members = patterns.iter().enumerate();
        let families = Family::among(
            members.filter_map(|(position, rule)| Some((position as u32, text_pattern(rule)?))),
        );
        if families.is_empty() {
            return Self::default();
        }
        let mut rules: Vec<Place> = Vec::with_capacity(graph.rules.len());
        let mut lengths: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
        for rule in &graph.rules {
            let length = lengths.entry(rule.flag_in).or_default();
            rules.push(Place {
                family: NONE,
                flag: rule.flag_in,
                rank: *length,
                end: NONE,
                end_rank: NONE,
            });
            *length += 1;
        }
        for (number, family) in families.iter().enumerate() {
            for &member in family.members() {
                rules[member as usize].family = number as u32;
            }
        }
        // From behind: by flag, the position and the rank of the rule that follows, `NONE` and the length at the end.
        let mut behind = lengths;
        let mut next: rustc_hash::FxHashMap<u32, usize> = rustc_hash::FxHashMap::default();
        for position in (0..rules.len()).rev() {
            let own = rules[position];
            let runs = |at: usize| rules[at].family == own.family && runs(&graph.rules[at], &patterns[at]);
            let follower = next.insert(own.flag, position);
            let (end, end_rank) = if own.family == NONE || !runs(position) {
                (position as u32, own.rank)
            } else {
                match follower {
                    None => (NONE, behind.remove(&own.flag).unwrap_or(own.rank + 1)),
                    Some(at) if runs(at) => (rules[at].end, rules[at].end_rank),
                    Some(at) => (at as u32, rules[at].rank),
                }
            };
            rules[position].end = end;
            rules[position].end_rank = end_rank;
        }
        Self { families, rules }
    }

    /// Whether the families of a table are also those of another that has the same patterns in the same order, as far as
    /// these two rules are concerned.
    pub(crate) fn stand_alike(one: (&Rule, &RulePatterns), other: (&Rule, &RulePatterns)) -> bool {
        one.0.flag_in == other.0.flag_in && runs(one.0, one.1) == runs(other.0, other.1)
    }

    /// Whether the rule at `position` is a member of one.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.rules.get(position).is_some_and(|place| place.family != NONE)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.families.is_empty()
    }
}

/// What a rule does, where it asks only for its pattern and does nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action {
    pub(crate) known: Option<KnownAction>,
    /// The first rule of the chain that it jumps to, behind it.
    pub(crate) landing: u32,
}

/// By position. Tables that share families can differ in these.
pub(crate) fn actions(graph: &RuleGraph, patterns: &[Arc<RulePatterns>]) -> Vec<Action> {
    let mut next: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
    let mut actions: Vec<Action> = Vec::with_capacity(graph.rules.len());
    for (position, rule) in graph.rules.iter().enumerate().rev() {
        let known = match &rule.body {
            Body::Engine(row) if asks_only_text(row, &patterns[position]) => only_action(row),
            _ => None,
        };
        let landing = match known {
            Some(KnownAction::Jump(flag)) => next.get(&flag).copied(),
            _ => None,
        };
        actions.push(Action {
            known,
            landing: landing.unwrap_or(NONE),
        });
        next.insert(rule.flag_in, position as u32);
    }
    actions.reverse();
    actions
}

/// Whether the only condition of a rule is a pattern over the text.
fn runs(rule: &Rule, patterns: &RulePatterns) -> bool {
    match &rule.body {
        Body::Engine(row) => asks_only_text(row, patterns),
        Body::Native { .. } => false,
    }
}

/// The pattern over the text of an engine's rule, if it has one that can be run.
pub(crate) fn text_pattern(rule: &RulePatterns) -> Option<&shardwright_patterns::Pattern> {
    match rule.of_text() {
        [Ok(pattern)] => Some(pattern),
        _ => None,
    }
}
