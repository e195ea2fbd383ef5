//! The servers of a cluster as members of its hostgroups.

use shardwright_diagnostics::Severity;
use shardwright_rules::{Candidate, EngineId, Member, MemberStatus};
use shardwright_topology::model::{
    Cluster, ClusterKind, RolesBy, Server, ServerState, ServerTls, Topology, WriterServesReads,
};

use super::weights::{Weights, read_weight};
use crate::diagnostics::{DIFFERENCE, Diagnostics};

/// The servers of a cluster, the most wanted writer first: `writer_preference`, then the order of definition.
pub(super) fn preferred(cluster: &Cluster) -> Vec<&Server> {
    let named: Vec<usize> = cluster.writer_preference.iter().map(|&at| at as usize).collect();
    let others = (0..cluster.servers.len()).filter(|at| !named.contains(at));
    named
        .iter()
        .copied()
        .chain(others)
        .filter_map(|at| cluster.servers.get(at))
        .collect()
}

/// The members of a cluster's hostgroups.
pub(super) struct Members {
    pub(super) writers: Vec<Member>,
    pub(super) readers: Vec<Member>,
}

/// The servers of both roles. Until a monitor has spoken, the most wanted server is the writer.
pub(super) fn members(cluster: &Cluster, report: &mut Diagnostics<'_>) -> Members {
    let servers = preferred(cluster);
    if !cluster.kind.has_roles() {
        let writers = servers
            .iter()
            .map(|server| member(cluster, server, server.weight, 0, report));
        return Members {
            writers: writers.collect(),
            readers: Vec::new(),
        };
    }
    let writes = writers(cluster, &servers);
    let weights = Weights::of(cluster, &servers, &writes, report);
    let tiers = report.engine == EngineId::Bundled;
    let (mut writers, mut readers, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for (at, server) in servers.iter().enumerate() {
        if !writes[at] {
            readers.push(member(cluster, server, weights.reader[at], 0, report));
            continue;
        }
        writers.push(member(cluster, server, weights.writer[at], 0, report));
        report_unread_weight(cluster, server, report);
        match cluster.writer_serves_reads {
            WriterServesReads::Never => {}
            WriterServesReads::Always => {
                last.push(member(cluster, server, weights.reader[at], 0, report));
            }
            WriterServesReads::LastResort => last.push(member(cluster, server, 1, u8::from(tiers), report)),
        }
    }
    readers.append(&mut last);
    Members { writers, readers }
}

/// ProxySQL has rows and no candidates: the weight of a writer among the readers is that of its row there, if it has one.
fn report_unread_weight(cluster: &Cluster, server: &Server, report: &mut Diagnostics<'_>) {
    let is_ranked = matches!(cluster.kind, ClusterKind::Galera | ClusterKind::GroupReplication)
        && cluster.roles_by == RolesBy::Engine;
    let is_read = is_ranked || cluster.writer_serves_reads == WriterServesReads::Always;
    if report.engine.is_proxysql() && server.read_weight.is_some() && !is_read {
        let message = format!(
            "on {}, the read weight of {} has no effect: it is the writer, which takes reads by its own weight only with \
             `writer_serves_reads: always`",
            report.engine, server.name
        );
        report.add(
            Severity::Warning,
            DIFFERENCE,
            server.origin,
            "read_weight",
            message,
        );
    }
}

/// A server as the only member of a hostgroup. It takes all statements, however far it is behind.
pub(super) fn alone(cluster: &Cluster, server: &Server, report: &Diagnostics<'_>) -> Member {
    Member {
        max_replication_lag_s: 0,
        ..member(cluster, server, 1, 0, report)
    }
}

/// Whether the engine watches the servers of a cluster itself and gives them their roles. Those of a hostgroup have none.
pub(super) fn are_watched(topology: &Topology, cluster: &Cluster, report: &Diagnostics<'_>) -> bool {
    report.engine == EngineId::Bundled
        && topology.monitor.is_some()
        && cluster.roles_by == RolesBy::Engine
        && cluster.kind != ClusterKind::Hostgroup
}

/// What the engine chooses from, where it gives roles itself.
pub(super) fn candidates(topology: &Topology, cluster: &Cluster, report: &Diagnostics<'_>) -> Vec<Candidate> {
    if !are_watched(topology, cluster, report) {
        return Vec::new();
    }
    let candidate = |server: &Server| Candidate {
        server: report.address(server.origin),
        write_weight: server.weight,
        read_weight: read_weight(server),
        max_replication_lag_ms: server.max_replication_lag_ms.unwrap_or(0),
    };
    preferred(cluster).into_iter().map(candidate).collect()
}

/// Which servers write at first. In a group of equals, a server that drains keeps its place until its transactions
/// have ended, and the next one writes beside it.
fn writers(cluster: &Cluster, servers: &[&Server]) -> Vec<bool> {
    let mut writes = vec![false; servers.len()];
    if !matches!(cluster.kind, ClusterKind::Galera | ClusterKind::GroupReplication) {
        writes.iter_mut().take(1).for_each(|first| *first = true);
        return writes;
    }
    let mut left = cluster.writers;
    for (writes, server) in writes.iter_mut().zip(servers) {
        if left == 0 {
            break;
        }
        match server.state {
            ServerState::Online => {
                *writes = true;
                left -= 1;
            }
            ServerState::Draining => *writes = true,
            ServerState::Offline => {}
        }
    }
    if !writes.contains(&true) {
        writes.iter_mut().take(1).for_each(|first| *first = true);
    }
    writes
}

fn member(cluster: &Cluster, server: &Server, weight: u32, tier: u8, report: &Diagnostics<'_>) -> Member {
    let tls = match (report.engine, cluster.tls) {
        // It connects without TLS to a server that offers none; what more is asked for is reported.
        (EngineId::Proxysql27 | EngineId::Proxysql30, ServerTls::Required | ServerTls::Verify) => {
            ServerTls::Preferred
        }
        (_, tls) => tls,
    };
    Member {
        server: report.address(server.origin),
        host: server.host.to_string(),
        port: server.port,
        weight,
        tier,
        max_connections: server.max_connections,
        max_replication_lag_s: server
            .max_replication_lag_ms
            .map_or(0, |lag| u32::try_from(lag.div_ceil(1000)).unwrap_or(u32::MAX)),
        tls,
        status: match server.state {
            ServerState::Online => MemberStatus::Online,
            ServerState::Draining => MemberStatus::Draining,
            ServerState::Offline => MemberStatus::Offline,
        },
    }
}
