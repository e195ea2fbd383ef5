//! Whether a load balancer is to send clients to this proxy now.

use shardwright_rules::{Cluster, MemberStatus};

use crate::control::WAITING;
use crate::shared::{Phase, Shared};
use crate::snapshot::Snapshot;

/// Whether clients are served here as far as this proxy knows: all clusters, or one.
///
/// # Errors
/// Why not.
pub(super) fn readiness(shared: &Shared, snapshot: &Snapshot, of: Option<&Cluster>) -> Result<(), String> {
    if shared.phase() != Phase::Serving {
        return Err("the proxy is draining".to_owned());
    }
    if snapshot.generation == 0 {
        return Err(WAITING.to_owned());
    }
    let clusters = &snapshot.configuration.clusters;
    if clusters.is_empty() {
        return Err("the configuration has no cluster".to_owned());
    }
    let mut asked = clusters
        .iter()
        .filter(|cluster| of.is_none_or(|of| of.address == cluster.address));
    match asked.find(|cluster| lacks_writer(shared, snapshot, cluster)) {
        Some(cluster) => Err(format!("no server of {} takes writes", cluster.address)),
        None => Ok(()),
    }
}

/// Whether statements for the writer of a cluster find none, although the configuration has a server that may write.
pub(crate) fn lacks_writer(shared: &Shared, snapshot: &Snapshot, cluster: &Cluster) -> bool {
    needs_writer(snapshot, cluster)
        && !has_writer(snapshot, cluster)
        // Statements wait for the end of the pause.
        && !shared.pauses.has(&cluster.address)
}

/// Whether the configuration has a server that may write.
fn needs_writer(snapshot: &Snapshot, cluster: &Cluster) -> bool {
    let hostgroups = [Some(cluster.writer), cluster.reader].into_iter().flatten();
    let mut members = hostgroups
        .filter_map(|id| snapshot.configuration.hostgroup(id))
        .flat_map(|hostgroup| &hostgroup.members);
    members.any(|member| {
        let candidate = cluster
            .candidates
            .iter()
            .find(|candidate| candidate.server == member.server);
        member.status == MemberStatus::Online && candidate.is_none_or(|candidate| candidate.write_weight > 0)
    })
}

fn has_writer(snapshot: &Snapshot, cluster: &Cluster) -> bool {
    let group = snapshot.hostgroups.get(&cluster.writer);
    group.is_some_and(|group| group.placed().any(|(_, place)| place.serves()))
}
