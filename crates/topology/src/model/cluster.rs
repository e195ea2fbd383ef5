//! Clusters and their servers.

use std::sync::Arc;

use shardwright_vocabulary::{
    Failback, ReadOnlyCheck, RolesBy, ServerState, ServerTls, SlowReaders, UnknownLag, Words,
    WriterServesReads,
};

use super::{OriginId, Table};

/// A place in [`super::Topology::clusters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u32);

/// Servers that hold the same data.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The name after `clusters.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// How its servers relate.
    pub kind: ClusterKind,
    /// Its servers in the order of definition; at least one.
    pub servers: Table<Server>,
    /// Places in `servers`, the most wanted writer first; servers not named follow in order of definition.
    /// Empty where not said: then the first server written is the writer until a monitor has spoken.
    pub writer_preference: Vec<u32>,
    /// What readers fall back to.
    pub writer_serves_reads: WriterServesReads,
    /// Hostgroup numbers that this cluster must use.
    pub hostgroups: HostgroupPins,
    /// How many servers write at once (galera, group_replication); 1 where not said.
    pub writers: u32,
    /// Whether a better writer that came back takes over.
    pub failback: Failback,
    /// How many transactions a server may be behind before it is taken out (galera, group_replication); no limit where
    /// none. In galera [`GALERA_TRANSACTIONS_BEHIND`] where not said.
    pub max_transactions_behind: Option<u32>,
    /// What replicas with a limit of lag do while nobody knows how far they are behind, because the writer is gone.
    pub on_unknown: UnknownLag,
    /// What a reader gets that answers far more slowly than the others.
    pub slow_readers: SlowReaders,
    /// Who moves servers between roles.
    pub roles_by: RolesBy,
    /// Encryption towards its servers.
    pub tls: ServerTls,
}

/// Transactions that a server of a galera cluster may be behind where the topology does not say. ProxySQL takes 0 for
/// "none at all": a read-only server would go offline with every transaction that waits to be applied.
pub const GALERA_TRANSACTIONS_BEHIND: u32 = 100;

/// How the servers of a cluster relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterKind {
    /// One server.
    Single,
    /// Servers of one hostgroup that are not told apart: any of them answers any statement.
    Hostgroup,
    /// A writer and asynchronous replicas.
    Replication {
        /// Which flag of a server makes it a replica.
        read_only_check: ReadOnlyCheck,
    },
    /// Galera (MariaDB, Percona XtraDB Cluster).
    Galera,
    /// MySQL group replication.
    GroupReplication,
}

/// Hostgroup numbers that this cluster must use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostgroupPins {
    /// The hostgroup of writers.
    pub writer: Option<u32>,
    /// The hostgroup of readers.
    pub reader: Option<u32>,
    /// The hostgroup of servers that could write.
    pub backup_writer: Option<u32>,
    /// The hostgroup of servers that are out.
    pub offline: Option<u32>,
}

/// A database server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The name after `servers.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Host name or address; a path for a unix socket (then `port` is 0).
    pub host: Arc<str>,
    /// TCP port; 3306 where not said.
    pub port: u16,
    /// Share of connections among writers; 1 where not said.
    pub weight: u32,
    /// Share of reads among readers; `weight` where not said.
    pub read_weight: Option<u32>,
    /// Most connections of one proxy to it; 1000 where not said.
    pub max_connections: u32,
    /// The server's own `max_connections`, where it is said.
    pub server_max_connections: Option<u32>,
    /// Replicas further behind take no reads, in milliseconds.
    pub max_replication_lag_ms: Option<u64>,
    /// Whether it takes traffic.
    pub state: ServerState,
    /// Until when the state is meant (RFC 3339); a finding after that time.
    pub until: Option<Arc<str>>,
    /// Why it is in that state.
    pub reason: Option<Arc<str>>,
}

impl ClusterKind {
    /// Whether its servers are writers and readers, in hostgroups of their own.
    #[must_use]
    pub const fn has_roles(self) -> bool {
        !matches!(self, Self::Single | Self::Hostgroup)
    }
}

impl Words for ClusterKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("single", Self::Single),
        ("hostgroup", Self::Hostgroup),
        (
            "replication",
            Self::Replication {
                read_only_check: ReadOnlyCheck::ReadOnly,
            },
        ),
        ("galera", Self::Galera),
        ("group_replication", Self::GroupReplication),
    ];
}
