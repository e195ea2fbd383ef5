//! Leaves out the rules that a statement cannot match, because it lacks a text that their pattern needs: one search for
//! the needles of all patterns instead of a question to each.

use std::collections::{HashMap, HashSet};

use shardwright_patterns::Pattern;
use shardwright_rules::decide::{Index, RulePatterns};
use shardwright_rules::{Body, Cluster, Configuration, FastRoute, HostgroupId, Statement, User, told_apart};
use shardwright_sql::DigestOptions;

use super::Lookup;
use crate::needles::{Needles, rarest};

/// Rules by what a statement must hold to match them.
#[derive(Debug)]
pub(super) struct Filter {
    /// Positions of the rules without a needle, by flag, ascending.
    always: HashMap<u32, Vec<usize>>,
    digest: Needles,
    text: Needles,
    /// How digests are made.
    digests: DigestOptions,
}

impl Filter {
    pub(super) fn of(lookup: &Lookup<'_>) -> Self {
        let rules = &lookup.configuration().graph.rules;
        let digests = lookup.configuration().digests();
        // Only the rule behind a mark reads the marked text.
        let (marks, answers): (HashSet<usize>, HashSet<usize>) =
            told_apart(rules).map(|pair| (pair.mark, pair.answer)).unzip();
        let rewritten = rules.iter().enumerate().any(|(position, rule)| match &rule.body {
            Body::Engine(row) => row.replace_pattern.is_some() && !marks.contains(&position),
            Body::Native { .. } => false,
        });
        let mut wanted: Vec<Vec<(usize, Vec<u8>)>> = Vec::with_capacity(rules.len());
        for (position, rule) in rules.iter().enumerate() {
            let mut needles = Vec::new();
            if let Body::Engine(row) = &rule.body
                && !row.negate_match_pattern
            {
                let patterns = lookup.patterns(position);
                if digests.is_some() {
                    needles.extend(needles_of(patterns.of_digest()).map(|needle| (0, needle)));
                }
                if !rewritten && !answers.contains(&position) {
                    needles.extend(needles_of(patterns.of_text()).map(|needle| (1, needle)));
                }
            }
            wanted.push(needles);
        }
        let mut always: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut chosen = [HashMap::new(), HashMap::new()];
        for (position, needle) in rarest(wanted).into_iter().enumerate() {
            match needle {
                Some((side, needle)) => chosen[side].entry(needle).or_insert_with(Vec::new).push(position),
                None => always.entry(rules[position].flag_in).or_default().push(position),
            }
        }
        let [digest, text] = chosen.map(Needles::of);
        Self {
            always,
            digest,
            text,
            digests: digests.unwrap_or_default(),
        }
    }

    /// The positions of the rules with a needle that the statement holds, ascending.
    pub(super) fn hits(&self, statement: &Statement<'_>) -> Vec<usize> {
        let mut hits = Vec::new();
        if !self.digest.is_empty() {
            self.digest
                .find(&statement.digest_under(&self.digests).text, &mut hits);
        }
        self.text.find(statement.text(), &mut hits);
        hits.sort_unstable();
        hits.dedup();
        hits
    }
}

fn needles_of<E>(patterns: &[Result<Pattern, E>]) -> impl Iterator<Item = Vec<u8>> {
    patterns.iter().flatten().flat_map(Pattern::needles)
}

/// The rules that one statement can match.
pub(super) struct Filtered<'f, 'c> {
    pub(super) lookup: &'f Lookup<'c>,
    pub(super) filter: &'f Filter,
    /// Ascending.
    pub(super) hits: Vec<usize>,
}

impl Index for Filtered<'_, '_> {
    fn configuration(&self) -> &Configuration {
        self.lookup.configuration()
    }

    fn most_steps(&self) -> u64 {
        self.lookup.most_steps()
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        self.lookup.patterns(position)
    }

    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        let rules = &self.configuration().graph.rules;
        let behind = &self.hits[self.hits.partition_point(|&position| position < from)..];
        let hit = behind
            .iter()
            .copied()
            .find(|&position| rules[position].flag_in == flag);
        let always = self.filter.always.get(&flag).and_then(|chain| {
            chain
                .get(chain.partition_point(|&position| position < from))
                .copied()
        });
        match (hit, always) {
            (Some(hit), Some(always)) => Some(hit.min(always)),
            (hit, always) => hit.or(always),
        }
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.lookup.user(name)
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.lookup.cluster_of(hostgroup)
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        self.lookup.fast_route(user, schema, flag)
    }
}
