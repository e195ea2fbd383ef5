//! SW221: on engines where the last rule's `apply` counts even when it does not match, fast routing is never asked.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::Outcome;

use super::CheckContext;
use crate::Finding;
use crate::codes::FAST_ROUTING_SKIPPED;
use shardwright_prover::Session;
use shardwright_prover::{Example, ORDINARY};

/// Rows whose sessions are tried.
const MOST_ROWS: usize = 16;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let configuration = set.configuration;
    let rows = configuration.graph.fast_routing.len();
    let Some(last) = set.rule_count().checked_sub(1) else {
        return;
    };
    let applies = set.row(last).is_some_and(|row| row.apply);
    if rows == 0 || !applies || !configuration.engine.profile().trailing_apply_skips_fast_routing {
        return;
    }
    let Some(example) = skipped(context) else { return };
    let id = set.id(last);
    let message = format!(
        "rule {id} is the last and has apply: {} then uses none of the {rows} rows of fast routing, whether the rule matches or not",
        configuration.engine
    );
    let finding = Finding::new(FAST_ROUTING_SKIPPED, Severity::Error, Proof::Witnessed, message)
        .about(set, &[last], "switches fast routing off")
        .shown_by(set, &example);
    findings.push(finding.help(format!(
        "add a rule without apply and without effect after rule {id}"
    )));
}

/// A statement that no rule takes, in a session that has a row of fast routing.
fn skipped(context: &CheckContext<'_, '_>) -> Option<Example> {
    let set = context.set;
    for row in set.configuration.graph.fast_routing.iter().take(MOST_ROWS) {
        let user = match row.username.as_str() {
            "" => set
                .configuration
                .users
                .first()
                .map_or("another", |user| user.name.as_str()),
            user => user,
        };
        let session = Session {
            schema: Some(row.schemaname.clone()),
            ..Session::of_user(set.configuration, user)
        };
        for text in ORDINARY {
            let decision = set.decide(&session, text.as_bytes());
            // What the engine answers itself never asks fast routing.
            if matches!(decision.outcome, Outcome::Own { .. }) {
                continue;
            }
            let hits = decision.hits;
            let taken = hits
                .iter()
                .any(|&hit| set.row(hit as usize).is_none_or(|row| row.apply));
            let flag = hits
                .iter()
                .rev()
                .find_map(|&hit| set.jumps(hit as usize).first().copied())
                .unwrap_or(0);
            if !taken && flag == row.flag_in {
                return Some(Example {
                    session,
                    text: text.as_bytes().to_vec(),
                });
            }
        }
    }
    None
}
