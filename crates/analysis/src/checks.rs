//! The checks, one file each.

mod backward;
mod broken_pattern;
pub(crate) mod cycles;
mod dangling;
mod dead_chain;
mod fall_through;
mod fast_routing;
mod hostgroups;
mod iterations;
mod messages;
mod overwritten;
mod self_loop;
mod takes_everything;
mod undecided;
mod unknown_user;
mod unreachable;

use crate::Finding;
use crate::reach::Reach;
use crate::rule_set::RuleSet;
use crate::structure::Structure;

/// What checks go by.
pub(crate) struct Known<'k, 'c> {
    pub(crate) set: &'k RuleSet<'c>,
    pub(crate) structure: &'k Structure,
    pub(crate) reach: &'k Reach,
}

type Check = fn(&Known<'_, '_>, &mut Vec<Finding>);

const CHECKS: &[Check] = &[
    unreachable::check,
    dead_chain::check,
    dangling::check,
    fall_through::check,
    takes_everything::check,
    unknown_user::check,
    dangling::jump_without_effect,
    overwritten::check,
    undecided::check,
    cycles::check,
    self_loop::check,
    iterations::check,
    backward::check,
    broken_pattern::check,
    fast_routing::check,
    messages::check,
    hostgroups::check,
];

/// The findings of every check.
pub(crate) fn all(known: &Known<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in CHECKS {
        check(known, &mut findings);
    }
    findings
}
