//! SW228: annotations that lead around rules for users; SW232: a session that never leaves a flag; SW234, SW235, SW241:
//! conditions on a session that mean something else.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{Annotations, Outcome};

use super::CheckContext;
use crate::Finding;
use crate::codes::{ADDRESS_AS_TEXT, ANNOTATIONS_OVERRIDE, NO_LISTENER, NO_WAY_BACK, SESSION_SCHEMA_ONLY};
use shardwright_prover::{Example, given, sessions};

pub(crate) fn annotations(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let profile = set.configuration.engine.profile();
    let never = profile
        .annotations_variable
        .and_then(|variable| set.configuration.variables.get(variable))
        .is_some_and(|value| value == "0");
    if profile.annotations != Annotations::AfterRules || never {
        return;
    }
    let own = |position: usize| {
        let row = set.row(position)?;
        given(&row.username)
            .and(row.destination_hostgroup)
            .filter(|_| row.apply)
    };
    let places: BTreeSet<u32> = set.written().filter_map(|(position, _)| own(position)).collect();
    for (position, _) in set.written() {
        let (Some(mine), Some(example)) = (own(position), context.reach.example(position)) else {
            continue;
        };
        let Some(other) = places.iter().copied().find(|&other| other != mine) else {
            return;
        };
        let text = [format!("/* hostgroup={other} */ ").as_bytes(), &example.text].concat();
        let decision = set.decide(&example.session, &text);
        if !matches!(&decision.outcome, Outcome::Route(route) if route.hostgroup.0 == other) {
            continue;
        }
        let message = format!(
            "rules keep users apart, but any client can leave its hostgroup {mine} with a comment: annotations override what rule {} decided",
            set.id(position)
        );
        let example = Example {
            session: example.session.clone(),
            text,
        };
        let finding = Finding::new(ANNOTATIONS_OVERRIDE, Severity::Info, Proof::Witnessed, message)
            .about(set, &[position], "a comment overrides this")
            .shown_by(set, &example);
        findings.push(
            finding
                .help("add a first rule that refuses statements whose first comment contains an annotation"),
        );
        return;
    }
}

pub(crate) fn no_way_back(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for (position, row) in set.written() {
        let Some(flag) = row.next_query_flag_in.filter(|&flag| flag != 0) else {
            continue;
        };
        if set.chain(flag).is_empty() || context.reach.is_dead(position) {
            continue;
        }
        let (mut seen, mut open) = (BTreeSet::from([flag]), vec![flag]);
        let mut leaves = false;
        while let Some(at) = open.pop() {
            for &rule in set.chain(at) {
                let next = set.row(rule).and_then(|row| row.next_query_flag_in);
                leaves |= next.is_some_and(|next| next != flag) && !context.reach.is_dead(rule);
                open.extend(set.jumps(rule).into_iter().filter(|&to| seen.insert(to)));
            }
        }
        if leaves {
            continue;
        }
        let message = format!(
            "rule {} sets `next_query_flagIN: {flag}`, and no rule at that flag sets another: every later statement of the session starts at flag {flag}, also when a pool gives the session to another client",
            set.id(position)
        );
        let finding = Finding::new(NO_WAY_BACK, Severity::Warning, Proof::Proved, message).about(
            set,
            &[position],
            "no way back",
        );
        findings.push(finding.help(format!("set `next_query_flagIN: 0` in a rule of flag {flag}")));
    }
}

pub(crate) fn conditions(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let listeners = &set.configuration.listeners;
    for (position, row) in set.written() {
        let id = set.id(position);
        let address = given(&row.client_addr);
        let said = match address {
            Some(address) if address.contains('/') => Some((
                Severity::Error,
                format!(
                    "client_addr `{address}` of rule {id} is compared as text: networks do not work, and it never matches"
                ),
            )),
            Some(address) if address.starts_with('%') => Some((
                Severity::Warning,
                format!("client_addr `{address}` of rule {id} is true for every client"),
            )),
            _ => None,
        };
        if let Some((severity, message)) = said {
            let finding = Finding::new(ADDRESS_AS_TEXT, severity, Proof::Proved, message).about(
                set,
                &[position],
                "is compared as text",
            );
            findings.push(finding.help("write an address, or a prefix that ends in `%`"));
        }
        let bound = |matches: &dyn Fn(&shardwright_rules::Listener) -> bool| {
            listeners.is_empty() || listeners.iter().any(matches)
        };
        let port = row
            .proxy_port
            .filter(|&port| !bound(&|listener| listener.port == port));
        let proxy = given(&row.proxy_addr).filter(|address| !bound(&|listener| listener.bind == **address));
        if port.is_some() || proxy.is_some() {
            let what = match (port, proxy) {
                (Some(port), _) => format!("proxy_port {port}"),
                (None, proxy) => format!("proxy_addr {}", proxy.unwrap_or_default()),
            };
            let message = format!("rule {id} requires {what}, which no listener has: it never matches");
            let finding = Finding::new(NO_LISTENER, Severity::Warning, Proof::Proved, message).about(
                set,
                &[position],
                "no such listener",
            );
            findings.push(finding.help(
                "addresses are compared with the listener as it is configured: `0.0.0.0` is only itself",
            ));
        }
    }
    schemas(context, findings);
}

fn schemas(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let placing = |position: usize| {
        set.row(position).is_some_and(|row| {
            given(&row.schemaname).is_some()
                && (row.destination_hostgroup.is_some() || row.flag_out.is_some())
        }) && set.is_written(position)
    };
    let trial = context.trials.iter().find_map(|trial| {
        let foreign = trial.example.text == b"SELECT a FROM other.t WHERE id=1";
        let rule = trial.hits().find(|&hit| placing(hit)).filter(|_| foreign)?;
        Some((trial, rule))
    });
    let Some((trial, rule)) = trial else { return };
    let message = format!(
        "rule {} matches the schema of the session: a statement that names another schema goes to the same place",
        set.id(rule)
    );
    let finding = Finding::new(SESSION_SCHEMA_ONLY, Severity::Info, Proof::Witnessed, message)
        .about(set, &[rule], "names in the statement do not count")
        .shown_by(set, &trial.example);
    findings
        .push(finding.help("a shard map by `schema` refuses statements that name another shard's schema"));
}

/// SW241 of a refusal: who names the schema in the statement, from a session in another one, is not refused.
pub(crate) fn refusals_by_schema(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let refusing = set
        .written()
        .filter(|(_, row)| row.error_msg.is_some() && given(&row.schemaname).is_some());
    for (position, row) in refusing {
        let schema = given(&row.schemaname).unwrap_or_default();
        let text = format!("SELECT a FROM {schema}.t WHERE id=1");
        let elsewhere = sessions(set).into_iter().filter(|session| {
            session.schema.as_deref() != Some(schema)
                && given(&row.username).is_none_or(|user| user == session.user)
        });
        let passing = elsewhere
            .map(|session| Example {
                session,
                text: text.clone().into_bytes(),
            })
            .find(|example| {
                matches!(
                    set.decide(&example.session, &example.text).outcome,
                    Outcome::Route(_)
                )
            });
        let Some(example) = passing else { continue };
        let message = format!(
            "rule {} refuses sessions in schema {schema}: a statement that names the schema passes from another one",
            set.id(position)
        );
        let finding = Finding::new(SESSION_SCHEMA_ONLY, Severity::Warning, Proof::Witnessed, message)
            .about(set, &[position], "names in the statement do not count")
            .shown_by(set, &example);
        findings.push(finding.help(format!("refuse the name too: match_digest `\\b{schema}\\.`")));
    }
}
