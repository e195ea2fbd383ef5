//! Clusters and their servers.

use crate::words::words;

words! {
    /// What a hostgroup of a cluster is for, and what a statement needs of a cluster.
    pub enum Role {
        /// The server that accepts writes.
        Writer = "writer",
        /// Servers that may answer reads.
        Reader = "reader",
    }

    /// Which flag of a server makes it a replica: the `check_type` of `mysql_replication_hostgroups`.
    pub enum ReadOnlyCheck {
        /// `read_only`
        ReadOnly = "read_only",
        /// `super_read_only`
        SuperReadOnly = "super_read_only",
        /// `innodb_read_only`
        InnodbReadOnly = "innodb_read_only",
    }

    /// When the writer of a cluster answers reads.
    pub enum WriterServesReads {
        /// Reads fail when no reader is left.
        Never = "never",
        /// Only when no reader is left.
        LastResort = "last_resort",
        /// With its read weight, beside the readers.
        Always = "always",
    }

    /// Whether a better writer that came back takes over.
    #[derive(Default)]
    pub enum Failback {
        /// Only when asked.
        #[default]
        Manual = "manual",
        /// By itself.
        Automatic = "automatic",
    }

    /// What replicas with a limit of lag do while nobody knows how far they are behind, because the writer is gone.
    #[derive(Default)]
    pub enum UnknownLag {
        /// They answer reads.
        #[default]
        Read = "read",
        /// They answer none.
        Refuse = "refuse",
    }

    /// What a reader gets that answers far more slowly than the other readers of its cluster.
    #[derive(Default)]
    pub enum SlowReaders {
        /// Fewer reads, until it is faster.
        #[default]
        FewerReads = "fewer_reads",
        /// Its share.
        FullShare = "full_share",
    }

    /// Who moves servers between the hostgroups of a cluster.
    #[derive(Default)]
    pub enum RolesBy {
        /// The engine's monitor.
        #[default]
        Engine = "engine",
        /// A scheduler or an operator: the engine is given no rule for it, and drift of roles is masked.
        External = "external",
    }

    /// Whether a server takes statements.
    pub enum ServerState {
        /// Takes statements.
        Online = "online",
        /// Finishes what it has and takes nothing new (`OFFLINE_SOFT`).
        Draining = "draining",
        /// Takes nothing (`OFFLINE_HARD`).
        Offline = "offline",
    }
}

impl UnknownLag {
    /// Whether replicas answer reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        *self == Self::Read
    }
}

impl SlowReaders {
    /// Whether they get fewer reads.
    #[must_use]
    pub fn get_fewer(&self) -> bool {
        *self == Self::FewerReads
    }
}

impl RolesBy {
    /// Whether the engine does it.
    #[must_use]
    pub fn is_engine(&self) -> bool {
        *self == Self::Engine
    }
}

impl ServerState {
    /// As the column `status` of ProxySQL's tables has it.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Draining => "OFFLINE_SOFT",
            Self::Offline => "OFFLINE_HARD",
        }
    }
}
