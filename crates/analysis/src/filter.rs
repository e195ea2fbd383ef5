//! Leaves out the rules that a statement cannot match, because it lacks a text that their pattern needs: one search for
//! the needles of all patterns instead of a question to each.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use shardwright_patterns::Pattern;
use shardwright_rules::decide::{Index, RulePatterns};
use shardwright_rules::{Body, Cluster, Configuration, FastRoute, HostgroupId, Statement, User};

use crate::lookup::Lookup;

/// Rules that share a needle: what more of them need tells them apart no better than their chains do.
const MOST_SHARING: usize = 64;

/// Rules by what a statement must hold to match them.
#[derive(Debug)]
pub(crate) struct Filter {
    /// Positions of the rules without a needle, by flag, ascending.
    always: HashMap<u32, Vec<usize>>,
    digest: Needles,
    text: Needles,
}

/// Needles in one of the two texts.
#[derive(Debug, Default)]
struct Needles {
    search: Option<AhoCorasick>,
    /// By needle: positions of the rules that need it.
    rules: Vec<Vec<usize>>,
}

impl Filter {
    pub(crate) fn of(lookup: &Lookup<'_>) -> Self {
        let rules = &lookup.configuration().graph.rules;
        let rewritten = rules.iter().any(|rule| match &rule.body {
            Body::Engine(row) => row.replace_pattern.is_some(),
            Body::Native { .. } => false,
        });
        let mut wanted: Vec<[Vec<Vec<u8>>; 2]> = Vec::with_capacity(rules.len());
        let mut shared: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
        for (position, rule) in rules.iter().enumerate() {
            let mut needles = [Vec::new(), Vec::new()];
            if let Body::Engine(row) = &rule.body
                && !row.negate_match_pattern
            {
                let patterns = lookup.patterns(position);
                needles[0] = needles_of(patterns.of_digest());
                if !rewritten {
                    needles[1] = needles_of(patterns.of_text());
                }
            }
            for (side, needles) in needles.iter().enumerate() {
                for needle in needles {
                    *shared.entry((side, needle.clone())).or_insert(0) += 1;
                }
            }
            wanted.push(needles);
        }
        let mut always: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut chosen = [HashMap::new(), HashMap::new()];
        for (position, needles) in wanted.into_iter().enumerate() {
            let sides = needles.into_iter().enumerate();
            let all = sides.flat_map(|(side, needles)| needles.into_iter().map(move |needle| (side, needle)));
            // The one that the fewest rules share tells the most.
            let best = all.min_by_key(|key| (shared.get(key).copied(), usize::MAX - key.1.len()));
            match best.filter(|key| shared.get(key).is_some_and(|&rules| rules <= MOST_SHARING)) {
                Some((side, needle)) => chosen[side].entry(needle).or_insert_with(Vec::new).push(position),
                None => always.entry(rules[position].flag_in).or_default().push(position),
            }
        }
        let [digest, text] = chosen.map(Needles::of);
        Self { always, digest, text }
    }

    /// The positions of the rules with a needle that the statement holds, ascending.
    pub(crate) fn hits(&self, statement: &Statement<'_>) -> Vec<usize> {
        let mut hits = Vec::new();
        if self.digest.search.is_some() {
            self.digest.find(statement.digest_text(), &mut hits);
        }
        self.text.find(statement.text(), &mut hits);
        hits.sort_unstable();
        hits.dedup();
        hits
    }
}

fn needles_of<E>(patterns: &[Result<Pattern, E>]) -> Vec<Vec<u8>> {
    patterns.iter().flatten().flat_map(Pattern::needles).collect()
}

impl Needles {
    fn of(chosen: HashMap<Vec<u8>, Vec<usize>>) -> Self {
        let mut chosen: Vec<(Vec<u8>, Vec<usize>)> = chosen.into_iter().collect();
        chosen.sort_unstable();
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(chosen.iter().map(|(needle, _)| needle))
            .ok()
            .filter(|_| !chosen.is_empty());
        Self {
            search,
            rules: chosen.into_iter().map(|(_, rules)| rules).collect(),
        }
    }

    fn find(&self, text: &[u8], hits: &mut Vec<usize>) {
        let Some(search) = &self.search else {
            hits.extend(self.rules.iter().flatten());
            return;
        };
        for found in search.find_overlapping_iter(text) {
            hits.extend(&self.rules[found.pattern().as_usize()]);
        }
    }
}

/// The rules that one statement can match.
pub(crate) struct Filtered<'f, 'c> {
    pub(crate) lookup: &'f Lookup<'c>,
    pub(crate) filter: &'f Filter,
    /// Ascending.
    pub(crate) hits: Vec<usize>,
}

impl Index for Filtered<'_, '_> {
    fn configuration(&self) -> &Configuration {
        self.lookup.configuration()
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
