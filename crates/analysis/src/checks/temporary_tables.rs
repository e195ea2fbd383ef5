//! SW410: CREATE TEMPORARY TABLE goes to one hostgroup, and the statements that fill the table to another.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{HostgroupId, Outcome};

use super::CheckContext;
use crate::Finding;
use crate::codes::TEMPORARY_TABLE_APART;
use shardwright_prover::{Example, sessions};

const CREATE: &[u8] = b"CREATE TEMPORARY TABLE tmp_a (id INT)";
const FILL: &[u8] = b"INSERT INTO tmp_a VALUES (1)";

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for session in sessions(set) {
        let created = set.decide(&session, CREATE);
        let placed = |outcome: &Outcome| -> Option<HostgroupId> {
            match outcome {
                Outcome::Route(route) => Some(route.hostgroup),
                _ => None,
            }
        };
        let filled = placed(&set.decide(&session, FILL).outcome);
        let (Some(there), Some(filled)) = (placed(&created.outcome), filled) else {
            continue;
        };
        let by = created.hits.iter().rev().map(|&hit| hit as usize);
        let placing = by.into_iter().find(|&hit| {
            set.row(hit)
                .is_some_and(|row| row.destination_hostgroup.is_some())
        });
        let Some(rule) = placing.filter(|&rule| there != filled && set.is_written(rule)) else {
            continue;
        };
        let message = format!(
            "rule {} sends CREATE TEMPORARY TABLE to hostgroup {there}, and INSERT into the table goes to hostgroup {filled}, where the table does not exist",
            set.id(rule)
        );
        let example = Example {
            session,
            text: CREATE.to_vec(),
        };
        let finding = Finding::new(
            TEMPORARY_TABLE_APART,
            Severity::Warning,
            Proof::Witnessed,
            message,
        )
        .about(set, &[rule], "parts the table from its rows")
        .shown_by(set, &example)
        .note(format!("then: {}", String::from_utf8_lossy(FILL)));
        findings.push(finding.help(
            "let a user of its own work on one hostgroup, or keep everything about temporary tables on the writer",
        ));
        return;
    }
}
