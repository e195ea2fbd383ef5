//! Does a plan to a target: compare, send, read back; and finds out what happened when no answer comes.

use crate::{
    Action, Applied, ApplyError, ApplyReport, Change, Effect, Observed, Outcome, Plan, Problem, Target,
    TargetError,
};

/// How often a change is sent when answers get lost. Sending it again is harmless, because it names the base.
const MAX_SENDS: usize = 2;

/// How many differences a report lists.
const MAX_PROBLEMS: usize = 20;

/// Does the target's part of `plan`, exactly, or nothing. The target is observed before and after; where it does not
/// run the base of the plan nothing is sent.
pub fn apply(plan: &Plan, target: &mut dyn Target) -> ApplyReport {
    apply_allowing(plan, target, &[])
}

/// The same, with the codes of errors for which somebody has given a reason.
pub fn apply_allowing(plan: &Plan, target: &mut dyn Target, allowed: &[String]) -> ApplyReport {
    let mut run = Run::of(plan, target);
    let (outcome, message) = match change(plan, &run.report.target, allowed) {
        Ok(change) => run.execute(&change),
        Err(ending) => ending,
    };
    let mut report = ApplyReport {
        outcome,
        message,
        ..run.report
    };
    if let Err(error) = run.target.conclude(&report) {
        report.message.push_str(&format!(
            "; and the state of the run cannot say so: {}",
            error.reason
        ));
    }
    report
}

/// Looks whether the target's part of `plan` could be applied now, and changes nothing; the report of an apply that cannot.
pub fn check(plan: &Plan, target: &mut dyn Target, allowed: &[String]) -> Option<ApplyReport> {
    let mut run = Run::of(plan, target);
    let ended = change(plan, &run.report.target, allowed).and_then(|change| run.check(&change));
    let (outcome, message) = ended.err()?;
    Some(ApplyReport {
        outcome,
        message,
        ..run.report
    })
}

fn change<'p>(plan: &'p Plan, target: &str, allowed: &'p [String]) -> Result<Change<'p>, Ending> {
    if !plan.moves.is_empty() {
        return Err((Outcome::NotSent, cannot_move(plan)));
    }
    match plan.change(target) {
        Some(change) => Ok(Change { allowed, ..change }),
        None => Err((
            Outcome::NotSent,
            format!("plan {} has no part for target {target}", plan.short_id()),
        )),
    }
}

/// What is said of a plan that holds moves, which nothing carries out yet. Applying the rest alone could send writes to
/// a copy that nobody has checked.
pub fn cannot_move(plan: &Plan) -> String {
    let shards: Vec<String> = plan.moves.iter().map(|shard| shard.shard.short()).collect();
    format!(
        "plan {} moves {}, and moves cannot be carried out yet; take them out of `moves` to apply the rest",
        plan.short_id(),
        shards.join(", ")
    )
}

type Ending = (Outcome, String);

/// What a target runs after something was sent to it.
enum Live {
    /// The base of the plan.
    Base,
    /// The desired configuration.
    Desired,
    /// Something else.
    Other,
}

struct Run<'a> {
    report: ApplyReport,
    target: &'a mut dyn Target,
}

impl<'a> Run<'a> {
    fn of(plan: &Plan, target: &'a mut dyn Target) -> Self {
        Self {
            report: ApplyReport {
                target: target.name().to_owned(),
                plan: plan.id.clone(),
                outcome: Outcome::NotSent,
                before: None,
                after: None,
                message: String::new(),
                problems: Vec::new(),
            },
            target,
        }
    }

    /// Observes the target, which has to run the base of the plan.
    fn begin(&mut self, change: &Change<'_>) -> Result<Observed, Ending> {
        let not_sent = |error: TargetError| (Outcome::NotSent, error.to_string());
        let observed = self.target.observe().map_err(not_sent)?;
        self.report.before = Some(observed.base());
        self.report.after = Some(observed.base());
        if let Some(message) = self.target.unfinished().map_err(not_sent)? {
            return Err((Outcome::Contended, message));
        }
        if observed.base() != change.plan.base {
            return Err((Outcome::Stale, moved(change, &observed)));
        }
        Ok(observed)
    }

    fn check(&mut self, change: &Change<'_>) -> Result<(), Ending> {
        self.begin(change)?;
        if change.plan.effects.is_empty() {
            return Ok(());
        }
        match self.target.check(change) {
            Ok(()) => Ok(()),
            // Nothing was sent, so nothing has to be looked for.
            Err(error @ (ApplyError::Failed(_) | ApplyError::Lost(_))) => {
                Err((Outcome::NotSent, error.to_string()))
            }
            Err(error) => Err(self.refused(change, error)),
        }
    }

    fn execute(&mut self, change: &Change<'_>) -> Ending {
        let observed = match self.begin(change) {
            Ok(observed) => observed,
            Err(ending) => return ending,
        };
        if change.plan.effects.is_empty() {
            let generation = observed.generation;
            return (
                Outcome::Unchanged,
                format!("no changes: generation {generation} already has what the plan wants"),
            );
        }
        self.send(change)
    }

    fn send(&mut self, change: &Change<'_>) -> Ending {
        let mut lost = None;
        for _ in 0..MAX_SENDS {
            match self.target.apply(change) {
                Ok(applied) => return self.verify(change, &applied),
                Err(ApplyError::Lost(error)) => match self.look(change) {
                    Ok(Live::Desired) => return applied_without_answer(&error.to_string()),
                    Ok(Live::Base) => lost = Some(error),
                    Ok(Live::Other) => return superseded(&error.to_string()),
                    Err(unreadable) => return unknown(&error.to_string(), &unreadable),
                },
                // The first request may have landed between reading the target and sending the second one.
                Err(ApplyError::Stale(_)) if lost.is_some() => return self.after_lost_race(change),
                // Nor is it known whether the first request is what the target is busy with.
                Err(error @ (ApplyError::Contended(_) | ApplyError::NotSent(_))) if lost.is_some() => {
                    return self.after_lost_and_refused(change, &error.to_string());
                }
                Err(error) => return self.refused(change, error),
            }
        }
        let reason = lost.map(|error| error.to_string()).unwrap_or_default();
        may_still_arrive(&format!("no answer came {MAX_SENDS} times"), &reason)
    }

    fn after_lost_and_refused(&mut self, change: &Change<'_>, reason: &str) -> Ending {
        match self.look(change) {
            Ok(Live::Desired) => applied_without_answer("the answer was lost"),
            Ok(Live::Base) => may_still_arrive("no answer came", reason),
            Ok(Live::Other) => superseded(reason),
            Err(unreadable) => unknown(reason, &unreadable),
        }
    }

    fn after_lost_race(&mut self, change: &Change<'_>) -> Ending {
        let reason = "the answer was lost";
        match self.look(change) {
            Ok(Live::Desired) => applied_without_answer(reason),
            Ok(Live::Base | Live::Other) => superseded(reason),
            Err(unreadable) => unknown(reason, &unreadable),
        }
    }

    fn refused(&mut self, change: &Change<'_>, error: ApplyError) -> Ending {
        let message = error.to_string();
        match error {
            ApplyError::NotSent(_) => (Outcome::NotSent, message),
            ApplyError::Stale(_) => (Outcome::Stale, message),
            ApplyError::Contended(_) | ApplyError::Blocked(_) => (Outcome::Contended, message),
            ApplyError::Foreign(_) | ApplyError::Refused(_) => (Outcome::Refused, message),
            ApplyError::Invalid { address, reason } => {
                self.report.problems.push(Problem { address, reason });
                (Outcome::Rejected, message)
            }
            ApplyError::Restored(_) => {
                // The target has read everything back.
                self.report.after = self.report.before.clone();
                (Outcome::Restored, message)
            }
            ApplyError::Mixed(_) => {
                self.report.after = None;
                (Outcome::Mixed, message)
            }
            ApplyError::Failed(_) | ApplyError::Lost(_) => match self.look(change) {
                Ok(Live::Base) => (Outcome::Restored, message),
                Ok(Live::Desired) => (
                    Outcome::Applied,
                    format!("the plan is live, although the target reported: {message}"),
                ),
                Ok(Live::Other) => (Outcome::Mixed, message),
                Err(unreadable) => unknown(&message, &unreadable),
            },
        }
    }

    /// The target's word is compared with what it says it runs.
    fn verify(&mut self, change: &Change<'_>, applied: &Applied) -> Ending {
        let generation = applied.generation;
        let observed = match self.target.observe() {
            Ok(observed) => observed,
            Err(error) => {
                self.report.after = None;
                let message =
                    format!("generation {generation} was acknowledged but cannot be read back: {error}");
                return (Outcome::Unverified, message);
            }
        };
        self.report.after = Some(observed.base());
        let problems = match self.differences(&observed, change) {
            Ok(problems) => problems,
            Err(error) => {
                let message =
                    format!("generation {generation} was acknowledged but cannot be compared: {error}");
                return (Outcome::Unverified, message);
            }
        };
        if problems.is_empty() {
            let message = format!("generation {} is live", observed.generation);
            return match applied.behind.as_slice() {
                [] => (Outcome::Applied, message),
                behind => (
                    Outcome::Unverified,
                    format!("{message}, but {}", behind.join("; ")),
                ),
            };
        }
        if observed.generation > generation {
            let message = format!(
                "generation {generation} was applied, and another change has made it {} since",
                observed.generation
            );
            return (Outcome::Contended, message);
        }
        let count = problems.len();
        self.report.problems = problems;
        self.report.problems.truncate(MAX_PROBLEMS);
        (
            Outcome::Mixed,
            format!("generation {generation} was acknowledged, and {count} objects differ from the plan"),
        )
    }

    fn look(&mut self, change: &Change<'_>) -> Result<Live, String> {
        self.report.after = None;
        let observed = self.target.observe().map_err(|error| error.to_string())?;
        self.report.after = Some(observed.base());
        Ok(if observed.base() == change.plan.base {
            Live::Base
        } else if self.differences(&observed, change)?.is_empty() {
            Live::Desired
        } else {
            Live::Other
        })
    }

    fn differences(&mut self, observed: &Observed, change: &Change<'_>) -> Result<Vec<Problem>, String> {
        if observed.generation == 0 {
            return Ok(vec![Problem {
                address: None,
                reason: "the target runs no configuration".into(),
            }]);
        }
        let difference = self.target.difference(observed, change.desired);
        let effects = difference.map_err(|error| error.to_string())?.effects;
        Ok(problems(observed, change, effects))
    }
}

fn problems(observed: &Observed, change: &Change<'_>, effects: Vec<Effect>) -> Vec<Problem> {
    let owner = (observed.project != change.plan.project).then(|| Problem {
        address: Some("project".into()),
        reason: "is another one".into(),
    });
    let said = effects.into_iter().map(|effect| Problem {
        reason: match effect.action {
            Action::Add => "is missing".into(),
            Action::Change => "has other values".into(),
            Action::Remove => "is still there".into(),
        },
        address: Some(effect.address),
    });
    owner.into_iter().chain(said).collect()
}

fn moved(change: &Change<'_>, observed: &Observed) -> String {
    let base = &change.plan.base;
    let mut message = format!(
        "the plan was made for generation {}, the target runs generation {}",
        base.generation, observed.generation
    );
    if observed.generation == base.generation {
        message.push_str(" with another configuration");
    } else if observed.fingerprint == change.plan.desired && observed.project == change.plan.project {
        message.push_str(", which is what the plan wants");
    }
    message
}

fn applied_without_answer(reason: &str) -> Ending {
    (
        Outcome::Applied,
        format!("the plan is live, but no answer came: {reason}"),
    )
}

fn may_still_arrive(what: &str, reason: &str) -> Ending {
    (
        Outcome::Mixed,
        format!("{what} and the base is still live; the change may still arrive, so observe again: {reason}"),
    )
}

fn superseded(reason: &str) -> Ending {
    (
        Outcome::Contended,
        format!("another change is live; it is unknown whether this one was live in between: {reason}"),
    )
}

fn unknown(reason: &str, unreadable: &str) -> Ending {
    (
        Outcome::Mixed,
        format!("it is unknown what the target runs: {reason}; then: {unreadable}"),
    )
}
