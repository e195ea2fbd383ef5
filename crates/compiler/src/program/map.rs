//! Shard maps as steps.

use std::sync::Arc;

use shardwright_rules::{MapStep, Remainder, Shard};
use shardwright_topology::model::{self as model, OnUnsupported, Topology};

use super::{Section, scope};
use crate::diagnostics::{Diagnostics, MAPS_MEET};

/// Every map; one whose statements go on to another stands before it.
pub(super) fn sections(topology: &Topology, report: &mut Diagnostics<'_>) -> Vec<Section<Box<MapStep>>> {
    let sections: Vec<_> = order(topology)
        .into_iter()
        .map(|at| {
            let map = &topology.shard_maps[at];
            Section {
                origin: map.origin,
                address: report.address(map.origin),
                scope: scope::scope(&map.applies_to, map.origin, "applies_to", report),
                on_unsupported: OnUnsupported::Error,
                step: Box::new(step(topology, map, report)),
            }
        })
        .collect();
    meetings(topology, &sections, report);
    sections
}

/// Places of maps: written order, but the target of an `otherwise` after all that lead to it.
fn order(topology: &Topology) -> Vec<usize> {
    let maps = &topology.shard_maps;
    let mut waiting = vec![0usize; maps.len()];
    for map in maps {
        if let Some(target) = map.otherwise {
            waiting[target.0 as usize] += 1;
        }
    }
    let mut order = Vec::with_capacity(maps.len());
    let mut done = vec![false; maps.len()];
    while order.len() < maps.len() {
        // References in a circle are an error of the topology; the first map of one is taken as it stands.
        let next = (0..maps.len()).find(|&at| !done[at] && waiting[at] == 0);
        let at = next
            .or_else(|| done.iter().position(|done| !done))
            .expect("a map is left");
        done[at] = true;
        order.push(at);
        if let Some(target) = maps[at].otherwise {
            waiting[target.0 as usize] = waiting[target.0 as usize].saturating_sub(1);
        }
    }
    order
}

/// Two maps that place the same thing for one user need an order.
fn meetings(topology: &Topology, sections: &[Section<Box<MapStep>>], report: &mut Diagnostics<'_>) {
    for (at, second) in sections.iter().enumerate() {
        for first in &sections[..at] {
            let linked = leads_to(sections, first, &second.step.map);
            let user = topology.users.iter().find(|user| {
                let cluster = &topology.cluster(user.cluster).name;
                [first, second]
                    .iter()
                    .all(|map| map.scope.users.contains(&user.login) && map.scope.clusters.contains(cluster))
            });
            if let (false, true, Some(user)) = (linked, places_alike(&first.step, &second.step), user) {
                let message = format!(
                    "both {} and {} place statements of user {}; `otherwise: {}` on the first gives them an order",
                    first.address, second.address, user.name, second.address
                );
                report.error(MAPS_MEET, second.origin, "applies_to", message);
            }
        }
    }
}

fn leads_to(sections: &[Section<Box<MapStep>>], from: &Section<Box<MapStep>>, to: &str) -> bool {
    let mut next = from.step.otherwise.as_deref();
    for _ in 0..sections.len() {
        match next {
            Some(name) if name == to => return true,
            Some(name) => {
                next = sections
                    .iter()
                    .find(|map| map.step.map == name)
                    .and_then(|map| map.step.otherwise.as_deref());
            }
            None => return false,
        }
    }
    false
}

fn places_alike(a: &MapStep, b: &MapStep) -> bool {
    let places = |step: &MapStep| {
        let cluster = step.shards.iter().any(|shard| shard.cluster.is_some());
        let schema = step.shards.iter().any(|shard| shard.schema.is_some());
        (cluster, schema)
    };
    let ((cluster_a, schema_a), (cluster_b, schema_b)) = (places(a), places(b));
    (cluster_a && cluster_b) || (schema_a && schema_b)
}

fn step(topology: &Topology, map: &model::ShardMap, report: &Diagnostics<'_>) -> MapStep {
    let names: Vec<Arc<str>> = topology
        .clusters
        .iter()
        .map(|cluster| cluster.name.clone())
        .collect();
    let cluster_name = |id: model::ClusterId| topology.cluster(id).name.to_string();
    MapStep {
        map: map.name.to_string(),
        key: map.key.name.to_string(),
        kind: map.key.kind,
        finders: map.key_from.clone(),
        conflict: map.conflict,
        logical_schema: map.logical_schema.as_deref().map(str::to_owned),
        unqualified: map.unqualified,
        tables: map.tables.clone(),
        shards: map
            .shards
            .iter()
            .map(|shard| compiled_shard(shard, &names, report))
            .collect(),
        remainder: match map.key.placement {
            model::Placement::Value => None,
            model::Placement::Modulo(modulo) => Some(Remainder {
                modulo,
                hashed: false,
            }),
            model::Placement::Hash {
                function: model::HashFunction::XxHash64,
                modulo,
            } => Some(Remainder { modulo, hashed: true }),
        },
        missing: map.missing_key.map(cluster_name),
        missing_by_user: map
            .missing_key_by_user
            .iter()
            .map(|(user, missing)| (user.to_string(), missing.map(cluster_name)))
            .collect(),
        unknown: map.unknown_key.map(cluster_name),
        otherwise: map.otherwise.map(|id| topology.shard_map(id).name.to_string()),
    }
}

fn compiled_shard(shard: &model::Shard, clusters: &[Arc<str>], report: &Diagnostics<'_>) -> Shard {
    let mut keys = shard.keys.to_vec();
    keys.sort();
    let mut ranges: Vec<(i64, i64)> = shard
        .ranges
        .iter()
        .map(|range| (range.first, range.last))
        .collect();
    ranges.sort_unstable();
    // The model keeps remainders inside `0..modulo`, and that below `MAX_MODULO`: they are few enough to list.
    let mut remainders: Vec<u64> = shard
        .remainders
        .iter()
        .flat_map(|range| range.first..=range.last)
        .filter_map(|remainder| u64::try_from(remainder).ok())
        .collect();
    remainders.sort_unstable();
    Shard {
        address: report.address(shard.origin),
        refuse: shard.refuse.clone(),
        cluster: shard.cluster.map(|id| clusters[id.0 as usize].clone()),
        schema: shard.schema.clone(),
        keys,
        ranges,
        remainders,
    }
}
