//! Rules in the engine's own columns, in ordered blocks.

use std::sync::Arc;

use shardwright_tables::EngineRule;
use shardwright_vocabulary::{Role, Words};

use super::{ClusterId, OriginId};

/// A block of rules that stand in written order.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleBlock {
    /// The name after `query_rules.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Where the block stands.
    pub at: BlockPlace,
    /// Whether effects that name no cluster are set in front of its rules.
    pub behind_effects: bool,
    /// Its rules.
    pub rules: Vec<RawRule>,
    /// Its rows of fast routing.
    pub fast_routing: Vec<RawRoute>,
    /// Its hostgroups that refuse.
    pub refusing: Vec<RawRefusing>,
}

/// Where a block of rules stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPlace {
    /// Before everything else.
    BeforeAll,
    /// Behind everything but the user's cluster.
    AfterAll,
    /// In front of the rules of an object.
    Before(OriginId),
    /// Behind the rules of an object.
    After(OriginId),
}

/// A row of `mysql_query_rules`. `cluster` and `role` stand for a hostgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct RawRule {
    /// Where it was written; its address is `query_rules.NAME.rules[0]`.
    pub origin: OriginId,
    /// A pinned number.
    pub rule_id: Option<u32>,
    /// Whether it is loaded; true where not said.
    pub active: bool,
    /// The flag it is about; 0 where not said.
    pub flag_in: u32,
    /// The cluster that the statement goes to.
    pub cluster: Option<ClusterId>,
    /// Which hostgroup of `cluster`.
    pub role: Role,
    /// The other columns; `destination_hostgroup` is a hostgroup by number, none where `cluster` says it.
    pub columns: EngineRule,
}

/// A row of `mysql_query_rules_fast_routing`. `cluster` and `role` stand for a hostgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct RawRoute {
    /// Where it was written; its address is `query_rules.NAME.fast_routing[0]`.
    pub origin: OriginId,
    /// The user; empty for every user who has no row of its own.
    pub username: Arc<str>,
    /// The session's schema, exact.
    pub schemaname: Arc<str>,
    /// The flag at the end of the rules.
    pub flag_in: u32,
    /// The cluster that the statement goes to.
    pub cluster: Option<ClusterId>,
    /// Which hostgroup of `cluster`.
    pub role: Role,
    /// A hostgroup by number; none where `cluster` says it.
    pub hostgroup: Option<u32>,
}

/// A hostgroup whose server refuses every login.
#[derive(Clone, Debug, PartialEq)]
pub struct RawRefusing {
    /// Where it was written; its address is `query_rules.NAME.refusing[0]`.
    pub origin: OriginId,
    /// Its number.
    pub hostgroup: u32,
    /// What clients are told, with its code.
    pub reason: Arc<str>,
    /// Who refuses the login.
    pub by: RefusedBy,
    /// The host that refuses.
    pub host: Arc<str>,
    /// Its TCP port.
    pub port: u16,
}

/// Who refuses the logins of a hostgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBy {
    /// ProxySQL's own admin port.
    Admin,
    /// `shardwright refuse`.
    Service,
}

impl Words for RefusedBy {
    const WORDS: &'static [(&'static str, Self)] = &[("admin", Self::Admin), ("service", Self::Service)];
}

impl Words for BlockPlace {
    const WORDS: &'static [(&'static str, Self)] =
        &[("before_all", Self::BeforeAll), ("after_all", Self::AfterAll)];
}
