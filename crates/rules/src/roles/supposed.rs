//! What monitors would know, supposed: servers as they are meant to be, and what is said to be otherwise.

use super::{GaleraSight, GroupSight, RoleMemory, Roles, ServerSight, Sight, Source, WatchedCluster};
use shardwright_vocabulary::Supposition;

use crate::{Address, ClusterKind};

impl WatchedCluster<'_> {
    /// The roles after these suppositions have come true, in a cluster that was as it is meant to be.
    pub fn suppose(&self, supposed: &[(Address, Supposition)]) -> Option<Roles> {
        let mut memory = RoleMemory::default();
        let mut sights = self.sights_as_meant();
        self.roles(&sights, &mut memory)?;
        for (sight, (candidate, _)) in sights.iter_mut().zip(&self.servers) {
            let of_server = supposed.iter().filter(|(server, _)| *server == candidate.server);
            of_server.for_each(|&(_, supposition)| come_true(supposition, sight));
        }
        self.roles(&sights, &mut memory)
    }

    /// Every server answers; in a cluster of type replication, the first writes and the others follow it.
    fn sights_as_meant(&self) -> Vec<Sight> {
        let is_replica = |at| matches!(self.cluster.kind, ClusterKind::Replication { .. }) && at > 0;
        let sight = |at| {
            let sight = ServerSight {
                is_read_only: Some(is_replica(at)),
                source: match is_replica(at) {
                    true => Source::Running,
                    false => Source::None,
                },
                lag_ms: is_replica(at).then_some(0),
                is_lag_rounded: false,
                has_received_all: true,
                last_lag: None,
                galera: matches!(self.cluster.kind, ClusterKind::Galera(_)).then(GaleraSight::synced),
                group: matches!(self.cluster.kind, ClusterKind::GroupReplication(_)).then(GroupSight::online),
            };
            Sight::Seen(Box::new(sight))
        };
        (0..self.servers.len()).map(sight).collect()
    }
}

fn come_true(supposition: Supposition, sight: &mut Sight) {
    if supposition == Supposition::Down {
        *sight = Sight::Lost {
            why: "supposed".to_owned(),
        };
        return;
    }
    let Sight::Seen(seen) = sight else { return };
    match supposition {
        Supposition::Down => {}
        Supposition::ReadOnly => seen.is_read_only = Some(true),
        Supposition::Promoted => {
            seen.is_read_only = Some(false);
            (seen.source, seen.lag_ms) = (Source::None, None);
        }
        Supposition::Lags(lag_ms) => seen.lag_ms = Some(lag_ms),
        Supposition::LagUnknown => seen.lag_ms = None,
        Supposition::Queue(queue) => {
            seen.galera
                .iter_mut()
                .for_each(|galera| galera.queue = Some(queue));
            seen.group.iter_mut().for_each(|group| group.queue = Some(queue));
        }
        Supposition::Minority => {
            let galera = seen.galera.iter_mut();
            galera.for_each(|galera| galera.is_primary = Some(false));
            seen.group.iter_mut().for_each(|group| group.has_majority = false);
        }
    }
}

impl GroupSight {
    /// A member that serves.
    fn online() -> Self {
        Self {
            state: "ONLINE".to_owned(),
            has_majority: true,
            queue: Some(0),
        }
    }
}
