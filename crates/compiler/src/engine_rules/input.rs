//! What engine rules are made from.

use shardwright_layout::Price;
use shardwright_rules::{HostgroupId, MapStep, Shard};

use super::effects::EffectUse;
use crate::map_plans::MapPlan;
use crate::program::{Program, Section};

/// What engine rules are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'p> {
    /// What is to be expressed in rules.
    pub(crate) program: &'p Program,
    /// What was planned for each map of the program.
    pub(crate) plans: &'p [MapPlan],
    /// Effects that rules can express, by index in the program.
    pub(crate) effects: &'p [usize],
    /// The engine's prices.
    pub(crate) price: Price,
}

impl<'p> Input<'p> {
    /// A map.
    pub(crate) fn map(self, map: usize) -> &'p Section<Box<MapStep>> {
        &self.program.maps[map]
    }

    /// What was planned for a map.
    pub(crate) fn plan(self, map: usize) -> &'p MapPlan {
        &self.plans[map]
    }

    /// The hostgroup of a shard: readers where one of these policies covers its cluster and the cluster has some.
    pub(super) fn destination(self, readers: &[usize], shard: &Shard) -> Option<HostgroupId> {
        let name = shard.cluster.as_deref()?;
        let cluster = self.program.resolved_cluster(name);
        let is_covered = readers
            .iter()
            .any(|&policy| self.program.roles[policy].scope.clusters.contains(name));
        Some(cluster.reader.filter(|_| is_covered).unwrap_or(cluster.writer))
    }

    /// The effects on statements that are placed on a cluster.
    pub(crate) fn effects_of(self, cluster: &str) -> Vec<EffectUse> {
        let covers = |effect: &&usize| self.program.effects[**effect].scope.clusters.contains(cluster);
        let used = self.effects.iter().filter(covers);
        used.map(|&effect| EffectUse {
            effect,
            schemas: None,
        })
        .collect()
    }
}
