//! Rows of servers that ProxySQL's monitor makes by itself: a plan leaves these to it where they are not there.
//!
//! The files say which servers may write and read. Which of them do is the monitor's to find out, and it adds and moves rows at run
//! time. A ProxySQL whose memory has one row for a writer runs well, and a project that is made of it must not add another
//! one: that would change where reads go.

use shardwright_rules::tables::SERVERS;
use shardwright_rules::{Cluster, ClusterKind, Configuration, HostgroupId};

use super::change::Change;
use super::changes::stays;
use super::layers::JOINS;
use super::live::Live;
use super::row::{KeyPart, RowName};
use super::wanted::Wanted;

/// Whether writers of replication clusters also read.
const ALSO_READER: &str = "mysql-monitor_writer_is_also_reader";

const WEIGHT: &str = "weight";

/// Takes out of changes what is left to the monitor; gives the rows.
pub(super) fn leave(
    changes: &mut Vec<Change>,
    live: &Live,
    wanted: &Wanted,
    configuration: &Configuration,
) -> Vec<RowName> {
    keep_ranks(changes, live, wanted, configuration);
    let is_left = |change: &&Change| {
        let mut clusters = configuration
            .clusters
            .iter()
            .filter(|cluster| cluster.roles_by.is_engine());
        let Some((cluster, reader)) = clusters.find_map(|cluster| of_cluster(change, cluster)) else {
            return false;
        };
        !changes.iter().any(|other| switches(other, cluster)) && makes(change, cluster, reader, live, wanted)
    };
    let left: Vec<RowName> = changes
        .iter()
        .filter(is_left)
        .map(|change| change.name.clone())
        .collect();
    changes.retain(|change| !left.contains(&change.name));
    left
}

/// Weights of a group of servers rank the writers. Where those that are live rank them as the files do, they stay.
fn keep_ranks(changes: &mut Vec<Change>, live: &Live, wanted: &Wanted, configuration: &Configuration) {
    for cluster in &configuration.clusters {
        let Some(reader) = cluster
            .reader
            .filter(|_| cluster.kind.group().is_some() && cluster.roles_by.is_engine())
        else {
            continue;
        };
        let ids = hostgroups(cluster, reader);
        let is_of_cluster = |name: &RowName| {
            name.is_in(&SERVERS) && ids.iter().any(|id| name.number(0) == Some(i64::from(id.0)))
        };
        let rows = live.rows().filter(|(name, _)| is_of_cluster(name));
        let weights = rows.map(|(name, found)| {
            let wish = wanted.rows.get(name).map(|wish| wish.row.number(WEIGHT));
            (name.key.get(1..), wish.flatten(), found.row.number(WEIGHT))
        });
        let weights: Vec<_> = weights.collect();
        let ranks_alike = weights.iter().all(|(server, wish, weight)| {
            let mut others = weights.iter().filter(|(other, ..)| other != server);
            wish.is_none()
                || others.all(|(_, other, live)| other.is_none() || wish.cmp(other) == weight.cmp(live))
        });
        if !ranks_alike {
            continue;
        }
        for change in changes.iter_mut().filter(|change| is_of_cluster(&change.name)) {
            if let (Some(old), Some(new)) = (&change.old, &mut change.new)
                && let Some(weight) = old.facts.get(WEIGHT)
            {
                new.facts.insert(WEIGHT.to_owned(), weight.clone());
            }
        }
        changes.retain(|change| match (&change.old, &change.new) {
            (Some(old), Some(new)) => !stays(&change.name, old, new),
            _ => true,
        });
    }
}

/// The hostgroups of a cluster: of writers, of readers, and those of a group.
fn hostgroups(cluster: &Cluster, reader: HostgroupId) -> Vec<HostgroupId> {
    let group = cluster.kind.group().into_iter();
    let of_group = group.flat_map(|group| [group.backup_writer, group.offline]);
    [cluster.writer, reader].into_iter().chain(of_group).collect()
}

/// The cluster with its readers, where a change is about one of its servers.
fn of_cluster<'c>(change: &Change, cluster: &'c Cluster) -> Option<(&'c Cluster, HostgroupId)> {
    let hostgroup = change.name.number(0).filter(|_| change.name.is_in(&SERVERS))?;
    let reader = cluster.reader?;
    let ids = hostgroups(cluster, reader);
    ids.iter()
        .any(|id| i64::from(id.0) == hostgroup)
        .then_some((cluster, reader))
}

/// Whether a change is about what the monitor goes by.
fn switches(change: &Change, cluster: &Cluster) -> bool {
    let is_variable = change.name.variable_name() == Some(ALSO_READER);
    let joins = JOINS.iter().any(|table| change.name.is_in(table));
    (is_variable && matches!(cluster.kind, ClusterKind::Replication { .. }))
        || (joins && change.name.number(0) == Some(i64::from(cluster.writer.0)))
}

fn makes(change: &Change, cluster: &Cluster, reader: HostgroupId, live: &Live, wanted: &Wanted) -> bool {
    let [as_writer, as_reader] = [cluster.writer, reader].map(|id| in_hostgroup(&change.name, id));
    let is_live = |name: &RowName| live.row(name).is_some();
    let is_wanted = |name: &RowName| wanted.rows.contains_key(name);
    let any_writes = || {
        let writes = |name: &RowName| name.number(0) == as_writer.number(0);
        live.rows().any(|(name, _)| name.is_in(&SERVERS) && writes(name))
    };
    let others = &hostgroups(cluster, reader)[2..];
    let is_out = |name: &RowName| others.iter().any(|id| name.number(0) == Some(i64::from(id.0)));
    let waits = || others.iter().any(|id| is_live(&in_hostgroup(&change.name, *id)));
    match (&change.old, &change.new) {
        (None, Some(_)) => {
            let reads_too = change.name == as_reader && is_live(&as_writer) && is_wanted(&as_writer);
            // Of a group, servers that could write, and those that are out, are in hostgroups of their own.
            reads_too || waits() || (is_live(&as_reader) && !any_writes())
        }
        (Some(_), None) => {
            let is_placed = is_wanted(&as_writer) || is_wanted(&as_reader);
            (is_out(&change.name) && is_placed)
                || (change.name == as_reader && is_wanted(&as_writer) && !any_writes())
        }
        _ => false,
    }
}

/// The row of the same server in a hostgroup.
fn in_hostgroup(name: &RowName, hostgroup: HostgroupId) -> RowName {
    let mut name = name.clone();
    if let Some(part) = name.key.first_mut() {
        *part = KeyPart::Number(i64::from(hostgroup.0));
    }
    name
}
