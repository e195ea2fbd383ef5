//! A plan: plain data that can be saved, read, reviewed, refused when stale, and applied.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shardwright_rules::{Configuration, EngineId};

use crate::digest::sha256_hex;
use crate::{Action, Assessment, Base, Counts, Difference, Effect, Facts, Hazard, Observed, ShardMove, Step};

/// The version of the saved form; raised when an old reader would misread a new plan.
pub const SCHEMA_VERSION: u32 = 1;

/// What would be done to one or several targets. Its fields are what [`Plan::id`] covers: a plan that was changed after
/// [`Plan::new`] is refused when it is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(
    title = "shardwright plan",
    description = "A saved plan, as `plan -o FILE` writes it."
)]
pub struct Plan {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// SHA-256 in hexadecimal of the plan's compact JSON with an empty id.
    pub id: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops being applicable.
    pub expires_at: Timestamp,
    /// Name of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Digest of what will be true on all targets: what an approval is bound to.
    pub effect_digest: String,
    /// Whether statements route differently, where that was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Meaning>,
    /// Shards on their way from one cluster to another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<ShardMove>,
    /// What would be done, per target, sorted by name.
    pub targets: Vec<TargetPlan>,
    /// Targets that could not be reached and are left out, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<Unreachable>,
    /// The desired configurations by fingerprint, complete and without secrets.
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub configurations: BTreeMap<String, Arc<Configuration>>,
}

/// A target that a plan leaves out because it could not be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unreachable {
    /// Name in the project file.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What would be done to one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetPlan {
    /// Name in the project file.
    pub name: String,
    /// Its engine.
    #[schemars(with = "String")]
    pub engine: EngineId,
    /// What it ran when the plan was made.
    pub base: Base,
    /// The project that it will belong to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Fingerprint of what it shall run.
    pub desired: String,
    /// What will be different.
    pub effects: Vec<Effect>,
    /// How much that is.
    pub counts: Counts,
    /// Digest of what will be true: target, engine and effects without reasons.
    pub effect_digest: String,
    /// What is risky, and what the target cannot hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hazards: Vec<Hazard>,
    /// What routing a statement costs before and after, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What is done, in order; empty when nothing changes.
    pub steps: Vec<Step>,
    /// What becomes of rows that somebody else has staged; absent: they are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<Staged>,
}

/// What becomes of rows of a live system that somebody else has staged and not made live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Staged {
    /// They go live with the plan.
    Adopt,
    /// They are taken back.
    Discard,
}

/// Whether statements route differently, on the targets that are named or on all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Meaning {
    /// `same`, `changed` or `undecided`; `same` only if the plan changes nothing that was not compared.
    pub answer: String,
    /// Whether that is a proof.
    pub proved: bool,
    /// What changes, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Statements that go another way afterwards, one for each kind of change; those that concern the most come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Witness>,
    /// How many kinds of change have no statement here, because there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_kinds: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A statement that goes another way afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The user of its session.
    pub user: String,
    /// The schema of its session, where it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The statement.
    pub statement: String,
    /// Where it goes before.
    pub before: String,
    /// Where it goes after.
    pub after: String,
    /// The part of users, schemas and shards whose statements change in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<Concern>,
}

/// A part of some things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Concern {
    /// The things: `users`, `schemas` or `shards`.
    pub things: String,
    /// How many a change concerns.
    pub concerned: usize,
    /// How many there are.
    pub total: usize,
}

/// Pattern evaluations per statement before and after, in thousandths so that a plan holds no rounded numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Mean before, in thousandths of an evaluation.
    pub mean_before_milli: u64,
    /// Mean after, in thousandths of an evaluation.
    pub mean_after_milli: u64,
    /// Most before.
    pub worst_before: u64,
    /// Most after.
    pub worst_after: u64,
}

/// A target's part of a plan with the configuration that it is about.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// What would be done.
    pub plan: &'a TargetPlan,
    /// What the target shall run.
    pub desired: &'a Configuration,
    /// The codes of errors for which somebody has given a reason.
    pub allowed: &'a [String],
}

impl Plan {
    /// Makes a plan from the targets' parts and the configurations that they name. `created_at` is the time of the
    /// observation; the plan can be applied for `expiry` after it.
    pub fn new(
        environment: Option<String>,
        created_at: Timestamp,
        expiry: Duration,
        meaning: Option<Meaning>,
        mut parts: Vec<(TargetPlan, Arc<Configuration>)>,
    ) -> Self {
        parts.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let mut configurations = BTreeMap::new();
        let mut targets = Vec::with_capacity(parts.len());
        for (target, desired) in parts {
            configurations.entry(target.desired.clone()).or_insert(desired);
            targets.push(target);
        }
        let mut plan = Self {
            schema_version: SCHEMA_VERSION,
            id: String::new(),
            created_at,
            expires_at: created_at.checked_add(expiry).unwrap_or(Timestamp::MAX),
            environment,
            effect_digest: effect_digest_of_all(&targets, &[]),
            meaning,
            moves: Vec::new(),
            targets,
            unreachable: Vec::new(),
            configurations,
        };
        plan.id = plan.computed_id();
        plan
    }

    /// The same with shards that move.
    pub fn with_moves(mut self, moves: Vec<ShardMove>) -> Self {
        if moves == self.moves {
            return self;
        }
        self.moves = moves;
        self.effect_digest = self.computed_effect_digest();
        self.id = self.computed_id();
        self
    }

    /// The same with whether statements route differently.
    #[must_use]
    pub fn meaning(mut self, meaning: Option<Meaning>) -> Self {
        if meaning == self.meaning {
            return self;
        }
        self.meaning = meaning;
        self.id = self.computed_id();
        self
    }

    /// The same with targets that are left out.
    #[must_use]
    pub fn leaving_out(mut self, mut unreachable: Vec<Unreachable>) -> Self {
        unreachable.sort_by(|a, b| a.name.cmp(&b.name));
        if unreachable == self.unreachable {
            return self;
        }
        self.unreachable = unreachable;
        self.id = self.computed_id();
        self
    }

    /// The part of the target of this name.
    pub fn change(&self, target: &str) -> Option<Change<'_>> {
        let plan = self.targets.iter().find(|plan| plan.name == target)?;
        let desired = self.configurations.get(&plan.desired)?;
        Some(Change {
            plan,
            desired,
            allowed: &[],
        })
    }

    /// Whether anything would be different anywhere.
    pub fn has_changes(&self) -> bool {
        !self.moves.is_empty() || self.targets.iter().any(|target| !target.effects.is_empty())
    }

    /// The id as people write it: its first eight digits.
    pub fn short_id(&self) -> &str {
        short(&self.id)
    }

    /// What the id must be.
    pub(crate) fn computed_id(&self) -> String {
        let unnamed = Self {
            id: String::new(),
            ..self.clone()
        };
        sha256_hex(unnamed.to_json().as_bytes())
    }

    /// What [`Plan::effect_digest`] must be.
    pub(crate) fn computed_effect_digest(&self) -> String {
        effect_digest_of_all(&self.targets, &self.moves)
    }
}

impl TargetPlan {
    /// Plans the way from what was observed of a target to `desired`; before its first configuration a target counts
    /// as empty.
    pub fn new(name: &str, observed: &Observed, desired: &Configuration, hazards: Vec<Hazard>) -> Self {
        let assessment = Assessment::of_whole(observed, desired);
        Self::assessed(name, observed, desired, assessment, hazards)
    }

    /// The same with what the target itself says about the way; `hazards` are those of the configuration.
    pub fn assessed(
        name: &str,
        observed: &Observed,
        desired: &Configuration,
        assessment: Assessment,
        mut hazards: Vec<Hazard>,
    ) -> Self {
        let Assessment {
            difference: Difference { effects, counts },
            hazards: of_target,
            steps,
        } = assessment;
        hazards.extend(of_target);
        Self {
            name: name.to_owned(),
            engine: desired.engine,
            base: observed.base(),
            project: observed.project.clone(),
            desired: desired.fingerprint(),
            effect_digest: effect_digest(name, desired.engine, &effects),
            steps: if effects.is_empty() { Vec::new() } else { steps },
            effects,
            counts,
            hazards,
            cost: None,
            staged: None,
        }
    }

    /// The same with hazards of the configuration in front of those of the target.
    #[must_use]
    pub fn warned_of(mut self, mut hazards: Vec<Hazard>) -> Self {
        hazards.append(&mut self.hazards);
        self.hazards = hazards;
        self
    }

    /// The same with what becomes of rows that somebody else has staged, as its effects have it.
    #[must_use]
    pub fn taking_staged(mut self, staged: Option<Staged>) -> Self {
        self.staged = staged;
        self
    }

    /// The same for a project; a change of the owner is an effect like any other.
    pub fn for_project(mut self, project: Option<&str>) -> Self {
        if self.project.as_deref() == project {
            return self;
        }
        let facts = |name: Option<&str>| -> Facts {
            let name = name.map(|name| ("name".to_owned(), serde_json::Value::from(name)));
            name.into_iter().collect()
        };
        let owner = std::mem::replace(&mut self.project, project.map(str::to_owned));
        let effect = Effect {
            action: match (&owner, project) {
                (None, _) => Action::Add,
                (Some(_), Some(_)) => Action::Change,
                (Some(_), None) => Action::Remove,
            },
            address: "project".into(),
            old: facts(owner.as_deref()),
            new: facts(project),
            reason: None,
            rows: Vec::new(),
        };
        self.effects.insert(0, effect);
        self.effect_digest = self.computed_effect_digest();
        if self.steps.is_empty() {
            self.steps = match self.engine {
                EngineId::Bundled => vec![Step::CompareBase, Step::Swap, Step::Verify],
                _ => vec![
                    Step::CompareBase,
                    Step::Reserve,
                    Step::Switch,
                    Step::Verify,
                    Step::Save,
                ],
            };
        }
        self
    }

    /// What [`TargetPlan::effect_digest`] must be.
    pub(crate) fn computed_effect_digest(&self) -> String {
        effect_digest(&self.name, self.engine, &self.effects)
    }
}

/// The first eight digits of a digest.
pub(crate) fn short(digest: &str) -> &str {
    digest.get(..8).unwrap_or(digest)
}

fn effect_digest(target: &str, engine: EngineId, effects: &[Effect]) -> String {
    let effects: Vec<_> = effects
        .iter()
        .map(|effect| {
            (
                effect.action,
                &effect.address,
                &effect.old,
                &effect.new,
                &effect.rows,
            )
        })
        .collect();
    let said = serde_json::to_vec(&(1, target, engine, effects));
    sha256_hex(&said.expect("effects have string keys only, so JSON can hold them"))
}

fn effect_digest_of_all(targets: &[TargetPlan], moves: &[ShardMove]) -> String {
    let moves: Vec<String> = moves
        .iter()
        .map(|shard| {
            let said = serde_json::to_vec(&(
                &shard.shard,
                &shard.from,
                &shard.to,
                shard.max_fence_ms,
                &shard.ready,
            ));
            sha256_hex(&said.expect("a move holds texts and numbers, so JSON can hold it"))
        })
        .collect();
    let digests: Vec<&str> = targets
        .iter()
        .map(|target| target.effect_digest.as_str())
        .chain(moves.iter().map(String::as_str))
        .collect();
    sha256_hex(digests.join("\n").as_bytes())
}
