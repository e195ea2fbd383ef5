//! What engine rules are made from.

use std::collections::BTreeSet;

use shardwright_layout::Price;
use shardwright_rules::{HostgroupId, MapStep, Shard};

use super::effects::EffectUse;
use crate::map_plans::{self, MapPlan};
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

    /// The maps that take statements without a key of this one, in turn.
    pub(super) fn followers(self, section: &Section<Box<MapStep>>) -> Vec<usize> {
        let maps = &self.program.maps;
        let mut followers = Vec::new();
        let mut step = &section.step;
        while let Some(at) = step
            .otherwise
            .as_deref()
            .and_then(|name| maps.iter().position(|map| map.step.map == name))
            .filter(|at| !followers.contains(at))
        {
            followers.push(at);
            step = &maps[at].step;
        }
        followers
    }

    /// The clusters of a map's shards that have readers.
    pub(crate) fn clusters_of(self, map: usize) -> BTreeSet<&'p str> {
        let shards = self.map(map).step.shards.iter();
        let clusters = shards.filter_map(|shard| shard.cluster.as_deref());
        clusters
            .filter(|name| self.program.resolved_cluster(name).reader.is_some())
            .collect()
    }

    /// How many rules name a key of a map: those of its tree, and those for the names of schemas.
    pub(crate) fn rows_of(self, map: usize) -> usize {
        let plan = self.plan(map);
        let has_schemas = plan
            .reading
            .as_ref()
            .is_some_and(|reading| reading.schema.is_some());
        let names = match has_schemas {
            true => map_plans::key_count(&self.map(map).step) as usize,
            false => 0,
        };
        plan.entries.len() + names
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
