//! How applying a plan to a target ended, and what that means to the caller of the command.

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

/// Every outcome with its exit code; the order of the codes when several apply is [`PRECEDENCE`].
const EXIT_CODES: [(Outcome, u8); 10] = [
    (Outcome::Unchanged, 0),
    (Outcome::Applied, 0),
    (Outcome::Unverified, 1),
    (Outcome::NotSent, 1),
    (Outcome::Refused, 4),
    (Outcome::Stale, 5),
    (Outcome::Contended, 5),
    (Outcome::Rejected, 6),
    (Outcome::Restored, 6),
    (Outcome::Mixed, 7),
];

const PRECEDENCE: [u8; 5] = [7, 6, 1, 5, 4];

impl Outcome {
    /// The exit code of a command that ended so.
    pub fn exit_code(self) -> u8 {
        let entry = EXIT_CODES.iter().find(|(outcome, _)| *outcome == self);
        entry
            .map(|(_, code)| *code)
            .expect("the table lists every outcome")
    }

    /// The exit code of a command that ended so on several targets.
    pub fn exit_code_of_all(outcomes: &[Outcome]) -> u8 {
        let codes: Vec<u8> = outcomes.iter().map(|outcome| outcome.exit_code()).collect();
        PRECEDENCE
            .into_iter()
            .find(|code| codes.contains(code))
            .unwrap_or(0)
    }
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

/// Something that is wrong with one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The object; `None` where the target named none.
    pub address: Option<Address>,
    /// What is wrong with it.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_targets_decides_the_exit_code() {
        for (outcomes, expected) in [
            (&[][..], 0),
            (&[Outcome::Applied, Outcome::Unchanged], 0),
            (&[Outcome::Applied, Outcome::Stale], 5),
            (&[Outcome::Refused, Outcome::Contended], 5),
            (&[Outcome::NotSent, Outcome::Stale], 1),
            (&[Outcome::NotSent, Outcome::Rejected], 6),
            (&[Outcome::Restored, Outcome::Mixed, Outcome::Applied], 7),
            (&[Outcome::Refused], 4),
            (&[Outcome::Unverified], 1),
        ] {
            assert_eq!(Outcome::exit_code_of_all(outcomes), expected, "{outcomes:?}");
        }
    }
}
