//! Where the read/write split of a map stands beside the rules for the names of its schemas.
//!
//! In front of them, the rules stand twice: for readers and for writers. Behind them, they stand once and name writers, and
//! each cluster has rules that send its reads on. What takes fewer rules is laid out. The lock keeps the choice until the other
//! one takes a quarter of the rules, because a change of it changes most rules of the map.

use std::collections::BTreeSet;

use shardwright_ids::Lock;
use shardwright_rules::{EngineId, MapStep};

use super::KeyReading;
use super::layouts::key_count;
use crate::program::{Program, Section};

/// Rules of the split of one cluster.
const RULES_OF_A_SPLIT: f64 = 4.0;
/// How many times better the other choice must be than the one that the lock keeps.
const KEPT_UP_TO: f64 = 4.0;

/// What the lock file calls the choice.
pub(crate) fn split_name(engine: EngineId, section: &Section<Box<MapStep>>) -> String {
    format!("split.{engine}.{}", section.address)
}

/// Whether the split stands behind the rules for the names of schemas; `None` where no session of a schema may read elsewhere.
pub(super) fn splits_behind(
    section: &Section<Box<MapStep>>,
    reading: Option<&KeyReading>,
    program: &Program,
    lock: &Lock,
    engine: EngineId,
) -> Option<bool> {
    reading?.schema.as_ref()?;
    let step = &*section.step;
    let clusters: BTreeSet<&str> = step
        .shards
        .iter()
        .filter_map(|shard| shard.cluster.as_deref())
        .collect();
    let reads_elsewhere = |name: &&&str| {
        let covers = || {
            program
                .roles
                .iter()
                .any(|policy| policy.scope.clusters.contains(name))
        };
        program.resolved_cluster(name).reader.is_some() && covers()
    };
    let behind = RULES_OF_A_SPLIT * clusters.iter().filter(reads_elsewhere).count() as f64;
    let in_front = key_count(step);
    if behind == 0.0 {
        return None;
    }
    let before = || {
        lock.get(&format!("flags.{engine}.{}.schemas.readers", section.address))
            .map(|_| 0)
    };
    Some(match lock.get(&split_name(engine, section)).or_else(before) {
        None => behind < in_front,
        Some(0) => behind * KEPT_UP_TO < in_front,
        Some(_) => behind < in_front * KEPT_UP_TO,
    })
}
