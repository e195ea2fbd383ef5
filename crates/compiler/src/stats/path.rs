//! What a statement pays on its path through the rules: to a chain, through it, and behind a leaf.

use std::collections::HashMap;

use shardwright_rules::{Body, PatternPrices, Rule, RuleGraph};

use super::evaluated::Evaluated;
use super::placed_read::{self, PlacedRead, patterns};

/// What a statement has paid so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    pub(super) evaluated: Evaluated,
    jumps: u32,
    /// Rules looked at up to the last restart; in the end, all.
    pub(super) visits: u64,
}

/// What has been counted for one user.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The statement takes the rules of flag 0 that recognise the usual statements of a map.
    is_usual: bool,
    /// Up to each chain.
    paths: HashMap<u32, Path>,
    /// Patterns of each chain, up to and with each of its rules.
    sums: HashMap<u32, Vec<Evaluated>>,
}

/// The rules by chain, and who jumps where.
pub(super) struct Paths<'a> {
    rules: &'a [Rule],
    prices: &'a PatternPrices,
    /// Positions of a chain's rules.
    chains: HashMap<u32, Vec<usize>>,
    /// Positions of the rules that jump to a chain.
    jumps: HashMap<u32, Vec<usize>>,
    iterations: u32,
}

impl Counted {
    /// Nothing yet, of usual statements or of others.
    pub(super) fn of(is_usual: bool) -> Self {
        Self {
            is_usual,
            ..Self::default()
        }
    }
}

impl<'a> Paths<'a> {
    pub(super) fn over(graph: &'a RuleGraph, iterations: u32, prices: &'a PatternPrices) -> Self {
        let mut paths = Self {
            rules: &graph.rules,
            prices,
            chains: HashMap::new(),
            jumps: HashMap::new(),
            iterations,
        };
        for (position, rule) in graph.rules.iter().enumerate() {
            paths.chains.entry(rule.flag_in).or_default().push(position);
            if let Some(to) = jump(rule) {
                paths.jumps.entry(to).or_default().push(position);
            }
        }
        paths
    }

    /// What is paid up to a chain.
    pub(super) fn entered(&self, flag: u32, user: &str, counted: &mut Counted) -> Path {
        if flag == 0 {
            return Path::default();
        }
        if let Some(&path) = counted.paths.get(&flag) {
            return path;
        }
        let Some(jumps) = self.jumps.get(&flag) else {
            return Path::default();
        };
        // Rules that recognise the usual statements of a map stand in front of the guards.
        let usual = jumps.iter().find(|&&position| {
            let rule = &self.rules[position];
            matches!(&rule.body, Body::Engine(row) if rule.flag_in == 0 && row.match_pattern.is_some() && row.schemaname.is_none()
                && row.username.as_deref().is_none_or(|name| name == user))
        });
        let is_usual = |&&position: &&usize| {
            let rule = &self.rules[position];
            rule.flag_in == 0 && matches!(&rule.body, Body::Engine(row) if row.match_pattern.is_some())
        };
        let jumps: Vec<usize> = jumps.iter().filter(|jump| !is_usual(jump)).copied().collect();
        let of_user = |&&position: &&usize| matches!(&self.rules[position].body, Body::Engine(rule) if rule.username.as_deref() == Some(user));
        // What places a statement without a key has no pattern for one; no statement that has keys takes it.
        let last = |keyed: bool| {
            jumps.iter().rfind(|&&position| {
                matches!(&self.rules[position].body, Body::Engine(rule) if rule.username.is_none() && rule.schemaname.is_none()
                    && (!keyed || rule.destination_hostgroup.is_none() || rule.match_pattern.is_some()))
            })
        };
        let opener = usual
            .filter(|_| counted.is_usual)
            .or_else(|| jumps.iter().find(of_user))
            .or_else(|| last(true))
            .or_else(|| last(false));
        let Some(&position) = opener else {
            return Path::default();
        };
        let from = self.rules[position].flag_in;
        let mut path = self.entered(from, user, counted);
        path.evaluated += self.evaluated(from, position, user, counted);
        self.jumped(position, &mut path);
        counted.paths.insert(flag, path);
        path
    }

    /// A jump starts over at the first rule while the engine has restarts left.
    fn jumped(&self, position: usize, path: &mut Path) {
        if path.jumps < self.iterations {
            path.visits += position as u64 + 1;
        }
        path.jumps += 1;
    }

    /// Patterns evaluated in a chain up to and with the rule at `position`.
    pub(super) fn evaluated(
        &self,
        flag: u32,
        position: usize,
        user: &str,
        counted: &mut Counted,
    ) -> Evaluated {
        let chain = &self.chains[&flag];
        let sums = counted.sums.entry(flag).or_insert_with(|| {
            let mut sum = Evaluated::default();
            let add = |&rule: &usize| {
                sum += patterns(&self.rules[rule], user, self.prices);
                sum
            };
            chain.iter().map(add).collect()
        });
        sums[chain.partition_point(|&rule| rule < position)]
    }

    /// The path from a leaf to the rule that decides in the end, or to the last rule of all.
    pub(super) fn behind(&self, leaf: usize, mut path: Path, placed: &PlacedRead<'_>) -> Path {
        let mut position = leaf;
        while let Some(chain) = jump(&self.rules[position]).and_then(|to| self.chains.get(&to)) {
            self.jumped(position, &mut path);
            let last = chain
                .iter()
                .copied()
                .find(|&next| placed_read::ends(&self.rules[next]));
            let looked_at = chain
                .iter()
                .take_while(|&&next| last.is_none_or(|last| next <= last));
            path.evaluated += looked_at
                .map(|&next| match &self.rules[next].body {
                    Body::Engine(_) => patterns(&self.rules[next], "", self.prices),
                    Body::Native { .. } => placed.patterns(&self.rules[next], self.prices),
                })
                .sum::<Evaluated>();
            let Some(last) = last else {
                path.visits += self.rules.len() as u64;
                return path;
            };
            position = last;
        }
        path.visits += position as u64 + 1;
        path
    }
}

/// The chain that a rule goes on in.
fn jump(rule: &Rule) -> Option<u32> {
    match &rule.body {
        Body::Engine(rule) if !rule.apply => rule.flag_out,
        Body::Engine(_) | Body::Native { .. } => None,
    }
}
