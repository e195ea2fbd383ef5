//! Effects on statements besides throttles: pooling exceptions, caches, mirrors, and what a firewall lets pass.

use std::sync::Arc;

use shardwright_vocabulary::{FirewallMode, OnClientGone, Role, Words};

use super::{ClusterId, OnUnsupported, OriginId, Scope};

/// How sessions share server connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooling {
    /// Where it was written.
    pub origin: OriginId,
    /// What becomes of a statement whose client has gone; `None`: nothing is said of it.
    pub on_client_gone: Option<OnClientGone>,
}

/// Statements after which connections are shared differently.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolingException {
    /// The name after `pooling.exceptions.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Which statements.
    pub matches: Scope,
    /// How their connection is shared.
    pub multiplex: Multiplex,
    /// Why.
    pub reason: Arc<str>,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
}

/// How the backend connection of a statement is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplex {
    /// It stays with the session.
    Never,
    /// A read of a system variable (`@@name`) does not keep it with the session.
    IgnoreSysvarReads,
    /// As the engine decides; lifts what an earlier exception asked for.
    Default,
}

/// Statements whose results are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// The name after `caches.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Which statements.
    pub matches: Scope,
    /// How long a result is kept, in milliseconds; at least 1.
    pub ttl_ms: u32,
    /// Whether an empty result is kept; true where not said.
    pub cache_empty_result: bool,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
}

/// Statements that are also copied to a second cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    /// The name after `mirrors.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Which statements.
    pub matches: Scope,
    /// Where the copy goes.
    pub cluster: ClusterId,
    /// Which hostgroup of it.
    pub role: Role,
    /// The share of statements that are copied, 1 to 100.
    pub percent: u32,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
}

/// What one user may send.
#[derive(Clone, Debug, PartialEq)]
pub struct Firewall {
    /// The name after `firewall.`, which is the user's.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// What happens to other statements.
    pub mode: FirewallMode,
    /// Statements that pass.
    pub allow: Vec<Allowed>,
    /// Session schemas in addition to those that the topology gives the user.
    pub schemas: Vec<Arc<str>>,
    /// Whether they pass in the schemas that the topology gives the user.
    pub own_schemas: bool,
    /// Whether they pass where chains of raw rules end that have flags of their own.
    pub raw_chains: bool,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
}

/// A statement that a firewall lets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// By the hash of its digest text.
    Digest(u64),
    /// An example: every statement with its digest text.
    Statement(Arc<str>),
}

impl Words for Multiplex {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("never", Self::Never),
        ("default", Self::Default),
        ("ignore_sysvar_reads", Self::IgnoreSysvarReads),
    ];
}
