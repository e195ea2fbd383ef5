//! Patterns that are matched together, and what a decision remembers of them.
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
//! A rule that matches and does nothing but jump to another chain is not touched either: its family knows the jump, and
//! where the walk lands. This holds only where nobody asks for the path.
//!
//! A table that was not asked often has no families, because making them takes longer than a few decisions.

use std::cell::RefCell;
use std::sync::Arc;

use shardwright_patterns::Family;
use shardwright_rules::decide::{
    Index, NextRule, RulePatterns, ShardOfKey, Subject, asks_only_text, only_jumps,
};
use shardwright_rules::{
    Body, Cluster, Configuration, FastRoute, HostgroupId, KeyRef, Rule, RuleGraph, Shard, User,
};
use smallvec::SmallVec;

use crate::RoutingTable;

/// No family, no rule.
const NONE: u32 = u32::MAX;

/// The families of a table, and the runs of rules whose only condition is a member of one.
#[derive(Debug, Default)]
pub(crate) struct Families {
    families: Vec<Family>,
    /// By position; empty where there are no families.
    rules: Vec<Place>,
}

/// What the families know of a rule.
#[derive(Clone, Copy, Debug)]
struct Place {
    family: u32,
    flag: u32,
    /// How many rules of its chain stand before it.
    rank: u32,
    /// The first rule of its chain behind the run that this rule is in, and how many stand before that one. The rule
    /// itself where it is in none.
    end: u32,
    end_rank: u32,
    /// The chain that the rule jumps to, where it asks only for its pattern and does nothing else.
    jump: u32,
    /// The first rule of that chain behind it.
    landing: u32,
}

impl Families {
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
                jump: NONE,
                landing: NONE,
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
            if let Body::Engine(row) = &graph.rules[position].body
                && end as usize != position
                && let Some(jump) = only_jumps(row)
            {
                let landing = match jump == own.flag {
                    true => follower,
                    false => next.get(&jump).copied(),
                };
                rules[position].jump = jump;
                rules[position].landing = landing.map_or(NONE, |at| at as u32);
            }
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

    pub(crate) fn is_empty(&self) -> bool {
        self.families.is_empty()
    }
}

/// Whether the only condition of a rule is a pattern over the text.
fn runs(rule: &Rule, patterns: &RulePatterns) -> bool {
    match &rule.body {
        Body::Engine(row) => asks_only_text(row, patterns),
        Body::Native { .. } => false,
    }
}

/// The pattern over the text of an engine's rule, if it has one that can be run.
fn text_pattern(rule: &RulePatterns) -> Option<&shardwright_patterns::Pattern> {
    match rule.of_text() {
        [Ok(pattern)] => Some(pattern),
        _ => None,
    }
}

/// Positions of the rules of a family that match, ascending; `None` where the family did not tell.
type Matches = Option<SmallVec<[u32; 24]>>;

/// A table, and what the families have told of one statement.
pub(crate) struct Recall<'t> {
    table: &'t RoutingTable,
    families: &'t Families,
    told: RefCell<Told>,
}

/// What the families have told of one text.
#[derive(Default)]
struct Told {
    /// As in [`Subject`].
    rewrites: u32,
    matches: SmallVec<[(u32, Matches); 1]>,
}

impl<'t> Recall<'t> {
    pub(crate) fn new(table: &'t RoutingTable, families: &'t Families) -> Self {
        Self {
            table,
            families,
            told: RefCell::default(),
        }
    }

    /// Asks the family, or what it has told of this text.
    fn with_matches<R>(
        &self,
        family: u32,
        subject: Subject<'_>,
        read: impl FnOnce(&[u32]) -> R,
    ) -> Option<R> {
        let told = &mut *self.told.borrow_mut();
        if told.rewrites != subject.rewrites {
            told.rewrites = subject.rewrites;
            told.matches.clear();
        }
        let at = match told.matches.iter().position(|(known, _)| *known == family) {
            Some(at) => at,
            None => {
                told.matches.push((family, self.ask(family, subject.text)));
                told.matches.len() - 1
            }
        };
        told.matches[at].1.as_deref().map(read)
    }

    fn ask(&self, family: u32, text: &[u8]) -> Matches {
        let family = self.families.families.get(family as usize)?;
        let mut matches = SmallVec::new();
        let pattern = |number: u32| text_pattern(self.table.patterns.get(number as usize)?);
        family
            .matching(text, pattern, |position| matches.push(position))
            .then(|| {
                matches.sort_unstable();
                matches.dedup();
                matches
            })
    }
}

impl Index for Recall<'_> {
    fn next_candidate(&self, flag: u32, from: usize, subject: Subject<'_>) -> NextRule {
        let rules = &self.families.rules;
        let before = from.checked_sub(1).and_then(|before| rules.get(before));
        let position = match before {
            Some(before) if before.jump == flag && flag != NONE => {
                (before.landing != NONE).then_some(before.landing as usize)
            }
            _ => self.table.next_rule(flag, from),
        };
        let asked = NextRule { position, passed: 0 };
        let Some(position) = position else { return asked };
        let first = rules[position];
        if first.end as usize == position {
            return asked;
        }
        let next = self.with_matches(first.family, subject, |matches| {
            let behind = &matches[matches.partition_point(|&at| (at as usize) < position)..];
            let matching = behind.iter().find(|&&at| rules[at as usize].flag == flag);
            match matching {
                Some(&at) if at < first.end => NextRule {
                    position: Some(at as usize),
                    passed: rules[at as usize].rank - first.rank,
                },
                _ => NextRule {
                    position: (first.end != NONE).then_some(first.end as usize),
                    passed: first.end_rank - first.rank,
                },
            }
        });
        next.unwrap_or(asked)
    }

    fn known_match(&self, position: usize, subject: Subject<'_>) -> Option<bool> {
        let family = self.families.rules.get(position)?.family;
        if family == NONE {
            return None;
        }
        self.with_matches(family, subject, |matches| {
            matches.binary_search(&(position as u32)).is_ok()
        })
    }

    fn known_jump(&self, position: usize, subject: Subject<'_>) -> Option<u32> {
        let rule = self.families.rules.get(position)?;
        if rule.jump == NONE {
            return None;
        }
        let is_match = self.known_match(position, subject)?;
        is_match.then_some(rule.jump)
    }

    fn configuration(&self) -> &Configuration {
        self.table.configuration()
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        self.table.patterns(position)
    }

    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        self.table.next_rule(flag, from)
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.table.user(name)
    }

    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.table.cluster(name)
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.table.cluster_of(hostgroup)
    }

    fn shard(&self, position: usize, key: &KeyRef<'_>) -> Option<ShardOfKey<'_>> {
        self.table.shard(position, key)
    }

    fn shard_of_schema(&self, position: usize, name: &str) -> Option<&Shard> {
        self.table.shard_of_schema(position, name)
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        self.table.fast_route(user, schema, flag)
    }
}
