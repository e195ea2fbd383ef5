//! SW703: a statement that asks very many patterns.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::Outcome;

use super::CheckContext;
use crate::Finding;
use crate::codes::MANY_EVALUATIONS;
use shardwright_prover::{Example, ORDINARY, sessions};

/// Patterns that a statement may ask: half a microsecond each on engines that ask them one by one.
const BUDGET: u32 = 200;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    if set.rule_count() <= BUDGET as usize || set.configuration.engine.profile().prices.visit_ns == 0.0 {
        return;
    }
    let mut worst: Option<(u32, Example, Option<u32>)> = None;
    for session in sessions(set).into_iter().take(2) {
        for text in ORDINARY.iter().take(3) {
            let decision = set.evaluate(&session.view(), text.as_bytes());
            let last = decision.hits.last().copied();
            let routed = matches!(decision.outcome, Outcome::Route(_));
            if worst
                .as_ref()
                .is_none_or(|(most, ..)| decision.evaluations > *most)
                && routed
            {
                let example = Example {
                    session: session.clone(),
                    text: text.as_bytes().to_vec(),
                };
                worst = Some((decision.evaluations, example, last));
            }
        }
    }
    let Some((evaluations, example, _)) = worst.filter(|(evaluations, ..)| *evaluations > BUDGET) else {
        return;
    };
    let message = format!(
        "one statement is compared with {evaluations} patterns, more than {BUDGET}: each costs the engine about {} ns",
        set.configuration
            .engine
            .profile()
            .prices
            .evaluation_ns(set.configuration.settings.regex)
    );
    let last: Vec<usize> = set.rule_count().checked_sub(1).into_iter().collect();
    let finding = Finding::new(MANY_EVALUATIONS, Severity::Info, Proof::Witnessed, message)
        .about(set, &last, "after all the others")
        .shown_by(set, &example);
    findings
        .push(finding.help("lay the rules out as a tree of chains (flagOUT), as shard maps are compiled"));
}
