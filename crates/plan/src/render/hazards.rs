//! The hazards of a plan. Those that it has to do with are shown one by one. A warning about an object that stays as it is was
//! there before, and is only counted: whoever reads every plan would read it every time.

use std::collections::BTreeMap;

use shardwright_rules::Address;

use super::Group;
use crate::{Hazard, Severity, TargetPlan, capacity};

/// How the codes begin of what is known from targets alone, and not from the project. `lint` does not have it.
const OF_TARGETS: [&str; 2] = ["SW8", capacity::CODE];

/// A hazard of some targets of a group.
pub(super) struct Shown<'a> {
    pub(super) hazard: &'a Hazard,
    /// The object, the message, and the targets where it is not of all; for people.
    pub(super) text: String,
}

/// The hazards that the plan has to do with, and a line about the others, if there are any.
pub(super) fn hazards<'a>(group: &Group<'a>) -> (Vec<Shown<'a>>, Option<String>) {
    let mut found: Vec<(&Hazard, Vec<&str>)> = Vec::new();
    for target in &group.targets {
        for hazard in &target.hazards {
            match found.iter_mut().find(|(known, _)| *known == hazard) {
                Some((_, names)) => names.push(&target.name),
                None => found.push((hazard, vec![&target.name])),
            }
        }
    }
    let (standing, of_plan): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|(hazard, _)| is_standing(hazard, group.first()));
    let shown = of_plan.into_iter().map(|(hazard, names)| {
        let about = hazard
            .address
            .as_ref()
            .map(|address| format!("{}: ", address.short()));
        let on = match names.len() == group.targets.len() {
            true => String::new(),
            false => format!(" (on {})", names.join(", ")),
        };
        let live = if hazard.is_live { " (live already)" } else { "" };
        Shown {
            hazard,
            text: format!("{}{}{live}{on}", about.unwrap_or_default(), hazard.message),
        }
    });
    let standing: Vec<&Hazard> = standing.into_iter().map(|(hazard, _)| hazard).collect();
    (shown.collect(), counted(&standing))
}

/// `3 warnings about what stays as it is: SW231 ×2, SW610; shardwright lint has them`
fn counted(standing: &[&Hazard]) -> Option<String> {
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for hazard in standing {
        *codes.entry(&hazard.code).or_default() += 1;
    }
    let codes: Vec<String> = codes
        .into_iter()
        .map(|(code, count)| match count {
            1 => code.to_owned(),
            count => format!("{code} ×{count}"),
        })
        .collect();
    let (warnings, them) = match standing.len() {
        0 => return None,
        1 => ("1 warning".to_owned(), "it"),
        many => (format!("{many} warnings"), "them"),
    };
    Some(format!(
        "{warnings} about what stays as it is: {}; shardwright lint has {them}",
        codes.join(", ")
    ))
}

/// Whether a hazard was there before: a warning about an object that the plan does not touch, nor a part of it.
fn is_standing(hazard: &Hazard, target: &TargetPlan) -> bool {
    let Some(address) = hazard
        .address
        .as_ref()
        .filter(|_| hazard.severity != Severity::Error)
    else {
        return false;
    };
    let is_of_targets = OF_TARGETS.iter().any(|begin| hazard.code.starts_with(begin));
    !is_of_targets
        && !target
            .effects
            .iter()
            .any(|effect| is_within(address, &effect.address) || is_within(&effect.address, address))
}

/// Whether an object is another one or a part of it.
fn is_within(inner: &Address, outer: &Address) -> bool {
    let rest = inner.as_str().strip_prefix(outer.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
