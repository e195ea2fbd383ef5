//! A shard map as the bundled engine runs it: how a key is found, and where each shard is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, KeyKind, KeyTemplate, KeyValue};

/// Finds a key and places the statement by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapStep {
    /// Name of the map.
    pub map: String,
    /// Name of the key, as refusals and comments call it.
    pub key: String,
    /// How values of the key compare.
    pub kind: KeyKind,
    /// Ways to find the key; every one that yields a key must yield the same, or the first wins, as `conflict` says.
    pub finders: Vec<Finder>,
    /// What happens when finders disagree.
    pub conflict: Conflict,
    /// The schema name that clients use for what the shards hold under names of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_schema: Option<String>,
    /// What happens to tables named without a schema while the session is in the logical schema.
    pub unqualified: Unqualified,
    /// What the topology states about the tables of the logical schema.
    #[serde(default, skip_serializing_if = "StatedTables::is_empty")]
    pub tables: StatedTables,
    /// Shards in written order. No value belongs to two of them.
    pub shards: Vec<Shard>,
    /// Placement by remainder instead of by value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remainder: Option<Remainder>,
    /// What happens to statements without a key.
    pub missing: MissingKey,
    /// What happens to a key that no shard holds.
    pub unknown: UnknownKey,
    /// The map that takes statements without this map's key (`otherwise`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

/// What is known of tables without asking a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedTables {
    /// Base tables, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base: Vec<String>,
    /// Views through which the key column passes as it is, with the tables that they stand on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub views: BTreeMap<String, Vec<String>>,
}

impl StatedTables {
    /// Nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.views.is_empty()
    }

    fn is_base(&self, table: &str) -> bool {
        self.base
            .binary_search_by(|stated| stated.as_str().cmp(table))
            .is_ok()
    }

    /// The tables that `table` comes to and that nothing is stated of: whether they are base tables must be asked.
    pub fn unstated<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a str> {
        let view = self.views.get(table);
        let itself = view.is_none().then_some(table);
        let below = view.into_iter().flatten().map(String::as_str);
        itself
            .into_iter()
            .chain(below)
            .filter(|table| !self.is_base(table))
    }
}

/// A way to find the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finder {
    /// In a comment.
    Comment {
        /// The word before `=`; compared without case.
        word: String,
        /// How the comment is written.
        form: CommentForm,
    },
    /// In the name of the session's schema.
    Schema {
        /// The names.
        template: KeyTemplate,
    },
    /// In a predicate on a column of the logical schema's tables.
    Column {
        /// Name of the column; compared without case.
        column: String,
        /// Whether the tables of the shards have it.
        in_shards: InShards,
    },
    /// In the names of the statement's tables; of those of the logical schema, where the map has one.
    Table {
        /// The names.
        template: KeyTemplate,
    },
    /// In the name of the session's user.
    User {
        /// The names.
        template: KeyTemplate,
    },
}

/// How a comment carries a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentForm {
    /// `word=value` among other text.
    Pairs,
    /// `word='value'` with percent signs decoded.
    Sqlcommenter,
    /// The whole trimmed comment is the key in this form.
    Exact(KeyTemplate),
}

/// Whether the shards' tables have the key column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InShards {
    /// They have it: the predicate stays.
    Present,
    /// They do not: the predicate is neutralised.
    Absent,
}

/// What happens when finders disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// The statement is refused.
    Reject,
    /// The first finder that yields a key decides.
    First,
}

/// What happens to tables named without a schema while the session is in the logical schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unqualified {
    /// The statement is refused.
    Reject,
    /// They are taken to be of the logical schema.
    Qualify,
    /// Clients connect to the shard's own schema, and the map checks it.
    SessionSchema,
}

/// One shard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// `shard_maps.MAP.shards.NAME`.
    pub address: Address,
    /// Cluster that holds it; `None` where the map places by schema only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Arc<str>>,
    /// Its schema; `None` where the map places by cluster only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Arc<str>>,
    /// Single values, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyValue>,
    /// Ranges of integers, both ends included, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(i64, i64)>,
    /// Remainders, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remainders: Vec<u64>,
}

/// Placement by remainder: `key mod modulo`, or `xxhash64(key) mod modulo` over the UTF-8 of the canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remainder {
    /// Number of remainders; at least 1.
    pub modulo: u64,
    /// Whether the key is hashed first (XXH64, seed 0).
    pub hashed: bool,
}

/// `missing_key` of a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingKey {
    /// Statements that are neither of the others.
    pub statements: MissingAction,
    /// SET, USE, SHOW, SELECT without a table, and what drivers send on connect.
    pub session_setup: MissingAction,
    /// BEGIN and START TRANSACTION.
    pub begin: MissingBegin,
}

/// What happens to a statement without a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingAction {
    /// It is refused.
    Reject,
    /// The map leaves it to what follows.
    Allow,
    /// It goes to the writer of this cluster.
    Cluster(String),
}

/// What happens to BEGIN without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingBegin {
    /// It is refused.
    Reject,
    /// The transaction opens where its first statement with a key goes.
    FirstStatement,
    /// The map leaves it to what follows.
    Allow,
}

/// What happens to a key that no shard holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownKey {
    /// The statement is refused.
    Reject,
    /// It goes to the writer of this cluster.
    Cluster(String),
}
