//! One thing that will be different, in the words of the files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shardwright_rules::Address;

use crate::ObjectKind;

/// What people wrote about an object, by key. Secrets are references.
pub type Facts = Map<String, Value>;

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is new.
    Add,
    /// It stays, with other values.
    Change,
    /// It goes.
    Remove,
}

impl Action {
    /// `+`, `~` or `-`.
    pub fn sign(self) -> char {
        match self {
            Action::Add => '+',
            Action::Change => '~',
            Action::Remove => '-',
        }
    }
}

/// One object that will be different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What happens to the object.
    pub action: Action,
    /// Its name in the files: `shard_maps.tenants.shards.t137`.
    #[schemars(with = "String")]
    pub address: Address,
    /// The values that go; of a change, only those that differ.
    pub old: Facts,
    /// The values that come; of a change, only those that differ.
    pub new: Facts,
    /// Why, where the files say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Rows of the engine's tables that belong to the object and change with it, by table and key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowChange>,
}

impl Effect {
    /// The sort of object that it is about.
    pub fn kind(&self) -> ObjectKind {
        ObjectKind::of(&self.address)
    }
}

/// A row of an engine's table that will be different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowChange {
    /// What happens to the row.
    pub action: Action,
    /// The table and its key.
    pub row: RowKey,
    /// The columns that go; of a change, only those that differ.
    pub old: Facts,
    /// The columns that come; of a change, only those that differ.
    pub new: Facts,
}

/// The table of a row, and its key there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKey {
    /// A rule, by its id.
    Rule(u32),
    /// A row of fast routing.
    FastRoute {
        /// User; empty for all.
        username: String,
        /// Session schema.
        schemaname: String,
        /// Flag at the end of the rules.
        flag_in: u32,
    },
    /// A row of another table.
    Row {
        /// The table.
        table: String,
        /// The values of its key, in the order of the table.
        key: Vec<String>,
    },
}
