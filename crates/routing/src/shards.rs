//! The shards of a map by key, by range, by remainder and by schema.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::{Body, KeyValue, MapStep, NativeStep, Remainder, RuleGraph, remainder};

/// Where a map's shards are found. Numbers are positions in [`MapStep::shards`].
#[derive(Debug)]
pub(crate) struct ShardIndex {
    integers: FxHashMap<i64, u32>,
    texts: FxHashMap<String, u32>,
    /// First, last, shard; ascending and disjoint.
    ranges: Vec<(i64, i64, u32)>,
    remainders: Option<(Remainder, FxHashMap<u64, u32>)>,
    schemas: FxHashMap<Arc<str>, u32>,
}

/// The index of every map, by position of its rule.
pub(crate) fn indexes(graph: &RuleGraph) -> FxHashMap<usize, ShardIndex> {
    let maps = graph
        .rules
        .iter()
        .enumerate()
        .filter_map(|(position, rule)| match &rule.body {
            Body::Native {
                step: NativeStep::Map(step),
                ..
            } => Some((position, ShardIndex::of(step))),
            _ => None,
        });
    maps.collect()
}

impl ShardIndex {
    fn of(step: &MapStep) -> Self {
        let mut index = Self {
            integers: FxHashMap::default(),
            texts: FxHashMap::default(),
            ranges: Vec::new(),
            remainders: step.remainder.map(|by| (by, FxHashMap::default())),
            schemas: FxHashMap::default(),
        };
        for (position, shard) in step.shards.iter().enumerate() {
            let position = u32::try_from(position).expect("a configuration holds fewer than 2^32 shards");
            for key in &shard.keys {
                match key {
                    KeyValue::Integer(n) => index.integers.entry(*n).or_insert(position),
                    KeyValue::Text(text) => index.texts.entry(text.clone()).or_insert(position),
                };
            }
            index
                .ranges
                .extend(shard.ranges.iter().map(|&(first, last)| (first, last, position)));
            if let Some((_, remainders)) = &mut index.remainders {
                for remainder in &shard.remainders {
                    remainders.entry(*remainder).or_insert(position);
                }
            }
            if let Some(schema) = &shard.schema {
                index.schemas.entry(schema.clone()).or_insert(position);
            }
        }
        index.ranges.sort_unstable();
        index
    }

    pub(crate) fn of_key(&self, key: &KeyValue) -> Option<usize> {
        let by_value = match key {
            KeyValue::Integer(n) => self.integers.get(n).copied().or_else(|| self.of_range(*n)),
            KeyValue::Text(text) => self.texts.get(text).copied(),
        };
        let by_remainder = || {
            let (by, remainders) = self.remainders.as_ref()?;
            remainders.get(&remainder(by, key)).copied()
        };
        by_value.or_else(by_remainder).map(|position| position as usize)
    }

    fn of_range(&self, n: i64) -> Option<u32> {
        let behind = self.ranges.partition_point(|&(first, _, _)| first <= n);
        let &(_, last, shard) = self.ranges.get(behind.checked_sub(1)?)?;
        (n <= last).then_some(shard)
    }

    pub(crate) fn of_schema(&self, name: &str) -> Option<usize> {
        self.schemas.get(name).map(|&position| position as usize)
    }
}
