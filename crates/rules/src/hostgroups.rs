//! The hostgroup layout: clusters, their writer and reader hostgroups, and the servers in them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Address, Failback, MemberStatus, ReadOnlyCheck, Role, RolesBy, ServerTls, SlowReaders, UnknownLag,
    WriterServesReads,
};

/// The number of a hostgroup, pinned in the lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostgroupId(pub u32);

impl fmt::Display for HostgroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A cluster and the hostgroups that it was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Name in the topology.
    pub name: Arc<str>,
    /// `clusters.NAME`.
    pub address: Address,
    /// How roles are known.
    pub kind: ClusterKind,
    /// Hostgroup of the writer.
    pub writer: HostgroupId,
    /// Hostgroup of the readers; `None` where the cluster has none of its own (type `single`).
    pub reader: Option<HostgroupId>,
    /// When the writer answers reads.
    pub writer_serves_reads: WriterServesReads,
    /// What replicas with a limit of lag do while nobody knows how far they are behind, because the writer is gone.
    #[serde(default, skip_serializing_if = "UnknownLag::reads")]
    pub on_unknown: UnknownLag,
    /// What a reader gets that answers far more slowly than the others.
    #[serde(default, skip_serializing_if = "SlowReaders::get_fewer")]
    pub slow_readers: SlowReaders,
    /// Who moves servers between the hostgroups.
    #[serde(default, skip_serializing_if = "RolesBy::is_engine")]
    pub roles_by: RolesBy,
    /// The servers that the engine watches and gives roles, the most wanted writer first. Empty where servers stay as they
    /// are written, and on engines that follow servers in their own way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
}

/// What a server may be in each role, beside what it is as a [`Member`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// `clusters.NAME.servers.NAME`; a member of a hostgroup of its cluster.
    pub server: Address,
    /// Share of writes among several writers.
    pub write_weight: u32,
    /// Share of reads; 0 takes none.
    pub read_weight: u32,
    /// Replication lag past which it answers no reads, ms; 0: not checked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_replication_lag_ms: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Cluster {
    /// Whether statements that are sent to a hostgroup are answered by this cluster.
    pub fn owns(&self, hostgroup: HostgroupId) -> bool {
        self.writer == hostgroup || self.reader == Some(hostgroup)
    }
}

/// The type of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ClusterKind {
    /// One server.
    Single,
    /// A primary and asynchronous replicas.
    Replication {
        /// The server variable that makes a server a replica.
        read_only_check: ReadOnlyCheck,
    },
    /// Galera (MariaDB, Percona XtraDB Cluster): every server could write.
    Galera(Group),
    /// MySQL group replication.
    GroupReplication(Group),
}

impl ClusterKind {
    /// What a group of equals has beside its writers and readers; `None` for the other types.
    pub fn group(&self) -> Option<&Group> {
        match self {
            ClusterKind::Galera(group) | ClusterKind::GroupReplication(group) => Some(group),
            ClusterKind::Single | ClusterKind::Replication { .. } => None,
        }
    }
}

/// What clusters have in which any server could write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Hostgroup of servers that could write and do not.
    #[serde(rename = "backup_writer_hostgroup")]
    pub backup_writer: HostgroupId,
    /// Hostgroup of servers that are out.
    #[serde(rename = "offline_hostgroup")]
    pub offline: HostgroupId,
    /// How many servers write at once; at least 1.
    pub writers: u32,
    /// Transactions that a server may be behind; 0: not checked.
    pub max_transactions_behind: u32,
    /// Whether a better writer that came back takes over.
    pub failback: Failback,
}

/// A hostgroup: the servers that serve one role of one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hostgroup {
    /// Number, pinned in the lock file.
    pub id: HostgroupId,
    /// `clusters.NAME`.
    pub cluster: Address,
    /// The role that its members serve.
    pub role: Role,
    /// Servers, in the order of preference.
    pub members: Vec<Member>,
}

/// A server as a member of one hostgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// `clusters.NAME.servers.NAME`.
    pub server: Address,
    /// Host name, IP address, or the path of a unix socket when `port` is 0.
    pub host: String,
    /// TCP port; 0 for a unix socket.
    pub port: u16,
    /// Share of the hostgroup's statements; 0 takes none.
    pub weight: u32,
    /// Members of a higher tier serve only when no member of a lower one can: 0, or 1 for the writer as last resort.
    pub tier: u8,
    /// Most connections the proxy opens to it from this hostgroup.
    pub max_connections: u32,
    /// Replication lag in seconds past which it takes no statements; 0: not checked.
    pub max_replication_lag_s: u32,
    /// Encryption towards it.
    pub tls: ServerTls,
    /// Whether it takes statements.
    pub status: MemberStatus,
}
