//! SW250: a chain without a refusal at its end, where the other chains that sessions enter end with one.
//!
//! Such chains are lists of statements that may run, one for each schema or user. Who forgets the last rule of one list
//! opens it.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{EngineRule, Outcome};

use super::CheckContext;
use crate::Finding;
use crate::codes::OPEN_LIST;
use shardwright_prover::{Example, ORDINARY, RuleSet, Session, given, sessions};

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let entered: Vec<(u32, usize)> = set
        .written()
        .filter(|(_, row)| is_for_sessions(row))
        .filter_map(|(position, row)| Some((row.flag_out?, position)))
        .collect();
    let Some(closed) = entered.iter().find_map(|(flag, _)| last_refusal(set, *flag)) else {
        return;
    };
    let mut said = Vec::new();
    for &(flag, entrance) in &entered {
        if last_refusal(set, flag).is_some() || said.contains(&flag) {
            continue;
        }
        let Some((example, hostgroup)) = passing(set, flag, entrance) else {
            continue;
        };
        said.push(flag);
        let message = format!(
            "the chain with flag {flag} has no refusal at its end: what matches none of its rules goes to hostgroup {hostgroup}, while rule {} refuses it for the sessions of another chain",
            set.id(closed)
        );
        let last = set.chain(flag).last().map_or(&[][..], std::slice::from_ref);
        let finding = Finding::new(OPEN_LIST, Severity::Warning, Proof::Witnessed, message)
            .about(set, last, "the list is open here")
            .shown_by(set, &example);
        findings.push(finding.help(format!(
            "end the chain with a rule for flagIN {flag} without other conditions, with error_msg and apply"
        )));
    }
}

/// Whether a row asks for sessions alone.
fn is_for_sessions(row: &EngineRule) -> bool {
    let asks_text = row.match_digest.is_some() || row.match_pattern.is_some() || row.digest.is_some();
    !asks_text && (given(&row.username).is_some() || given(&row.schemaname).is_some())
}

/// The rule that refuses what the others of its chain have left.
fn last_refusal(set: &RuleSet<'_>, flag: u32) -> Option<usize> {
    let &last = set.chain(flag).last()?;
    let row = set.row(last)?;
    let is_last = row.error_msg.is_some() && row.apply;
    (is_last && takes_all(set, last, row)).then_some(last)
}

/// Whether the rule asks for nothing, or for any one letter.
fn takes_all(set: &RuleSet<'_>, position: usize, row: &EngineRule) -> bool {
    let any = |pattern: &Option<String>| {
        pattern
            .as_deref()
            .is_none_or(|pattern| matches!(pattern, "." | ".*" | "^" | "^.*" | ".+" | "^.*$"))
    };
    set.matches_everything(position)
        || (any(&row.match_digest)
            && any(&row.match_pattern)
            && row.digest.is_none()
            && !row.negate_match_pattern)
}

/// An ordinary statement that enters the chain and leaves it to be sent somewhere.
fn passing(set: &RuleSet<'_>, flag: u32, entrance: usize) -> Option<(Example, u32)> {
    let row = set.row(entrance)?;
    let last = set.chain(flag).to_vec();
    let writes_first = ["DROP TABLE t", "DELETE FROM t"];
    let texts = writes_first.iter().chain(ORDINARY.iter());
    let all: Vec<Session> = sessions(set)
        .into_iter()
        .map(|session| session.adapted_to(row, &set.session_values))
        .collect();
    texts
        .flat_map(|text| all.iter().map(move |session| (session, *text)))
        .find_map(|(session, text)| {
            let decision = set.decide(session, text.as_bytes());
            let hits: Vec<usize> = decision.hits.iter().map(|&hit| hit as usize).collect();
            let comes = hits.contains(&entrance) && !hits.iter().any(|hit| last.contains(hit));
            match decision.outcome {
                Outcome::Route(route) if comes => Some((
                    Example {
                        session: session.clone(),
                        text: text.as_bytes().to_vec(),
                    },
                    route.hostgroup.0,
                )),
                _ => None,
            }
        })
}
