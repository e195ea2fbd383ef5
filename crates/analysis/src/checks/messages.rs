//! SW223: an `OK_msg` answers statements that a rule with `error_msg` refuses.

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::ANSWER_BEATS_REFUSAL;
use shardwright_prover::RuleSet;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for position in 0..set.rule_count() {
        let refuses = |set: &RuleSet<'_>, at: usize| set.row(at).is_some_and(|row| row.error_msg.is_some());
        let answers = |set: &RuleSet<'_>, at: usize| set.row(at).is_some_and(|row| row.ok_msg.is_some());
        if !refuses(set, position) && !answers(set, position) {
            continue;
        }
        let Some(example) = context.reach.example(position) else {
            continue;
        };
        let hits: Vec<usize> = set
            .decide(&example.session, &example.text)
            .hits
            .into_iter()
            .map(|hit| hit as usize)
            .collect();
        let pair = hits.iter().find_map(|&hit| {
            if refuses(set, position) && hit != position && answers(set, hit) {
                Some((hit, position))
            } else if answers(set, position) && hit < position && refuses(set, hit) {
                Some((position, hit))
            } else {
                None
            }
        });
        let Some((answering, refusing)) = pair else {
            continue;
        };
        let (ok, refusal) = (set.id(answering), set.id(refusing));
        let message =
            format!("rule {refusal} refuses a statement that rule {ok} answers with OK: the client gets OK");
        let finding = Finding::new(ANSWER_BEATS_REFUSAL, Severity::Error, Proof::Witnessed, message)
            .about(set, &[answering, refusing], "OK_msg wins over error_msg")
            .shown_by(set, example)
            .help(format!(
                "put the refusal first and give it `apply: 1`, or narrow rule {ok}"
            ));
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
}
