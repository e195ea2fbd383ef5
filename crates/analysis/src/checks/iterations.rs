//! SW212: a rule that needs more restarts than the engine makes.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::TOO_FEW_ITERATIONS;
use shardwright_prover::Structure;
use shardwright_prover::Verdict;

/// Restarts that are tried beyond those that there are.
const MOST_MORE: u32 = 16;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let iterations = set.iterations();
    let mut open: Vec<usize> = (0..set.rule_count())
        .filter(|&position| matches!(context.reach.verdict(position), Verdict::NotAsked))
        .collect();
    open.retain(|&position| !context.structure.asks(set, position));
    open.retain(|&position| {
        context.structure.enters(set.flag_in(position)) || !set.entrances(set.flag_in(position)).is_empty()
    });
    for more in 1..=MOST_MORE {
        if open.is_empty() {
            return;
        }
        let needed = iterations.saturating_add(more);
        let structure = Structure::with_restarts(set, needed);
        let (solved, rest): (Vec<usize>, Vec<usize>) = open
            .into_iter()
            .partition(|&position| structure.asks(set, position));
        open = rest;
        for position in solved
            .into_iter()
            .filter(|&position| iterations > 0 || !said_by_backward_jump(context, position))
        {
            let id = set.id(position);
            let message = format!(
                "rule {id} is evaluated only after {needed} restarts, but query_processor_iterations is {iterations}"
            );
            let finding = Finding::new(TOO_FEW_ITERATIONS, Severity::Error, Proof::Proved, message).about(
                set,
                &[position],
                format!("needs {needed} restarts"),
            );
            findings.push(
                finding.help("lay the chains out in ascending ids, so that every jump leads to later rules"),
            );
        }
    }
}

/// Whether more restarts would enter the chain.
pub(crate) fn explains(context: &CheckContext<'_, '_>, flag: u32) -> bool {
    let structure = Structure::with_restarts(context.set, context.set.iterations().saturating_add(MOST_MORE));
    !context.structure.asks_any(context.set, flag) && structure.asks_any(context.set, flag)
}

/// Whether SW213 is said about a jump to the rule's chain.
fn said_by_backward_jump(context: &CheckContext<'_, '_>, position: usize) -> bool {
    let set = context.set;
    let flag = set.flag_in(position);
    let last = set.chain(flag).last().copied().unwrap_or(0);
    set.entrances(flag)
        .iter()
        .any(|&jump| jump > last && !context.reach.is_dead(jump) && set.flag_in(jump) != flag)
}
