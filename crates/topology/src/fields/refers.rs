//! What names in fields stand for, for tools that lead from a name to its object.

use serde_json::Value;

/// The annotation of a field whose texts are names.
pub(crate) const REFERS: &str = "x-refers";
/// The annotation of a map whose keys are names of what is defined elsewhere.
pub(crate) const KEYS: &str = "x-keys";
/// The annotation of a map whose keys define names: the section of their addresses.
pub(crate) const DEFINES: &str = "x-defines";

pub(crate) const CLUSTERS: &str = "object clusters.";
pub(crate) const USERS: &str = "object users.";
pub(crate) const LISTENERS: &str = "object listeners.";
pub(crate) const SHARD_MAPS: &str = "object shard_maps.";
pub(crate) const SERVERS: &str = "part servers";
pub(crate) const SHARDS: &str = "part shards";
pub(crate) const SHARD: &str = "shard";
pub(crate) const SCHEMAS: &str = "schema";
pub(crate) const ADDRESS: &str = "address";
pub(crate) const MAP_ADDRESS: &str = "address shard_maps.";
/// Objects that rules are made for.
pub(crate) const RULES: &str = "address shard_maps. read_write_policies. routes. throttles. query_rules.";
/// Keys that are names of nothing else, such as those of tests.
pub(crate) const NOTHING: &str = "nothing";

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refers<'s> {
    /// An object of this section, which ends with its dot; or a glob over them.
    Object(&'s str),
    /// An object of this part of the object around the field.
    Part(&'s str),
    /// `MAP/SHARD`
    Shard,
    /// An address; sections that are meant, if only some are.
    Address(&'s str),
    /// A schema of servers.
    Schema,
    /// Nothing that is defined elsewhere.
    Nothing,
}

impl<'s> Refers<'s> {
    /// What the texts of a field with this schema are names of.
    #[must_use]
    pub fn of_texts(schema: &'s Value) -> Option<Self> {
        Self::of(schema.get(REFERS)?.as_str()?)
    }

    /// What the keys of a value with this schema are names of.
    #[must_use]
    pub fn of_keys(schema: &'s Value) -> Option<Self> {
        Self::of(schema.get(KEYS)?.as_str()?)
    }

    fn of(text: &'s str) -> Option<Self> {
        let (kind, to) = text.split_once(' ').unwrap_or((text, ""));
        Some(match kind {
            "object" => Self::Object(to),
            "part" => Self::Part(to),
            "address" => Self::Address(to),
            SHARD => Self::Shard,
            SCHEMAS => Self::Schema,
            NOTHING => Self::Nothing,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{File, with_references};

    fn annotated(part: &Value, found: &mut Vec<(String, bool)>) {
        match part {
            Value::Object(parts) => {
                for (key, is_read) in [
                    (REFERS, Refers::of_texts(part).is_some()),
                    (KEYS, Refers::of_keys(part).is_some()),
                ] {
                    found.extend(parts.get(key).map(|text| (text.to_string(), is_read)));
                }
                parts.values().for_each(|part| annotated(part, found));
            }
            Value::Array(parts) => parts.iter().for_each(|part| annotated(part, found)),
            _ => {}
        }
    }

    #[test]
    fn what_is_declared_is_understood() {
        let mut found = Vec::new();
        for file in [File::Topology, File::Project, File::Tests, File::Environment] {
            annotated(&with_references(file), &mut found);
        }
        let lost: Vec<_> = found.iter().filter(|(_, is_read)| !is_read).collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert!(found.len() > 40, "{} fields refer to something", found.len());
    }
}
