//! Drift as `drift --format json` prints it: the shape of `schemas/drift.v1.json`.

use schemars::JsonSchema;
use serde::Serialize;
use shardwright_plan::{Action, Facts, RowChange};
use shardwright_rules::Address;

use super::super::mark::Applied;
use super::{Cause, Drift, Drifted, LeftOut, Side};

/// The version of the shape; keys are only ever added to it.
const VERSION: u32 = 1;

/// What differs, target by target.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DriftReport {
    /// Version of this shape.
    schema_version: u32,
    /// Whether there is drift on any target; null: not on those that could be read, and one could not.
    drift: Option<bool>,
    /// The names of the targets that could not be read.
    unread: Vec<String>,
    /// In the order of the project file.
    targets: Vec<TargetReport>,
}

impl DriftReport {
    /// The reports of all targets.
    pub fn of(targets: Vec<TargetReport>) -> Self {
        let is_any = |target: &TargetReport| matches!(target, TargetReport::Read(read) if read.drift);
        let unread = targets.iter().filter_map(|target| match target {
            TargetReport::Unread(unread) => Some(unread.target.clone()),
            TargetReport::Read(_) => None,
        });
        let unread: Vec<String> = unread.collect();
        let is_any = targets.iter().any(is_any);
        Self {
            schema_version: VERSION,
            drift: (is_any || unread.is_empty()).then_some(is_any),
            unread,
            targets,
        }
    }
}

/// One target.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TargetReport {
    /// It could be read.
    Read(Box<ReadTarget>),
    /// It could not.
    Unread(UnreadTarget),
}

/// A target that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadTarget {
    /// Its name in the project file.
    pub target: String,
    /// Its engine, as the project file calls it.
    pub engine: String,
    /// Always null: nobody knows.
    pub drift: Option<bool>,
    /// Why.
    pub unreachable: String,
}

/// A target that could be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadTarget {
    /// Its name in the project file.
    target: String,
    /// Its engine, as the project file calls it.
    engine: String,
    /// Whether anything is not as the files and the last apply have it.
    drift: bool,
    /// The version that it says it is.
    version: String,
    /// The project that its rows belong to.
    project: Option<String>,
    /// How often that was applied; 0: never.
    generation: u64,
    /// The run that applied it last.
    run: Option<String>,
    /// Who made that run.
    applied: Applied,
    /// Object by object.
    differences: Vec<Difference>,
    /// What else is staged and not live, or live and not in memory; a line each.
    staged: Vec<String>,
    /// What a monitor or a scheduler has decided: it is no drift.
    left_out: Vec<LeftOut>,
    /// What no project holds and is not as the last apply found it; a line each.
    beside: Vec<String>,
    /// Why it is older than what was applied last.
    older: Option<String>,
    /// A run that has not ended, with what to do.
    unfinished: Option<String>,
    /// What could not be compared, with the reason; a line each.
    not_compared: Vec<String>,
    /// What no look compares.
    not_looked_at: Vec<String>,
}

impl ReadTarget {
    /// The report of a target, whose differences `said` puts in words, with their place in the files.
    pub fn of(drift: &Drift, engine: &str, said: impl Fn(&Drifted) -> (String, Option<String>)) -> Self {
        Self {
            target: drift.target.clone(),
            engine: engine.to_owned(),
            drift: drift.is_any(),
            version: drift.version.clone(),
            project: drift.project.clone(),
            generation: drift.generation,
            run: drift.run.clone(),
            applied: drift.applied.clone(),
            differences: drift
                .differences
                .iter()
                .map(|one| Difference::of(one, said(one)))
                .collect(),
            staged: drift.staged.clone(),
            left_out: drift.left_out.clone(),
            beside: drift.beside.clone(),
            older: drift.older.clone(),
            unfinished: drift.unfinished.clone(),
            not_compared: drift.not_compared.clone(),
            not_looked_at: drift.not_looked_at.clone(),
        }
    }
}

/// An object that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference {
    /// Whose change it comes from.
    side: Side,
    /// What happened to the object: from the files to what is live where the proxy is ahead, else from what is live to the
    /// files.
    action: Action,
    /// Its name in the files: `shard_maps.tenants.shards.t137`.
    #[schemars(with = "String")]
    address: Address,
    /// The difference in words.
    difference: String,
    /// Its place in the files, `FILE:LINE`, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// The values that go; of a change, only those that differ.
    old: Facts,
    /// The values that come; of a change, only those that differ.
    new: Facts,
    /// Why, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Rows of the engine's tables, by table and key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<RowChange>,
    /// It is in memory only: nobody has loaded it.
    staged: bool,
    /// What is known or guessed of a change of the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<SaidCause>,
}

impl Difference {
    fn of(one: &Drifted, (difference, at): (String, Option<String>)) -> Self {
        let effect = one.effect.clone();
        Self {
            side: one.side,
            action: effect.action,
            address: effect.address,
            difference,
            at,
            old: effect.old,
            new: effect.new,
            reason: effect.reason,
            rows: effect.rows,
            staged: one.staged,
            cause: one.cause.as_ref().map(|cause| SaidCause {
                of: cause.clone(),
                text: cause.to_string(),
            }),
        }
    }
}

/// A cause, and what it is in words.
#[derive(Debug, Serialize, JsonSchema)]
struct SaidCause {
    #[serde(flatten)]
    of: Cause,
    /// In words.
    text: String,
}
