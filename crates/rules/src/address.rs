//! The name of the object in the user's files that something came from.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A dotted path such as `shard_maps.tenants.shards.t137`; unique for one object of one topology.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(Arc<str>);

impl Address {
    /// Wraps a dotted path; no syntax is checked.
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        Self(path.into())
    }

    /// The dotted path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the object is a shard of a map.
    pub fn is_shard(&self) -> bool {
        self.0.starts_with("shard_maps.") && self.0.contains(".shards.")
    }

    /// The map of a shard; of another object, the object.
    #[must_use]
    pub fn or_map(&self) -> Self {
        match self.0.split_once(".shards.") {
            Some((map, _)) if self.is_shard() => Self::new(map),
            _ => self.clone(),
        }
    }

    /// The path as people write it: `tenants/t137` for a shard, the dotted path for everything else.
    pub fn short(&self) -> String {
        match self.0.split('.').collect::<Vec<_>>().as_slice() {
            ["shard_maps", map, "shards", shard] => format!("{map}/{shard}"),
            _ => self.0.to_string(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl From<&str> for Address {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl From<String> for Address {
    fn from(path: String) -> Self {
        Self::new(path)
    }
}
