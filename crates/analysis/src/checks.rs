//! The checks, one file each.

mod backward;
mod broken_pattern;
mod cost;
mod cycles;
mod dangling;
mod dead_chain;
mod digests;
mod effects;
pub(crate) mod executions;
mod fall_through;
pub(crate) mod families;
mod fast_routing;
mod fast_rows;
mod firewalled_mirrors;
mod forms;
mod hostgroups;
mod iterations;
mod jumps;
mod keys;
mod messages;
mod open_lists;
mod overwritten;
mod own_text;
mod reader_groups;
mod reader_traffic;
mod refusals;
mod reserved_users;
mod restarts;
mod rewrites;
mod self_loop;
mod sessions;
mod split_transaction;
mod takes_everything;
mod temporary_tables;
pub(crate) mod trials;
mod undecided;
mod unknown_user;
mod unreachable;

use crate::{Beside, Finding, OtherUsers};
use families::Family;
use shardwright_prover::Reach;
use shardwright_prover::RuleSet;
use shardwright_prover::Structure;
use trials::Trial;

/// What every check reads.
pub(crate) struct CheckContext<'k, 'c> {
    pub(crate) set: &'k RuleSet<'c>,
    pub(crate) beside: &'k Beside,
    pub(crate) others: &'k OtherUsers,
    pub(crate) structure: &'k Structure,
    pub(crate) reach: &'k Reach,
    /// Ordinary statements and what becomes of them.
    pub(crate) trials: Vec<Trial>,
    /// Statements about the words of each written rule.
    pub(crate) families: Vec<Family>,
}

type Check = fn(&CheckContext<'_, '_>, &mut Vec<Finding>);

const CHECKS: &[Check] = &[
    unreachable::check,
    dead_chain::check,
    dangling::check,
    fall_through::check,
    open_lists::check,
    takes_everything::check,
    unknown_user::check,
    reserved_users::check,
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
    jumps::check,
    digests::settings,
    digests::limits,
    digests::literals,
    digests::original,
    forms::escapes,
    forms::as_written,
    forms::doubled_backslashes,
    sessions::annotations,
    sessions::no_way_back,
    sessions::conditions,
    sessions::refusals_by_schema,
    refusals::sticking,
    refusals::special,
    fast_rows::check,
    reader_traffic::check,
    split_transaction::check,
    split_transaction::variables,
    temporary_tables::check,
    reader_groups::empty,
    reader_groups::lag,
    reader_groups::nobody,
    reader_groups::shared,
    rewrites::check,
    effects::misplaced,
    effects::columns,
    effects::not_for_prepared,
    effects::mirror_overridden,
    firewalled_mirrors::check,
    executions::refused,
    executions::locked,
    executions::without_rules,
    keys::check,
    cost::check,
];

/// The findings of every check.
pub(crate) fn all(context: &CheckContext<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in CHECKS {
        check(context, &mut findings);
    }
    findings
}
