//! How a run ends, as its report tells it.

use shardwright_plan::{ApplyError, Outcome};

/// How a run ends that an apply's error has ended.
pub(super) fn of_apply(error: ApplyError) -> (Outcome, String) {
    let outcome = match &error {
        ApplyError::NotSent(_) => Outcome::NotSent,
        ApplyError::Stale(_) => Outcome::Stale,
        ApplyError::Contended(_) | ApplyError::Blocked(_) => Outcome::Contended,
        ApplyError::Foreign(_) | ApplyError::Refused(_) => Outcome::Refused,
        ApplyError::Invalid { .. } => Outcome::Rejected,
        ApplyError::Restored(_) => Outcome::Restored,
        ApplyError::Mixed(_) | ApplyError::Failed(_) | ApplyError::Lost(_) => Outcome::Mixed,
    };
    (outcome, error.to_string())
}
