//! SW203: a jump to a flag where nothing is; SW207: a jump that an applying rule never makes.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::{DANGLING_JUMP, JUMP_WITHOUT_EFFECT};

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for position in 0..set.rule_count() {
        if context.reach.is_dead(position) {
            continue;
        }
        let id = set.id(position);
        for flag in set
            .jumps(position)
            .into_iter()
            .filter(|&flag| is_nowhere(context, flag))
        {
            let row = set.row(position);
            let decided = row.is_some_and(|row| {
                row.destination_hostgroup.is_some() || row.error_msg.is_some() || row.ok_msg.is_some()
            });
            let (severity, outcome) = if decided {
                (Severity::Warning, "the decision of this rule stays")
            } else {
                (
                    Severity::Error,
                    "the statement goes where earlier rules sent it, or to the user's default",
                )
            };
            let message =
                format!("rule {id} jumps to flag {flag}, which has no rules and no fast routing: {outcome}");
            let proof = if context.reach.example(position).is_some() {
                Proof::Witnessed
            } else {
                Proof::Proved
            };
            let mut finding = Finding::new(DANGLING_JUMP, severity, proof, message).about(
                set,
                &[position],
                format!("no rule has flagIN {flag}"),
            );
            if let Some(example) = context.reach.example(position) {
                finding = finding.shown_by(set, example);
            }
            findings.push(finding.help("write the flag of a chain, or `apply: 1` to end the evaluation"));
        }
        let next = set.row(position).and_then(|row| row.next_query_flag_in);
        if let Some(flag) = next.filter(|&flag| is_nowhere(context, flag)) {
            let message = format!(
                "rule {id} sends the session's next statements to flag {flag}, which has no rules and no fast routing: no rule is evaluated for them"
            );
            let finding = Finding::new(DANGLING_JUMP, Severity::Error, Proof::Proved, message).about(
                set,
                &[position],
                format!("no rule has flagIN {flag}"),
            );
            findings.push(finding.help("write the flag of a chain"));
        }
    }
}

fn is_nowhere(context: &CheckContext<'_, '_>, flag: u32) -> bool {
    flag != 0 && context.set.chain(flag).is_empty() && !context.set.fast_flags.contains(&flag)
}

pub(crate) fn jump_without_effect(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for position in 0..set.rule_count() {
        let Some(row) = set.row(position).filter(|row| row.apply) else {
            continue;
        };
        let Some(flag) = row.flags_set().next() else {
            continue;
        };
        let message = format!(
            "rule {} has apply and flagOUT {flag}: the evaluation ends, and the jump is never made",
            set.id(position)
        );
        let finding = Finding::new(JUMP_WITHOUT_EFFECT, Severity::Warning, Proof::Proved, message).about(
            set,
            &[position],
            "apply ends the evaluation",
        );
        findings.push(finding.help("remove `apply` to go on in the chain, or `flagOUT` to end here"));
    }
}
