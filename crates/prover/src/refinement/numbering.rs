//! Hostgroups of one configuration under the numbers of another: they correspond by cluster and role.
//!
//! # Idea
//!
//! A hostgroup of a cluster gets the number that the other configuration gave to the cluster of that name, in the same
//! role. A hostgroup that refuses gets a number of its own, as does one whose number means something else on the other
//! side. Other hostgroups keep their numbers.
//!
//! # Invariant
//!
//! Two hostgroups of the result have one number only if they had one before. A number of the result stands for the same
//! cluster and role on both sides, or for a hostgroup without a cluster, or the other side does not have it.
//!
//! # Example
//!
//! The other side has `shop` with writer 10 and readers 11. Here `shop` has writer 3 and readers 10, and 7 is a
//! hostgroup without a cluster: 3 becomes 10, 10 becomes 11, and 7 stays 7.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{Body, ClusterKind, Configuration, HostgroupId};

/// The second configuration with the numbers of the first.
pub(super) fn as_in(first: &Configuration, second: &Configuration) -> Configuration {
    let numbers = numbers(first, second);
    let mut renumbered = second.clone();
    let number = |id: &mut u32| {
        if let Some(new) = numbers.get(id) {
            *id = *new;
        }
    };
    let hostgroup = |id: &mut HostgroupId| number(&mut id.0);
    for cluster in &mut renumbered.clusters {
        hostgroup(&mut cluster.writer);
        cluster.reader.iter_mut().for_each(hostgroup);
        if let ClusterKind::Galera(group) | ClusterKind::GroupReplication(group) = &mut cluster.kind {
            hostgroup(&mut group.backup_writer);
            hostgroup(&mut group.offline);
        }
    }
    for one in &mut renumbered.hostgroups {
        hostgroup(&mut one.id);
    }
    renumbered.hostgroups.sort_by_key(|hostgroup| hostgroup.id);
    for one in &mut renumbered.refusing {
        hostgroup(&mut one.id);
    }
    renumbered.refusing.sort_by_key(|hostgroup| hostgroup.id);
    for user in &mut renumbered.users {
        hostgroup(&mut user.default_hostgroup);
    }
    for rule in &mut renumbered.graph.rules {
        if let Body::Engine(row) = &mut rule.body {
            let asked = [
                &mut row.destination_hostgroup,
                &mut row.mirror_hostgroup,
                &mut row.gtid_from_hostgroup,
            ];
            asked.into_iter().flatten().for_each(number);
        }
    }
    for row in &mut renumbered.graph.fast_routing {
        hostgroup(&mut row.hostgroup);
    }
    renumbered
}

/// The new number of each hostgroup that gets one.
fn numbers(first: &Configuration, second: &Configuration) -> BTreeMap<u32, u32> {
    let pairs = |one: &Configuration, other: &Configuration| -> BTreeMap<u32, u32> {
        let mut numbers = BTreeMap::new();
        for cluster in &other.clusters {
            let Some(same) = one.cluster(&cluster.name) else {
                continue;
            };
            numbers.insert(cluster.writer.0, same.writer.0);
            if let (Some(reader), Some(own)) = (cluster.reader, same.reader) {
                numbers.insert(reader.0, own.0);
            }
        }
        numbers
    };
    let mut numbers = pairs(first, second);
    let taken: BTreeSet<u32> = used(first).into_iter().chain(used(second)).collect();
    // A configuration read from a file has no names: its numbers mean what they mean.
    let has_names = !numbers.is_empty();
    let refuses = |id: u32| second.refusing(HostgroupId(id)).is_some();
    let mut fresh = (1..u32::MAX).rev().filter(|id| !taken.contains(id));
    let given: BTreeSet<u32> = numbers.values().copied().collect();
    for id in used(second) {
        let means_something_else =
            has_names && (given.contains(&id) || first.cluster_of(HostgroupId(id)).is_some());
        if numbers.contains_key(&id) || !(refuses(id) || means_something_else) {
            continue;
        }
        if let Some(new) = fresh.next() {
            numbers.insert(id, new);
        }
    }
    numbers
}

/// Every number that a configuration uses.
fn used(configuration: &Configuration) -> BTreeSet<u32> {
    let mut used = BTreeSet::new();
    for cluster in &configuration.clusters {
        used.insert(cluster.writer.0);
        used.extend(cluster.reader.map(|id| id.0));
        if let ClusterKind::Galera(group) | ClusterKind::GroupReplication(group) = &cluster.kind {
            used.extend([group.backup_writer.0, group.offline.0]);
        }
    }
    used.extend(configuration.hostgroups.iter().map(|hostgroup| hostgroup.id.0));
    used.extend(configuration.refusing.iter().map(|hostgroup| hostgroup.id.0));
    used.extend(configuration.users.iter().map(|user| user.default_hostgroup.0));
    for rule in &configuration.graph.rules {
        if let Body::Engine(row) = &rule.body {
            let asked = [
                row.destination_hostgroup,
                row.mirror_hostgroup,
                row.gtid_from_hostgroup,
            ];
            used.extend(asked.into_iter().flatten());
        }
    }
    used.extend(configuration.graph.fast_routing.iter().map(|row| row.hostgroup.0));
    used
}
