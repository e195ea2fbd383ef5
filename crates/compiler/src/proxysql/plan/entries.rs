//! The keys of a map in order, in the pieces that one rule each decides.

use shardwright_rules::{KeyKind, KeyValue, MapStep};
use shardwright_topology::model::ShardMap;

use super::memory::Memory;
use crate::keys::name::{self, Named};
use crate::keys::site::KeySite;
use crate::report::Report;

/// Keys that stand together and lie on one shard.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Place of the shard in the map.
    pub shard: usize,
    /// The keys.
    pub values: Values,
}

/// Keys of one kind, ascending.
#[derive(Debug)]
pub(crate) enum Values {
    /// Ranges, both ends included.
    Integers(Vec<(i64, i64)>),
    /// Texts.
    Texts(Vec<String>),
}

impl Entry {
    /// How many keys it holds; a range counts as one.
    pub(crate) fn keys(&self) -> u64 {
        match &self.values {
            Values::Integers(ranges) => ranges.len() as u64,
            Values::Texts(texts) => texts.len() as u64,
        }
    }

    /// The first key, as the lock file names it.
    pub(crate) fn name(&self) -> String {
        match &self.values {
            Values::Integers(ranges) => ranges[0].0.to_string(),
            Values::Texts(texts) => name::text(&texts[0]),
        }
    }
}

/// The keys of a map in order; neighbours on one shard stand together.
pub(super) fn entries(
    step: &MapStep,
    map: &ShardMap,
    (site, memory): (&KeySite, &Memory<'_>),
    report: &mut Report<'_>,
) -> Vec<Entry> {
    match step.kind {
        KeyKind::Integer => integer_entries(step, memory),
        KeyKind::Text => text_entries(step, map, (site, memory), report),
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
            && !memory.begins(&Named::Integer(range.0))
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
    (site, memory): (&KeySite, &Memory<'_>),
    report: &mut Report<'_>,
) -> Vec<Entry> {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        for key in &shard.keys {
            let KeyValue::Text(text) = key else { continue };
            if site.can_hold(text) {
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
            && !memory.begins(&Named::Text(text.to_owned()))
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
