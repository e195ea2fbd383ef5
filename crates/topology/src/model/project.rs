//! The project file: engines, targets, ids, ownership, safety.

use std::ops::RangeInclusive;
use std::sync::Arc;

use shardwright_diagnostics::Span;
use shardwright_vocabulary::{NamePattern, RegexEngine, Words};

use super::{LintSettings, OriginId, SecretSource, ServerTls, Table};

/// What `shardwright.yaml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectFile {
    /// What targets remember of their owner.
    pub project: Option<Arc<str>>,
    /// The engines that must be served rightly, in the order written; never empty.
    pub engines: Vec<EngineEntry>,
    /// Numbers that may be used.
    pub ids: IdRanges,
    /// Where `ids` is written, if it is.
    pub ids_span: Option<Span>,
    /// What of a live system is ours.
    pub manage: Manage,
    /// What becomes of rows that are not.
    pub unmanaged: Unmanaged,
    /// Proxies that configurations are applied to.
    pub targets: Table<Target>,
    /// Where the state of runs is kept.
    pub state: StateSettings,
    /// Limits of an apply.
    pub safety: Safety,
    /// How the writer of a cluster is moved.
    pub switchover: Switchover,
    /// Which findings count.
    pub lint: LintSettings,
    /// Names of environments.
    pub environments: Vec<Environment>,
}

/// An engine that is served.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineEntry {
    /// Where it was written.
    pub origin: OriginId,
    /// Which engine.
    pub name: EngineName,
    /// The dialect of its regular expressions, where not its default.
    pub regex: Option<RegexEngine>,
    /// Its `query_processor_iterations`, where not its default.
    pub iterations: Option<u32>,
}

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EngineName {
    /// The proxy in this program: `bundled`.
    Bundled,
    /// `proxysql-2.7`
    ProxySql27,
    /// `proxysql-3.0`
    ProxySql30,
}

impl EngineName {
    /// The word of the language.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

/// Numbers that may be used; both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdRanges {
    /// Hostgroups.
    pub hostgroups: RangeInclusive<u32>,
    /// Query rules.
    pub rules: RangeInclusive<u32>,
    /// Flags.
    pub flags: RangeInclusive<u32>,
}

impl IdRanges {
    /// What holds where nothing is written.
    pub(crate) const DEFAULT: Self = Self {
        hostgroups: 1000..=2999,
        rules: 100_000..=199_999,
        flags: 20_000..=29_999,
    };
}

impl Default for IdRanges {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What of a live system is ours. Without `manage` it is everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manage {
    /// Numbers of query rules.
    pub query_rules: Managed<RangeInclusive<u32>>,
    /// Names of users.
    pub users: Managed<Vec<NamePattern>>,
    /// Names of clusters.
    pub clusters: Managed<Vec<NamePattern>>,
}

/// Which rows of one sort are ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Managed<T> {
    /// Every row.
    #[default]
    All,
    /// Those that `manage` lists.
    Listed(T),
    /// `manage` is written and does not speak of them: those that the project itself writes.
    Own,
}

/// What happens to rows of a live system that are not ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unmanaged {
    /// They stay.
    #[default]
    Keep,
    /// They stay and are reported.
    Report,
    /// They are deleted.
    Delete,
}

/// A proxy that configurations are applied to.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name after `targets.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// What it runs; one of [`ProjectFile::engines`].
    pub engine: EngineName,
    /// `host:port` of its admin interface.
    pub admin: Arc<str>,
    /// The admin account.
    pub user: Arc<str>,
    /// Its password.
    pub password: SecretSource,
    /// Certificates of authorities that its admin port is checked with, in PEM, relative to the project; `None`: without TLS.
    pub ca: Option<Arc<str>>,
    /// Labels, for whoever reads the file.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
}

/// Where the state of runs is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSettings {
    /// A directory, relative to the project.
    pub dir: Arc<str>,
    /// A store that several machines reach, in place of the directory.
    pub shared: Option<SharedState>,
    /// How many runs of each target are kept.
    pub keep: usize,
}

/// A store that several machines reach.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedState {
    /// Which, and where.
    pub store: StateStore,
    /// Who asks it; always for MySQL.
    pub account: Option<ServerAccount>,
    /// What rows are sealed with.
    pub key: SecretSource,
    /// Certificates of authorities, in PEM, relative to the project.
    pub ca: Option<Arc<str>>,
}

/// A kind of shared store.
#[derive(Clone, Debug, PartialEq)]
pub enum StateStore {
    /// A database of MySQL or MariaDB.
    MySql {
        /// Without brackets.
        host: Arc<str>,
        /// TCP port.
        port: u16,
        /// Its name.
        database: Arc<str>,
        /// Encryption.
        tls: ServerTls,
    },
    /// Members of an etcd cluster.
    Etcd {
        /// `http://HOST:PORT` or `https://HOST:PORT`, at least one.
        endpoints: Vec<Arc<str>>,
        /// A certificate and its private key, in PEM, relative to the project.
        certificate: Option<(Arc<str>, Arc<str>)>,
    },
}

impl StateSettings {
    /// The directory where none is written.
    pub(crate) const DIR: &str = ".shardwright";
    /// How many runs of each target are kept where that is not written.
    pub(crate) const KEEP: u32 = 1000;
}

impl Default for StateSettings {
    fn default() -> Self {
        Self {
            dir: Self::DIR.into(),
            shared: None,
            keep: Self::KEEP as usize,
        }
    }
}

/// How the writer of a cluster is moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Switchover {
    /// Who orders servers; none where a program does, or nobody.
    pub account: Option<ServerAccount>,
    /// Who the former writer replicates as.
    pub replication: Option<ServerAccount>,
    /// How long statements may wait, in milliseconds.
    pub deadline_ms: u64,
    /// How long open transactions may go on, in milliseconds.
    pub transactions_ms: u64,
    /// A program that gives the servers their roles, with its arguments; empty for none.
    pub promote: Vec<Arc<str>>,
}

impl Switchover {
    /// [`Switchover::deadline_ms`] where none is written.
    pub(crate) const DEFAULT_DEADLINE_MS: u64 = 10_000;
    /// [`Switchover::transactions_ms`] where none is written.
    pub(crate) const DEFAULT_TRANSACTIONS_MS: u64 = 5_000;
}

impl Default for Switchover {
    fn default() -> Self {
        Self {
            account: None,
            replication: None,
            deadline_ms: Self::DEFAULT_DEADLINE_MS,
            transactions_ms: Self::DEFAULT_TRANSACTIONS_MS,
            promote: Vec::new(),
        }
    }
}

/// An account on servers.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerAccount {
    /// Its name.
    pub user: Arc<str>,
    /// Its password.
    pub password: SecretSource,
}

/// Limits of an apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Safety {
    /// Most objects that one apply deletes.
    pub deletes_max: Option<u32>,
    /// Addresses that need approval; globs are allowed.
    pub protect: Vec<NamePattern>,
    /// How long a plan may be applied, in milliseconds.
    pub plan_expiry_ms: Option<u64>,
    /// Whether targets that cannot be reached are left out.
    pub skip_unreachable: bool,
}

/// An environment; its overlay is `env/NAME.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Its name.
    pub name: Arc<str>,
}

impl Words for EngineName {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("bundled", Self::Bundled),
        ("proxysql-2.7", Self::ProxySql27),
        ("proxysql-3.0", Self::ProxySql30),
    ];
}

impl Words for Unmanaged {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("keep", Self::Keep),
        ("report", Self::Report),
        ("delete", Self::Delete),
    ];
}
