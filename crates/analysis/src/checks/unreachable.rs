//! SW201: a rule that can never match.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::EngineRule;

use super::{CheckContext, takes_everything};
use crate::Finding;
use crate::codes::UNREACHABLE;
use crate::finding::rules_named;
use shardwright_prover::Example;
use shardwright_prover::RuleSet;
use shardwright_prover::Verdict;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let said_elsewhere: BTreeSet<usize> = takes_everything::dead_rules(context)
        .into_values()
        .flatten()
        .collect();
    for position in 0..set.rule_count() {
        let Verdict::Never(takers) = context.reach.verdict(position) else {
            continue;
        };
        let broken = set.conditions[position]
            .as_ref()
            .is_some_and(|condition| condition.is_never());
        let leads_on = only_leads_on(set, position);
        // Nobody can move a net that was compiled.
        let is_net = leads_on || set.is_safety_net(position);
        if broken || said_elsewhere.contains(&position) || (is_net && !set.is_written(position)) {
            continue;
        }
        // Behind several rules that leave nothing together, a net is what careful people write.
        if set.is_safety_net(position) && takers.len() > 1 {
            continue;
        }
        let mut finding = finding(context, position, takers);
        let behind_catch_all = takers.iter().any(|&taker| set.takes_any_text(taker));
        if is_net && !takers.is_empty() && set.matches_everything(position) && !behind_catch_all {
            finding.severity = Severity::Info;
        }
        findings.push(finding);
    }
}

/// Whether a rule does nothing but hand statements to the next chain: a net behind the rules before it.
fn only_leads_on(set: &RuleSet<'_>, position: usize) -> bool {
    let Some(row) = set.row(position) else {
        return false;
    };
    let next = EngineRule {
        flag_out: row.flag_out,
        ..EngineRule::default()
    };
    row.flag_out.is_some() && row.effect() == next
}

fn finding(context: &CheckContext<'_, '_>, position: usize, takers: &[usize]) -> Finding {
    let set = context.set;
    let id = set.id(position);
    if takers.is_empty() {
        let message = format!(
            "rule {id} never matches: its conditions contradict each other, or those of every jump to it"
        );
        return Finding::new(UNREACHABLE, Severity::Error, Proof::Proved, message)
            .about(set, &[position], "nothing satisfies this")
            .without(set, &[position])
            .help("remove the rule, or the condition that excludes the others");
    }
    let named = rules_named(&set.ids(takers));
    let redundant = takers
        .iter()
        .all(|&taker| same_effect(set.row(taker), set.row(position)));
    let severity = if redundant {
        Severity::Warning
    } else {
        Severity::Error
    };
    let verb = if takers.len() == 1 {
        "takes"
    } else {
        "together take"
    };
    let message = format!("rule {id} never matches: {named} {verb} all of its statements");
    let mut finding = Finding::new(UNREACHABLE, severity, Proof::Proved, message)
        .about(set, &[position], format!("after {named}"))
        .without(set, &[position]);
    if redundant {
        return finding.help(format!(
            "remove rule {id}: the rules that take its statements do the same"
        ));
    }
    if let Some((example, taker)) = taken_example(set, position, takers) {
        finding = finding
            .shown_by(set, &example)
            .note(format!("rule {} takes this statement", set.id(taker)));
    }
    finding.help(format!(
        "move rule {id} before {named}, or narrow the rules before it"
    ))
}

/// A statement that satisfies the rule's own conditions, and the rule that takes it.
fn taken_example(set: &RuleSet<'_>, position: usize, takers: &[usize]) -> Option<(Example, usize)> {
    let example = shardwright_prover::own_example(set, position)?;
    let hits = set.decide(&example.session, &example.text).hits;
    let taker = hits
        .iter()
        .map(|&hit| hit as usize)
        .find(|hit| takers.contains(hit))?;
    Some((example, taker))
}

/// Whether two rules do the same with a statement, so that it does not matter which of them takes it.
fn same_effect(one: Option<&EngineRule>, other: Option<&EngineRule>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    one.effect() == other.effect()
}
