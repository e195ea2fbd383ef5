//! The keys of a map in order, cut into the pieces that one rule each decides.

use shardwright_rules::{KeyKind, KeyValue, MapStep};
use shardwright_topology::model::ShardMap;

use super::entry::{Entry, Values};
use super::memory::Memory;
use crate::diagnostics::Diagnostics;
use crate::key_patterns::KeyPatterns;
use crate::key_patterns::lock_name::KeyName;

/// The keys of a map in order; neighbours on one shard stand together.
pub(super) fn entries(
    step: &MapStep,
    map: &ShardMap,
    patterns: &KeyPatterns,
    memory: &Memory<'_>,
    report: &mut Diagnostics<'_>,
) -> Vec<Entry> {
    match step.kind {
        KeyKind::Integer => integer_entries(step, memory),
        KeyKind::Text => text_entries(step, map, patterns, memory, report),
    }
}

fn integer_entries(step: &MapStep, memory: &Memory<'_>) -> Vec<Entry> {
    let mut ranges: Vec<((i64, i64), usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        let single = shard.keys.iter().filter_map(|key| match key {
            KeyValue::Integer(value) => Some((*value, *value)),
            KeyValue::Text(_) => None,
        });
        ranges.extend(
            single
                .chain(shard.ranges.iter().copied())
                .map(|range| (range, at)),
        );
    }
    ranges.sort_unstable();
    let mut entries: Vec<Entry> = Vec::new();
    for (range, shard) in ranges {
        if let Some(Entry {
            shard: last,
            values: Values::Integers(values),
        }) = entries.last_mut()
            && *last == shard
            && values.len() < memory.most_values()
            && !memory.begins(&KeyName::Integer(range.0))
        {
            match values.last_mut() {
                Some(before) if before.1.checked_add(1) == Some(range.0) => before.1 = range.1,
                _ => values.push(range),
            }
            continue;
        }
        entries.push(Entry {
            shard,
            values: Values::Integers(vec![range]),
        });
    }
    entries
}

fn text_entries(
    step: &MapStep,
    map: &ShardMap,
    patterns: &KeyPatterns,
    memory: &Memory<'_>,
    report: &mut Diagnostics<'_>,
) -> Vec<Entry> {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        for key in &shard.keys {
            let KeyValue::Text(text) = key else { continue };
            if patterns.can_hold(text) {
                keys.push((text, at));
            } else if let Some(written) = map.shards.get(at) {
                let what = format!(
                    "read the key `{text}` in a comment: it holds quotes, `*`, `\\` or blanks at an end"
                );
                report.unsupported(written.origin, "keys", &what);
            }
        }
    }
    keys.sort_unstable();
    let mut entries: Vec<Entry> = Vec::new();
    for (text, shard) in keys {
        if let Some(Entry {
            shard: last,
            values: Values::Texts(values),
        }) = entries.last_mut()
            && *last == shard
            && values.len() < memory.most_values()
            && !memory.begins(&KeyName::Text(text.to_owned()))
        {
            values.push(text.to_owned());
            continue;
        }
        entries.push(Entry {
            shard,
            values: Values::Texts(vec![text.to_owned()]),
        });
    }
    entries
}
