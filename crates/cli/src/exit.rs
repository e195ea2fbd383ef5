//! The exit codes, in one table.

use std::process::ExitCode;

use shardwright_diagnostics::Ending;

/// How a command ended. The order of the variants is the order of precedence where several apply: the first listed
/// wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Apply failed and the state is mixed; the run must be resumed or rolled back.
    Mixed,
    /// Apply failed and every touched target is back at its former state.
    RolledBack,
    /// The job could not be done: I/O, target unreachable, internal.
    Failed,
    /// Live state moved, rows staged by others, lease held.
    Stale,
    /// The lock file is not what compiling the project writes.
    OldLock,
    /// Refused by policy: error of the plan, threshold, protected object, missing approval.
    Refused,
    /// A proof was requested, and the claim is neither proved nor refuted.
    Undecided,
    /// Findings at or above `--fail-on`; a test failed; a property refuted.
    Findings,
    /// Changes are present.
    Changes,
    /// A bad command line.
    Usage,
    /// A bad input document.
    BadDocument,
    /// A bad project file.
    BadProject,
    /// Done; nothing found; no changes.
    Done,
}

impl Exit {
    /// Every exit with its code and meaning, as `--help` and `docs/cli-output.md` show them.
    pub(crate) const TABLE: [(Exit, u8, &'static str); 13] = [
        (Exit::Done, 0, "done; nothing found; no changes"),
        (
            Exit::Failed,
            1,
            "could not do the job: I/O, target unreachable, internal",
        ),
        (
            Exit::Changes,
            2,
            "changes present: diff, drift, plan --detailed-exitcode, fmt --check, compile --check",
        ),
        (
            Exit::Findings,
            3,
            "findings at or above --fail-on, a failed test, a refuted proof",
        ),
        (
            Exit::Refused,
            4,
            "refused by policy: an error of the plan, a limit, a protected object, a missing approval",
        ),
        (
            Exit::Stale,
            5,
            "stale or contended: live state moved, another apply is running",
        ),
        (
            Exit::RolledBack,
            6,
            "apply failed and every touched target is back at its former state",
        ),
        (
            Exit::Mixed,
            7,
            "apply failed and state is mixed: the run id is printed",
        ),
        (Exit::Undecided, 8, "undecided where a proof was asked for"),
        (
            Exit::OldLock,
            9,
            "the lock file is not up to date: compile --check, compile --locked, plan --locked, refuse",
        ),
        (Exit::Usage, 64, "bad command line"),
        (Exit::BadDocument, 65, "bad input document"),
        (Exit::BadProject, 78, "bad project file"),
    ];

    /// The exit of this code.
    pub(crate) fn from_code(wanted: u8) -> Option<Self> {
        Self::TABLE
            .into_iter()
            .find(|(_, code, _)| *code == wanted)
            .map(|(exit, _, _)| exit)
    }

    /// The code that the process ends with.
    pub(crate) fn code(self) -> u8 {
        self.row().1
    }

    /// What the code means.
    fn meaning(self) -> &'static str {
        self.row().2
    }

    /// What reports say of it.
    pub(crate) fn ending(self) -> Ending {
        Ending {
            code: self.code(),
            meaning: self.meaning(),
            is_about_findings: self == Self::Findings,
        }
    }

    fn row(self) -> (Self, u8, &'static str) {
        Self::TABLE
            .into_iter()
            .find(|(exit, _, _)| *exit == self)
            .expect("every exit stands in the table")
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ascending() {
        let codes: Vec<u8> = Exit::TABLE.iter().map(|(_, code, _)| *code).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }
}
