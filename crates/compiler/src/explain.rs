//! What `explain ADDRESS` says: the rules of an object, and the layouts that were compared for a map.

mod splits;

use serde::Serialize;
use shardwright_layout::{Candidate, KEPT};
use shardwright_rules::{Address, Body, NativeStep, Shard};

use crate::Compiled;
use crate::map_plans::MapPlan;
pub use splits::{SplitCost, Splits};

/// How an object compiled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The object.
    pub address: Address,
    /// Its rules, those of objects in it included, in order.
    pub rules: Vec<RuleReference>,
    /// For a map: the layouts that were compared, the chosen one first.
    pub candidates: Vec<CandidateCost>,
    /// For a map: why the first candidate was chosen.
    pub reason: Option<String>,
    /// For a map whose reads go elsewhere: the positions of the read/write split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splits: Option<Splits>,
}

/// A rule of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReference {
    /// `rule_id`
    pub id: u32,
    /// The chain that it is part of.
    pub flag_in: u32,
    /// The object that it came from.
    pub address: Address,
    /// What it decides, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A layout and what it costs, mean over keys of equal weight, without the rules in front of the map's tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateCost {
    /// `flat`, `fan-out 4`, `skewed 1`.
    pub name: String,
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Rules looked at.
    pub mean_visits: f64,
    /// By the engine's prices, in nanoseconds.
    pub mean_cost_ns: f64,
    /// Rules.
    pub rules: usize,
    /// Chains.
    pub chains: usize,
}

impl CandidateCost {
    /// The candidates of a plan, the chosen one first.
    pub(crate) fn of_plan(plan: &MapPlan) -> Vec<Self> {
        plan.candidates.iter().map(Self::of).collect()
    }

    fn of(candidate: &Candidate) -> Self {
        Self {
            name: candidate.name.clone(),
            mean_evaluations: candidate.cost.mean_evaluations,
            mean_visits: candidate.cost.mean_visits,
            mean_cost_ns: candidate.cost.mean_ns,
            rules: candidate.cost.rules,
            chains: candidate.cost.chains,
        }
    }
}

impl Compiled {
    /// How the object at `address` compiled; `None` when nothing of it stands in the configuration.
    pub fn explain(&self, address: &str) -> Option<Explanation> {
        let inside = |other: &Address| {
            let rest = other.as_str().strip_prefix(address);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let rules: Vec<RuleReference> = self
            .configuration
            .graph
            .rules
            .iter()
            .filter(|rule| inside(&rule.address))
            .map(|rule| RuleReference {
                id: rule.id,
                flag_in: rule.flag_in,
                address: rule.address.clone(),
                summary: rule.summary.clone(),
            })
            .collect();
        let map = address
            .strip_prefix("shard_maps.")
            .filter(|name| !name.contains('.'));
        let candidates = map
            .and_then(|name| self.candidates.get(name))
            .cloned()
            .unwrap_or_default();
        let exists = !rules.is_empty()
            || self
                .configuration
                .graph
                .fast_routing
                .iter()
                .any(|route| inside(&route.address))
            || self.configuration.hostgroups.iter().any(|hostgroup| {
                inside(&hostgroup.cluster) || hostgroup.members.iter().any(|member| inside(&member.server))
            })
            || self.configuration.users.iter().any(|user| inside(&user.address))
            || self.dispatched_shards().any(|shard| inside(&shard.address));
        exists.then(|| Explanation {
            address: Address::new(address),
            rules,
            reason: self.reason(map, &candidates),
            candidates,
            splits: map.and_then(|name| self.splits.get(name)).cloned(),
        })
    }

    /// The shards that the bundled engine's steps hold; they are no rules of their own.
    fn dispatched_shards(&self) -> impl Iterator<Item = &Shard> {
        let steps = self
            .configuration
            .graph
            .rules
            .iter()
            .filter_map(|rule| match &rule.body {
                Body::Native {
                    step: NativeStep::Map(step),
                    ..
                } => Some(step),
                Body::Native { .. } | Body::Engine(_) => None,
            });
        steps.flat_map(|step| &step.shards)
    }

    fn reason(&self, map: Option<&str>, candidates: &[CandidateCost]) -> Option<String> {
        let stats = self.stats.shard_maps.get(map?)?;
        let engine = self.configuration.engine;
        Some(match (stats.layout, candidates) {
            ("dispatch", _) => {
                format!("{engine} looks the key up in a table: one look-up for any number of shards")
            }
            ("fast_routing", candidates) if is_cheapest(candidates) => {
                let flat = candidates.iter().find(|candidate| candidate.name == "flat");
                let flat = flat.map_or_else(String::new, |flat| {
                    format!(", where a rule for each schema costs {:.0} ns", flat.mean_cost_ns)
                });
                format!(
                    "{engine} looks the session's schema up in a table, after all rules: one look-up for any number{flat}"
                )
            }
            (layout, [chosen, others @ ..]) => match others
                .iter()
                .min_by(|a, b| a.mean_cost_ns.total_cmp(&b.mean_cost_ns))
            {
                Some(next) if next.mean_cost_ns < chosen.mean_cost_ns && chosen.name == KEPT => {
                    format!(
                        "the lock keeps this tree because live systems have it; {} would cost {:.0} ns: compile --reshape builds it",
                        next.name, next.mean_cost_ns
                    )
                }
                Some(next) if next.mean_cost_ns < chosen.mean_cost_ns => {
                    format!(
                        "rule_layout forces {layout}; {} would cost {:.0} ns",
                        next.name, next.mean_cost_ns
                    )
                }
                Some(next) => format!(
                    "{} costs least on {engine}: {:.0} ns; the next one ({}) costs {:.0} ns",
                    chosen.name, chosen.mean_cost_ns, next.name, next.mean_cost_ns
                ),
                None => format!("{} is the only layout", chosen.name),
            },
            (layout, []) => format!("the layout is {layout}"),
        })
    }
}

fn is_cheapest(candidates: &[CandidateCost]) -> bool {
    let first = candidates.first().map_or(f64::MAX, |first| first.mean_cost_ns);
    candidates.iter().all(|candidate| first <= candidate.mean_cost_ns)
}
