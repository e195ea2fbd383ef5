//! SW238: fast routing that replaces what a rule decided; SW239: rows of fast routing that no statement comes to.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Proof, Severity};

use super::CheckContext;
use crate::Finding;
use crate::codes::{FAST_ROUTING_REPLACES, ROWS_NEVER_ASKED};
use shardwright_prover::Session;
use shardwright_prover::catch_all;
use shardwright_prover::{Example, ORDINARY};

/// Rows whose sessions are tried.
const MOST_ROWS: usize = 16;

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    replaced(context, findings);
    let set = context.set;
    let rules = (0..set.rule_count()).filter_map(|position| set.row(position));
    // Copies of statements are looked up at flag 0, whatever takes the statements themselves (2.7.1).
    let looks_up_copies = rules
        .clone()
        .any(|row| row.mirror_hostgroup.is_some() && row.mirror_flag_out.is_none());
    for &flag in &set.fast_flags {
        if flag == 0 && looks_up_copies {
            continue;
        }
        let rows = &set.configuration.graph.fast_routing;
        let Some(first) = rows.iter().find(|row| row.flag_in == flag) else {
            continue;
        };
        let mut entrances = set.entrances(flag).iter();
        if set.start_flags.contains(&flag) || entrances.any(|&jump| !context.reach.is_dead(jump)) {
            findings.extend(catch_all(set, flag, set.rule_count()).map(|taker| {
                let id = set.id(taker);
                let message = format!(
                    "rule {id} takes every statement of flag {flag}, but fast routing only gets statements that no rule ends: its rows at that flag are never used"
                );
                Finding::new(ROWS_NEVER_ASKED, Severity::Error, Proof::Proved, message)
                    .about(set, &[taker], "takes every statement")
                    .at(&first.address, format!("after rule {id}"))
                    .help(format!("remove rule {id}, or what makes it end the evaluation"))
            }));
            continue;
        }
        let message = format!(
            "fast routing of schema {} is for flag {flag}, at which no statement ends: the row is never used",
            first.schemaname
        );
        let finding = Finding::new(ROWS_NEVER_ASKED, Severity::Error, Proof::Proved, message)
            .at(&first.address, format!("no jump leads to flag {flag}"));
        findings.push(finding.help("write the flag at which the rules end: 0 where none jumps"));
    }
}

fn replaced(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let mut said = BTreeSet::new();
    for row in set.configuration.graph.fast_routing.iter().take(MOST_ROWS) {
        let usual = set
            .configuration
            .users
            .first()
            .map_or("another", |user| user.name.as_str());
        let user = if row.username.is_empty() {
            usual
        } else {
            &row.username
        };
        let session = Session {
            schema: Some(row.schemaname.clone()),
            ..Session::of_user(set.configuration, user)
        };
        for text in ORDINARY {
            let decision = set.decide(&session, text.as_bytes());
            if decision.path.last().is_none_or(|step| step.rule_id != 0) {
                continue;
            }
            let placed = decision.hits.iter().rev().map(|&hit| hit as usize).find(|&hit| {
                set.row(hit)
                    .and_then(|row| row.destination_hostgroup)
                    .is_some_and(|to| to != row.hostgroup.0)
            });
            let Some(rule) = placed.filter(|&rule| set.is_written(rule)) else {
                continue;
            };
            if said.insert(rule) {
                let message = format!(
                    "rule {} places without apply, and fast routing then replaces its hostgroup by {}",
                    set.id(rule),
                    row.hostgroup
                );
                let example = Example {
                    session: session.clone(),
                    text: text.as_bytes().to_vec(),
                };
                let finding = Finding::new(
                    FAST_ROUTING_REPLACES,
                    Severity::Warning,
                    Proof::Witnessed,
                    message,
                )
                .about(set, &[rule], "replaced by fast routing")
                .shown_by(set, &example);
                findings.push(finding.help(format!("give rule {} `apply: 1`", set.id(rule))));
            }
        }
    }
}
