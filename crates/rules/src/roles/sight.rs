//! What a monitor knows of a server.

use super::Why;
use super::source::{LastLag, Source};

/// What a monitor knows of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// It has not been looked at.
    #[default]
    Unseen,
    /// It does not answer.
    Lost {
        /// In words.
        why: String,
    },
    /// It answers, and says nothing of itself: the monitor's account may not ask.
    Silent {
        /// In words.
        why: String,
    },
    /// It answers.
    Seen(Box<ServerSight>),
}

/// What a server says of itself. `None` is what it does not say, and what makes no sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSight {
    /// Its flag that makes it a replica.
    pub is_read_only: Option<bool>,
    /// From where it replicates.
    pub source: Source,
    /// How far its data are behind those of its source, ms. Servers count whole seconds.
    pub lag_ms: Option<u64>,
    /// Whether `lag_ms` is of whole seconds: it may be nearly a second more.
    pub is_lag_rounded: bool,
    /// It waits for its source: it has received whatever that has sent.
    pub has_received_all: bool,
    /// While it does not follow its source: how far it was behind when it last did.
    pub last_lag: Option<LastLag>,
    /// Its state in a Galera cluster.
    pub galera: Option<GaleraSight>,
    /// Its state in a replication group.
    pub group: Option<GroupSight>,
}

/// The state of a server in a Galera cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GaleraSight {
    /// `wsrep_ready`
    pub is_ready: Option<bool>,
    /// `wsrep_cluster_status`: it is part of the majority.
    pub is_primary: Option<bool>,
    /// `wsrep_local_state`
    pub state: Option<u32>,
    /// `wsrep_desync`: it holds up nobody, and may be behind.
    pub is_desynced: Option<bool>,
    /// `wsrep_reject_queries` is not `NONE`.
    pub rejects_queries: bool,
    /// `pxc_maint_mode` is not `DISABLED` (Percona XtraDB Cluster).
    pub is_in_maintenance: bool,
    /// `wsrep_local_recv_queue`: transactions that wait to be applied.
    pub queue: Option<u64>,
}

/// The state of a server in a replication group (MySQL).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupSight {
    /// `MEMBER_STATE`, such as `ONLINE`.
    pub state: String,
    /// Whether more than half of the group's members are there.
    pub has_majority: bool,
    /// Transactions that wait to be applied.
    pub queue: Option<u64>,
}

impl GaleraSight {
    /// `wsrep_local_state` of a server that has everything.
    pub const SYNCED: u32 = 4;

    /// A server that has everything and serves.
    #[must_use]
    pub fn synced() -> Self {
        Self {
            is_ready: Some(true),
            is_primary: Some(true),
            state: Some(Self::SYNCED),
            is_desynced: Some(false),
            rejects_queries: false,
            is_in_maintenance: false,
            queue: Some(0),
        }
    }
}

impl Sight {
    /// What a server says of itself; `None` where it says nothing.
    #[must_use]
    pub fn seen(&self) -> Option<&ServerSight> {
        match self {
            Sight::Seen(sight) => Some(sight),
            Sight::Unseen | Sight::Lost { .. } | Sight::Silent { .. } => None,
        }
    }

    /// Whether it answers and does not say whether it can write.
    pub(super) fn tells_nothing(&self) -> bool {
        match self {
            Sight::Silent { .. } => true,
            Sight::Seen(sight) => sight.is_read_only.is_none(),
            Sight::Unseen | Sight::Lost { .. } => false,
        }
    }

    /// Why nothing is known of a server that answers.
    pub(super) fn silence(&self) -> Why {
        Why::Silent(match self {
            Sight::Silent { why } => why.clone(),
            _ => "its flag cannot be read".to_owned(),
        })
    }
}
