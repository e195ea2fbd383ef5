//! SW206: a rule for a user who is not among the users.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Proof, Severity, did_you_mean};

use super::CheckContext;
use crate::Finding;
use crate::codes::UNKNOWN_USER;
use crate::finding::rules_named;
use shardwright_prover::given;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let users = &set.configuration.users;
    if users.is_empty() {
        return;
    }
    let mut unknown: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, condition) in set.conditions.iter().enumerate() {
        let wanted = condition
            .as_ref()
            .and_then(|condition| given(&condition.row.username));
        let is_missing =
            |wanted: &&str| users.iter().all(|user| user.name != *wanted) && !context.others.may_have(wanted);
        if let Some(user) = wanted.filter(is_missing) {
            unknown.entry(user).or_default().push(position);
        }
    }
    for (user, positions) in unknown {
        let (verb, them) = if positions.len() == 1 {
            ("is", "it matches")
        } else {
            ("are", "they match")
        };
        let message = format!(
            "{} {verb} for user `{user}`, who does not exist: {them} nothing",
            rules_named(&set.ids(&positions))
        );
        let finding = Finding::new(UNKNOWN_USER, Severity::Warning, Proof::Proved, message)
            .about(set, &positions, "no such user")
            .without(set, &positions);
        findings.push(
            match did_you_mean(user, users.iter().map(|user| user.name.as_str())) {
                Some(near) => finding.help(format!("did you mean `{near}`?")),
                None => finding.help("add the user, or remove the rule"),
            },
        );
    }
}
