//! SW236: a refusal that later rules do not lift; SW237: a refusal without words; SW242: rules for what the engine handles
//! itself.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::SentAs;

use super::CheckContext;
use super::trials::Behaviour;
use crate::Finding;
use crate::codes::{EMPTY_REFUSAL, REFUSAL_STICKS, SPECIAL_STATEMENT};

pub(crate) fn sticking(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let mut said = BTreeSet::new();
    for trial in &context.trials {
        let mut hits = trial.hits();
        let refusing = hits.find(|&hit| {
            set.row(hit)
                .is_some_and(|row| row.error_msg.is_some() && !row.apply)
        });
        let later = hits.find(|&hit| {
            set.row(hit)
                .is_some_and(|row| row.destination_hostgroup.is_some())
        });
        let (Some(refusing), Some(later)) = (refusing, later) else {
            continue;
        };
        if !set.is_written(refusing) || !said.insert(refusing) {
            continue;
        }
        let (id, other) = (set.id(refusing), set.id(later));
        let message = format!("rule {other} places a statement that rule {id} has refused: it stays refused");
        let finding = Finding::new(REFUSAL_STICKS, Severity::Warning, Proof::Witnessed, message)
            .about(set, &[refusing, later], "cannot be lifted")
            .shown_by(set, &trial.example);
        findings.push(finding.help(format!(
            "put rule {other} before rule {id} and let it apply, or let {id} apply"
        )));
    }
    for (position, _) in set
        .written()
        .filter(|(_, row)| row.error_msg.as_deref() == Some(""))
    {
        let message = format!(
            "rule {} has an empty error_msg, which refuses its statements with an empty message",
            set.id(position)
        );
        let finding = Finding::new(EMPTY_REFUSAL, Severity::Warning, Proof::Proved, message).about(
            set,
            &[position],
            "refuses without a message",
        );
        findings.push(finding.help("write a message, or remove the column"));
    }
}

pub(crate) fn special(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let (mut ordinary, mut special) = (BTreeSet::new(), BTreeMap::new());
    for trial in &context.trials {
        if trial.behaviour == Behaviour::Special {
            // What the engine answers asks no rule; preparing the same text asks those that are about it.
            let prepared = set.decide_as(SentAs::Prepare, &trial.example.session, &trial.example.text);
            for hit in prepared.hits {
                special.entry(hit as usize).or_insert(trial);
            }
        } else {
            ordinary.extend(trial.hits());
        }
    }
    for (&rule, trial) in special.iter().filter(|(rule, _)| !ordinary.contains(*rule)) {
        let acts = set
            .row(rule)
            .is_some_and(|row| row.error_msg.is_some() || row.ok_msg.is_some());
        let only = set
            .row(rule)
            .is_some_and(|row| row.match_digest.is_some() || row.match_pattern.is_some());
        if !(acts && only && set.is_written(rule)) {
            continue;
        }
        let message = format!(
            "rule {} refuses or answers what the engine handles itself: the rule does not prevent that",
            set.id(rule)
        );
        let finding = Finding::new(SPECIAL_STATEMENT, Severity::Warning, Proof::Witnessed, message)
            .about(set, &[rule], "the engine handles this itself")
            .shown_by(set, &trial.example);
        findings.push(
            finding.help("COMMIT, ROLLBACK, USE, SET NAMES and SET autocommit cannot be refused by rules"),
        );
    }
}
