//! Figures of a compiled configuration, in the shape of `compile --stats`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use shardwright_rules::{Body, Configuration, ReadSelection, Rule, RuleGraph};

use crate::draft::ChainRef;
use crate::layout::shape::Price;
use crate::native::Program;
use crate::proxysql::{MapPlan, MapTree};

/// Figures of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// The engine's name.
    pub engine: &'static str,
    /// Rules.
    pub rules: usize,
    /// Chains: different `flag_in`.
    pub chains: usize,
    /// Rows of fast routing.
    pub fast_routing: usize,
    /// Hostgroups.
    pub hostgroups: usize,
    /// Servers, each counted once.
    pub servers: usize,
    /// Figures of each shard map, by name.
    pub shard_maps: BTreeMap<String, MapStats>,
}

/// Figures of one shard map. Means are over its keys; a range counts as one key. What is counted is a statement
/// `/* k=KEY */ SELECT 1 FROM t` from flag 0 to its decision, by a session that names no schema; patterns that users wrote
/// (raw rules, `reads: {only: …}`) are taken not to match it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapStats {
    /// `dispatch`, `tree`, `flat` or `fast_routing`.
    pub layout: &'static str,
    /// Keys and ranges.
    pub keys: u64,
    /// Rules that came from the map and its shards.
    pub rules: usize,
    /// Chains on the longest way through the tree.
    pub depth: usize,
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Most patterns evaluated.
    pub worst_evaluations: u32,
    /// Rules looked at, of other chains too.
    pub mean_visits: f64,
    /// By the engine's prices.
    pub mean_cost_ns: f64,
}

impl Stats {
    /// Counts a configuration.
    pub(crate) fn of(configuration: &Configuration, shard_maps: BTreeMap<String, MapStats>) -> Self {
        let flags: HashSet<u32> = configuration
            .graph
            .rules
            .iter()
            .map(|rule| rule.flag_in)
            .collect();
        let servers: HashSet<_> = configuration
            .hostgroups
            .iter()
            .flat_map(|hostgroup| hostgroup.members.iter().map(|member| &member.server))
            .collect();
        Self {
            engine: configuration.engine.name(),
            rules: configuration.graph.rules.len(),
            chains: flags.len(),
            fast_routing: configuration.graph.fast_routing.len(),
            hostgroups: configuration.hostgroups.len(),
            servers: servers.len(),
            shard_maps,
        }
    }
}

/// Keys of a map, ranges counted as one.
fn keys(program: &Program, map: usize) -> u64 {
    let shards = program.maps[map].step.shards.iter();
    shards
        .map(|shard| (shard.keys.len() + shard.ranges.len() + shard.remainders.len()) as u64)
        .sum()
}

/// Figures of the bundled engine: a look-up, without a pattern.
pub(crate) fn dispatched(program: &Program, graph: &RuleGraph, price: Price) -> BTreeMap<String, MapStats> {
    let figures = |(at, section): (usize, &crate::native::Section<Box<shardwright_rules::MapStep>>)| {
        let visits = graph
            .rules
            .iter()
            .position(|rule| rule.address == section.address)
            .map_or(0, |at| at + 1);
        let stats = MapStats {
            layout: "dispatch",
            keys: keys(program, at),
            rules: 1,
            depth: 1,
            mean_evaluations: 0.0,
            worst_evaluations: 0,
            mean_visits: visits as f64,
            mean_cost_ns: visits as f64 * price.visit_ns,
        };
        (section.step.map.clone(), stats)
    };
    program.maps.iter().enumerate().map(figures).collect()
}

/// A laid out program with what is needed to follow a key through it.
pub(crate) struct Laid<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its rules.
    pub graph: &'a RuleGraph,
    /// Flags of chains.
    pub flags: &'a HashMap<ChainRef, u32>,
    /// The trees of comment maps.
    pub trees: &'a [MapTree],
    /// What was decided for each map.
    pub plans: &'a [MapPlan],
}

impl Laid<'_> {
    /// Figures of every map.
    pub(crate) fn maps(
        &self,
        users: &HashMap<usize, String>,
        rows: &HashMap<usize, usize>,
        price: Price,
    ) -> BTreeMap<String, MapStats> {
        if self.graph.rules.is_empty() {
            return BTreeMap::new();
        }
        let mut rules_of: HashMap<&str, usize> = HashMap::new();
        for rule in &self.graph.rules {
            if let Some(name) = rule.address.as_str().strip_prefix("shard_maps.") {
                *rules_of
                    .entry(name.split('.').next().unwrap_or(name))
                    .or_default() += 1;
            }
        }
        let walk = Walk::over(self.graph);
        let mut maps = BTreeMap::new();
        for (at, section) in self.program.maps.iter().enumerate() {
            let user = users.get(&at).map_or("", String::as_str);
            let mut stats = MapStats {
                layout: self.plans[at].layout,
                keys: keys(self.program, at),
                rules: rules_of.get(section.step.map.as_str()).copied().unwrap_or(0),
                depth: self.plans[at]
                    .candidates
                    .first()
                    .map_or(1, |candidate| candidate.cost.depth),
                mean_evaluations: 0.0,
                worst_evaluations: 0,
                mean_visits: self.graph.rules.len() as f64,
                mean_cost_ns: self.graph.rules.len() as f64 * price.visit_ns,
            };
            if rows.get(&at).is_none_or(|&rows| rows == 0)
                && let Some(tree) = self.reference_tree(at)
            {
                self.follow(tree, user, &walk, price, &mut stats);
            }
            maps.insert(section.step.map.clone(), stats);
        }
        maps
    }

    /// The tree that a read takes: the readers' where there is one and the policy takes any read.
    fn reference_tree(&self, map: usize) -> Option<&MapTree> {
        let takes_any = self
            .program
            .roles
            .iter()
            .all(|policy| matches!(policy.step.reads, ReadSelection::All | ReadSelection::Except(_)));
        let mut trees = self.trees.iter().filter(|tree| tree.map == map);
        if takes_any {
            trees.next_back()
        } else {
            trees.next()
        }
    }

    fn follow(&self, tree: &MapTree, user: &str, walk: &Walk<'_>, price: Price, stats: &mut MapStats) {
        let mut before: HashMap<u32, u32> = HashMap::new();
        let (mut weight, mut evaluations, mut visits) = (0u64, 0u64, 0u64);
        for &(chain, at, keys) in &tree.leaves {
            let flag = self.flags[&chain];
            let position = walk.chains[&flag][at];
            let entered = walk.entered(flag, user, &mut before);
            let (behind, end) = walk.behind(position);
            let total = entered + walk.evaluations(flag, at, user) + behind;
            weight += keys;
            evaluations += u64::from(total) * keys;
            visits += (end as u64 + 1) * keys;
            stats.worst_evaluations = stats.worst_evaluations.max(total);
        }
        let weight = weight.max(1) as f64;
        stats.mean_evaluations = evaluations as f64 / weight;
        stats.mean_visits = visits as f64 / weight;
        stats.mean_cost_ns =
            stats.mean_evaluations * price.evaluation_ns + stats.mean_visits * price.visit_ns;
    }
}

/// The rules by chain, and who jumps where.
struct Walk<'a> {
    rules: &'a [Rule],
    /// Positions of a chain's rules.
    chains: HashMap<u32, Vec<usize>>,
    /// Positions of the rules that jump to a chain, and their places in their own chains.
    jumps: HashMap<u32, Vec<(usize, usize)>>,
}

impl<'a> Walk<'a> {
    fn over(graph: &'a RuleGraph) -> Self {
        let mut walk = Self {
            rules: &graph.rules,
            chains: HashMap::new(),
            jumps: HashMap::new(),
        };
        for (position, rule) in graph.rules.iter().enumerate() {
            let chain = walk.chains.entry(rule.flag_in).or_default();
            let place = chain.len();
            chain.push(position);
            if let Some(to) = jump(rule) {
                walk.jumps.entry(to).or_default().push((position, place));
            }
        }
        walk
    }

    /// Patterns evaluated on the way to a chain.
    fn entered(&self, flag: u32, user: &str, known: &mut HashMap<u32, u32>) -> u32 {
        if flag == 0 {
            return 0;
        }
        if let Some(&known) = known.get(&flag) {
            return known;
        }
        let Some(jumps) = self.jumps.get(&flag) else {
            return 0;
        };
        let of_user = |&&(position, _): &&(usize, usize)| matches!(&self.rules[position].body, Body::Engine(rule) if rule.username.as_deref() == Some(user));
        let last = jumps.iter().rfind(|(position, _)| {
            matches!(&self.rules[*position].body, Body::Engine(rule) if rule.username.is_none() && rule.schemaname.is_none())
        });
        let Some(&(position, place)) = jumps.iter().find(of_user).or(last) else {
            return 0;
        };
        let from = self.rules[position].flag_in;
        let evaluations = self.entered(from, user, known) + self.evaluations(from, place, user);
        known.insert(flag, evaluations);
        evaluations
    }

    /// Patterns evaluated in a chain up to and with the rule at `place`.
    fn evaluations(&self, flag: u32, place: usize, user: &str) -> u32 {
        self.chains[&flag][..=place]
            .iter()
            .map(|&position| patterns(&self.rules[position], user))
            .sum()
    }

    /// Patterns evaluated behind a leaf, and the position of the rule that decides in the end.
    fn behind(&self, leaf: usize) -> (u32, usize) {
        let mut position = leaf;
        let mut evaluations = 0;
        while let Some(chain) = jump(&self.rules[position]).and_then(|to| self.chains.get(&to)) {
            for &next in chain {
                position = next;
                evaluations += patterns(&self.rules[next], "");
                let Body::Engine(rule) = &self.rules[next].body else {
                    break;
                };
                let ends = rule.apply || rule.flag_out.is_some() || !rule.flag_outs.is_empty();
                let has_no_condition = rule.match_pattern.is_none()
                    && rule.match_digest.is_none()
                    && rule.schemaname.is_none()
                    && rule.username.is_none()
                    && rule.client_addr.is_none()
                    && rule.digest.is_none();
                if ends && has_no_condition {
                    break;
                }
            }
        }
        (evaluations, position)
    }
}

/// The chain that a rule goes on in.
fn jump(rule: &Rule) -> Option<u32> {
    match &rule.body {
        Body::Engine(rule) if !rule.apply => rule.flag_out,
        Body::Engine(_) | Body::Native { .. } => None,
    }
}

/// Patterns that one look at a rule runs, for a session of `user` without a schema.
fn patterns(rule: &Rule, user: &str) -> u32 {
    let Body::Engine(rule) = &rule.body else { return 0 };
    let passes = rule.username.as_deref().is_none_or(|name| name == user)
        && rule.schemaname.is_none()
        && rule.client_addr.is_none()
        && rule.digest.is_none();
    if passes {
        u32::from(rule.match_digest.is_some()) + u32::from(rule.match_pattern.is_some())
    } else {
        0
    }
}
