//! Who writes and who reads in a cluster, from what monitors know of its servers.
//!
//! A pure function of the configuration, of what is known, and of what was known before ([`RoleMemory`]): a monitor calls it with
//! what it sees, `route` and `test` with what they are asked to suppose.

mod claims;
mod equals;
mod memory;
mod preferred;
mod replicas;
mod sight;
mod sisters;
mod source;
mod supposed;
mod why;

use std::mem::discriminant;

pub use claims::Claim;
pub use memory::RoleMemory;
pub use preferred::NotPreferred;
pub use shardwright_vocabulary::{ServerName, Supposition};
pub use sight::{GaleraSight, GroupSight, ServerSight, Sight};
pub use sisters::{Doubt, SisterReport, SisterReports, remembering};
pub use source::{LastLag, Source};
pub use why::Why;

use crate::{
    Address, Candidate, Cluster, ClusterKind, Configuration, HostgroupId, Member, MemberStatus, Role,
    WriterServesReads,
};

/// What a server does in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It takes statements.
    Serves,
    /// It takes reads when nobody else can.
    LastResort,
    /// It could write, and another server does.
    StandsBy,
    /// It takes nothing new.
    Out(Why),
}

/// What a server does in both roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRoles {
    /// `clusters.NAME.servers.NAME`
    pub server: Address,
    /// As a writer.
    pub writes: Standing,
    /// As a reader.
    pub reads: Standing,
}

impl Standing {
    /// Whether it is the same but for figures and words: by how much a server is behind, why it does not answer.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Standing::Out(why), Standing::Out(other)) => discriminant(why) == discriminant(other),
            _ => self == other,
        }
    }
}

impl ServerRoles {
    /// Whether both roles are the same but for figures and words.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.server == other.server && self.writes.is_like(&other.writes) && self.reads.is_like(&other.reads)
    }

    /// Whether the server does not answer.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self.writes, Standing::Out(Why::Lost(_)))
    }

    /// What the server does in a role.
    #[must_use]
    pub fn standing(&self, role: Role) -> &Standing {
        match role {
            Role::Writer => &self.writes,
            Role::Reader => &self.reads,
        }
    }
}

/// The roles in a cluster, in the order of its candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(pub Vec<ServerRoles>);

impl Roles {
    /// Whether all servers have the same roles but for figures and words.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.into_iter().all(|(one, other)| one.is_like(other))
    }

    /// The servers that write.
    pub fn writers(&self) -> impl Iterator<Item = &Address> {
        let writes = |server: &&ServerRoles| server.writes == Standing::Serves;
        self.0.iter().filter(writes).map(|server| &server.server)
    }

    /// Why servers do not serve in a role, each reason once, behind the servers that it is about.
    #[must_use]
    pub fn whys(&self, role: Role) -> String {
        let mut whys: Vec<(Vec<&str>, &Why)> = Vec::new();
        for server in &self.0 {
            let Standing::Out(why) = server.standing(role) else {
                continue;
            };
            match whys.iter_mut().find(|(_, known)| *known == why) {
                Some((servers, _)) => servers.push(server.server.as_str()),
                None => whys.push((vec![server.server.as_str()], why)),
            }
        }
        let told = whys
            .iter()
            .map(|(servers, why)| format!("{}: {why}", servers.join(", ")));
        told.collect::<Vec<_>>().join("; ")
    }

    /// The roles of a server.
    pub fn of(&self, server: &Address) -> Option<&ServerRoles> {
        self.0.iter().find(|roles| roles.server == *server)
    }
}

/// The place of a server in a hostgroup, as its roles have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether it takes statements of the hostgroup; draining: only those of transactions that are open there.
    pub status: MemberStatus,
    /// Its share.
    pub weight: u32,
    /// Members of a higher tier serve only when no member of a lower one can.
    pub tier: u8,
}

impl Place {
    /// Whether it takes a share of the hostgroup's statements.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.status == MemberStatus::Online && self.weight > 0
    }
}

/// A cluster whose servers get their roles from what is known of them.
#[derive(Clone, Debug)]
pub struct WatchedCluster<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// Its candidates, each with how it is reached.
    pub servers: Vec<(&'c Candidate, &'c Member)>,
}

impl<'c> WatchedCluster<'c> {
    /// The cluster as one that is watched; `None` where it is not, or a candidate is no member of its hostgroups.
    pub fn of(configuration: &'c Configuration, cluster: &'c Cluster) -> Option<Self> {
        if cluster.candidates.is_empty() {
            return None;
        }
        let groups = [Some(cluster.writer), cluster.reader].into_iter().flatten();
        let members: Vec<&Member> = groups
            .filter_map(|id| configuration.hostgroups.iter().find(|group| group.id == id))
            .flat_map(|group| &group.members)
            .collect();
        let found = |candidate: &'c Candidate| {
            let member = members.iter().find(|member| member.server == candidate.server)?;
            Some((candidate, *member))
        };
        let servers: Option<Vec<_>> = cluster.candidates.iter().map(found).collect();
        servers.map(|servers| Self { cluster, servers })
    }

    /// Its hostgroups, each with the role that its members have.
    pub fn hostgroups(&self) -> impl Iterator<Item = (Role, HostgroupId)> {
        let reader = self.cluster.reader.map(|id| (Role::Reader, id));
        [Some((Role::Writer, self.cluster.writer)), reader]
            .into_iter()
            .flatten()
    }

    /// The roles that `sights` give, one for each candidate; `memory` is what was known before and becomes what is known now.
    /// `None` as long as a server has not been looked at and nothing is remembered.
    pub fn roles(&self, sights: &[Sight], memory: &mut RoleMemory) -> Option<Roles> {
        debug_assert_eq!(sights.len(), self.servers.len());
        let chosen = match &self.cluster.kind {
            ClusterKind::Single => Some(self.written_writer()),
            ClusterKind::Replication { .. } => replicas::writer(self, sights, memory),
            ClusterKind::Galera(group) => equals::writers(self, group, sights, memory),
            ClusterKind::GroupReplication(group) => equals::writers(self, group, sights, memory),
        }?;
        // Nobody could be asked: what is written is the best that is known.
        let is_nothing_known = !memory.knows_anything() && sights.iter().all(Sight::tells_nothing);
        let writes = if is_nothing_known {
            self.written_writer()
        } else {
            chosen
        };
        Some(self.with_readers(writes, sights))
    }

    /// Before a monitor has spoken, the first server in the order of preference that is meant to serve writes.
    fn written_writer(&self) -> Vec<Standing> {
        let is_online = |(_, member): &(&Candidate, &Member)| member.status == MemberStatus::Online;
        let first = self.servers.iter().position(is_online);
        let standing = |(at, (_, member)): (usize, &(&Candidate, &Member))| match member.status {
            MemberStatus::Online if Some(at) == first => Standing::Serves,
            MemberStatus::Online => Standing::StandsBy,
            status => Standing::Out(Why::Written(status)),
        };
        self.servers.iter().enumerate().map(standing).collect()
    }

    fn with_readers(&self, writes: Vec<Standing>, sights: &[Sight]) -> Roles {
        let has_writer = writes.contains(&Standing::Serves);
        let roles = writes.into_iter().enumerate().map(|(at, writes)| {
            let (candidate, member) = self.servers[at];
            ServerRoles {
                server: candidate.server.clone(),
                reads: self.reads(candidate, member, (&writes, has_writer), &sights[at]),
                writes,
            }
        });
        Roles(roles.collect())
    }

    /// What a server does as a reader, which does this as a writer. `has_writer`: some server writes.
    fn reads(
        &self,
        candidate: &Candidate,
        member: &Member,
        (writes, has_writer): (&Standing, bool),
        sight: &Sight,
    ) -> Standing {
        if member.status != MemberStatus::Online {
            return Standing::Out(Why::Written(member.status));
        }
        let of_kind = match &self.cluster.kind {
            // Who is good enough for writes is good enough for reads.
            _ if *writes == Standing::Serves => Ok(()),
            ClusterKind::Single => Ok(()),
            ClusterKind::Replication { .. } => {
                let reads_unknown = !has_writer && self.cluster.on_unknown.reads();
                replicas::may_read(candidate, writes, sight, reads_unknown)
            }
            ClusterKind::Galera(group) | ClusterKind::GroupReplication(group) => {
                equals::may_read(group, sight)
            }
        };
        match (of_kind, writes, self.cluster.writer_serves_reads) {
            (Err(why), ..) => Standing::Out(why),
            (Ok(()), Standing::Serves, WriterServesReads::Never) => Standing::Out(Why::WriterReadsNothing),
            (Ok(()), Standing::Serves, WriterServesReads::LastResort) => Standing::LastResort,
            (Ok(()), ..) => Standing::Serves,
        }
    }

    /// The places of the candidates in the hostgroup of a role. While nothing is known, nobody serves.
    pub fn places(&self, role: Role, roles: Option<&Roles>) -> Vec<Place> {
        let place = |(at, (candidate, member)): (usize, &(&Candidate, &Member))| {
            let standing = roles.map(|roles| roles.0[at].standing(role));
            let status = match standing {
                None if member.status == MemberStatus::Online => MemberStatus::Draining,
                None => member.status,
                Some(standing) => standing.status(),
            };
            let weight = match role {
                // Who is the only writer writes, whatever its share.
                Role::Writer => candidate.write_weight.max(1),
                Role::Reader if standing == Some(&Standing::LastResort) => candidate.read_weight.max(1),
                Role::Reader => candidate.read_weight,
            };
            Place {
                status,
                weight,
                tier: u8::from(standing == Some(&Standing::LastResort)),
            }
        };
        self.servers.iter().enumerate().map(place).collect()
    }
}

impl Standing {
    fn status(&self) -> MemberStatus {
        match self {
            Standing::Serves | Standing::LastResort => MemberStatus::Online,
            Standing::StandsBy => MemberStatus::Draining,
            Standing::Out(why) => why.status(),
        }
    }
}
