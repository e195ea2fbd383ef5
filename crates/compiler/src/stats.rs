//! Figures of a compiled configuration, in the shape of `compile --stats`.

mod asker;
mod evaluated;
mod map_costs;
mod said;
mod ways;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use shardwright_layout::Price;
use shardwright_rules::{Configuration, TextLength};

use crate::draft::ChainRef;
use crate::engine_rules::{MapOutputs, MapTree};
use crate::map_plans::{Layout, MapPlan};
use crate::program::Program;
use asker::Asker;
use map_costs::{MapCosts, MapOf, Sums};

/// Figures of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// The engine's name.
    pub engine: &'static str,
    /// Costs are those of a text of about so many bytes.
    pub text_bytes: usize,
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

/// Figures of one shard map, as the evaluator counts them. Means are over its keys, of which a range counts as its first;
/// under traffic each counts as often as it was asked for.
///
/// What is counted is a read with the key, from flag 0 to its decision, by a user of the map whose session names no schema:
/// `/* k=KEY */ SELECT 1 FROM t` where the map looks for keys in comments, else `SELECT 1 FROM SCHEMA.t WHERE k = KEY` where it
/// looks in columns, else `SELECT 1 FROM t` by a session whose schema or user has the key in its name. Where rules tell more
/// than a thousand keys or leaves apart, some are taken to cost like the others: `exact_keys` says how many are not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapStats {
    /// `dispatch`, `tree`, `flat` or `fast_routing`.
    pub layout: &'static str,
    /// Who sends the statements that are counted; keys in user names are those of their users.
    pub user: String,
    /// Keys and ranges.
    pub keys: u64,
    /// The keys whose figures were counted, where those of others are estimated from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_keys: Option<u64>,
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
    fn of(sums: Sums, lookups: f64, price: Price) -> Self {
        let weight = if sums.weight > 0.0 { sums.weight } else { 1.0 };
        let (mean_evaluations, mean_visits) = (sums.evaluations / weight, sums.visits / weight);
        Self {
            mean_evaluations,
            mean_visits,
            mean_cost_ns: sums.pattern_ns / weight + price.ns(0.0, mean_visits, lookups),
        }
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
            text_bytes: TextLength::default().bytes(),
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

/// The chains of trees, and their rules.
pub(crate) struct TreeRules {
    /// Flags of chains.
    pub flags: HashMap<ChainRef, u32>,
    /// Positions of their rules, in the order of the chain.
    pub tree_rules: HashMap<ChainRef, Vec<u32>>,
}

/// What the figures of maps are counted from.
pub(crate) struct Measured<'a> {
    /// The program.
    pub program: &'a Program,
    /// What was planned for each map.
    pub plans: &'a [MapPlan],
    /// The trees.
    pub outputs: &'a MapOutputs,
    /// The user that the figures of a map are for.
    pub reference_users: &'a BTreeMap<String, String>,
    /// The rules and all around them.
    pub configuration: &'a Configuration,
    /// Which of them are rules of trees.
    pub trees: TreeRules,
    /// The engine's prices.
    pub price: Price,
}

impl Measured<'_> {
    /// Figures of every map; without rules, of those that need none.
    pub(crate) fn maps(&self) -> BTreeMap<String, MapStats> {
        let rules = &self.configuration.graph.rules;
        let rules_of = self.rules_by_map();
        let asker = Asker::new(self.configuration);
        let mut maps = BTreeMap::new();
        for (at, section) in self.program.maps.iter().enumerate() {
            let (name, plan) = (&section.step.map, &self.plans[at]);
            let is_looked_up = plan.layout == Layout::Dispatch;
            if !is_looked_up && rules.is_empty() {
                continue;
            }
            let costs = self.costs(at, &asker);
            let counted = costs.count();
            let lookups = match plan.layout {
                Layout::Dispatch | Layout::FastRouting => 1.0,
                Layout::Tree | Layout::Flat => 0.0,
            };
            let alike = Means::of(counted.uniform, lookups, self.price);
            let weighted = counted.weighted.filter(|weighted| weighted.weight > 0.0);
            let means = weighted.map_or(alike, |weighted| Means::of(weighted, lookups, self.price));
            let stats = MapStats {
                layout: plan.layout.name(),
                user: costs.user().to_owned(),
                keys: keys(self.program, at),
                exact_keys: (counted.estimated > 0).then_some(counted.exact),
                rules: match is_looked_up {
                    true => 1,
                    false => rules_of.get(name.as_str()).copied().unwrap_or(0),
                },
                depth: plan
                    .candidates
                    .first()
                    .map_or(1, |candidate| candidate.cost.depth),
                mean_evaluations: means.mean_evaluations,
                worst_evaluations: counted.worst,
                mean_visits: means.mean_visits,
                mean_cost_ns: means.mean_cost_ns,
                uniform: weighted.map(|_| alike),
            };
            maps.insert(name.clone(), stats);
        }
        maps
    }

    fn costs<'m>(&'m self, at: usize, asker: &'m Asker<'m>) -> MapCosts<'m> {
        let section = &self.program.maps[at];
        let step = &*section.step;
        let first = || {
            let users = &self.configuration.users;
            users.iter().find(|user| section.scope.users.contains(&user.name))
        };
        let user = match self.reference_users.get(&step.map) {
            Some(user) => user.as_str(),
            None => first().map_or("", |user| &user.name),
        };
        let others = self.program.maps.iter().enumerate();
        let others = others.filter(|(other, map)| *other != at && map.scope.users.contains(user));
        let trees = self.outputs.trees.iter().filter(|tree| tree.map == at);
        let trees: Vec<&MapTree> = trees.collect();
        MapCosts::of(
            MapOf {
                step,
                plan: &self.plans[at],
                user,
                others: others.map(|(_, map)| &*map.step).collect(),
            },
            &trees,
            &self.trees,
            asker,
        )
    }

    /// How many rules came from each map and its shards.
    fn rules_by_map(&self) -> HashMap<&str, usize> {
        let mut rules_of: HashMap<&str, usize> = HashMap::new();
        for rule in &self.configuration.graph.rules {
            if let Some(name) = rule.address.as_str().strip_prefix("shard_maps.") {
                *rules_of
                    .entry(name.split('.').next().unwrap_or(name))
                    .or_default() += 1;
            }
        }
        rules_of
    }
}
