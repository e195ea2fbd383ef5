//! SW202: a chain that no jump enters.

use shardwright_diagnostics::{Proof, Severity, did_you_mean};

use super::{CheckContext, iterations};
use crate::Finding;
use crate::codes::DEAD_CHAIN;
use crate::finding::rules_named;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (flag, chain) in set.chains() {
        let entrances = set.entrances(flag);
        let from_elsewhere: Vec<usize> = entrances
            .iter()
            .copied()
            .filter(|&jump| set.flag_in(jump) != flag)
            .collect();
        let why = if set.start_flags.contains(&flag) {
            continue;
        } else if from_elsewhere.is_empty() {
            "no rule jumps to it".to_owned()
        } else if from_elsewhere.iter().all(|&jump| context.reach.is_dead(jump))
            && !iterations::explains(context, flag)
        {
            let verb = if from_elsewhere.len() == 1 {
                "matches"
            } else {
                "match"
            };
            format!(
                "{}, which would jump to it, never {verb}",
                rules_named(&set.ids(&from_elsewhere))
            )
        } else {
            continue;
        };
        let named = rules_named(&set.ids(chain));
        let verb = if chain.len() == 1 { "is" } else { "are" };
        let message =
            format!("the chain of flag {flag} is never entered: {why}, and {named} {verb} never evaluated");
        let mut finding = Finding::new(DEAD_CHAIN, Severity::Warning, Proof::Proved, message)
            .about(set, chain, "never entered")
            .without(set, chain);
        finding.help = Some(match near_flag(context, flag) {
            Some(near) => format!("a rule jumps to flag {near}, which has no rules: did you mean {flag}?"),
            None => "jump to the chain, or remove it".to_owned(),
        });
        findings.push(finding);
    }
}

/// A flag without rules that is written almost alike.
fn near_flag(context: &CheckContext<'_, '_>, flag: u32) -> Option<u32> {
    let empty: Vec<String> = context
        .set
        .jump_targets()
        .filter(|&flag| context.set.chain(flag).is_empty())
        .map(|flag| flag.to_string())
        .collect();
    let text = flag.to_string();
    let near = did_you_mean(&text, empty.iter().map(String::as_str));
    near.or_else(|| empty.first().map(String::as_str).filter(|_| empty.len() == 1))
        .and_then(|near| near.parse().ok())
}
