//! Errors among the hazards of a plan: each code refuses it, until somebody gives a reason for that code.
//!
//! An error that a target has already is no reason to refuse: the plan does not bring it, and a refusal would stand in the way
//! of what mends another one. Where a plan changes nothing of a target, nothing can be brought there.

use shardwright_rules::Address;

use super::Refusal;
use crate::codes::{NEVER_LIFTED, OF_THE_MOMENT, STAGED, UNFINISHED};
use crate::{Hazard, Outcome, Plan, Severity, TargetPlan};

/// Whether `--allow` can lift an error of this code.
pub fn is_liftable(code: &str) -> bool {
    !NEVER_LIFTED.contains(&code)
}

/// Whether a limit or an error is lifted by these codes.
pub fn is_lifted(code: &str, allowed: &[String]) -> bool {
    is_liftable(code) && allowed.iter().any(|one| one == code)
}

/// Errors of one code, each once, and the targets that have one of them.
struct OfCode<'p> {
    code: &'p str,
    hazards: Vec<&'p Hazard>,
    targets: Vec<&'p str>,
}

/// A refusal for each code, in the order in which they stand in the plan.
pub(super) fn of(plan: &Plan) -> Vec<Refusal> {
    let mut codes: Vec<OfCode<'_>> = Vec::new();
    for target in &plan.targets {
        for hazard in target.hazards.iter().filter(|hazard| refuses(hazard, target)) {
            let at = codes.iter().position(|of| of.code == hazard.code);
            let at = at.unwrap_or_else(|| {
                codes.push(OfCode {
                    code: &hazard.code,
                    hazards: Vec::new(),
                    targets: Vec::new(),
                });
                codes.len() - 1
            });
            let of = &mut codes[at];
            if !of.hazards.contains(&hazard) {
                of.hazards.push(hazard);
            }
            if !of.targets.contains(&target.name.as_str()) {
                of.targets.push(&target.name);
            }
        }
    }
    codes.iter().map(|of| refusal(of, plan.targets.len())).collect()
}

fn refuses(hazard: &Hazard, target: &TargetPlan) -> bool {
    let is_error = hazard.severity == Severity::Error && !hazard.is_live;
    is_error && (!target.effects.is_empty() || hazard.code == UNFINISHED)
}

fn refusal(of: &OfCode<'_>, all_targets: usize) -> Refusal {
    let code = of.code;
    let number = of.hazards.len();
    let first = of
        .hazards
        .first()
        .map_or(String::new(), |hazard| described(hazard));
    let errors = match number {
        0 | 1 => String::new(),
        many => format!("{many} errors, the first: "),
    };
    let on = if of.targets.len() == all_targets {
        String::new()
    } else {
        format!(" (on {})", of.targets.join(", "))
    };
    let remedy = match code {
        STAGED => "; or decide with --staged adopt or --staged discard".to_owned(),
        _ if is_liftable(code) => format!("; mend it, or allow it with --allow {code}=REASON"),
        _ => String::new(),
    };
    let subjects: Vec<Address> = of
        .hazards
        .iter()
        .filter_map(|hazard| hazard.address.clone())
        .collect();
    Refusal {
        code: code.to_owned(),
        rule: "finding",
        outcome: if OF_THE_MOMENT.contains(&code) {
            Outcome::Contended
        } else {
            Outcome::Refused
        },
        target: match of.targets.as_slice() {
            [only] => Some((*only).to_owned()),
            _ => None,
        },
        number: number as u64,
        limit: 0,
        subjects,
        message: format!("{code}: {errors}{first}{on}{remedy}"),
    }
}

fn described(hazard: &Hazard) -> String {
    match &hazard.address {
        Some(address) => format!("{address}: {}", hazard.message),
        None => hazard.message.clone(),
    }
}
