//! Figures of a compiled configuration, in the shape of `compile --stats`.

mod passed;
mod rows;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use shardwright_layout::Price;
use shardwright_rules::{Body, Configuration, ReadSelection, Rule, RuleGraph};

use crate::assemble::Numbered;
use crate::native::Program;
use crate::proxysql::{MapPlan, MapTree};
use passed::Passing;

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

/// Figures of one shard map. Means are over its keys, of which a range counts as one; under traffic each counts as often
/// as it was asked for. What is counted is a statement
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
    /// Under traffic, the means over keys that count alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniform: Option<Means>,
}

/// Means over keys that count alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Means {
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Rules looked at.
    pub mean_visits: f64,
    /// By the engine's prices.
    pub mean_cost_ns: f64,
}

impl Means {
    fn of(sums: Sums, price: Price) -> Self {
        let weight = if sums.weight > 0.0 { sums.weight } else { 1.0 };
        let (mean_evaluations, mean_visits) = (sums.evaluations / weight, sums.visits / weight);
        Self {
            mean_evaluations,
            mean_visits,
            mean_cost_ns: price.ns(mean_evaluations, mean_visits, 0.0),
        }
    }
}

/// Sums over keys, each times its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: f64,
    evaluations: f64,
    visits: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, way: Way) {
        self.weight += weight;
        self.evaluations += weight * f64::from(way.evaluations);
        self.visits += weight * way.visits as f64;
    }
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
        Self {
            engine: configuration.engine.name(),
            rules: configuration.graph.rules.len(),
            chains: flags.len(),
            fast_routing: configuration.graph.fast_routing.len(),
            hostgroups: configuration.hostgroups.len(),
            servers: configuration.server_count(),
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
        let passing = Passing::of(program, at);
        let map = graph
            .rules
            .iter()
            .position(|rule| rule.address == section.address);
        let visits = map.map_or(0, |map| passed::visits(&graph.rules, 0, map + 1));
        let evaluations = graph.rules[..visits]
            .iter()
            .filter(|rule| rule.flag_in == 0)
            .map(|rule| passing.patterns(rule))
            .sum::<u32>();
        let stats = MapStats {
            layout: "dispatch",
            keys: keys(program, at),
            rules: 1,
            depth: 1,
            mean_evaluations: f64::from(evaluations),
            worst_evaluations: evaluations,
            mean_visits: visits as f64,
            mean_cost_ns: price.ns(f64::from(evaluations), visits as f64, 1.0),
            uniform: None,
        };
        (section.step.map.clone(), stats)
    };
    program.maps.iter().enumerate().map(figures).collect()
}

/// Puts in what statements that fast routing places pay for the rules that they pass.
pub(crate) fn count_rows(
    maps: &mut BTreeMap<String, MapStats>,
    configuration: &Configuration,
    users: impl Fn(&str) -> String,
    price: Price,
) {
    for (name, stats) in maps
        .iter_mut()
        .filter(|(_, stats)| stats.layout == "fast_routing")
    {
        let paid = rows::paid(configuration, &format!("shard_maps.{name}"), &users(name));
        if paid.is_empty() {
            continue;
        }
        let mean = |sum: u64| sum as f64 / paid.len() as f64;
        stats.mean_evaluations = mean(paid.iter().map(|paid| u64::from(paid.evaluations)).sum());
        stats.mean_visits = mean(paid.iter().map(|paid| u64::from(paid.visits)).sum());
        stats.worst_evaluations = paid.iter().map(|paid| paid.evaluations).max().unwrap_or(0);
        stats.mean_cost_ns = price.ns(stats.mean_evaluations, stats.mean_visits, 1.0);
    }
}

/// A laid out program with what is needed to follow a key through it.
pub(crate) struct Laid<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its rules.
    pub numbered: &'a Numbered,
    /// The trees of comment maps.
    pub trees: &'a [MapTree],
    /// What was decided for each map.
    pub plans: &'a [MapPlan],
    /// Restarts after jumps.
    pub iterations: u32,
    /// The engine's prices.
    pub price: Price,
}

impl Laid<'_> {
    /// Figures of every map.
    pub(crate) fn maps(
        &self,
        users: &HashMap<usize, String>,
        rows: &HashMap<usize, usize>,
    ) -> BTreeMap<String, MapStats> {
        let graph = &self.numbered.graph;
        if graph.rules.is_empty() {
            return BTreeMap::new();
        }
        let mut rules_of: HashMap<&str, usize> = HashMap::new();
        for rule in &graph.rules {
            if let Some(name) = rule.address.as_str().strip_prefix("shard_maps.") {
                *rules_of
                    .entry(name.split('.').next().unwrap_or(name))
                    .or_default() += 1;
            }
        }
        let walk = Walk::over(graph, self.iterations);
        let mut maps = BTreeMap::new();
        for (at, section) in self.program.maps.iter().enumerate() {
            let user = users.get(&at).map_or("", String::as_str);
            let visits = graph.rules.len() as f64;
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
                mean_visits: visits,
                mean_cost_ns: self.price.ns(0.0, visits, 1.0),
                uniform: None,
            };
            if rows.get(&at).is_none_or(|&rows| rows == 0)
                && let Some(tree) = self.reference_tree(at)
            {
                self.follow(tree, user, &walk, &mut stats);
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

    fn follow(&self, tree: &MapTree, user: &str, walk: &Walk<'_>, stats: &mut MapStats) {
        let mut known = Known::default();
        let (mut uniform, mut weighted) = (Sums::default(), Sums::default());
        let plan = &self.plans[tree.map];
        let passing = Passing::of(self.program, tree.map);
        for &(chain, at, entry) in &tree.leaves {
            let flag = self.numbered.flags[&chain];
            let position = self.numbered.places[&chain][at as usize] as usize;
            let mut way = walk.entered(flag, user, &mut known);
            way.evaluations += walk.evaluations(flag, position, user, &mut known);
            let way = walk.behind(position, way, &passing);
            uniform.add(plan.entries[entry as usize].keys() as f64, way);
            if let Some(hits) = plan.weights.hits() {
                weighted.add(hits[entry as usize], way);
            }
            stats.worst_evaluations = stats.worst_evaluations.max(way.evaluations);
        }
        let alike = Means::of(uniform, self.price);
        let means = match plan.weights.hits() {
            Some(_) => Means::of(weighted, self.price),
            None => alike,
        };
        stats.uniform = plan.weights.hits().map(|_| alike);
        stats.mean_evaluations = means.mean_evaluations;
        stats.mean_visits = means.mean_visits;
        stats.mean_cost_ns = means.mean_cost_ns;
    }
}

/// What a statement has paid so far.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    evaluations: u32,
    jumps: u32,
    /// Rules looked at up to the last restart; in the end, all.
    visits: u64,
}

/// What has been counted for one user.
#[derive(Debug, Default)]
struct Known {
    /// Up to each chain.
    ways: HashMap<u32, Way>,
    /// Patterns of each chain, up to and with each of its rules.
    sums: HashMap<u32, Vec<u32>>,
}

/// The rules by chain, and who jumps where.
struct Walk<'a> {
    rules: &'a [Rule],
    /// Positions of a chain's rules.
    chains: HashMap<u32, Vec<usize>>,
    /// Positions of the rules that jump to a chain.
    jumps: HashMap<u32, Vec<usize>>,
    iterations: u32,
}

impl<'a> Walk<'a> {
    fn over(graph: &'a RuleGraph, iterations: u32) -> Self {
        let mut walk = Self {
            rules: &graph.rules,
            chains: HashMap::new(),
            jumps: HashMap::new(),
            iterations,
        };
        for (position, rule) in graph.rules.iter().enumerate() {
            walk.chains.entry(rule.flag_in).or_default().push(position);
            if let Some(to) = jump(rule) {
                walk.jumps.entry(to).or_default().push(position);
            }
        }
        walk
    }

    /// What is paid on the way to a chain.
    fn entered(&self, flag: u32, user: &str, known: &mut Known) -> Way {
        if flag == 0 {
            return Way::default();
        }
        if let Some(&known) = known.ways.get(&flag) {
            return known;
        }
        let Some(jumps) = self.jumps.get(&flag) else {
            return Way::default();
        };
        let of_user = |&&position: &&usize| matches!(&self.rules[position].body, Body::Engine(rule) if rule.username.as_deref() == Some(user));
        // What places a statement without a key has no pattern for one; it is not the way of a statement that has keys.
        let last = |keyed: bool| {
            jumps.iter().rfind(|&&position| {
                matches!(&self.rules[position].body, Body::Engine(rule) if rule.username.is_none() && rule.schemaname.is_none()
                    && (!keyed || rule.destination_hostgroup.is_none() || rule.match_pattern.is_some()))
            })
        };
        let found = jumps
            .iter()
            .find(of_user)
            .or_else(|| last(true))
            .or_else(|| last(false));
        let Some(&position) = found else {
            return Way::default();
        };
        let from = self.rules[position].flag_in;
        let mut way = self.entered(from, user, known);
        way.evaluations += self.evaluations(from, position, user, known);
        self.jumped(position, &mut way);
        known.ways.insert(flag, way);
        way
    }

    /// A jump starts over at the first rule while the engine has restarts left.
    fn jumped(&self, position: usize, way: &mut Way) {
        if way.jumps < self.iterations {
            way.visits += position as u64 + 1;
        }
        way.jumps += 1;
    }

    /// Patterns evaluated in a chain up to and with the rule at `position`.
    fn evaluations(&self, flag: u32, position: usize, user: &str, known: &mut Known) -> u32 {
        let chain = &self.chains[&flag];
        let sums = known.sums.entry(flag).or_insert_with(|| {
            let mut sum = 0;
            let add = |&rule: &usize| {
                sum += patterns(&self.rules[rule], user);
                sum
            };
            chain.iter().map(add).collect()
        });
        sums[chain.partition_point(|&rule| rule < position)]
    }

    /// The way from a leaf to the rule that decides in the end, or to the last rule of all.
    fn behind(&self, leaf: usize, mut way: Way, passing: &Passing<'_>) -> Way {
        let mut position = leaf;
        while let Some(chain) = jump(&self.rules[position]).and_then(|to| self.chains.get(&to)) {
            self.jumped(position, &mut way);
            let last = chain
                .iter()
                .copied()
                .find(|&next| passed::ends(&self.rules[next]));
            let looked_at = chain
                .iter()
                .take_while(|&&next| last.is_none_or(|last| next <= last));
            way.evaluations += looked_at
                .map(|&next| match &self.rules[next].body {
                    Body::Engine(_) => patterns(&self.rules[next], ""),
                    Body::Native { .. } => passing.patterns(&self.rules[next]),
                })
                .sum::<u32>();
            let Some(last) = last else {
                way.visits += self.rules.len() as u64;
                return way;
            };
            position = last;
        }
        way.visits += position as u64 + 1;
        way
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
