//! Hostgroups and their members.

mod differences;
mod members;
mod numbers;
mod weights;

use shardwright_ids::Lock;
use shardwright_rules::{Address, Cluster, ClusterKind, Group, Hostgroup, HostgroupId, Role};
use shardwright_topology::model::{self as model, IdRanges, Topology};

use self::differences::Differences;
use self::members::Members;
use self::numbers::{Numbers, Purpose, numbers};
use crate::diagnostics::Diagnostics;

/// What the clusters of a topology become.
pub(super) struct CompiledClusters {
    /// By name.
    pub(super) clusters: Vec<Cluster>,
    /// By id.
    pub(super) hostgroups: Vec<Hostgroup>,
}

/// Clusters and their hostgroups; `lock` keeps the numbers.
pub(super) fn compiled(
    topology: &Topology,
    ids: &IdRanges,
    lock: &mut Lock,
    report: &mut Diagnostics<'_>,
) -> CompiledClusters {
    let numbers = numbers(topology, ids, lock, report);
    let differences = Differences::of(topology);
    let mut clusters = Vec::with_capacity(topology.clusters.len());
    let mut hostgroups = Vec::new();
    for (at, cluster) in topology.clusters.iter().enumerate() {
        let compiled = Cluster {
            name: cluster.name.clone(),
            address: report.address(cluster.origin),
            kind: kind(cluster, at, &numbers),
            writer: numbers.of(at, Purpose::Writer),
            reader: cluster.kind.has_roles().then(|| numbers.of(at, Purpose::Reader)),
            writer_serves_reads: cluster.writer_serves_reads,
            on_unknown: cluster.on_unknown,
            slow_readers: cluster.slow_readers,
            roles_by: cluster.roles_by,
            candidates: members::candidates(topology, cluster, report),
        };
        differences.report(cluster, report);
        hostgroups.extend(hostgroups_of(cluster, &compiled, report));
        clusters.push(compiled);
    }
    for (at, server, id) in numbers.servers() {
        let (cluster, hostgroup) = of_one_server(&topology.clusters[at], server, id, report);
        clusters.push(cluster);
        hostgroups.push(hostgroup);
    }
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    hostgroups.sort_by_key(|hostgroup| hostgroup.id);
    CompiledClusters { clusters, hostgroups }
}

/// A server that users have for themselves, as a cluster of its own beside the one that it belongs to: nothing moves it to
/// another role, and lag does not take it out.
fn of_one_server(
    cluster: &model::Cluster,
    server: u32,
    id: HostgroupId,
    report: &mut Diagnostics<'_>,
) -> (Cluster, Hostgroup) {
    let server = &cluster.servers[server as usize];
    let address = Address::new(format!(
        "{}.pinned.{}",
        report.address(cluster.origin),
        server.name
    ));
    let hostgroup = Hostgroup {
        id,
        cluster: address.clone(),
        role: Role::Writer,
        members: vec![members::alone(cluster, server, report)],
    };
    let compiled = Cluster {
        name: format!("{}.{}", cluster.name, server.name).into(),
        address,
        kind: ClusterKind::Single,
        writer: id,
        reader: None,
        writer_serves_reads: cluster.writer_serves_reads,
        on_unknown: cluster.on_unknown,
        slow_readers: cluster.slow_readers,
        roles_by: cluster.roles_by,
        candidates: Vec::new(),
    };
    (compiled, hostgroup)
}

fn hostgroups_of(
    cluster: &model::Cluster,
    compiled: &Cluster,
    report: &mut Diagnostics<'_>,
) -> Vec<Hostgroup> {
    let Members { writers, readers } = members::members(cluster, report);
    let hostgroup = |id: HostgroupId, role, members| Hostgroup {
        id,
        cluster: compiled.address.clone(),
        role,
        members,
    };
    let mut hostgroups = vec![hostgroup(compiled.writer, Role::Writer, writers)];
    if let Some(id) = compiled.reader {
        hostgroups.push(hostgroup(id, Role::Reader, readers));
    }
    hostgroups
}

fn kind(cluster: &model::Cluster, at: usize, numbers: &Numbers) -> ClusterKind {
    let group = || Group {
        backup_writer: numbers.of(at, Purpose::BackupWriter),
        offline: numbers.of(at, Purpose::Offline),
        writers: cluster.writers,
        max_transactions_behind: cluster.max_transactions_behind.unwrap_or(0),
        failback: cluster.failback,
    };
    match cluster.kind {
        model::ClusterKind::Single | model::ClusterKind::Hostgroup => ClusterKind::Single,
        model::ClusterKind::Replication { read_only_check } => ClusterKind::Replication { read_only_check },
        model::ClusterKind::Galera => ClusterKind::Galera(group()),
        model::ClusterKind::GroupReplication => ClusterKind::GroupReplication(group()),
    }
}
