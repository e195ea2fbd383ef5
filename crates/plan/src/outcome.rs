//! How applying a plan to targets ended, and what that means to the caller of the command.
//!
//! An exit code is counted from what the targets were seen to run: 1, 4 and 5 say that nothing was changed anywhere, 6 that every
//! target that was changed was seen to be back, and 7 that some run what others do not, or that nobody knows.

use serde::Serialize;
use shardwright_rules::Address;

use crate::Base;

/// How applying a plan to one target ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The target already is what the plan wants; nothing was sent.
    Unchanged,
    /// The plan is live, and reading it back showed no difference.
    Applied,
    /// The target acknowledged the plan, and could not be read afterwards, or its peers do not follow.
    Unverified,
    /// Nothing was sent: the target cannot be reached or is not part of the plan.
    NotSent,
    /// Nothing was sent: another target failed before.
    NotBegun,
    /// Nothing was changed: a safety limit, a protected object or another owner stands against it.
    Refused,
    /// The target has moved since the plan was made.
    Stale,
    /// Another change is being made, or was made right after this one.
    Contended,
    /// The target found the configuration invalid and kept its own.
    Rejected,
    /// Applying failed, and the target is at the base of the plan.
    Restored,
    /// Applying failed, and what the target runs is neither base nor plan, or is not known.
    Mixed,
}

/// Every outcome with its exit code, for one target of which no more is known.
const EXIT_CODES: [(Outcome, u8); 11] = [
    (Outcome::Unchanged, 0),
    (Outcome::Applied, 0),
    (Outcome::Unverified, MIXED),
    (Outcome::NotSent, 1),
    (Outcome::NotBegun, 1),
    (Outcome::Refused, 4),
    (Outcome::Stale, 5),
    (Outcome::Contended, 5),
    (Outcome::Rejected, 1),
    (Outcome::Restored, BACK),
    (Outcome::Mixed, MIXED),
];

pub(crate) const MIXED: u8 = 7;
pub(crate) const BACK: u8 = 6;

/// The order of the codes where nothing was changed and several apply.
const PRECEDENCE: [u8; 3] = [1, 5, 4];

impl Outcome {
    /// The exit code of a command that ended so.
    pub fn exit_code(self) -> u8 {
        let entry = EXIT_CODES.iter().find(|(outcome, _)| *outcome == self);
        entry
            .map(|(_, code)| *code)
            .expect("the table lists every outcome")
    }

    /// Whether the target runs what the plan wants, and was seen to.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Unchanged | Self::Applied)
    }
}

/// What an apply has made of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// It runs what it ran, and was never changed.
    Untouched,
    /// It was changed, and was seen to be back.
    Back,
    /// It runs something else than before.
    Changed,
    /// Nobody knows what it runs.
    Unknown,
}

/// What happened to one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplyReport {
    /// Name of the target.
    pub target: String,
    /// Id of the plan.
    pub plan: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the target ran before; `None` where it could not be read.
    pub before: Option<Base>,
    /// What the target was last seen running; `None` where it could not be read after sending.
    pub after: Option<Base>,
    /// One human-readable sentence.
    pub message: String,
    /// What is wrong, object by object.
    pub problems: Vec<Problem>,
}

impl ApplyReport {
    /// What the apply has made of the target.
    pub fn trace(&self) -> Trace {
        match self.outcome {
            Outcome::Applied | Outcome::Unverified => Trace::Changed,
            Outcome::Restored => Trace::Back,
            Outcome::Mixed if self.after.is_none() || self.after == self.before => Trace::Unknown,
            Outcome::Mixed => Trace::Changed,
            _ if self.after == self.before => Trace::Untouched,
            _ if self.after.is_none() => Trace::Unknown,
            _ => Trace::Changed,
        }
    }

    /// The exit code of a command that did this alone.
    pub fn exit_code(&self) -> u8 {
        Self::exit_code_of_all(std::slice::from_ref(self))
    }

    /// The exit code of a command that did this to several targets.
    pub fn exit_code_of_all(reports: &[Self]) -> u8 {
        if reports.iter().all(|report| report.outcome.is_success()) {
            return 0;
        }
        let has = |traces: &[Trace]| reports.iter().any(|report| traces.contains(&report.trace()));
        if has(&[Trace::Changed, Trace::Unknown]) {
            return MIXED;
        }
        if has(&[Trace::Back]) {
            return BACK;
        }
        let failed = reports.iter().filter(|report| !report.outcome.is_success());
        let codes: Vec<u8> = failed
            .filter(|report| report.outcome != Outcome::NotBegun)
            .map(|report| report.outcome.exit_code())
            .collect();
        let worst = PRECEDENCE.into_iter().find(|code| codes.contains(code));
        worst.unwrap_or(PRECEDENCE[0])
    }
}

/// Something that is wrong with one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The object; `None` where the target named none.
    pub address: Option<Address>,
    /// What is wrong with it.
    pub reason: String,
}
