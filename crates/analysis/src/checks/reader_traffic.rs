//! SW401: a write or a locking read that rules send to readers.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::Role;

use super::Known;
use super::trials::Kind;
use crate::Finding;
use crate::codes::WRITE_ON_READER;

pub(crate) fn check(known: &Known<'_, '_>, findings: &mut Vec<Finding>) {
    let set = known.set;
    let mut said = BTreeSet::new();
    for trial in &known.trials {
        let (what, severity) = match trial.kind {
            Kind::Write => ("a write", Severity::Error),
            Kind::Locking => ("a read that locks its rows", Severity::Error),
            Kind::LockingOddly => ("a read that takes locks", Severity::Warning),
            _ => continue,
        };
        let on_reader = trial
            .route()
            .is_some_and(|route| route.role == Some(Role::Reader));
        let Some(rule) = trial.said_by(set, |row| row.destination_hostgroup.is_some()) else {
            continue;
        };
        if !on_reader || !set.is_written(rule) || !said.insert(rule) {
            continue;
        }
        let message = format!("rule {} sends {what} to readers", set.id(rule));
        let finding = Finding::new(WRITE_ON_READER, severity, Proof::Witnessed, message)
            .about(set, &[rule], "places on readers")
            .shown_by(set, &trial.example);
        findings.push(finding.help(
            "put a rule before it that keeps such statements on the writer, or use a read/write policy, which sends \
             only provable reads to readers",
        ));
    }
}
