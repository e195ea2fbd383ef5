//! The clusters of a generation whose readers wait for what a session has written.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::{Address, Body, ClusterKind, Configuration, HostgroupId, NativeStep};

/// How a server of a cluster is made to have what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CatchUp {
    /// It waits for a position of the writer (replication, group replication).
    Position,
    /// It waits for what its cluster has (Galera).
    Sync,
    /// It cannot be made to: the writer answers.
    Never,
}

/// A cluster.
#[derive(Debug)]
pub(crate) struct CausalCluster {
    pub(crate) address: Address,
    pub(crate) writer: HostgroupId,
    pub(crate) catch_up: CatchUp,
}

/// The clusters by their hostgroups; none where no policy asks for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CausalClusters(FxHashMap<HostgroupId, Arc<CausalCluster>>);

impl CausalClusters {
    pub(crate) fn of(configuration: &Configuration) -> Self {
        let is_causal = configuration.graph.rules.iter().any(|rule| match &rule.body {
            Body::Native { step, .. } => matches!(step, NativeStep::Role(role) if role.causal),
            Body::Engine(_) => false,
        });
        let mut clusters = FxHashMap::default();
        for cluster in configuration.clusters.iter().filter(|_| is_causal) {
            let causal = Arc::new(CausalCluster {
                address: cluster.address.clone(),
                writer: cluster.writer,
                catch_up: match &cluster.kind {
                    // Of several writers, none says what the others have.
                    ClusterKind::GroupReplication(group) if group.writers > 1 => CatchUp::Never,
                    ClusterKind::Replication { .. } | ClusterKind::GroupReplication(_) => CatchUp::Position,
                    ClusterKind::Galera(_) => CatchUp::Sync,
                    ClusterKind::Single => CatchUp::Never,
                },
            });
            let of_group = cluster.kind.group().map(|group| group.backup_writer);
            for hostgroup in [Some(cluster.writer), cluster.reader, of_group]
                .into_iter()
                .flatten()
            {
                clusters.insert(hostgroup, causal.clone());
            }
        }
        Self(clusters)
    }

    /// The cluster of a hostgroup.
    pub(crate) fn of_hostgroup(&self, hostgroup: HostgroupId) -> Option<&Arc<CausalCluster>> {
        self.0.get(&hostgroup)
    }
}
