//! SW402: a user whose open transaction does not keep its statements together; SW406: a split that loses user variables.

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{Outcome, Role, SessionView, Transaction};

use super::CheckContext;
use super::executions;
use super::trials::Behaviour;
use crate::Finding;
use crate::codes::{SPLIT_TRANSACTION, VARIABLES_APART};
use shardwright_prover::{Example, sessions};

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    if !set.configuration.engine.profile().transactions_ignore_rules {
        return;
    }
    for session in sessions(set) {
        let Some(user) = set
            .configuration
            .user(&session.user)
            .filter(|user| !user.transaction_persistent)
        else {
            continue;
        };
        let place = |text: &str| {
            let view = SessionView {
                transaction: Some(Transaction {
                    hostgroup: user.default_hostgroup,
                }),
                ..session.view()
            };
            match set.evaluate(&view, text.as_bytes()).outcome {
                Outcome::Route(route) => Some(route.hostgroup),
                _ => None,
            }
        };
        let write = place("UPDATE t SET a=1 WHERE id=1");
        let text = "SELECT a FROM t WHERE id=1";
        let (Some(write), Some(read)) = (write, place(text)) else {
            continue;
        };
        if write != read {
            let message = format!(
                "user {} has no `transaction_persistent`: inside one transaction writes go to hostgroup {write} and \
                 reads to hostgroup {read}",
                user.name
            );
            let example = Example {
                session,
                text: text.as_bytes().to_vec(),
            };
            let finding = Finding::new(SPLIT_TRANSACTION, Severity::Error, Proof::Witnessed, message)
                .at(&user.address, "transactions are not kept together")
                .shown_by(set, &example);
            findings.push(finding.help("set `transaction_persistent: true`"));
        }
    }
}

/// SW406: user variables lock a session to one hostgroup, and reads that rules send elsewhere then fail with 9006.
pub(crate) fn variables(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    if !set.configuration.engine.profile().transactions_ignore_rules || !executions::locks_sessions(set) {
        return;
    }
    for trial in context
        .trials
        .iter()
        .filter(|trial| trial.behaviour == Behaviour::Read)
    {
        let Some(rule) = trial.said_by(set, |row| row.destination_hostgroup.is_some()) else {
            continue;
        };
        let setting = context.trials.iter().find(|other| {
            other.example.text == b"SET @a=1" && other.example.session == trial.example.session
        });
        let there = setting
            .and_then(|setting| setting.route())
            .map(|route| route.hostgroup);
        let (Some(there), Some(route)) = (there, trial.route()) else {
            continue;
        };
        if there == route.hostgroup || route.role != Some(Role::Reader) || !set.is_written(rule) {
            continue;
        }
        let message = format!(
            "rule {} sends reads to hostgroup {}, and `SET @a=1` goes to hostgroup {there}: a session that has set a \
             user variable is locked to {there}, and its reads fail with error 9006",
            set.id(rule),
            route.hostgroup
        );
        let finding = Finding::new(VARIABLES_APART, Severity::Info, Proof::Witnessed, message)
            .about(set, &[rule], "leaves the hostgroup of user variables")
            .shown_by(set, &trial.example);
        findings.push(finding.help("keep the reads of applications that use user variables on the writer"));
        return;
    }
}
