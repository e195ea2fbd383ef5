//! Steps of the bundled engine as texts: equal steps among equal surroundings have equal texts.

use std::collections::BTreeSet;

use shardwright_rules::{Address, Body, Configuration, MapStep, NativeStep, Shard};

/// A step as a text that is equal for equal steps, whatever their addresses.
pub(super) fn written(body: &Body) -> String {
    let Body::Native { scope, step } = body else {
        return String::new();
    };
    let plain = match step {
        NativeStep::Map(map) => {
            let mut shards: Vec<Shard> = map.shards.iter().map(plain_shard).collect();
            shards.sort_by_cached_key(|shard| serde_json::to_string(shard).unwrap_or_default());
            NativeStep::Map(Box::new(MapStep {
                shards,
                ..(**map).clone()
            }))
        }
        other => other.clone(),
    };
    serde_json::to_string(&(scope, plain)).expect("a step is a map with string keys")
}

/// The clusters that steps can find a statement placed on, as a text: a step means the same only among the same ones.
pub(super) fn surroundings(configuration: &Configuration) -> String {
    let (mut hostgroups, mut names) = (BTreeSet::new(), BTreeSet::new());
    for rule in &configuration.graph.rules {
        match &rule.body {
            Body::Engine(row) => hostgroups.extend(row.destination_hostgroup),
            Body::Native {
                step: NativeStep::Map(map),
                ..
            } => {
                names.extend(map.shards.iter().filter_map(|shard| shard.cluster.as_deref()));
                names.extend(map.clusters_elsewhere());
            }
            Body::Native { .. } => {}
        }
    }
    hostgroups.extend(configuration.graph.fast_routing.iter().map(|row| row.hostgroup.0));
    hostgroups.extend(configuration.users.iter().map(|user| user.default_hostgroup.0));
    let used = configuration.clusters.iter().filter(|cluster| {
        let own = [Some(cluster.writer), cluster.reader];
        names.contains(&*cluster.name) || own.into_iter().flatten().any(|id| hostgroups.contains(&id.0))
    });
    let mut used: Vec<String> = used
        .map(|cluster| format!("{}:{}:{:?}", cluster.name, cluster.writer, cluster.reader))
        .collect();
    used.sort_unstable();
    used.join(",")
}

/// A shard without its address.
pub(super) fn plain_shard(shard: &Shard) -> Shard {
    Shard {
        address: Address::new(""),
        ..shard.clone()
    }
}
