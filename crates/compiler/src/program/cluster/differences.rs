//! What an engine does differently with a cluster, or cannot do.

use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;
use shardwright_topology::model::{
    Cluster, ClusterKind, Failback, GALERA_TRANSACTIONS_BEHIND, RolesBy, Server, ServerState, ServerTls,
    Topology, WriterServesReads,
};

use super::members::{are_watched, preferred};
use super::weights::{READER_WEIGHT_FACTOR, read_weight};
use crate::diagnostics::{APPROXIMATED, DIFFERENCE, Diagnostics, UNSUPPORTED};

/// The largest value of `mysql-monitor_slave_lag_when_null`, in seconds.
const LARGEST_LAG_S: u64 = 604_800;

/// What the differences of one cluster depend on in the others.
pub(super) struct Differences<'t> {
    topology: &'t Topology,
    /// The writer of some cluster of type replication serves reads.
    a_writer_serves_reads: bool,
}

impl<'t> Differences<'t> {
    pub(super) fn of(topology: &'t Topology) -> Self {
        Self {
            topology,
            a_writer_serves_reads: topology.clusters.iter().any(|cluster| {
                matches!(cluster.kind, ClusterKind::Replication { .. })
                    && cluster.writer_serves_reads != WriterServesReads::Never
            }),
        }
    }

    /// Reports those of a cluster, each at the line that asks for it.
    pub(super) fn report(&self, cluster: &Cluster, report: &mut Diagnostics<'_>) {
        tls(cluster, report);
        match report.engine {
            EngineId::Bundled if are_watched(self.topology, cluster, report) => {}
            EngineId::Bundled => without_monitor(cluster, report),
            EngineId::Proxysql27 | EngineId::Proxysql30 => {
                self.fallback(cluster, report);
                lag(cluster, report);
                if cluster.roles_by == RolesBy::Engine {
                    election(cluster, report);
                }
            }
        }
    }

    /// What readers fall back to on ProxySQL, which has neither tiers nor a switch per cluster.
    fn fallback(&self, cluster: &Cluster, report: &mut Diagnostics<'_>) {
        match (cluster.kind, cluster.writer_serves_reads) {
            (ClusterKind::Single | ClusterKind::Hostgroup, _) => {}
            (_, WriterServesReads::LastResort) => {
                let after = match cluster.kind {
                    ClusterKind::Replication { .. } => "",
                    _ => "; after another server becomes the writer, it keeps its full share of reads",
                };
                let what = format!(
                    "the writer answers about one in {READER_WEIGHT_FACTOR} reads per reader: it is one of the readers, with the lowest weight, because there is no last resort{after}"
                );
                report.difference(cluster.origin, "writer_serves_reads", what);
            }
            (ClusterKind::Galera, WriterServesReads::Always) if reads_are_weighted(cluster) => {
                let what = "after another server becomes the writer, it keeps its own share of reads, and the first writer returns with the share of a reader: Galera hostgroups have one weight per server";
                report.difference(cluster.origin, "writer_serves_reads", what);
            }
            (ClusterKind::Replication { .. }, WriterServesReads::Never)
                if cluster.roles_by == RolesBy::Engine && self.a_writer_serves_reads =>
            {
                let message = format!(
                    "on {}, the writer may answer reads too: mysql-monitor_writer_is_also_reader is one switch for all \
                     clusters of type replication, and others let their writer serve reads",
                    report.engine
                );
                report.add(
                    Severity::Warning,
                    DIFFERENCE,
                    cluster.origin,
                    "writer_serves_reads",
                    message,
                );
            }
            _ => {}
        }
    }
}

fn tls(cluster: &Cluster, report: &mut Diagnostics<'_>) {
    let engine = report.engine;
    let (severity, code, message) = match (engine, cluster.tls) {
        (EngineId::Bundled, _) | (_, ServerTls::Disabled | ServerTls::Preferred) => return,
        (EngineId::Proxysql27 | EngineId::Proxysql30, ServerTls::Required) => (
            Severity::Warning,
            DIFFERENCE,
            format!(
                "{engine} connects without TLS to a server that offers none; set require_secure_transport on the servers"
            ),
        ),
        (EngineId::Proxysql27 | EngineId::Proxysql30, ServerTls::Verify) => (
            Severity::Error,
            UNSUPPORTED,
            format!("{engine} verifies no certificates of servers; bundled does"),
        ),
    };
    report.add(severity, code, cluster.origin, "tls", message);
}

/// The bundled engine places the servers of a cluster that it does not watch as they are written.
fn without_monitor(cluster: &Cluster, report: &mut Diagnostics<'_>) {
    let remedy = match cluster.roles_by {
        _ if cluster.kind == ClusterKind::Hostgroup => {
            "write `type: replication`, whose replicas are watched"
        }
        RolesBy::External => "write `roles_by: engine` and a `monitor` section",
        RolesBy::Engine => "write a `monitor` section",
    };
    let mut without = |origin, field: &str, lost: String| {
        let message = format!("bundled does not watch this cluster: {lost}; {remedy}");
        report.add(Severity::Warning, APPROXIMATED, origin, field, message);
    };
    if matches!(cluster.kind, ClusterKind::Galera | ClusterKind::GroupReplication) {
        let first = preferred(cluster).first().map_or("", |server| &server.name);
        let lost = format!("writes go to {first} until the next apply, whatever the state of the servers is");
        without(cluster.origin, "type", lost);
    }
    if cluster.failback == Failback::Automatic {
        without(
            cluster.origin,
            "failback",
            "it does not fail over or fail back".to_owned(),
        );
    }
    // That the state of the cluster is not followed says the same of the default.
    let default = (cluster.kind == ClusterKind::Galera).then_some(GALERA_TRANSACTIONS_BEHIND);
    if cluster.max_transactions_behind != default && cluster.max_transactions_behind != Some(0) {
        let lost = "a server that is further behind may answer reads".to_owned();
        without(cluster.origin, "max_transactions_behind", lost);
    }
    let limited = cluster
        .servers
        .iter()
        .find(|server| server.max_replication_lag_ms.is_some());
    if let Some(server) = limited {
        let lost = "a replica that is further behind may answer reads".to_owned();
        without(server.origin, "max_replication_lag", lost);
    }
}

fn reads_are_weighted(cluster: &Cluster) -> bool {
    let servers = preferred(cluster);
    servers
        .windows(2)
        .any(|pair| read_weight(pair[0]) != read_weight(pair[1]))
}

fn lag(cluster: &Cluster, report: &mut Diagnostics<'_>) {
    for server in &cluster.servers {
        let Some(limit) = server.max_replication_lag_ms else {
            continue;
        };
        let field = "max_replication_lag";
        let seconds = limit.div_ceil(1000);
        if seconds >= LARGEST_LAG_S {
            let message = format!(
                "{} would never take out a replica whose replication has stopped: it counts as at most {LARGEST_LAG_S} s behind, so the limit must be lower",
                report.engine
            );
            report.error(UNSUPPORTED, server.origin, field, message);
        } else if !limit.is_multiple_of(1000) {
            let what = format!("lag is compared in whole seconds: the limit becomes {seconds}s");
            report.difference(server.origin, field, what);
        }
    }
}

/// SupportedBy becomes the writer of a group, and what that does to servers that are out.
fn election(cluster: &Cluster, report: &mut Diagnostics<'_>) {
    let engine = report.engine;
    match cluster.kind {
        ClusterKind::Galera => {
            if cluster.failback == Failback::Manual {
                let message = format!(
                    "on {engine}, the preferred writer takes over as soon as it is back: write `failback: automatic`, or `roles_by: external` to leave roles to a scheduler"
                );
                // The default of the language is no wish of the file.
                let (severity, code) = if report.is_written(cluster.origin, "failback") {
                    (Severity::Error, UNSUPPORTED)
                } else {
                    (Severity::Warning, DIFFERENCE)
                };
                report.add(severity, code, cluster.origin, "failback", message);
            }
            let out = |server: &&Server| server.state == ServerState::Draining;
            for server in cluster.servers.iter().filter(out) {
                let what = "transactions that are open on a draining server are cut: it is left out of mysql_servers, \
                            because the monitor of Galera hostgroups sets OFFLINE_SOFT back to ONLINE; \
                            pxc_maint_mode on the server itself (Percona XtraDB Cluster) lets them end first";
                report.difference(server.origin, "state", what);
            }
        }
        ClusterKind::GroupReplication => elected_by_group(cluster, report),
        ClusterKind::Single | ClusterKind::Hostgroup | ClusterKind::Replication { .. } => {}
    }
}

/// What the election of a group takes from the proxy.
fn elected_by_group(cluster: &Cluster, report: &mut Diagnostics<'_>) {
    if cluster.failback == Failback::Automatic {
        let message = format!(
            "on {}, the group elects its primary itself, and a preferred writer that is back takes over only then: set \
             group_replication_member_weight on the servers",
            report.engine
        );
        report.add(Severity::Warning, DIFFERENCE, cluster.origin, "failback", message);
    }
    if !cluster.writer_preference.is_empty() && cluster.writers == 1 {
        let what = "the group elects its primary itself: group_replication_member_weight on the servers ranks them, \
                    `writer_preference` only decides where writes go until the monitor has asked";
        report.difference(cluster.origin, "writer_preference", what);
    }
}
