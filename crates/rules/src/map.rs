//! A shard map as the bundled engine runs it: how a key is found, and where each shard is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shardwright_vocabulary as vocabulary;

use crate::{Address, Conflict, Finder, KeyKind, KeyValue, StatedTables, Unqualified};

/// What happens to statements without a key; clusters by name.
pub type MissingKey = vocabulary::MissingKey<String>;
/// What happens to a statement without a key; clusters by name.
pub type MissingAction = vocabulary::MissingAction<String>;
/// What happens to a key that no shard holds; clusters by name.
pub type UnknownKey = vocabulary::UnknownKey<String>;

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
    /// The same for some users, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing_by_user: BTreeMap<String, MissingKey>,
    /// What happens to a key that no shard holds.
    pub unknown: UnknownKey,
    /// The map that takes statements without this map's key (`otherwise`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

impl MapStep {
    /// What happens to statements of a user without a key.
    pub fn missing_of(&self, user: &str) -> &MissingKey {
        self.missing_by_user.get(user).unwrap_or(&self.missing)
    }

    /// What happens to statements without a key, of all users and then of some.
    pub fn every_missing(&self) -> impl Iterator<Item = &MissingKey> {
        std::iter::once(&self.missing).chain(self.missing_by_user.values())
    }

    /// The clusters that statements without a key or with one of no shard are sent to.
    pub fn clusters_elsewhere(&self) -> impl Iterator<Item = &str> {
        let missing = self
            .every_missing()
            .flat_map(|missing| [&missing.statements, &missing.session_setup])
            .filter_map(|action| match action {
                MissingAction::Cluster(cluster) => Some(cluster.as_str()),
                MissingAction::Reject | MissingAction::Allow => None,
            });
        let unknown = match &self.unknown {
            UnknownKey::Cluster(cluster) => Some(cluster.as_str()),
            UnknownKey::Reject => None,
        };
        missing.chain(unknown)
    }
}

/// One shard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// `shard_maps.MAP.shards.NAME`.
    pub address: Address,
    /// Why its statements are refused; `None` where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<Arc<str>>,
    /// Cluster that holds it; `None` where the map places by schema only, or where the shard is refused.
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
