//! Routes: statements that go to a cluster, or are refused, whatever else is said of them.

use std::sync::Arc;

use shardwright_vocabulary::Role;

use super::{ClusterId, OriginId, Scope};

/// Statements that are taken out before any shard map or policy sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementRoute {
    /// The name after `routes.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Which statements.
    pub matches: Scope,
    /// What becomes of them.
    pub end: RouteEnd,
    /// Why.
    pub reason: Option<Arc<str>>,
}

/// What becomes of the statements of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteEnd {
    /// They go to a cluster.
    Cluster {
        /// Which.
        cluster: ClusterId,
        /// Which hostgroup of it.
        role: Role,
    },
    /// The client gets this text as an error.
    Refuse(Arc<str>),
}
