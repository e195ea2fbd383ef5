//! Patterns that are matched together, and where the walk goes from the rules that have them.
//!
//! # Idea
//!
//! Most rules of a compiled tree have one condition: a pattern that finds the key. These patterns begin alike, so they
//! are one [`shardwright_patterns::Family`] of the table's [`Pool`], which tells in one pass over the text which of its
//! members match. A decision asks it once, when the walk comes to the first rule with such a pattern. From then on the walk goes from one matching rule to the next.
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
//! either: the table knows what it does, and where a jump lands. Nor is one without a condition that does nothing else.
//!
//! A table that was not asked often has no families, because making them takes longer than a few decisions.

use std::sync::Arc;

use shardwright_rules::decide::{KnownAction, RulePatterns, asks_nothing, asks_only_text, only_action};
use shardwright_rules::{Body, Rule, RuleGraph};
use smallvec::SmallVec;

use crate::chains::Chains;
use crate::pool::{NONE, Pool, PoolFamilies};

/// Positions of rules, ascending.
pub(crate) type Positions = SmallVec<[u32; 64]>;

/// What a table knows of its rules once patterns are matched together.
#[derive(Debug)]
pub(crate) struct Runs {
    /// By position.
    pub(crate) rules: Box<[Place]>,
    /// By number of the pattern: where its rules begin in `positions`. Of rules that ask for nothing else.
    begins: Box<[u32]>,
    positions: Box<[u32]>,
}

/// What is known of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The family of its pattern.
    pub(crate) family: u32,
    pub(crate) flag: u32,
    /// How many rules of its chain stand before it.
    pub(crate) rank: u32,
    /// The first rule of its chain behind the run that this rule is in, and how many stand before that one. The rule
    /// itself where it is in none.
    pub(crate) end: u32,
    pub(crate) end_rank: u32,
    /// It has no condition, and does what [`Place::action`] tells.
    pub(crate) is_free: bool,
    /// What it does when it matches, where it asks for its pattern at most and does nothing else.
    pub(crate) action: Option<KnownAction>,
    /// The first rule of the chain that it jumps to, behind it.
    pub(crate) landing: u32,
    /// Many rules of its chain ask for a schema ([`Chains::of_schema`]).
    pub(crate) is_by_schema: bool,
}

impl Runs {
    /// `numbers`: of the patterns in the pool, by position.
    pub(crate) fn of(
        graph: &RuleGraph,
        patterns: &[Arc<RulePatterns>],
        numbers: &[u32],
        pool: &Pool,
        chains: &Chains,
    ) -> Self {
        let mut rules = places(graph, numbers, pool.families());
        for place in &mut rules {
            place.is_by_schema = chains.is_by_schema(place.flag);
        }
        set_ends(&mut rules, graph, patterns);
        set_actions(&mut rules, graph, patterns);
        let of_pattern = |position: &usize| {
            let number = numbers[*position];
            (number != NONE && runs(&graph.rules[*position], &patterns[*position])).then_some(number)
        };
        let mut sorted: Vec<(u32, u32)> = (0..rules.len())
            .filter_map(|position| Some((of_pattern(&position)?, position as u32)))
            .collect();
        sorted.sort_unstable();
        let begin = |number: usize| sorted.partition_point(|&(own, _)| (own as usize) < number) as u32;
        Self {
            rules: rules.into(),
            begins: (0..=pool.len()).map(begin).collect(),
            positions: sorted.iter().map(|&(_, position)| position).collect(),
        }
    }

    /// Adds the rules that ask for nothing but one of these patterns, ascending.
    pub(crate) fn add_with(&self, numbers: &[u32], positions: &mut Positions) {
        let mut longest = 1;
        // Of trees that stand behind each other, such as those of readers and writers, one rule of each pattern at a time:
        // the rules come in order as a rule.
        let mut nth = 0;
        while nth < longest {
            for &number in numbers {
                let own = self.with_pattern(number);
                longest = longest.max(own.len());
                positions.extend(own.get(nth).copied());
            }
            nth += 1;
        }
        if !positions.is_sorted() {
            positions.sort_unstable();
        }
    }

    fn with_pattern(&self, number: u32) -> &[u32] {
        let begin = |number: usize| self.begins.get(number).map_or(0, |&begin| begin as usize);
        let number = number as usize;
        self.positions
            .get(begin(number)..begin(number + 1))
            .unwrap_or_default()
    }
}

/// Each rule with its family, in no run.
fn places(graph: &RuleGraph, numbers: &[u32], families: &PoolFamilies) -> Vec<Place> {
    let mut lengths: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
    let place = |(rule, &number): (&Rule, &u32)| {
        let length = lengths.entry(rule.flag_in).or_default();
        *length += 1;
        Place {
            family: families.of(number),
            flag: rule.flag_in,
            rank: *length - 1,
            end: NONE,
            end_rank: NONE,
            is_free: false,
            action: None,
            landing: NONE,
            is_by_schema: false,
        }
    };
    graph.rules.iter().zip(numbers).map(place).collect()
}

fn set_ends(rules: &mut [Place], graph: &RuleGraph, patterns: &[Arc<RulePatterns>]) {
    // From behind, by flag: the rule that follows.
    let mut next: rustc_hash::FxHashMap<u32, usize> = rustc_hash::FxHashMap::default();
    for position in (0..rules.len()).rev() {
        let own = rules[position];
        let runs = |at: usize| rules[at].family == own.family && runs(&graph.rules[at], &patterns[at]);
        let follower = next.insert(own.flag, position);
        let (end, end_rank) = if own.family == NONE || !runs(position) {
            (position as u32, own.rank)
        } else {
            match follower {
                None => (NONE, own.rank + 1),
                Some(at) if runs(at) => (rules[at].end, rules[at].end_rank),
                Some(at) => (at as u32, rules[at].rank),
            }
        };
        rules[position].end = end;
        rules[position].end_rank = end_rank;
    }
}

fn set_actions(rules: &mut [Place], graph: &RuleGraph, patterns: &[Arc<RulePatterns>]) {
    let mut next: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
    for (position, rule) in graph.rules.iter().enumerate().rev() {
        let place = &mut rules[position];
        if let Body::Engine(row) = &rule.body {
            let is_free = asks_nothing(row, &patterns[position]);
            place.action = (is_free || asks_only_text(row, &patterns[position]))
                .then(|| only_action(row))
                .flatten();
            place.is_free = is_free && place.action.is_some();
        }
        if let Some(KnownAction::Jump(flag)) = place.action {
            place.landing = next.get(&flag).copied().unwrap_or(NONE);
        }
        next.insert(rule.flag_in, position as u32);
    }
}

/// Whether the only condition of a rule is a pattern over the text.
fn runs(rule: &Rule, patterns: &RulePatterns) -> bool {
    match &rule.body {
        Body::Engine(row) => asks_only_text(row, patterns),
        Body::Native { .. } => false,
    }
}
