//! The keys of a map in order, cut into the pieces that one rule each decides.

use std::collections::HashMap;

use shardwright_rules::{KeyKind, KeyValue, MapStep};
use shardwright_topology::model::ShardMap;

use super::entry::{Entry, Values};
use super::memory::Memory;
use crate::diagnostics::Diagnostics;
use crate::key_patterns::KeyPatterns;
use crate::key_patterns::lock_name::KeyName;

/// The keys of a map in order. Neighbours that are served alike stand together; `by_shard` keeps shards apart, each with a hit
/// counter of its own.
pub(super) fn entries(
    step: &MapStep,
    map: &ShardMap,
    patterns: &KeyPatterns,
    by_shard: bool,
    memory: &Memory<'_>,
    report: &mut Diagnostics<'_>,
) -> Vec<Entry> {
    let sites = sites(step, by_shard);
    match step.kind {
        KeyKind::Integer => integer_entries(step, &sites, memory),
        KeyKind::Text => text_entries(step, map, patterns, &sites, memory, report),
    }
}

/// What shards have in common that are served alike.
#[derive(PartialEq, Eq, Hash)]
struct Site<'s> {
    cluster: Option<&'s str>,
    schema: Option<&'s str>,
    /// A shard that is refused has a site of its own.
    refused: Option<usize>,
}

/// For each shard a number: shards with the same one are served alike.
fn sites(step: &MapStep, by_shard: bool) -> Vec<usize> {
    let mut numbers: HashMap<Site<'_>, usize> = HashMap::new();
    if by_shard {
        return (0..step.shards.len()).collect();
    }
    let shards = step.shards.iter().enumerate().map(|(at, shard)| {
        let schema = step.logical_schema.as_ref().and(shard.schema.as_deref());
        // A refusal names its shard.
        let refused = shard.refuse.is_some().then_some(at);
        let site = Site {
            cluster: shard.cluster.as_deref(),
            schema,
            refused,
        };
        let next = numbers.len();
        *numbers.entry(site).or_insert(next)
    });
    shards.collect()
}

fn integer_entries(step: &MapStep, sites: &[usize], memory: &Memory<'_>) -> Vec<Entry> {
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
        let begins = || memory.begins(&KeyName::Integer(range.0));
        if let Some(Entry {
            shards,
            values: Values::Integers(values),
            keys,
        }) = entries.last_mut()
            && sites[shards[0]] == sites[shard]
            && (follows(values, range) || values.len() < memory.most_values())
            && !begins()
        {
            match values.last_mut() {
                Some(before) if before.1.checked_add(1) == Some(range.0) => before.1 = range.1,
                _ => values.push(range),
            }
            add_shard(shards, shard);
            *keys += 1;
            continue;
        }
        entries.push(Entry {
            shards: vec![shard],
            values: Values::Integers(vec![range]),
            keys: 1,
        });
    }
    entries
}

/// Whether a range begins where the last one ends.
fn follows(values: &[(i64, i64)], range: (i64, i64)) -> bool {
    values
        .last()
        .is_some_and(|before| before.1.checked_add(1) == Some(range.0))
}

fn add_shard(shards: &mut Vec<usize>, shard: usize) {
    if shards.last() != Some(&shard) {
        shards.push(shard);
    }
}

fn text_entries(
    step: &MapStep,
    map: &ShardMap,
    patterns: &KeyPatterns,
    sites: &[usize],
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
            shards,
            values: Values::Texts(values),
            keys,
        }) = entries.last_mut()
            && sites[shards[0]] == sites[shard]
            && values.len() < memory.most_values()
            && !memory.begins(&KeyName::Text(text.to_owned()))
        {
            values.push(text.to_owned());
            add_shard(shards, shard);
            *keys += 1;
            continue;
        }
        entries.push(Entry {
            shards: vec![shard],
            values: Values::Texts(vec![text.to_owned()]),
            keys: 1,
        });
    }
    entries
}
