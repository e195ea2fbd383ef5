//! Shard maps: how a key is found and where each shard is.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_vocabulary::{
    self as vocabulary, Conflict, Finder, KeyValue, StatedTables, Unqualified, Words,
};

use super::{ClusterId, Key, KeyRange, OriginId, Scope, Table};

/// What happens to statements without a key.
pub type MissingKey = vocabulary::MissingKey<ClusterId>;
/// What happens to a statement without a key.
pub type MissingAction = vocabulary::MissingAction<ClusterId>;
/// What happens to a key that no shard holds.
pub type UnknownKey = vocabulary::UnknownKey<ClusterId>;

/// A place in [`super::Topology::shard_maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardMapId(pub u32);

/// Where statements carry the key, and where each shard is.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardMap {
    /// The name after `shard_maps.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Whose statements it is about.
    pub applies_to: Scope,
    /// The schema that clients write and that shards replace with their own.
    pub logical_schema: Option<Arc<str>>,
    /// The key.
    pub key: Key,
    /// Where keys are found; every finder that yields a key must yield the same one. At least one.
    pub key_from: Vec<Finder>,
    /// What happens when finders disagree.
    pub conflict: Conflict,
    /// The shards in the order of definition, overrides applied; at least one.
    pub shards: Table<Shard>,
    /// The map that statements without this map's key go to.
    pub otherwise: Option<ShardMapId>,
    /// What becomes of tables without a schema, where shards are placed by schema.
    pub unqualified: Unqualified,
    /// What is stated about tables of the logical schema.
    pub tables: StatedTables,
    /// What happens to statements without a key.
    pub missing_key: MissingKey,
    /// The same for some users, by their names.
    pub missing_key_by_user: BTreeMap<Arc<str>, MissingKey>,
    /// What becomes of statements with a key of no shard.
    pub unknown_key: UnknownKey,
    /// The layout of rules that is forced.
    pub rule_layout: RuleLayout,
    /// What the hit counters of its rules distinguish.
    pub count_hits_by: CountHitsBy,
}

/// One shard. It has keys, ranges or remainders, by the map's [`super::Placement`].
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// The name after `shards.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Where its override was written, if it has one.
    pub overridden: Option<OriginId>,
    /// Single values.
    pub keys: Box<[KeyValue]>,
    /// Ranges of integers.
    pub ranges: Box<[KeyRange]>,
    /// Ranges of remainders, within `0..modulo`.
    pub remainders: Box<[KeyRange]>,
    /// Its cluster; without one, statements stay where they would go anyway.
    pub cluster: Option<ClusterId>,
    /// Its schema; without one, names stay as they are. A shard has a cluster, a schema, or both, unless it is refused.
    pub schema: Option<Arc<str>>,
    /// Why its statements are refused.
    pub refuse: Option<Arc<str>>,
}

/// How the map's rules are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleLayout {
    /// The compiler chooses by cost.
    Auto,
    /// One rule per shard.
    Flat,
    /// A tree of chains.
    Tree,
    /// The engine's fast routing table.
    FastRouting,
    /// A look-up by key (bundled engine).
    Dispatch,
}

/// What the hit counters of a map's rules distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountHitsBy {
    /// Clusters: neighbouring keys on one cluster share a rule.
    Cluster,
    /// Shards.
    Shard,
}

impl Words for CountHitsBy {
    const WORDS: &'static [(&'static str, Self)] = &[("cluster", Self::Cluster), ("shard", Self::Shard)];
}

impl Words for RuleLayout {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("flat", Self::Flat),
        ("tree", Self::Tree),
        ("fast_routing", Self::FastRouting),
        ("dispatch", Self::Dispatch),
    ];
}
