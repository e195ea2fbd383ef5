//! A server that is told to write, where every server of a cluster could.

use std::fmt;

use super::{RoleMemory, Sight, Standing, WatchedCluster, Why};
use crate::{Address, ClusterKind, Failback};

/// Why a server cannot be told to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPreferred {
    /// Who writes is said by the servers themselves.
    OfServers,
    /// Writes return to the first server of the order of preference by themselves.
    FailsBack,
    /// The cluster has no such server.
    NoSuchServer,
    /// It would not write; why, if that is known.
    Unfit(Option<Why>),
}

impl fmt::Display for NotPreferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotPreferred::OfServers => {
                f.write_str("who writes in it follows from what its servers say, not from a proxy")
            }
            NotPreferred::FailsBack => f.write_str(
                "with `failback: automatic`, writes return to the first server of `writer_preference`: change that, and apply",
            ),
            NotPreferred::NoSuchServer => f.write_str("it has no such server"),
            NotPreferred::Unfit(Some(why)) => write!(f, "the server cannot write: {why}"),
            NotPreferred::Unfit(None) => f.write_str("the roles of its servers are not known"),
        }
    }
}

impl WatchedCluster<'_> {
    /// Has a server write from here on in the place of those that do. `memory` is as it was where that cannot be.
    ///
    /// # Errors
    /// [`NotPreferred`]
    pub fn prefer(
        &self,
        server: &Address,
        sights: &[Sight],
        memory: &mut RoleMemory,
    ) -> Result<(), NotPreferred> {
        match &self.cluster.kind {
            ClusterKind::Galera(group) | ClusterKind::GroupReplication(group) => {
                if group.failback == Failback::Automatic {
                    return Err(NotPreferred::FailsBack);
                }
            }
            // Its servers say nothing that would end a doubt.
            ClusterKind::Replication { .. } if memory.doubt.is_some() => {}
            ClusterKind::Replication { .. } | ClusterKind::Single => return Err(NotPreferred::OfServers),
        }
        if !self
            .servers
            .iter()
            .any(|(candidate, _)| candidate.server == *server)
        {
            return Err(NotPreferred::NoSuchServer);
        }
        let mut wanted = memory.clone();
        wanted.believe(&self.cluster.kind, std::slice::from_ref(server));
        let roles = self.roles(sights, &mut wanted);
        match roles
            .as_ref()
            .and_then(|roles| roles.of(server))
            .map(|roles| &roles.writes)
        {
            Some(Standing::Serves) => {
                *memory = wanted;
                Ok(())
            }
            Some(Standing::Out(why)) => Err(NotPreferred::Unfit(Some(why.clone()))),
            Some(Standing::StandsBy | Standing::LastResort) | None => Err(NotPreferred::Unfit(None)),
        }
    }
}
