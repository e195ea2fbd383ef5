//! The shape of `plan --format json`: the saved plan without the configurations.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Group, groups};
use crate::{Base, Cost, Counts, Effect, Hazard, Meaning, Plan, ShardMove, Unreachable};

/// A plan as programs read it; fields are only ever added.
#[derive(Serialize, JsonSchema)]
#[schemars(
    title = "shardwright plan summary",
    description = "What `plan --format json` prints."
)]
pub(crate) struct Summary<'a> {
    schema_version: u32,
    /// Id of the plan.
    id: &'a str,
    created_at: Timestamp,
    expires_at: Timestamp,
    environment: Option<&'a str>,
    /// Fingerprint of what the targets run; null where they differ.
    base: Option<&'a str>,
    /// Names of the targets.
    targets: Vec<&'a str>,
    /// Targets that could not be reached and are left out.
    unreachable: &'a [Unreachable],
    /// Generation that the targets run; null where they differ.
    generation: Option<u64>,
    /// Shards on their way from one cluster to another.
    moves: &'a [ShardMove],
    /// What will be different; an effect that is not on every target names those that it is on.
    effects: Vec<TargetedEffect<'a>>,
    /// Whether statements route differently; null where that was not decided.
    meaning: Option<&'a Meaning>,
    hazards: Vec<&'a Hazard>,
    /// The number of steps on each target that changes.
    steps: usize,
    effect_digest: &'a str,
    /// Each target by itself.
    per_target: Vec<TargetSummary<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct TargetedEffect<'a> {
    #[serde(flatten)]
    effect: &'a Effect,
    #[serde(skip_serializing_if = "Option::is_none")]
    targets: Option<Vec<&'a str>>,
}

#[derive(Serialize, JsonSchema)]
struct TargetSummary<'a> {
    name: &'a str,
    engine: &'a str,
    base: &'a Base,
    /// Fingerprint of what it shall run.
    desired: &'a str,
    counts: &'a Counts,
    cost: Option<Cost>,
    effect_digest: &'a str,
}

pub(super) fn summary(plan: &Plan) -> Summary<'_> {
    let groups = groups(plan);
    let first = plan.targets.first();
    let same_base = first.filter(|first| plan.targets.iter().all(|target| target.base == first.base));
    let mut hazards: Vec<&Hazard> = Vec::new();
    for hazard in plan.targets.iter().flat_map(|target| &target.hazards) {
        if !hazards.contains(&hazard) {
            hazards.push(hazard);
        }
    }
    let named = groups.len() > 1;
    Summary {
        schema_version: plan.schema_version,
        id: &plan.id,
        created_at: plan.created_at,
        expires_at: plan.expires_at,
        environment: plan.environment.as_deref(),
        base: same_base.map(|target| target.base.fingerprint.as_str()),
        targets: plan.targets.iter().map(|target| target.name.as_str()).collect(),
        unreachable: &plan.unreachable,
        generation: same_base.map(|target| target.base.generation),
        moves: &plan.moves,
        effects: groups.iter().flat_map(|group| targeted(group, named)).collect(),
        meaning: plan.meaning.as_ref(),
        hazards,
        steps: plan
            .targets
            .iter()
            .map(|target| target.steps.len())
            .max()
            .unwrap_or(0),
        effect_digest: &plan.effect_digest,
        per_target: plan
            .targets
            .iter()
            .map(|target| TargetSummary {
                name: &target.name,
                engine: target.engine.name(),
                base: &target.base,
                desired: &target.desired,
                counts: &target.counts,
                cost: target.cost,
                effect_digest: &target.effect_digest,
            })
            .collect(),
    }
}

fn targeted<'a>(group: &Group<'a>, named: bool) -> Vec<TargetedEffect<'a>> {
    let targeted = group.first().effects.iter().map(|effect| TargetedEffect {
        effect,
        targets: named.then(|| group.names().collect()),
    });
    targeted.collect()
}
