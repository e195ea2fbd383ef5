//! Targets that cannot be read: whether a command goes on without them, and what it says of them.

use shardwright_plan::{TargetError, Unreachable};

use crate::error::CommandError;
use crate::project::Opened;
use crate::ui::Ui;

/// What becomes of a plan where a target cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Away {
    /// There is none, unless `safety.unreachable` leaves such targets out.
    AsTheProjectSays,
    /// It is about the others, and names the target.
    Named,
}

impl Away {
    pub(super) fn goes_on(self, opened: &Opened) -> bool {
        self == Self::Named || skips_unreachable(opened)
    }
}

/// Whether the project leaves out targets that cannot be reached.
pub(crate) fn skips_unreachable(opened: &Opened) -> bool {
    opened.project.file.safety.skip_unreachable
}

/// What is wrong with targets, as the command's failure.
pub(crate) fn all_unreachable(away: &[TargetError]) -> CommandError {
    let reasons: Vec<String> = away.iter().map(TargetError::to_string).collect();
    CommandError::failed(reasons.join("; "))
}

/// Says that a target is left out, and why.
pub(crate) fn warn_left_out(reason: &str, ui: &Ui) {
    ui.message(&format!(
        "warning: {reason}; it is left out (safety.unreachable: skip)"
    ));
}

/// Targets that could not be reached and that a plan is not about; they are named at once.
pub(super) fn left_out(away: Vec<TargetError>, opened: &Opened, ui: &Ui) -> Vec<Unreachable> {
    let skips = skips_unreachable(opened);
    let named = away.into_iter().map(|error| {
        match skips {
            true => warn_left_out(&error.to_string(), ui),
            false => ui.message(&format!("warning: {error}; the plan is about the others")),
        }
        Unreachable {
            name: error.target,
            reason: error.reason,
        }
    });
    named.collect()
}
