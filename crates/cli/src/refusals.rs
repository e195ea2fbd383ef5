//! What refuses a plan or taking back a run, the reasons that lift it, and the exit codes of both.

use shardwright_plan::safety::{self, Refusal};

use crate::codes;
use crate::error::CommandError;
use crate::exit::Exit;

/// What `--allow` is given for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Plan,
    /// It has no findings.
    TakingBack,
}

impl Subject {
    fn limits(self) -> &'static [&'static str] {
        match self {
            Self::Plan => &safety::LIMITS,
            Self::TakingBack => &safety::LIMITS_OF_TAKING_BACK,
        }
    }
}

/// The codes of `--allow CODE=REASON`: those of limits, and of errors that a reason lifts. A reason is required.
pub(crate) fn allowances(allow: &[String], subject: Subject) -> Result<Vec<String>, CommandError> {
    let code =
        |text: &String| match text.split_once('=') {
            Some((code, reason)) if !code.is_empty() && !reason.trim().is_empty() => {
                check_allowance(code, subject).map(|()| code.to_owned())
            }
            _ => Err(CommandError::usage(format!("--allow {text} has no reason"))
                .hint("write --allow CODE=REASON")),
        };
    allow.iter().map(code).collect()
}

fn check_allowance(code: &str, subject: Subject) -> Result<(), CommandError> {
    let limits = subject.limits();
    if limits.contains(&code) {
        return Ok(());
    }
    let has_findings = subject == Subject::Plan;
    if !has_findings || !codes::is_of_plans(code) {
        let findings = if has_findings {
            ", or the code of an error of the plan"
        } else {
            ""
        };
        return Err(
            CommandError::usage(format!("--allow {code}: there is nothing of this name to allow"))
                .hint(format!("it can be {}{findings}", limits.join(", "))),
        );
    }
    if !safety::is_liftable(code) {
        return Err(
            CommandError::usage(format!("--allow {code}: no reason lifts this error"))
                .hint(format!("shardwright explain {code} says what to do")),
        );
    }
    Ok(())
}

/// Limits that are broken and that nobody has lifted end the command.
pub(crate) fn refuse(refusals: &[Refusal]) -> Result<(), CommandError> {
    let Some(exit) = refused(refusals) else {
        return Ok(());
    };
    let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    Err(CommandError::new(
        exit,
        format!("refused; nothing was changed\n  {}", lines.join("\n  ")),
    ))
}

/// The exit code of a command that is refused for these; `None` where there is none.
pub(crate) fn refused(refusals: &[Refusal]) -> Option<Exit> {
    let exits = refusals.iter().map(|refusal| exit(refusal.outcome.exit_code()));
    exits.min()
}

/// The exit of a code of outcomes.
pub(crate) fn exit(code: u8) -> Exit {
    Exit::from_code(code).expect("outcomes only have codes of the table")
}
