//! SW603 to SW613: delays, retries, caches, mirrors and multiplexing on statements that should not have them.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Code, Proof, Severity};
use shardwright_rules::{Effects, EngineRule, Outcome, SentAs};

use super::CheckContext;
use super::trials::Behaviour;
use crate::Finding;
use crate::codes::{
    CACHE_UNSAFE, DELAY_HOLDS_LOCKS, INERT_COLUMN, MIRROR_OVERRIDDEN, MIRRORED_WRITE, MULTIPLEX_LEAK,
    MULTIPLEX_ONE, NO_GTID, NOT_FOR_PREPARED, RETRIED_WRITE, TIMEOUT_ZERO,
};
use shardwright_prover::Example;

/// An effect that statements of some kinds must not have.
struct Misplaced {
    code: Code,
    severity: Severity,
    kinds: &'static [Behaviour],
    has: fn(&Effects) -> bool,
    says: fn(&EngineRule) -> bool,
    what: &'static str,
    help: &'static str,
}

const MISPLACED: [Misplaced; 5] = [
    Misplaced {
        code: DELAY_HOLDS_LOCKS,
        severity: Severity::Warning,
        kinds: &[Behaviour::Write, Behaviour::Locking],
        has: |effects| effects.delay_ms.is_some_and(|ms| ms > 0),
        says: |row| row.delay_ms.is_some_and(|ms| ms > 0),
        what: "delays a statement that can stand in a transaction: its locks and its connection are held for as long",
        help: "delay what begins a transaction, or reads outside of one",
    },
    Misplaced {
        code: RETRIED_WRITE,
        severity: Severity::Warning,
        kinds: &[Behaviour::Write],
        has: |effects| effects.retries.is_some_and(|retries| retries > 0),
        says: |row| row.retries.is_some_and(|retries| retries > 0),
        what: "lets the engine send a write again after a lost connection: it may run twice",
        help: "set retries only for reads",
    },
    Misplaced {
        code: CACHE_UNSAFE,
        severity: Severity::Warning,
        kinds: &[
            Behaviour::Write,
            Behaviour::Locking,
            Behaviour::LockingOddly,
            Behaviour::Volatile,
            Behaviour::Variable,
        ],
        has: |effects| effects.cache_ttl_ms.is_some_and(|ttl| ttl > 0),
        says: |row| row.cache_ttl_ms.is_some_and(|ttl| ttl > 0),
        what: "answers from the cache what must be fresh each time",
        help: "cache only statements that you list one by one",
    },
    Misplaced {
        code: MIRRORED_WRITE,
        severity: Severity::Warning,
        kinds: &[Behaviour::Write],
        has: |effects| effects.mirror_hostgroup.is_some(),
        says: |row| row.mirror_hostgroup.is_some(),
        what: "mirrors a write: it is executed twice",
        help: "mirror reads only",
    },
    Misplaced {
        code: MULTIPLEX_LEAK,
        severity: Severity::Error,
        kinds: &[Behaviour::Variable],
        has: |effects| effects.multiplex == Some(2),
        says: |row| row.multiplex == Some(2),
        what: "shares the connection of a statement that uses a user variable: other clients read and change it",
        help: "limit the exception to reads of `@@` variables",
    },
];

pub(crate) fn misplaced(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let mut said = BTreeSet::new();
    for effect in &MISPLACED {
        let ordinary = context
            .trials
            .iter()
            .filter(|trial| effect.kinds.contains(&trial.behaviour));
        // Of the statements of a rule's own words only the writes: nearly every read could also take a lock.
        let own = context.families.iter().flat_map(|family| &family.trials);
        let own = own
            .filter(|trial| trial.behaviour == Behaviour::Write && effect.kinds.contains(&Behaviour::Write));
        for trial in ordinary.chain(own) {
            if !trial.route().is_some_and(|route| (effect.has)(&route.effects)) {
                continue;
            }
            let Some(rule) = trial
                .said_by(set, effect.says)
                .filter(|&rule| set.is_written(rule))
            else {
                continue;
            };
            if said.insert((effect.code.as_str(), rule)) {
                let message = format!("rule {} {}", set.id(rule), effect.what);
                let finding = Finding::new(effect.code, effect.severity, Proof::Witnessed, message)
                    .about(set, &[rule], "has this effect")
                    .shown_by(set, &trial.example);
                findings.push(finding.help(effect.help));
            }
        }
    }
}

/// A column that does not do what it seems to.
struct Column {
    code: Code,
    severity: Severity,
    is_set: fn(&EngineRule) -> bool,
    what: &'static str,
    help: &'static str,
}

const COLUMNS: [Column; 4] = [
    Column {
        code: MULTIPLEX_ONE,
        severity: Severity::Warning,
        is_set: |row| row.multiplex == Some(1),
        what: "has `multiplex: 1`, which only undoes what a rule has set: temporary tables, locks and user variables still keep the connection",
        help: "remove it",
    },
    Column {
        code: TIMEOUT_ZERO,
        severity: Severity::Warning,
        is_set: |row| row.timeout_ms == Some(0),
        what: "has `timeout: 0`, which means mysql-default_query_timeout, not an unlimited time",
        help: "write a long time",
    },
    Column {
        code: INERT_COLUMN,
        severity: Severity::Info,
        is_set: |row| row.cache_timeout_ms.is_some() || row.reconnect.is_some() || row.sticky_conn.is_some(),
        what: "sets `cache_timeout`, `reconnect` or `sticky_conn`, which the engine stores and never reads",
        help: "remove the column",
    },
    Column {
        code: NO_GTID,
        severity: Severity::Warning,
        is_set: |row| row.gtid_from_hostgroup.is_some(),
        what: "waits for a GTID (`gtid_from_hostgroup`), but no server of this configuration has a gtid_port: after the session has seen a GTID, no server qualifies",
        help: "read from the writer after a write, by a read/write policy with `after_write`",
    },
];

pub(crate) fn columns(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let asked = |column: &&Column| column.code != NO_GTID || !context.beside.reports_gtids;
    for column in COLUMNS.iter().filter(asked) {
        let rules: Vec<usize> = set
            .written()
            .filter(|(_, row)| (column.is_set)(row))
            .map(|(position, _)| position)
            .collect();
        let Some(&first) = rules.first() else { continue };
        let message = format!("rule {} {}", set.id(first), column.what);
        let finding = Finding::new(column.code, column.severity, Proof::Proved, message).about(
            set,
            &rules,
            "has this column",
        );
        findings.push(finding.help(column.help));
    }
}

/// What rules ask for that executions of prepared statements go without; a witness is one that was executed.
pub(crate) fn not_for_prepared(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let without = set.configuration.engine.profile().prepared.at_execute;
    let loses = |row: &EngineRule| {
        (without.delay && row.delay_ms.is_some_and(|ms| ms > 0))
            || (without.retries && row.retries.is_some())
            || (without.mirror && row.mirror_hostgroup.is_some())
            || (without.cache && row.cache_ttl_ms.is_some())
    };
    let rules: Vec<usize> = set
        .written()
        .filter(|(_, row)| loses(row))
        .map(|(position, _)| position)
        .collect();
    let Some(&first) = rules.first() else { return };
    let message = format!(
        "rule {} has a delay, retries, a mirror or a cache, which executions of prepared statements do not get",
        set.id(first)
    );
    let mut finding = Finding::new(NOT_FOR_PREPARED, Severity::Info, Proof::Proved, message).about(
        set,
        &rules,
        "has this column",
    );
    let shows = |example: &&Example| {
        let effects = |sent_as: SentAs| match set.decide_as(sent_as, &example.session, &example.text).outcome
        {
            Outcome::Route(route) => Some(route.effects),
            _ => None,
        };
        let (sent, executed) = (effects(SentAs::Query), effects(SentAs::Execute));
        sent.is_some() && executed.is_some() && sent != executed
    };
    if let Some(example) = context.reach.example(first).filter(shows) {
        finding = finding.shown_by(set, example);
    }
    findings.push(finding.help("nothing, if the clients send text"));
}

pub(crate) fn mirror_overridden(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    if !set.fast_flags.contains(&0) {
        return;
    }
    let mirrors = |row: &EngineRule| row.mirror_hostgroup.is_some() && row.mirror_flag_out.is_none();
    for (position, _) in set.written().filter(|(_, row)| mirrors(row)) {
        let message = format!(
            "rule {} mirrors without `mirror_flagOUT`: the copy is looked up in fast routing at flag 0, whose row takes the \
             place of the mirror hostgroup",
            set.id(position)
        );
        let finding = Finding::new(MIRROR_OVERRIDDEN, Severity::Warning, Proof::Possible, message).about(
            set,
            &[position],
            "mirrors",
        );
        findings.push(finding.help("set `mirror_flagOUT` to a flag without rows of fast routing"));
    }
}
