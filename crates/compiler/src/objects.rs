//! From the addresses in a configuration back to what users wrote.

use std::collections::HashMap;

use shardwright_rules::{Address, Configuration};
use shardwright_topology::model::{OriginId, Project};

/// The objects that a configuration was made from, by address.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    by_address: HashMap<Address, OriginId>,
}

impl Objects {
    /// Every object of the project that has rules, hostgroups, servers or users in the configuration.
    pub(crate) fn of(project: &Project, configuration: &Configuration) -> Self {
        let topology = &project.topology;
        let origins = topology
            .clusters
            .iter()
            .flat_map(|cluster| {
                std::iter::once(cluster.origin).chain(cluster.servers.iter().map(|server| server.origin))
            })
            .chain(topology.users.iter().map(|user| user.origin))
            .chain(topology.listeners.iter().map(|listener| listener.origin))
            .chain(topology.monitor.iter().map(|monitor| monitor.origin))
            .chain(topology.engine_settings.iter().map(|settings| settings.origin))
            .chain(topology.shard_maps.iter().flat_map(|map| {
                std::iter::once(map.origin).chain(map.shards.iter().map(|shard| shard.origin))
            }))
            .chain(topology.read_write_policies.iter().map(|policy| policy.origin))
            .chain(topology.throttles.iter().map(|throttle| throttle.origin))
            .chain(
                topology
                    .pooling_exceptions
                    .iter()
                    .map(|exception| exception.origin),
            )
            .chain(topology.caches.iter().map(|cache| cache.origin))
            .chain(topology.mirrors.iter().map(|mirror| mirror.origin))
            .chain(topology.firewall.iter().map(|firewall| firewall.origin))
            .chain(topology.query_rules.iter().flat_map(|block| {
                std::iter::once(block.origin).chain(block.rules.iter().map(|rule| rule.origin))
            }));
        let mut by_address = HashMap::with_capacity(configuration.graph.rules.len());
        by_address.extend(origins.map(|origin| (Address::new(project.origins.address(origin)), origin)));
        Self { by_address }
    }

    /// The object at an address; `project.origins` knows its place and generator instance. `None` for rules that belong to
    /// a whole section, such as the guard against annotations (`users`).
    pub fn get(&self, address: &Address) -> Option<OriginId> {
        self.by_address.get(address).copied()
    }
}
