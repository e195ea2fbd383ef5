//! Rules in the engine's own columns, in ordered blocks.

use std::sync::Arc;

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
    /// Its rules.
    pub rules: Vec<RawRule>,
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

/// What a hostgroup of a cluster is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Takes writes.
    #[default]
    Writer,
    /// Takes reads.
    Reader,
}

/// A row of `mysql_query_rules`; `None` is the engine's NULL. `cluster` and `role` stand for a hostgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct RawRule {
    /// Where it was written; its address is `query_rules.NAME.rules[0]`.
    pub origin: OriginId,
    /// A pinned number.
    pub rule_id: Option<u32>,
    /// Whether it is loaded; true where not said.
    pub active: bool,
    /// The user it is about.
    pub username: Option<Arc<str>>,
    /// The session schema it is about.
    pub schemaname: Option<Arc<str>>,
    /// The flag it is about; 0 where not said.
    pub flag_in: u32,
    /// The client address: exact, or a prefix that ends with `%`.
    pub client_addr: Option<Arc<str>>,
    /// The listener's address.
    pub proxy_addr: Option<Arc<str>>,
    /// The listener's port.
    pub proxy_port: Option<u16>,
    /// The digest hash.
    pub digest: Option<u64>,
    /// A regular expression over the digest text.
    pub match_digest: Option<Arc<str>>,
    /// A regular expression over the statement.
    pub match_pattern: Option<Arc<str>>,
    /// Whether both expressions must fail instead.
    pub negate_match_pattern: bool,
    /// How the expressions match.
    pub re_modifiers: ReModifiers,
    /// The flag that evaluation goes on with.
    pub flag_out: Option<u32>,
    /// Flags of which one is drawn (`attributes: {flagOUTs: [{id, weight}]}`).
    pub flag_outs: Vec<FlagChoice>,
    /// What replaces the match of `match_pattern`.
    pub replace_pattern: Option<Arc<str>>,
    /// A hostgroup by number; none where `cluster` says it.
    pub destination_hostgroup: Option<u32>,
    /// The cluster that the statement goes to.
    pub cluster: Option<ClusterId>,
    /// Which hostgroup of `cluster`.
    pub role: Role,
    /// Time in the query cache, in milliseconds.
    pub cache_ttl_ms: Option<u32>,
    /// Whether empty results are cached.
    pub cache_empty_result: Option<bool>,
    /// Not used by the engine.
    pub cache_timeout_ms: Option<u32>,
    /// Not used by the engine.
    pub reconnect: Option<bool>,
    /// Time after which the statement is killed, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// How often a failed statement is tried again, 0 to 1000.
    pub retries: Option<u32>,
    /// Time that the statement waits, in milliseconds.
    pub delay_ms: Option<u32>,
    /// The flag that the session's later statements begin with.
    pub next_query_flag_in: Option<u32>,
    /// The flag that the mirrored statement begins with.
    pub mirror_flag_out: Option<u32>,
    /// The hostgroup that the mirrored statement goes to.
    pub mirror_hostgroup: Option<u32>,
    /// Refuses the statement with this text.
    pub error_msg: Option<Arc<str>>,
    /// Answers OK with this text.
    pub ok_msg: Option<Arc<str>>,
    /// Not used by the engine.
    pub sticky_conn: Option<bool>,
    /// 0 off, 1 on, 2 not switched off by this statement.
    pub multiplex: Option<u8>,
    /// The hostgroup whose last GTID of the session must have arrived.
    pub gtid_from_hostgroup: Option<u32>,
    /// Whether the statement is written to the event log.
    pub log: Option<bool>,
    /// Whether evaluation ends here.
    pub apply: bool,
    /// Free text.
    pub comment: Option<Arc<str>>,
}

/// How the expressions of a rule match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReModifiers {
    /// Without case.
    pub caseless: bool,
    /// Every match is replaced.
    pub global: bool,
}

impl Default for ReModifiers {
    fn default() -> Self {
        Self {
            caseless: true,
            global: false,
        }
    }
}

/// A flag and how often it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagChoice {
    /// The flag.
    pub id: u32,
    /// Its share.
    pub weight: u32,
}
