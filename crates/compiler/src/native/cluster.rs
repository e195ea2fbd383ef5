//! Hostgroups and their members.

use std::collections::HashMap;

use shardwright_rules::{
    Cluster, ClusterKind, EngineId, Hostgroup, HostgroupId, Member, MemberStatus, ReadOnlyCheck, Role,
    WriterServesReads,
};
use shardwright_topology::model::{self as model, IdRanges, OriginId, Topology};

use crate::ids::lock::Lock;
use crate::ids::probe::Probe;
use crate::report::{EXHAUSTED, NUMBERS, Report};

/// Connections to a server where the topology does not say.
const DEFAULT_MAX_CONNECTIONS: u32 = 1_000;
/// How much more than a writer of last resort a reader takes on an engine without tiers.
const READER_WEIGHT_FACTOR: u32 = 100;
/// The largest weight of ProxySQL.
const LARGEST_WEIGHT: u32 = 10_000_000;

/// Clusters by name, and their hostgroups by id.
pub(super) fn layout(
    topology: &Topology,
    ids: &IdRanges,
    lock: &mut Lock,
    report: &mut Report<'_>,
) -> (Vec<Cluster>, Vec<Hostgroup>) {
    let numbers = numbers(topology, ids, lock, report);
    let mut clusters = Vec::with_capacity(topology.clusters.len());
    let mut hostgroups = Vec::new();
    for cluster in &topology.clusters {
        let kind = kind(cluster, report);
        let number = |role: Role| numbers[&name_of(cluster, role)];
        let reader = (kind != ClusterKind::Single).then(|| number(Role::Reader));
        let address = report.address(cluster.origin);
        let compiled = Cluster {
            name: cluster.name.clone(),
            address: address.clone(),
            kind,
            writer: number(Role::Writer),
            reader,
            writer_serves_reads: match cluster.writer_serves_reads {
                model::WriterServesReads::Never => WriterServesReads::Never,
                model::WriterServesReads::LastResort => WriterServesReads::LastResort,
                model::WriterServesReads::Always => WriterServesReads::Always,
            },
        };
        let (writers, readers) = members(cluster, reader.is_some(), report);
        hostgroups.push(Hostgroup {
            id: compiled.writer,
            cluster: address.clone(),
            role: Role::Writer,
            members: writers,
        });
        if let Some(id) = reader {
            hostgroups.push(Hostgroup {
                id,
                cluster: address,
                role: Role::Reader,
                members: readers,
            });
        }
        clusters.push(compiled);
    }
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    hostgroups.sort_by_key(|hostgroup| hostgroup.id);
    (clusters, hostgroups)
}

fn kind(cluster: &model::Cluster, report: &mut Report<'_>) -> ClusterKind {
    let replication = |check| ClusterKind::Replication {
        read_only_check: check,
    };
    match cluster.kind {
        model::ClusterKind::Single => ClusterKind::Single,
        model::ClusterKind::Replication { read_only_check } => replication(match read_only_check {
            model::ReadOnlyCheck::ReadOnly => ReadOnlyCheck::ReadOnly,
            model::ReadOnlyCheck::SuperReadOnly => ReadOnlyCheck::SuperReadOnly,
            model::ReadOnlyCheck::InnodbReadOnly => ReadOnlyCheck::InnodbReadOnly,
        }),
        model::ClusterKind::Galera => {
            report.not_built(cluster.origin, "type", "serve a cluster of type galera");
            replication(ReadOnlyCheck::ReadOnly)
        }
        model::ClusterKind::GroupReplication => {
            report.not_built(
                cluster.origin,
                "type",
                "serve a cluster of type group_replication",
            );
            replication(ReadOnlyCheck::ReadOnly)
        }
    }
}

fn name_of(cluster: &model::Cluster, role: Role) -> String {
    format!("hostgroups.{}.{role}", cluster.name)
}

/// A number for every hostgroup: written, else locked, else probed. Engine-independent: single clusters get a number for
/// readers only when they write one.
fn numbers(
    topology: &Topology,
    ids: &IdRanges,
    lock: &mut Lock,
    report: &mut Report<'_>,
) -> HashMap<String, HostgroupId> {
    let mut probe = Probe::new((*ids.hostgroups.start(), *ids.hostgroups.end()));
    let mut numbers: HashMap<String, HostgroupId> = HashMap::new();
    let mut wanted: Vec<(String, OriginId)> = Vec::new();
    for cluster in &topology.clusters {
        let pins = [
            (Role::Writer, cluster.hostgroups.writer),
            (Role::Reader, cluster.hostgroups.reader),
        ];
        for (role, pin) in pins {
            let name = name_of(cluster, role);
            match pin {
                Some(id) => {
                    if !probe.take(id) {
                        let field = format!("hostgroups.{role}");
                        let message = format!("hostgroup {id} of {name} is also another hostgroup's number");
                        report.error(NUMBERS, cluster.origin, &field, message);
                    }
                    numbers.insert(name, HostgroupId(id));
                }
                None if role == Role::Reader && cluster.kind == model::ClusterKind::Single => {}
                None => wanted.push((name, cluster.origin)),
            }
        }
    }
    wanted.sort();
    wanted.retain(|(name, _)| match lock.get(name).filter(|&id| probe.is_free(id)) {
        Some(id) => {
            probe.take(id);
            numbers.insert(name.clone(), HostgroupId(id));
            false
        }
        None => true,
    });
    let mut first_without = None;
    for (name, origin) in wanted {
        let id = probe.give(&name).unwrap_or_else(|| {
            first_without = first_without.or(Some(origin));
            0
        });
        numbers.insert(name, HostgroupId(id));
    }
    if let Some(origin) = first_without {
        let message = format!(
            "ids.hostgroups {}-{} has {} numbers, {} too few for the hostgroups of this topology",
            ids.hostgroups.start(),
            ids.hostgroups.end(),
            probe.size(),
            probe.missing()
        );
        report.error(EXHAUSTED, origin, "", message);
    }
    lock.forget("hostgroups.");
    for (name, id) in &numbers {
        lock.set(name.clone(), id.0);
    }
    numbers
}

/// The servers of both roles. Until a monitor has spoken, the most wanted server is the writer.
fn members(cluster: &model::Cluster, roles: bool, report: &mut Report<'_>) -> (Vec<Member>, Vec<Member>) {
    let mut order: Vec<usize> = cluster.writer_preference.iter().map(|&at| at as usize).collect();
    order.extend((0..cluster.servers.len()).filter(|at| !cluster.writer_preference.contains(&(*at as u32))));
    let servers: Vec<&model::Server> = order.iter().filter_map(|&at| cluster.servers.get(at)).collect();
    let member = |server: &model::Server, weight: u32, tier: u8, report: &Report<'_>| Member {
        server: report.address(server.origin),
        host: server.host.to_string(),
        port: server.port,
        weight,
        tier,
        max_connections: server.max_connections.unwrap_or(DEFAULT_MAX_CONNECTIONS),
        max_replication_lag_s: server
            .max_replication_lag_ms
            .map_or(0, |lag| u32::try_from(lag.div_ceil(1000)).unwrap_or(u32::MAX)),
        use_tls: cluster.tls != model::Tls::Disabled,
        status: match server.state {
            model::ServerState::Online => MemberStatus::Online,
            model::ServerState::Draining => MemberStatus::Draining,
            model::ServerState::Offline => MemberStatus::Offline,
        },
    };
    if !roles {
        return (
            servers
                .iter()
                .map(|server| member(server, server.weight, 0, report))
                .collect(),
            Vec::new(),
        );
    }
    let Some((writer, others)) = servers.split_first() else {
        return (Vec::new(), Vec::new());
    };
    let writers = vec![member(writer, writer.weight, 0, report)];
    let read_weight = |server: &model::Server| server.read_weight.unwrap_or(server.weight);
    let tiers = report.engine == EngineId::Bundled;
    let last_resort = cluster.writer_serves_reads == model::WriterServesReads::LastResort;
    let scaled = |weight: u32| {
        if last_resort && !tiers {
            weight.saturating_mul(READER_WEIGHT_FACTOR).min(LARGEST_WEIGHT)
        } else {
            weight
        }
    };
    let mut readers: Vec<Member> = others
        .iter()
        .map(|server| member(server, scaled(read_weight(server)), 0, report))
        .collect();
    match cluster.writer_serves_reads {
        model::WriterServesReads::Never => {}
        model::WriterServesReads::Always => readers.push(member(writer, read_weight(writer), 0, report)),
        model::WriterServesReads::LastResort if tiers => readers.push(member(writer, 1, 1, report)),
        model::WriterServesReads::LastResort => {
            readers.push(member(writer, 1, 0, report));
            let what = format!(
                "the writer answers about one in {READER_WEIGHT_FACTOR} reads per reader: it stands among the readers at \
                 the lowest weight, because there is no last resort"
            );
            report.difference(cluster.origin, "writer_serves_reads", what);
        }
    }
    (writers, readers)
}
