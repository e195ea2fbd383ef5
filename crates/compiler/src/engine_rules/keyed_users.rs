//! Users whose names have a key of a map: each is known before it says anything.

use std::collections::HashMap;

use shardwright_rules::{EngineRule, KeyTemplate, KeyValue, MapStep};

use super::maps::Class;
use crate::draft::user_rule;

/// A user with a key in its name.
pub(super) struct KeyedUser<'c> {
    pub(super) user: &'c str,
    pub(super) key: KeyValue,
    /// Index of the shard that has the key, if any.
    pub(super) shard: Option<usize>,
}

/// Users of a class whose names have the form.
pub(super) fn keyed_users<'c>(
    step: &MapStep,
    template: &KeyTemplate,
    class: &'c Class,
) -> Vec<KeyedUser<'c>> {
    let mut singles: HashMap<&KeyValue, usize> = HashMap::new();
    let mut ranges: Vec<(i64, i64, usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        singles.extend(shard.keys.iter().map(|key| (key, at)));
        ranges.extend(shard.ranges.iter().map(|&(first, last)| (first, last, at)));
    }
    ranges.sort_unstable();
    let in_ranges = |key: &KeyValue| {
        let KeyValue::Integer(n) = key else { return None };
        let behind = ranges.partition_point(|(first, ..)| first <= n);
        let (_, last, at) = ranges.get(behind.checked_sub(1)?)?;
        (n <= last).then_some(*at)
    };
    let shard_of = |key: &KeyValue| singles.get(key).copied().or_else(|| in_ranges(key));
    let of = |user: &'c String| {
        let key = KeyValue::parse(step.kind, template.extract(step.kind, user)?)?;
        let shard = shard_of(&key);
        Some(KeyedUser { user, key, shard })
    };
    class.users.iter().filter_map(of).collect()
}

/// Rules for the users of a class whose names have a key.
pub(super) fn rules_for_keyed_users(
    step: &MapStep,
    template: &KeyTemplate,
    class: &Class,
) -> Vec<EngineRule> {
    keyed_users(step, template, class)
        .iter()
        .map(|user| user_rule(user.user))
        .collect()
}
