//! SW205: a rule without a condition that takes what later rules of its chain are for.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::TAKES_EVERYTHING;
use crate::finding::rules_named;
use shardwright_prover::Verdict;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (taker, dead) in dead_rules(context) {
        let id = set.id(taker);
        let named = rules_named(&set.ids(&dead));
        let verb = if dead.len() == 1 { "is" } else { "are" };
        let message = format!(
            "rule {id} has no condition and takes every statement: {named} after it {verb} never evaluated"
        );
        let mut positions = vec![taker];
        positions.extend(&dead);
        let mut finding = Finding::new(TAKES_EVERYTHING, Severity::Error, Proof::Proved, message)
            .about(set, &positions, "takes every statement")
            .without(set, &dead);
        if let Some(example) = context.reach.example(taker) {
            finding = finding.shown_by(set, example);
        }
        findings.push(finding.help(format!(
            "move rule {id} to the end of its chain, or give it a condition"
        )));
    }
}

/// Rules without a condition, each with the rules that it alone keeps from being asked.
pub(crate) fn dead_rules(context: &CheckContext<'_, '_>) -> BTreeMap<usize, Vec<usize>> {
    let set = context.set;
    let mut dead: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for position in 0..set.rule_count() {
        if let Verdict::Never(takers) = context.reach.verdict(position)
            && let &[taker] = takers.as_slice()
            && set.flag_in(taker) == set.flag_in(position)
            && set.matches_everything(taker)
            && !set.is_compiled_net(position)
        {
            dead.entry(taker).or_default().push(position);
        }
    }
    dead
}
