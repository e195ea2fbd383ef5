//! SW401: a write or a locking read that rules send to readers, or a locking read that they send away from the writes.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{HostgroupId, Member, Role, Route};

use super::CheckContext;
use super::families::Family;
use super::trials::{Behaviour, Trial};
use crate::Finding;
use crate::codes::WRITE_ON_READER;
use crate::finding::rules_named;
use shardwright_prover::RuleSet;

const HELP: &str = "put a rule before it that keeps such statements on the writer, or use a read/write policy, which \
                    sends only provable reads to readers";

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let mut said = on_readers(context, findings);
    away_from_writes(context, &mut said, findings);
    own_words(context, &said, findings);
}

fn what(kind: Behaviour) -> Option<(&'static str, Severity)> {
    match kind {
        Behaviour::Write => Some(("a write", Severity::Error)),
        Behaviour::Locking => Some(("a read that locks its rows", Severity::Error)),
        Behaviour::LockingOddly => Some(("a read that takes locks", Severity::Warning)),
        _ => None,
    }
}

/// The written rule that places a statement.
fn placed_by(set: &RuleSet<'_>, trial: &Trial) -> Option<usize> {
    trial
        .said_by(set, |row| row.destination_hostgroup.is_some())
        .filter(|&rule| set.is_written(rule))
}

/// Ordinary statements on the readers of a declared cluster; the rules that were named.
fn on_readers(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) -> BTreeSet<usize> {
    let set = context.set;
    let mut said = BTreeSet::new();
    for trial in &context.trials {
        let Some((what, severity)) = what(trial.behaviour) else {
            continue;
        };
        let Some(rule) = placed_by(set, trial).filter(|_| is_on_reader(trial)) else {
            continue;
        };
        if !said.insert(rule) {
            continue;
        }
        let message = format!("rule {} sends {what} to readers", set.id(rule));
        let finding = Finding::new(WRITE_ON_READER, severity, Proof::Witnessed, message)
            .about(set, &[rule], "places on readers")
            .shown_by(set, &trial.example);
        findings.push(finding.help(HELP));
    }
    said
}

fn is_on_reader(trial: &Trial) -> bool {
    trial
        .route()
        .is_some_and(|route| route.role == Some(Role::Reader))
}

/// Ordinary locking reads that go with the plain reads and not with the writes, where no cluster says which hostgroup is
/// whose reader.
fn away_from_writes(context: &CheckContext<'_, '_>, said: &mut BTreeSet<usize>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let locking = context
        .trials
        .iter()
        .filter(|trial| matches!(trial.behaviour, Behaviour::Locking | Behaviour::LockingOddly));
    for trial in locking {
        let of_session = |behaviour: Behaviour, text: &[u8]| {
            context.trials.iter().find(|other| {
                other.behaviour == behaviour
                    && other.example.text == text
                    && other.example.session == trial.example.session
            })
        };
        let read = of_session(Behaviour::Read, b"SELECT a FROM t WHERE id=1");
        let write = of_session(Behaviour::Write, b"UPDATE t SET a=1 WHERE id=1");
        let (Some(rule), Some(read), Some(write)) = (placed_by(set, trial), read, write) else {
            continue;
        };
        let Some((there, writes)) = apart(set, trial, read, write) else {
            continue;
        };
        if !said.insert(rule) {
            continue;
        }
        let message = format!(
            "rule {} sends a read that takes locks to hostgroup {there}, with the plain reads, and writes go to hostgroup {writes}: if these are other servers, the lock protects nothing",
            set.id(rule)
        );
        let finding = Finding::new(WRITE_ON_READER, Severity::Warning, Proof::Witnessed, message)
            .about(set, &[rule], "leaves the hostgroup of the writes")
            .shown_by(set, &trial.example);
        findings.push(finding.help(HELP));
    }
}

/// Where the locking read goes, and where writes go, if that is elsewhere and nothing says that it may be right.
fn apart(
    set: &RuleSet<'_>,
    locking: &Trial,
    read: &Trial,
    write: &Trial,
) -> Option<(HostgroupId, HostgroupId)> {
    let users = &set.configuration.users;
    if !users.is_empty() && set.user(&locking.example.session.user).is_none() {
        return None;
    }
    let (locking, read, write) = (locking.route()?, read.route()?, write.route()?);
    let (there, writes) = (locking.hostgroup, write.hostgroup);
    if there != read.hostgroup || there == writes || has_a_pair(set, locking) || has_a_pair(set, write) {
        return None;
    }
    let (readers, writers) = (members(set, there), members(set, writes));
    let same = !readers.is_empty() && readers.iter().all(|reader| writers.contains(reader));
    (!same).then_some((there, writes))
}

/// Whether the hostgroup is the writer or the reader of a cluster that has both.
fn has_a_pair(set: &RuleSet<'_>, route: &Route) -> bool {
    let cluster = set.configuration.cluster_of(route.hostgroup);
    cluster.is_some_and(|cluster| cluster.reader.is_some())
}

fn members(set: &RuleSet<'_>, hostgroup: HostgroupId) -> BTreeSet<(String, u16)> {
    let all = &set.configuration.hostgroups;
    let members = all
        .iter()
        .filter(|known| known.id == hostgroup)
        .flat_map(|known| &known.members);
    let place = |member: &Member| (member.host.clone(), member.port);
    members.map(place).collect()
}

/// What a rule sends, and where to.
type Sends = (&'static str, &'static str);

/// The rules that meet no ordinary statement, by what the statements of their own words are: a finding for each kind.
fn own_words(context: &CheckContext<'_, '_>, said: &BTreeSet<usize>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let mut groups: BTreeMap<Sends, Vec<(usize, &Trial)>> = BTreeMap::new();
    for family in context
        .families
        .iter()
        .filter(|family| !said.contains(&family.rule))
    {
        if let Some((sends, trial)) = sent_wrong(set, family) {
            groups.entry(sends).or_default().push((family.rule, trial));
        }
    }
    for ((what, to), rules) in groups {
        let positions: Vec<usize> = rules.iter().map(|(rule, _)| *rule).collect();
        let Some((_, first)) = rules.first() else { continue };
        let verb = if positions.len() == 1 { "sends" } else { "send" };
        let message = format!("{} {verb} {what} to {to}", rules_named(&set.ids(&positions)));
        let finding = Finding::new(WRITE_ON_READER, Severity::Warning, Proof::Witnessed, message)
            .about(set, &positions, "takes these statements as well")
            .shown_by(set, &first.example);
        findings.push(finding.help(HELP));
    }
}

/// The first statement of a rule's own words that it sends where it should not go.
fn sent_wrong<'f>(set: &RuleSet<'_>, family: &'f Family) -> Option<(Sends, &'f Trial)> {
    let mine = || {
        let placed = family.trials.iter();
        placed.filter(|trial| placed_by(set, trial) == Some(family.rule))
    };
    let mut on_reader = mine().filter(|trial| is_on_reader(trial));
    if let Some(found) = on_reader.find_map(|trial| Some(((what(trial.behaviour)?.0, "readers"), trial))) {
        return Some(found);
    }
    let (read, write) = (family.of_behaviour(Behaviour::Read)?, family.write.as_ref()?);
    let mut locking =
        mine().filter(|trial| matches!(trial.behaviour, Behaviour::Locking | Behaviour::LockingOddly));
    let trial = locking.find(|trial| apart(set, trial, read, write).is_some())?;
    let sends = (
        "a read that takes locks",
        "another hostgroup than the writes of its table",
    );
    Some((sends, trial))
}
