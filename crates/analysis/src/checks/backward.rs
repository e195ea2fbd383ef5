//! SW213: a jump that leads only to earlier rules, which one forward pass never asks.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::BACKWARD_JUMP;
use crate::finding::rules_named;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    if set.iterations() > 0 {
        return;
    }
    for position in 0..set.rule_count() {
        if context.reach.is_dead(position) {
            continue;
        }
        for flag in set
            .jumps(position)
            .into_iter()
            .filter(|&flag| flag != set.flag_in(position))
        {
            let chain = set.chain(flag);
            let by_fast_routing = set.fast_flags.contains(&flag);
            if chain.is_empty() || by_fast_routing || chain.last().is_some_and(|&rule| rule > position) {
                continue;
            }
            let id = set.id(position);
            let named = rules_named(&set.ids(chain));
            let verb = if chain.len() == 1 { "stands" } else { "stand" };
            let message = format!(
                "rule {id} jumps back to flag {flag}, but query_processor_iterations is 0: {named} {verb} before it and will not be evaluated"
            );
            let mut positions = vec![position];
            positions.extend(chain.iter().copied().filter(|&rule| context.reach.is_dead(rule)));
            let mut finding = Finding::new(BACKWARD_JUMP, Severity::Error, Proof::Proved, message).about(
                set,
                &positions,
                "jumps to earlier rules",
            );
            if let Some(example) = context.reach.example(position) {
                finding = finding.shown_by(set, example);
            }
            findings.push(finding.help(format!("give {named} ids above {id}")));
        }
    }
}
