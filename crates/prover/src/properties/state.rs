//! What is known of statements on their way through the rules.

use std::sync::Arc;

use shardwright_rules::{Address, Cluster, Configuration, Effects, HostgroupId, StatementKind, User};

/// What is known of a session's schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Schema {
    /// Nothing.
    Any,
    /// It is this one.
    Known(Arc<str>),
}

/// What is known of statements on their way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) schema: Schema,
    pub(super) hostgroup: Option<u32>,
    pub(super) placed: bool,
    pub(super) shard: Option<Address>,
    /// The rule that placed it decides other shards too; `shard` is one of them.
    pub(super) shares_rule: bool,
    pub(super) backend_schema: Option<Arc<str>>,
    /// The schema whose name stands in the statement in place of the map's logical schema.
    pub(super) own_schema: Option<Arc<str>>,
    /// A rule has rewritten the statement.
    pub(super) rewritten: bool,
    pub(super) effects: Effects,
    pub(super) refused: bool,
    pub(super) answered: bool,
}

/// Where a step leads.
pub(super) enum Transition {
    /// To the rule behind it.
    Continue(State),
    /// To the chain of a flag.
    Jump(u32, State),
    /// To the end of the rules.
    Stop(State),
    /// To an outcome.
    Finished(State, Action),
}

/// The outcome, without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    Route(HostgroupId),
    Reject,
    Answer,
}

/// Who sends what.
#[derive(Clone, Copy)]
pub(super) struct Sender<'s> {
    pub(super) user: &'s User,
    pub(super) kind: StatementKind,
}

impl State {
    /// The cluster that the statements are on so far; before any placement, their user's.
    pub(super) fn cluster<'c>(
        &self,
        configuration: &'c Configuration,
        sender: Sender<'_>,
    ) -> Option<&'c Cluster> {
        let hostgroup = self.hostgroup.map_or(sender.user.default_hostgroup, HostgroupId);
        configuration.cluster_of(hostgroup)
    }
}
