//! The shards of a map by key, by range, by remainder and by schema.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::decide::{ShardOfKey, remainder};
use shardwright_rules::{Body, HostgroupId, KeyRef, KeyValue, MapStep, NativeStep, Remainder, RuleGraph};

use crate::integers::Integers;

/// Where a map's shards are found.
#[derive(Debug)]
pub(crate) struct ShardIndex {
    integers: Integers<Spot>,
    /// The writers of `integers`, apart: sixteen to a line of the cache, so that those of 100,000 keys stay near.
    writers: Integers<Writer>,
    texts: FxHashMap<Arc<str>, Spot>,
    /// First, last, shard; ascending and disjoint.
    ranges: Vec<(i64, i64, Spot)>,
    remainders: Option<(Remainder, FxHashMap<u64, Spot>)>,
    /// Positions in [`MapStep::shards`].
    schemas: FxHashMap<Arc<str>, u32>,
    /// Every shard's cluster is the only owner of its writer.
    are_sole_owners: bool,
}

/// A shard as it stands in the tables: what a statement needs of it lies beside the key, in one line of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// Position in [`MapStep::shards`].
    shard: u32,
    writer: Option<Writer>,
}

impl Spot {
    fn writer(self) -> Option<HostgroupId> {
        self.writer.map(hostgroup)
    }
}

/// A hostgroup's id plus one, so that having none takes no room. The highest id of all has none.
type Writer = std::num::NonZeroU32;

fn hostgroup(writer: Writer) -> HostgroupId {
    HostgroupId(writer.get() - 1)
}

/// What an index needs to know of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) writer: HostgroupId,
    pub(crate) is_sole: bool,
}

/// The index of every map, by position of its rule.
pub(crate) fn indexes(
    graph: &RuleGraph,
    owner: impl Fn(&str) -> Option<Owner>,
) -> Vec<Option<Box<ShardIndex>>> {
    let index = |body: &Body| match body {
        Body::Native {
            step: NativeStep::Map(step),
            ..
        } => Some(Box::new(ShardIndex::of(step, &owner))),
        _ => None,
    };
    let last = graph.rules.iter().rposition(|rule| {
        matches!(
            &rule.body,
            Body::Native {
                step: NativeStep::Map(_),
                ..
            }
        )
    });
    let rules = &graph.rules[..last.map_or(0, |last| last + 1)];
    rules.iter().map(|rule| index(&rule.body)).collect()
}

impl ShardIndex {
    fn of(step: &MapStep, owner: &impl Fn(&str) -> Option<Owner>) -> Self {
        let mut index = Self {
            integers: Integers::default(),
            writers: Integers::default(),
            texts: FxHashMap::default(),
            ranges: Vec::new(),
            remainders: step.remainder.map(|by| (by, FxHashMap::default())),
            schemas: FxHashMap::default(),
            are_sole_owners: true,
        };
        let mut integers: Vec<(i64, Spot)> = Vec::new();
        for (position, shard) in step.shards.iter().enumerate() {
            let position = u32::try_from(position).expect("a configuration holds fewer than 2^32 shards");
            let owner = shard.cluster.as_deref().and_then(owner);
            // Nothing finds its writer without the refusal.
            let owner_in_use = owner.filter(|_| shard.refuse.is_none());
            let writer = owner_in_use.and_then(|owner| Writer::new(owner.writer.0.wrapping_add(1)));
            index.are_sole_owners &= owner.is_none_or(|owner| owner.is_sole);
            let spot = Spot {
                shard: position,
                writer,
            };
            for key in &shard.keys {
                match key {
                    KeyValue::Integer(n) => integers.push((*n, spot)),
                    KeyValue::Text(text) => {
                        index.texts.entry(text.clone()).or_insert(spot);
                    }
                }
            }
            index
                .ranges
                .extend(shard.ranges.iter().map(|&(first, last)| (first, last, spot)));
            if let Some((_, remainders)) = &mut index.remainders {
                for remainder in &shard.remainders {
                    remainders.entry(*remainder).or_insert(spot);
                }
            }
            if let Some(schema) = &shard.schema {
                index.schemas.entry(schema.clone()).or_insert(position);
            }
        }
        index.integers = Integers::of(integers);
        index.writers = index.integers.filter_map(|spot| spot.writer);
        index
            .ranges
            .sort_unstable_by_key(|&(first, last, spot)| (first, last, spot.shard));
        index
    }

    /// The writer is left out where it is not written down beside the key.
    pub(crate) fn of_key<'c>(&self, key: &KeyRef<'_>, step: &'c MapStep) -> Option<ShardOfKey<'c>> {
        let spot = self.spot(key)?;
        Some(ShardOfKey {
            shard: step.shards.get(spot.shard as usize)?,
            writer: spot.writer(),
            is_sole_owner: self.are_sole_owners,
        })
    }

    /// The writer of the shard that holds `key`, where it is written down beside the key.
    pub(crate) fn writer(&self, key: &KeyRef<'_>) -> Option<HostgroupId> {
        let written = match key {
            KeyRef::Integer(n) => self.writers.get(*n),
            KeyRef::Text(_) => None,
        };
        match written {
            Some(writer) => Some(hostgroup(writer)),
            None => self.spot(key)?.writer(),
        }
    }

    /// Whether a shard has a schema of its own.
    pub(crate) fn has_schemas(&self) -> bool {
        !self.schemas.is_empty()
    }

    fn spot(&self, key: &KeyRef<'_>) -> Option<Spot> {
        let by_value = match key {
            KeyRef::Integer(n) => self.integers.get(*n).or_else(|| self.of_range(*n)),
            KeyRef::Text(text) => self.texts.get(&**text).copied(),
        };
        let by_remainder = || {
            let (by, remainders) = self.remainders.as_ref()?;
            remainders.get(&remainder(by, key)).copied()
        };
        by_value.or_else(by_remainder)
    }

    fn of_range(&self, n: i64) -> Option<Spot> {
        let behind = self.ranges.partition_point(|&(first, _, _)| first <= n);
        let &(_, last, spot) = self.ranges.get(behind.checked_sub(1)?)?;
        (n <= last).then_some(spot)
    }

    pub(crate) fn of_schema(&self, name: &str) -> Option<usize> {
        self.schemas.get(name).map(|&position| position as usize)
    }
}
