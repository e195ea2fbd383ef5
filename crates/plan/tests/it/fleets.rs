//! An apply to several targets: its exit code and last line say what the targets run, however each of them ends.

use insta::assert_snapshot;
use shardwright_plan::{
    Applied, ApplyError, ApplyReport, Change, Observed, Outcome, Plan, Target, TargetError, apply_all, check,
    conclusion, nothing_begun,
};
use shardwright_rules::Configuration;

use crate::fixtures::*;

/// How a target ends that something is sent to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It applies, and says so.
    Applies,
    /// It cannot be reached when it is applied to.
    Unreachable,
    Refuses,
    /// It has moved since it was observed.
    Moved,
    /// Another change is being made.
    Busy,
    FindsItInvalid,
    /// It has changed something, and has gone back.
    GoesBack,
    /// It fails and runs what it ran.
    Fails,
    /// It has changed something, and cannot go back.
    Sticks,
    /// It applies, and cannot be read any more.
    AppliesAndDies,
    /// It dies, and nobody knows of what.
    Dies,
    /// It applies; then another change goes live.
    AppliesThenAnother,
    /// It applies, and its peers do not follow.
    AppliesAlone,
}

const FATES: [Fate; 13] = [
    Fate::Applies,
    Fate::Unreachable,
    Fate::Refuses,
    Fate::Moved,
    Fate::Busy,
    Fate::FindsItInvalid,
    Fate::GoesBack,
    Fate::Fails,
    Fate::Sticks,
    Fate::AppliesAndDies,
    Fate::Dies,
    Fate::AppliesThenAnother,
    Fate::AppliesAlone,
];

struct Fated {
    name: String,
    fate: Fate,
    state: Observed,
    is_dead: bool,
    sent: usize,
}

impl Fated {
    fn error(&self) -> TargetError {
        TargetError {
            target: self.name.clone(),
            address: "127.0.0.1:6032".into(),
            reason: "connection refused".into(),
        }
    }

    fn becomes(&mut self, configuration: &Configuration) {
        self.state = running(self.state.generation + 1, configuration);
    }

    fn is_changed(&self) -> bool {
        self.state.base() != running(12, &bundled()).base()
    }
}

impl Target for Fated {
    fn name(&self) -> &str {
        &self.name
    }

    fn observe(&mut self) -> Result<Observed, TargetError> {
        if self.is_dead {
            return Err(self.error());
        }
        Ok(self.state.clone())
    }

    fn check(&mut self, _: &Change<'_>) -> Result<(), ApplyError> {
        match self.fate {
            Fate::Refuses => Err(ApplyError::Refused("it is protected".into())),
            Fate::Fails => Err(ApplyError::Failed("disk full".into())),
            _ => Ok(()),
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError> {
        self.sent += 1;
        let applied = |target: &Self, behind: &[&str]| {
            Ok(Applied {
                generation: target.state.generation,
                fingerprint: target.state.fingerprint.clone(),
                behind: behind.iter().map(|peer| (*peer).to_owned()).collect(),
            })
        };
        match self.fate {
            Fate::Applies => self.becomes(change.desired),
            Fate::Unreachable => return Err(ApplyError::NotSent(self.error())),
            Fate::Refuses => return Err(ApplyError::Refused("it is protected".into())),
            Fate::Moved => return Err(ApplyError::Stale("generation is 13".into())),
            Fate::Busy => return Err(ApplyError::Contended("another apply is running".into())),
            Fate::FindsItInvalid => {
                return Err(ApplyError::Invalid {
                    address: None,
                    reason: "no such cluster".into(),
                });
            }
            Fate::GoesBack => return Err(ApplyError::Restored("everything is set back".into())),
            Fate::Fails => return Err(ApplyError::Failed("disk full".into())),
            Fate::Sticks => {
                self.becomes(&proxysql());
                return Err(ApplyError::Mixed("on the way back: disk full".into()));
            }
            Fate::AppliesAndDies => {
                self.becomes(change.desired);
                self.is_dead = true;
            }
            Fate::Dies => {
                self.becomes(change.desired);
                self.is_dead = true;
                return Err(ApplyError::Lost(self.error()));
            }
            Fate::AppliesThenAnother => {
                self.becomes(change.desired);
                let result = applied(self, &[]);
                self.becomes(&proxysql());
                return result;
            }
            Fate::AppliesAlone => {
                self.becomes(change.desired);
                return applied(self, &["peer b is behind"]);
            }
        }
        applied(self, &[])
    }
}

const NAMES: [&str; 3] = ["p1", "p2", "p3"];

fn plan() -> Plan {
    let mut desired = bundled();
    map_of(&mut desired).shards[1].cluster = Some("shop-20".into());
    plan_for(&NAMES, &running(12, &bundled()), &desired)
}

fn targets(fates: [Fate; 3]) -> Vec<Fated> {
    let targets = NAMES.iter().zip(fates).map(|(name, fate)| Fated {
        name: (*name).to_owned(),
        fate,
        state: running(12, &bundled()),
        is_dead: false,
        sent: 0,
    });
    targets.collect()
}

fn apply(plan: &Plan, targets: &mut [Fated]) -> Vec<ApplyReport> {
    let targets = targets.iter_mut().map(|target| target as &mut dyn Target);
    apply_all(plan, targets, &[], &mut |_| {})
}

#[test]
fn the_exit_code_says_what_the_targets_run() {
    let plan = plan();
    let pairs = FATES
        .iter()
        .flat_map(|first| FATES.iter().map(move |second| (*first, *second)));
    let last = [Fate::Applies, Fate::Sticks];
    for (first, second, third) in pairs.flat_map(|(first, second)| last.map(|third| (first, second, third))) {
        let mut targets = targets([first, second, third]);
        let reports = apply(&plan, &mut targets);
        let code = ApplyReport::exit_code_of_all(&reports);
        let what = format!("{first:?}, {second:?}, {third:?}: exit {code}, {reports:#?}");
        let failed = targets.iter().position(|target| target.fate != Fate::Applies);
        // The first failure stops what has not begun.
        for (at, (target, report)) in targets.iter().zip(&reports).enumerate() {
            let is_begun = failed.is_none_or(|failed| at <= failed);
            assert_eq!(target.sent > 0, is_begun, "{what}");
            assert_eq!(report.outcome == Outcome::NotBegun, !is_begun, "{what}");
        }
        let changed = targets.iter().any(Fated::is_changed);
        match (failed, changed) {
            (None, _) => assert_eq!(code, 0, "{what}"),
            (Some(_), true) => assert_eq!(code, 7, "{what}"),
            (Some(failed), false) => {
                let expected = match targets[failed].fate {
                    Fate::Refuses => 4,
                    Fate::Moved | Fate::Busy => 5,
                    Fate::GoesBack | Fate::Fails => 6,
                    _ => 1,
                };
                assert_eq!(code, expected, "{what}");
            }
        }
        // The last line names every target, and claims nothing else than the code.
        let said = conclusion(&reports);
        assert_eq!(said.is_some(), failed.is_some(), "{what}");
        if let Some(said) = said {
            assert!(NAMES.iter().all(|name| said.contains(name)), "{said}");
            assert_eq!(said.starts_with("the state is mixed"), code == 7, "{said}");
            assert_eq!(said.starts_with("nothing was changed"), code < 6, "{said}");
        }
    }
}

fn ending(fates: [Fate; 3]) -> String {
    let reports = apply(&plan(), &mut targets(fates));
    let mut lines: Vec<String> = reports
        .iter()
        .map(|report| format!("{}: {}", report.target, report.message))
        .collect();
    lines.extend(conclusion(&reports));
    lines.join("\n")
}

#[test]
fn the_last_line_names_every_target() {
    assert_snapshot!(ending([Fate::Applies, Fate::Sticks, Fate::Applies]), @r"
    p1: generation 13 is live
    p2: on the way back: disk full
    p3: not begun: p2 has failed
    the state is mixed; running the plan: p1; not known: p2; not begun: p3
    ");
    assert_snapshot!(ending([Fate::GoesBack, Fate::Applies, Fate::Applies]), @r"
    p1: everything is set back
    p2: not begun: p1 has failed
    p3: not begun: p1 has failed
    every target that was changed is back; set back: p1; not begun: p2, p3
    ");
    assert_snapshot!(ending([Fate::Applies, Fate::AppliesAndDies, Fate::Applies]), @r"
    p1: generation 13 is live
    p2: generation 13 was acknowledged but cannot be read back: target p2 at 127.0.0.1:6032: connection refused
    p3: not begun: p2 has failed
    the state is mixed; running the plan: p1; changed, and not seen to run the plan: p2; not begun: p3
    ");
    assert_snapshot!(ending([Fate::Busy, Fate::Applies, Fate::Applies]), @r"
    p1: another change is being made: another apply is running
    p2: not begun: p1 has failed
    p3: not begun: p1 has failed
    nothing was changed; not changed: p1; not begun: p2, p3
    ");
    assert_snapshot!(ending([Fate::Dies, Fate::Applies, Fate::Applies]), @r"
    p1: it is unknown what the target runs: target p1 at 127.0.0.1:6032: connection refused; then: target p1 at 127.0.0.1:6032: connection refused
    p2: not begun: p1 has failed
    p3: not begun: p1 has failed
    the state is mixed; not known: p1; not begun: p2, p3
    ");
}

#[test]
fn nothing_is_begun_where_one_target_would_refuse() {
    let plan = plan();
    let mut targets = targets([Fate::Applies, Fate::Refuses, Fate::Fails]);
    let checks = targets
        .iter_mut()
        .map(|target| (target.name.clone(), check(&plan, target, &[])));
    let reports = nothing_begun(&plan, checks.collect());
    let said: Vec<String> = reports
        .iter()
        .map(|report| format!("{}: {:?}: {}", report.target, report.outcome, report.message))
        .chain(conclusion(&reports))
        .collect();
    assert_snapshot!(said.join("\n"), @r"
    p1: NotBegun: not begun: p2, p3 cannot be applied to
    p2: Refused: it is protected
    p3: NotSent: the target failed: disk full
    nothing was changed; not changed: p2, p3; not begun: p1
    ");
    assert_eq!(ApplyReport::exit_code_of_all(&reports), 1);
    assert!(targets.iter().all(|target| target.sent == 0));
}

#[test]
fn a_target_that_has_moved_fails_its_check() {
    let mut targets = targets([Fate::Applies; 3]);
    targets[1].becomes(&proxysql());
    let reports: Vec<Option<Outcome>> = targets
        .iter_mut()
        .map(|target| Some(check(&plan(), target, &[])?.outcome))
        .collect();
    assert_eq!(reports, [None, Some(Outcome::Stale), None]);
}
