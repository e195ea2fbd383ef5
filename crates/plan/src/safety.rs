//! The limits of the project file and the errors of a plan, as a check before it is applied.

mod errors;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use shardwright_rules::{Address, glob_matches};

pub use self::errors::{is_liftable, is_lifted};
use crate::{Action, Effect, LiveServers, Outcome, Plan, stale_copies};

/// `safety:` of the project file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `deletes.max`: the most objects that one plan may remove from a target.
    pub max_deletes: Option<usize>,
    /// `protect`: globs of addresses. An object that matches, and everything under it, may not be changed or removed.
    pub protect: Vec<String>,
    /// `plan_expiry`: the greatest age of a plan that is applied.
    pub plan_expiry: Option<Duration>,
}

/// The words of `--allow` for limits of plans.
pub const LIMITS: [&str; 3] = ["deletes", "protect", "plan_expiry"];
/// The words of `--allow` for limits of runs that are taken back.
pub const LIMITS_OF_TAKING_BACK: [&str; 3] = ["deletes", "protect", "stale_copy"];

/// A limit that a plan breaks or an error that it has, and how it can be allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The word for `--allow`: one of [`LIMITS`] or [`LIMITS_OF_TAKING_BACK`], or the code of a finding.
    pub code: String,
    /// The line of the project file, the command that always asks, or `finding`.
    pub rule: &'static str,
    /// How an apply ends that is refused for it.
    pub outcome: Outcome,
    /// The target; `None` where the refusal is about the whole plan or several targets.
    pub target: Option<String>,
    /// What was counted: objects, or seconds of age.
    pub number: u64,
    /// How many would be inside the limit.
    pub limit: u64,
    /// The objects, in listing order.
    pub subjects: Vec<Address>,
    /// What is wrong, and what would allow it.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Every limit that `plan` breaks and every error that it brings, where `allowed` (the codes of `--allow CODE=REASON`) does
/// not lift it.
pub fn check(plan: &Plan, limits: &Limits, now: Timestamp, allowed: &[String]) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = expired(plan, limits, now).into_iter().collect();
    for target in &plan.targets {
        refusals.extend(deletes(&target.name, &target.effects, limits));
        refusals.extend(protected(&target.name, &target.effects, limits));
    }
    refusals.extend(errors::of(plan));
    without_allowed(refusals, allowed)
}

/// The errors alone: they end a plan, too, which limits do not.
pub fn errors(plan: &Plan, allowed: &[String]) -> Vec<Refusal> {
    without_allowed(errors::of(plan), allowed)
}

/// The limits that taking back a run breaks, which has effects and no plan; and whether writes would go to a copy that has
/// not followed since the run; `servers` are those that are live now.
pub fn check_taking_back(
    target: &str,
    effects: &[Effect],
    servers: Option<&LiveServers>,
    limits: &Limits,
    allowed: &[String],
) -> Vec<Refusal> {
    let refusals = [
        deletes(target, effects, limits),
        protected(target, effects, limits),
        stale_copies(target, effects, servers),
    ];
    without_allowed(refusals.into_iter().flatten().collect(), allowed)
}

fn without_allowed(mut refusals: Vec<Refusal>, allowed: &[String]) -> Vec<Refusal> {
    refusals.retain(|refusal| !is_lifted(&refusal.code, allowed));
    refusals
}

/// Statements that go back to other servers: what was written since the run is not there.
fn stale_copies(target: &str, effects: &[Effect], servers: Option<&LiveServers>) -> Option<Refusal> {
    let subjects = match servers {
        Some(servers) => stale_copies::subjects(effects, servers),
        None => stale_copies::subjects_of_whole(effects),
    };
    let number = subjects.len();
    (number > 0).then(|| Refusal {
        code: "stale_copy".to_owned(),
        outcome: Outcome::Refused,
        rule: "rollback",
        target: Some(target.to_owned()),
        number: number as u64,
        limit: 0,
        message: format!(
            "{} would be served on {target} by the servers of before the run, which lack what was written since ({}); copy it \
             back first, then allow it with --allow stale_copy=REASON",
            counted(number, "object"),
            listed(&subjects)
        ),
        subjects,
    })
}

fn expired(plan: &Plan, limits: &Limits, now: Timestamp) -> Option<Refusal> {
    let limit = limits.plan_expiry?;
    let age = now.duration_since(plan.created_at).as_secs();
    let age = u64::try_from(age).unwrap_or(0);
    (age > limit.as_secs()).then(|| Refusal {
        code: "plan_expiry".to_owned(),
        outcome: Outcome::Refused,
        rule: "safety.plan_expiry",
        target: None,
        number: age,
        limit: limit.as_secs(),
        subjects: Vec::new(),
        message: format!(
            "safety.plan_expiry: the plan is {age} s old, the limit is {} s; make a new plan, \
             or allow it with --allow plan_expiry=REASON",
            limit.as_secs()
        ),
    })
}

fn deletes(target: &str, effects: &[Effect], limits: &Limits) -> Option<Refusal> {
    let limit = limits.max_deletes?;
    let removed = effects.iter().filter(|effect| effect.action == Action::Remove);
    let subjects: Vec<Address> = removed.map(|effect| effect.address.clone()).collect();
    let number = subjects.len();
    (number > limit).then(|| Refusal {
        code: "deletes".to_owned(),
        outcome: Outcome::Refused,
        rule: "safety.deletes.max",
        target: Some(target.to_owned()),
        number: number as u64,
        limit: limit as u64,
        message: format!(
            "safety.deletes.max: {} would be removed from {target}, the limit is {limit} ({}); \
             allow it with --allow deletes=REASON, or raise safety.deletes.max in shardwright.yaml",
            counted(number, "object"),
            listed(&subjects)
        ),
        subjects,
    })
}

fn protected(target: &str, effects: &[Effect], limits: &Limits) -> Option<Refusal> {
    if limits.protect.is_empty() {
        return None;
    }
    let added: BTreeSet<&str> = effects
        .iter()
        .filter(|effect| effect.action == Action::Add)
        .map(|effect| effect.address.as_str())
        .collect();
    let subjects: Vec<Address> = effects
        .iter()
        .filter(|effect| {
            guard_of(effect.address.as_str(), &limits.protect).is_some_and(|it| !added.contains(it))
        })
        .map(|effect| effect.address.clone())
        .collect();
    let number = subjects.len();
    (number > 0).then(|| Refusal {
        code: "protect".to_owned(),
        outcome: Outcome::Refused,
        rule: "safety.protect",
        target: Some(target.to_owned()),
        number: number as u64,
        limit: 0,
        message: format!(
            "safety.protect: {} would be different on {target} ({}); \
             allow it with --allow protect=REASON, or take them off safety.protect in shardwright.yaml",
            counted(number, "protected object"),
            listed(&subjects)
        ),
        subjects,
    })
}

/// The outermost object that is `address` or holds it and that a glob names. An object that the plan itself adds has
/// nothing to protect yet.
fn guard_of<'a>(address: &'a str, protect: &[String]) -> Option<&'a str> {
    let ends = address.match_indices('.').map(|(at, _)| at);
    ends.chain([address.len()])
        .map(|end| &address[..end])
        .find(|outer| protect.iter().any(|glob| glob_matches(glob, outer)))
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn listed(subjects: &[Address]) -> String {
    const FEW: usize = 5;
    let mut names: Vec<&str> = subjects.iter().take(FEW).map(Address::as_str).collect();
    if subjects.len() > FEW {
        names.push("…");
    }
    names.join(", ")
}
