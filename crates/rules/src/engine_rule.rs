//! A row of `mysql_query_rules`, column for column.

use serde::{Deserialize, Serialize};

/// The columns of an active row of `mysql_query_rules` besides `rule_id`, `active` and `flagIN`. An empty `username`
/// or `schemaname` is `None`: both mean that there is no condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineRule {
    /// Exact name of the frontend user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Exact name of the session's schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemaname: Option<String>,
    /// Exact client address, or a prefix that ends in `%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_addr: Option<String>,
    /// Address of the listener as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_addr: Option<String>,
    /// Port of the listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_port: Option<u16>,
    /// Hash of the statement's digest text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
    /// Pattern searched in the digest text of the original statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_digest: Option<String>,
    /// Pattern searched in the statement, as rewritten so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_pattern: Option<String>,
    /// Inverts each of the two patterns separately.
    #[serde(skip_serializing_if = "is_default")]
    pub negate_match_pattern: bool,
    /// `re_modifiers`.
    pub re_modifiers: Modifiers,
    /// The chain to go on in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag_out: Option<u32>,
    /// Weighted alternatives to `flag_out` (column `attributes`); without effect when `flag_out` is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flag_outs: Vec<FlagOutChoice>,
    /// Replaces what `match_pattern` matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_pattern: Option<String>,
    /// Where the statement goes, unless a later rule says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_hostgroup: Option<u32>,
    /// Result cache, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl_ms: Option<u32>,
    /// Whether an empty result is cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_empty_result: Option<bool>,
    /// Stored by ProxySQL 2.7 and not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_timeout_ms: Option<u32>,
    /// Stored by ProxySQL 2.7 and not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconnect: Option<bool>,
    /// Stored by ProxySQL 2.7 and not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky_conn: Option<bool>,
    /// Execution time after which the statement is killed, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
    /// Retries after a lost connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Pause before the statement is sent, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
    /// The flag that the session's next statements start at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_query_flag_in: Option<u32>,
    /// Chain that the mirrored statement starts at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_flag_out: Option<u32>,
    /// Hostgroup of the mirrored statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_hostgroup: Option<u32>,
    /// Refuses the statement with this text, error 1148.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_msg: Option<String>,
    /// Answers the statement with OK and this text; wins over `error_msg`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok_msg: Option<String>,
    /// 0: the connection is not multiplexed; 1: it is; 2: variables in this statement do not stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplex: Option<u8>,
    /// Wait for the last GTID that the session saw on this hostgroup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtid_from_hostgroup: Option<u32>,
    /// Whether the statement is written to the event log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
    /// Ends the evaluation.
    #[serde(skip_serializing_if = "is_default")]
    pub apply: bool,
    /// Free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// `re_modifiers` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modifiers {
    /// Case does not count.
    pub caseless: bool,
    /// `replace_pattern` replaces every match.
    pub global: bool,
}

impl Default for Modifiers {
    /// `CASELESS`, the column's default.
    fn default() -> Self {
        Self {
            caseless: true,
            global: false,
        }
    }
}

/// An entry of `attributes.flagOUTs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagOutChoice {
    /// The chain.
    pub id: u32,
    /// Its share.
    pub weight: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
