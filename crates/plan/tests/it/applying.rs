//! What becomes of an apply when targets answer, refuse, move or fall silent.

use std::collections::VecDeque;

use insta::assert_snapshot;
use shardwright_plan::{
    Applied, ApplyError, ApplyReport, Change, Observed, Outcome, Plan, Target, TargetError, apply,
};
use shardwright_rules::Configuration;

use crate::fixtures::*;

/// What happens to one request, in order, at the scripted target.
enum Event {
    /// It is applied and answered.
    Apply,
    /// It is applied, and the answer is lost.
    ApplyInSilence,
    /// It is lost on its way.
    Lose,
    /// It is lost; then another change goes live.
    LoseToAnother,
    /// It is lost, and arrives when the target is asked the next time.
    Delay,
    /// It is answered with this error.
    Refuse(ApplyError),
    /// It is applied and answered; then another change goes live.
    ApplyThenAnother,
    /// It is answered, and something else is live.
    Pretend,
    /// It is answered with a failure after going live.
    ApplyAndComplain,
    /// The target cannot be reached any more.
    Die(Box<Event>),
}

struct Scripted {
    state: Observed,
    events: VecDeque<Event>,
    delayed: Option<Configuration>,
    dead: bool,
    sent: usize,
}

fn gone(reason: &str) -> TargetError {
    TargetError {
        target: "local".into(),
        address: "127.0.0.1:6032".into(),
        reason: reason.into(),
    }
}

impl Scripted {
    fn become_live(&mut self, configuration: &Configuration) -> Applied {
        self.state = running(self.state.generation + 1, configuration);
        Applied {
            generation: self.state.generation,
            fingerprint: self.state.fingerprint.clone(),
            behind: Vec::new(),
        }
    }

    fn handle(&mut self, event: Event, desired: &Configuration) -> Result<Applied, ApplyError> {
        let lost = Err(ApplyError::Lost(gone("connection reset")));
        match event {
            Event::Apply => Ok(self.become_live(desired)),
            Event::ApplyInSilence => {
                self.become_live(desired);
                lost
            }
            Event::Lose => lost,
            Event::LoseToAnother => {
                self.become_live(&proxysql());
                lost
            }
            Event::Delay => {
                self.delayed = Some(desired.clone());
                lost
            }
            Event::Refuse(error) => Err(error),
            Event::ApplyThenAnother => {
                let applied = self.become_live(desired);
                self.become_live(&proxysql());
                Ok(applied)
            }
            Event::Pretend => Ok(self.become_live(&proxysql())),
            Event::ApplyAndComplain => {
                self.become_live(desired);
                Err(ApplyError::Failed("cannot write the log".into()))
            }
            Event::Die(event) => {
                self.dead = true;
                self.handle(*event, desired)
            }
        }
    }
}

impl Target for Scripted {
    fn name(&self) -> &str {
        "local"
    }

    fn observe(&mut self) -> Result<Observed, TargetError> {
        if self.dead {
            return Err(gone("connection refused"));
        }
        Ok(self.state.clone())
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError> {
        self.sent += 1;
        if let Some(delayed) = self.delayed.take() {
            self.become_live(&delayed);
        }
        if self.state.base() != change.plan.base {
            return Err(ApplyError::Stale(format!(
                "generation is {}",
                self.state.generation
            )));
        }
        let event = self.events.pop_front().expect("the script says what happens");
        self.handle(event, change.desired)
    }
}

fn desired() -> Configuration {
    let mut desired = bundled();
    map_of(&mut desired).shards[1].cluster = Some("shop-20".into());
    desired
}

fn plan() -> Plan {
    plan_for(&["local"], &running(12, &bundled()), &desired())
}

fn target(events: Vec<Event>) -> Scripted {
    Scripted {
        state: running(12, &bundled()),
        events: events.into(),
        delayed: None,
        dead: false,
        sent: 0,
    }
}

fn said(report: &ApplyReport) -> String {
    let generation = |base: &Option<shardwright_plan::Base>| match base {
        Some(base) => base.generation.to_string(),
        None => "?".to_owned(),
    };
    let mut lines = vec![format!(
        "{:?} (exit {}), {} to {}: {}",
        report.outcome,
        report.exit_code(),
        generation(&report.before),
        generation(&report.after),
        report.message
    )];
    lines.extend(report.problems.iter().map(|problem| format!("{problem:?}")));
    lines.join("\n")
}

/// What is reported when these things happen to the requests in turn.
fn ending(events: Vec<Event>) -> String {
    let mut target = target(events);
    let report = apply(&plan(), &mut target);
    assert!(target.events.is_empty(), "the whole script was played");
    said(&report)
}

#[test]
fn an_answer() {
    assert_snapshot!(ending(vec![Event::Apply]), @"Applied (exit 0), 12 to 13: generation 13 is live");
}

#[test]
fn a_target_that_has_moved_gets_nothing() {
    for (state, expected) in [
        (running(13, &bundled()), "generation 13"),
        (running(12, &proxysql()), "another configuration"),
        (running(13, &desired()), "which is what the plan wants"),
        (blank(), "generation 0"),
    ] {
        let mut target = Scripted {
            state: state.clone(),
            ..target(Vec::new())
        };
        let report = apply(&plan(), &mut target);
        assert_eq!((report.outcome, target.sent), (Outcome::Stale, 0));
        assert!(report.message.contains(expected), "{}", report.message);
        assert_eq!(target.state, state);
    }
}

#[test]
fn nothing_to_do() {
    let plan = plan_for(&["local"], &running(12, &bundled()), &bundled());
    let mut target = target(Vec::new());
    assert_snapshot!(said(&apply(&plan, &mut target)), @"Unchanged (exit 0), 12 to 12: no changes: generation 12 already has what the plan wants");
    assert_eq!(target.sent, 0);
}

#[test]
fn a_first_configuration() {
    let mut target = Scripted {
        state: blank(),
        ..target(vec![Event::Apply])
    };
    let report = apply(&plan_for(&["local"], &blank(), &bundled()), &mut target);
    assert_snapshot!(said(&report), @"Applied (exit 0), 0 to 1: generation 1 is live");
}

#[test]
fn targets_out_of_reach_or_out_of_the_plan() {
    let mut unreachable = Scripted {
        dead: true,
        ..target(Vec::new())
    };
    assert_snapshot!(said(&apply(&plan(), &mut unreachable)), @"NotSent (exit 1), ? to ?: target local at 127.0.0.1:6032: connection refused");
    let for_others = plan_for(&["px-a1"], &running(12, &bundled()), &desired());
    let report = apply(&for_others, &mut target(Vec::new()));
    assert_eq!(report.outcome, Outcome::NotSent);
    assert!(
        report.message.ends_with("has no part for target local"),
        "{}",
        report.message
    );
}

#[test]
fn refusals() {
    let refused = |error| ending(vec![Event::Refuse(error)]);
    assert_snapshot!(refused(ApplyError::Stale("generation is 13".into())), @"Stale (exit 5), 12 to 12: the target has moved: generation is 13");
    assert_snapshot!(refused(ApplyError::Contended("another apply is running".into())), @"Contended (exit 5), 12 to 12: another change is being made: another apply is running");
    let invalid = ApplyError::Invalid {
        address: Some("shard_maps.tenants".into()),
        reason: "no such cluster: shop-20".into(),
    };
    assert_snapshot!(refused(invalid), @r#"
    Rejected (exit 1), 12 to 12: the target rejects the configuration: no such cluster: shop-20
    Problem { address: Some("shard_maps.tenants"), reason: "no such cluster: shop-20" }
    "#);
    assert_snapshot!(refused(ApplyError::Failed("disk full".into())), @"Restored (exit 6), 12 to 12: the target failed: disk full");
    assert_snapshot!(refused(ApplyError::NotSent(gone("connection refused"))), @"NotSent (exit 1), 12 to 12: target local at 127.0.0.1:6032: connection refused");
}

#[test]
fn a_lost_answer_is_looked_for() {
    assert_snapshot!(ending(vec![Event::ApplyInSilence]), @"Applied (exit 0), 12 to 13: the plan is live, but no answer came: target local at 127.0.0.1:6032: connection reset");
    assert_snapshot!(ending(vec![Event::LoseToAnother]), @"Contended (exit 7), 12 to 13: another change is live; it is unknown whether this one was live in between: target local at 127.0.0.1:6032: connection reset");
}

#[test]
fn a_lost_request_is_sent_again() {
    assert_snapshot!(ending(vec![Event::Lose, Event::Apply]), @"Applied (exit 0), 12 to 13: generation 13 is live");
    assert_snapshot!(ending(vec![Event::Lose, Event::ApplyInSilence]), @"Applied (exit 0), 12 to 13: the plan is live, but no answer came: target local at 127.0.0.1:6032: connection reset");
    assert_snapshot!(ending(vec![Event::Lose, Event::Lose]), @"Mixed (exit 7), 12 to 12: no answer came 2 times and the base is still live; the change may still arrive, so observe again: target local at 127.0.0.1:6032: connection reset");
    assert_snapshot!(ending(vec![Event::Lose, Event::Refuse(ApplyError::Contended("busy".into()))]), @"Mixed (exit 7), 12 to 12: no answer came and the base is still live; the change may still arrive, so observe again: another change is being made: busy");
}

#[test]
fn a_request_that_arrives_late_is_not_applied_twice() {
    let mut target = target(vec![Event::Delay]);
    let report = apply(&plan(), &mut target);
    assert_snapshot!(said(&report), @"Applied (exit 0), 12 to 13: the plan is live, but no answer came: the answer was lost");
    assert_eq!((target.sent, target.state.generation), (2, 13));
}

#[test]
fn a_target_that_dies() {
    let dies = |event| ending(vec![Event::Die(Box::new(event))]);
    assert_snapshot!(dies(Event::Lose), @"Mixed (exit 7), 12 to ?: it is unknown what the target runs: target local at 127.0.0.1:6032: connection reset; then: target local at 127.0.0.1:6032: connection refused");
    assert_snapshot!(dies(Event::Apply), @"Unverified (exit 7), 12 to ?: generation 13 was acknowledged but cannot be read back: target local at 127.0.0.1:6032: connection refused");
    assert_snapshot!(dies(Event::Refuse(ApplyError::Failed("disk full".into()))), @"Mixed (exit 7), 12 to ?: it is unknown what the target runs: the target failed: disk full; then: target local at 127.0.0.1:6032: connection refused");
}

#[test]
fn a_target_that_does_not_do_what_it_says() {
    assert_snapshot!(ending(vec![Event::Pretend]), @r#"
    Mixed (exit 7), 12 to 13: generation 13 was acknowledged, and 8 objects differ from the plan
    Problem { address: Some("engine_settings"), reason: "has other values" }
    Problem { address: Some("shard_maps.accounts.shards.a0001"), reason: "is still there" }
    Problem { address: Some("shard_maps.tenants"), reason: "has other values" }
    Problem { address: Some("shard_maps.tenants.shards.t136"), reason: "has other values" }
    Problem { address: Some("shard_maps.tenants.shards.t137"), reason: "has other values" }
    Problem { address: Some("read_write_policies.default"), reason: "is missing" }
    Problem { address: Some("throttles.purge"), reason: "is missing" }
    Problem { address: Some("query_rules.legacy.rules[0]"), reason: "is still there" }
    "#);
    assert_snapshot!(ending(vec![Event::ApplyAndComplain]), @"Applied (exit 0), 12 to 13: the plan is live, although the target reported: the target failed: cannot write the log");
    assert_snapshot!(ending(vec![Event::ApplyThenAnother]), @"Contended (exit 7), 12 to 14: generation 13 was applied, and another change has made it 14 since");
}
