//! Figures of a compiled configuration, in the shape of `compile --stats`.

mod evaluated;
mod path;
mod placed_read;
mod routed;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use shardwright_layout::Price;
use shardwright_rules::{Configuration, PatternPrices, ReadSelection};

use crate::engine_rules::{MapOutputs, MapTree};
use crate::map_plans::{Layout, MapPlan};
use crate::numbering::Numbered;
use crate::program::Program;
use evaluated::Evaluated;
use path::{Counted, Path, Paths};
use placed_read::PlacedRead;

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
    /// Chains on the longest path through the tree.
    pub depth: usize,
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Most patterns evaluated.
    pub worst_evaluations: u32,
    /// Rules looked at, of other chains too.
    pub mean_visits: f64,
    /// By the engine's prices, each pattern by its kind, for a text of 150 bytes.
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
    /// By the engine's prices, each pattern by its kind, for a text of 150 bytes.
    pub mean_cost_ns: f64,
}

impl Means {
    fn of(sums: Sums, price: Price) -> Self {
        let weight = if sums.weight > 0.0 { sums.weight } else { 1.0 };
        let (mean_evaluations, mean_visits) = (sums.evaluations / weight, sums.visits / weight);
        Self {
            mean_evaluations,
            mean_visits,
            mean_cost_ns: sums.pattern_ns / weight + price.ns(0.0, mean_visits, 0.0),
        }
    }
}

/// Sums over keys, each times its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: f64,
    evaluations: f64,
    pattern_ns: f64,
    visits: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, path: Path) {
        self.weight += weight;
        self.evaluations += weight * f64::from(path.evaluated.patterns);
        self.pattern_ns += weight * path.evaluated.ns;
        self.visits += weight * path.visits as f64;
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

/// Puts in what statements that fast routing places pay for the rules that they pass.
pub(crate) fn count_rows(
    maps: &mut BTreeMap<String, MapStats>,
    configuration: &Configuration,
    reference_users: &BTreeMap<String, String>,
    price: Price,
) {
    for (name, stats) in maps
        .iter_mut()
        .filter(|(_, stats)| stats.layout == Layout::FastRouting.name())
    {
        let user = reference_users.get(name).map_or("", String::as_str);
        let paid = routed::paid(configuration, &format!("shard_maps.{name}"), user);
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

/// What the figures of maps are counted from.
pub(crate) struct Measured<'a> {
    /// The program.
    pub program: &'a Program,
    /// What was planned for each map.
    pub plans: &'a [MapPlan],
    /// The trees, and which maps have rows of fast routing.
    pub outputs: &'a MapOutputs,
    /// The user that the figures of a map are for.
    pub reference_users: &'a BTreeMap<String, String>,
    /// Its rules.
    pub numbered: &'a Numbered,
    /// Restarts after jumps.
    pub iterations: u32,
    /// The engine's prices.
    pub price: Price,
    /// Those of its patterns.
    pub prices: &'a PatternPrices,
}

impl Measured<'_> {
    /// Figures of every map; without rules, of those that need none.
    pub(crate) fn maps(&self) -> BTreeMap<String, MapStats> {
        let rules_of = self.rules_by_map();
        let paths = Paths::over(&self.numbered.graph, self.iterations, self.prices);
        let mut maps = BTreeMap::new();
        for (at, section) in self.program.maps.iter().enumerate() {
            let name = &section.step.map;
            let stats = match self.plans[at].layout {
                Layout::Dispatch => self.dispatched(at),
                _ if self.numbered.graph.rules.is_empty() => continue,
                _ => self.in_rules(at, rules_of.get(name.as_str()).copied().unwrap_or(0), &paths),
            };
            maps.insert(name.clone(), stats);
        }
        maps
    }

    /// How many rules came from each map and its shards.
    fn rules_by_map(&self) -> HashMap<&str, usize> {
        let mut rules_of: HashMap<&str, usize> = HashMap::new();
        for rule in &self.numbered.graph.rules {
            if let Some(name) = rule.address.as_str().strip_prefix("shard_maps.") {
                *rules_of
                    .entry(name.split('.').next().unwrap_or(name))
                    .or_default() += 1;
            }
        }
        rules_of
    }

    /// Figures of a look-up, without a pattern.
    fn dispatched(&self, at: usize) -> MapStats {
        let placed = PlacedRead::of(self.program, at);
        let rules = &self.numbered.graph.rules;
        let address = &self.program.maps[at].address;
        let map = rules.iter().position(|rule| rule.address == *address);
        let visits = map.map_or(0, |map| placed_read::visits(rules, 0, map + 1));
        let evaluated = rules[..visits]
            .iter()
            .filter(|rule| rule.flag_in == 0)
            .map(|rule| placed.patterns(rule, self.prices))
            .sum::<Evaluated>();
        MapStats {
            layout: Layout::Dispatch.name(),
            keys: keys(self.program, at),
            rules: 1,
            depth: 1,
            mean_evaluations: f64::from(evaluated.patterns),
            worst_evaluations: evaluated.patterns,
            mean_visits: visits as f64,
            mean_cost_ns: evaluated.ns + self.price.ns(0.0, visits as f64, 1.0),
            uniform: None,
        }
    }

    /// Figures of a map that is laid out in rules, or in rows of fast routing.
    fn in_rules(&self, at: usize, rules: usize, paths: &Paths<'_>) -> MapStats {
        let plan = &self.plans[at];
        let name = &self.program.maps[at].step.map;
        let visits = self.numbered.graph.rules.len() as f64;
        let mut stats = MapStats {
            layout: plan.layout.name(),
            keys: keys(self.program, at),
            rules,
            depth: plan
                .candidates
                .first()
                .map_or(1, |candidate| candidate.cost.depth),
            mean_evaluations: 0.0,
            worst_evaluations: 0,
            mean_visits: visits,
            mean_cost_ns: self.price.ns(0.0, visits, 1.0),
            uniform: None,
        };
        if !self.outputs.routed_maps.contains(&at)
            && let Some(tree) = self.reference_tree(at)
        {
            let user = self.reference_users.get(name).map_or("", String::as_str);
            self.follow(tree, user, paths, &mut stats);
        }
        stats
    }

    /// The tree that a read takes: the readers' where there is one and the policy takes any read.
    fn reference_tree(&self, map: usize) -> Option<&MapTree> {
        let takes_any = self
            .program
            .roles
            .iter()
            .all(|policy| matches!(policy.step.reads, ReadSelection::All | ReadSelection::Except(_)));
        // A tree that no rule leads to has been left out of the sequence.
        let is_numbered = |tree: &&MapTree| {
            let mut chains = tree.leaves.iter().map(|leaf| &leaf.chain);
            chains.all(|chain| self.numbered.flags.contains_key(chain))
        };
        let trees = self.outputs.trees.iter().filter(|tree| tree.map == map);
        let mut trees = trees.filter(is_numbered);
        if takes_any {
            trees.next_back()
        } else {
            trees.next()
        }
    }

    fn follow(&self, tree: &MapTree, user: &str, paths: &Paths<'_>, stats: &mut MapStats) {
        // Keys that are not written as a word are not those of usual statements.
        let mut counted = [true, false].map(Counted::of);
        let (mut uniform, mut weighted) = (Sums::default(), Sums::default());
        let plan = &self.plans[tree.map];
        let placed = PlacedRead::of(self.program, tree.map);
        for leaf in &tree.leaves {
            let flag = self.numbered.flags[&leaf.chain];
            let position = self.numbered.tree_rules[&leaf.chain][leaf.nth as usize] as usize;
            let index = leaf.entry as usize;
            let entry = &plan.entries[index];
            let words = entry.share_of_words();
            for (counted, share) in counted.iter_mut().zip([words, 1.0 - words]) {
                if share == 0.0 {
                    continue;
                }
                let mut path = paths.entered(flag, user, counted);
                path.evaluated += paths.evaluated(flag, position, user, counted);
                let path = paths.behind(position, path, &placed);
                uniform.add(entry.keys as f64 * share, path);
                if let Some(hits) = plan.weights.hits() {
                    weighted.add(hits[index] * share, path);
                }
                stats.worst_evaluations = stats.worst_evaluations.max(path.evaluated.patterns);
            }
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
