//! What was expected of a statement against what became of it.

use std::collections::BTreeSet;

use shardwright_rules::{Address, Body, Decision, EngineRule, Outcome, Rule, Statement};

use super::Runner;
use crate::session::Simulated;
use crate::step::Step;
use shardwright_prover::expectation::{Expected, Mismatch, Mismatches, OutcomeKind};

impl Runner<'_> {
    pub(super) fn mismatches(
        &self,
        step: &Step<'_>,
        session: &Simulated,
        statement: &Statement<'_>,
        decision: &Decision,
    ) -> Vec<Mismatch> {
        let mut mismatches = Mismatches::default();
        let Some(expected) = &step.expect else {
            if let Outcome::Reject(_) = &decision.outcome {
                mismatches.push(None, "no refusal", "a refusal");
            }
            return mismatches.into_vec();
        };
        let outcome = expected.outcome.or_else(|| implied(expected));
        let actual = OutcomeKind::of(&decision.outcome);
        if let Some(wanted) = outcome.filter(|wanted| *wanted != actual) {
            mismatches.push(
                Some(field_of(expected, wanted)),
                wanted.as_str(),
                became(&decision.outcome),
            );
            return mismatches.into_vec();
        }
        match &decision.outcome {
            Outcome::Route(route) => {
                expected.compare_route(self.configuration, route, Some(statement), &mut mismatches);
                self.servers(expected, step, decision, &mut mismatches);
            }
            Outcome::Reject(rejection) => {
                if let Some(part) = expected.error.filter(|part| !rejection.message.contains(part)) {
                    mismatches.push(Some("error"), part, rejection.message.clone());
                }
            }
            Outcome::Answer { message } => {
                if let Some(answer) = expected.answer.filter(|answer| *answer != message) {
                    mismatches.push(Some("answer"), answer, message.clone());
                }
            }
            Outcome::Own { .. } | Outcome::DeferBegin => {
                if let Some(answer) = expected.answer.filter(|answer| !answer.is_empty()) {
                    mismatches.push(Some("answer"), answer, "");
                }
            }
        }
        if !expected.shards.is_empty() || expected.rule.is_some() {
            self.provenance(expected, step, session, statement, decision, &mut mismatches);
        }
        mismatches.into_vec()
    }

    /// Which servers take the statement, and which throttles hold it back.
    fn servers(
        &self,
        expected: &Expected<'_>,
        step: &Step<'_>,
        decision: &Decision,
        mismatches: &mut Mismatches,
    ) {
        if expected.served_by.is_none() && expected.throttled_by.is_none() {
            return;
        }
        let Some(servers) = step.supposed.servers(self.configuration, decision) else {
            let field = expected
                .served_by
                .as_ref()
                .map_or("throttled_by", |_| "served_by");
            let nobody = "servers that nobody watches: that takes a `monitor` section, and `roles_by: engine` of the cluster";
            mismatches.push(Some(field), "servers that are watched", nobody);
            return;
        };
        let started = servers
            .throttles
            .iter()
            .filter(|throttle| throttle.started == Some(true));
        compare_names(
            "throttled_by",
            expected.throttled_by.as_deref(),
            started.map(|throttle| throttle.throttle.as_str()),
            mismatches,
        );
        compare_names(
            "served_by",
            expected.served_by.as_deref(),
            servers.served_by.iter().map(|serving| serving.server.as_str()),
            mismatches,
        );
    }

    /// Whether a rule of a path did something to the statement; a row of fast routing places it.
    fn acts(&self, taken: &shardwright_rules::Step) -> bool {
        let rules = &self.configuration.graph.rules;
        let at = rules.binary_search_by_key(&taken.rule_id, |rule| rule.id);
        at.is_err() || at.is_ok_and(|at| acts(&rules[at]))
    }

    /// Which shards placed the statement, and which objects' rules did something to it. The path costs more than the decision, so
    /// it is asked for only where the decision does not tell.
    fn provenance(
        &self,
        expected: &Expected<'_>,
        step: &Step<'_>,
        session: &Simulated,
        statement: &Statement<'_>,
        decision: &Decision,
        mismatches: &mut Mismatches,
    ) {
        let placed = match &decision.outcome {
            Outcome::Route(route) => route.shard.as_ref(),
            _ => None,
        };
        let only = expected.rule.is_none() && expected.shards.len() == 1;
        if only && placed.is_some_and(|shard| shard.as_str() == expected.shards[0]) {
            return;
        }
        let path = self.explained(step, session, statement).path;
        let mut addresses: Vec<Address> = path.iter().map(|step| step.address.clone()).collect();
        let rules = &self.configuration.graph.rules;
        // Shards that share a rule, of which nobody knows which one it is.
        let mut open: Vec<&str> = Vec::new();
        for taken in &path {
            // Not a rule but a row of fast routing: it has no other shards.
            let Ok(at) = rules.binary_search_by_key(&taken.rule_id, |rule| rule.id) else {
                continue;
            };
            let shards = &rules[at].shards;
            match self.keys.among(&session.view(step), statement, shards) {
                Some(shard) => addresses.push(shard),
                None => open.extend(shards.iter().map(Address::as_str)),
            }
        }
        addresses.extend(placed.cloned());
        if let Outcome::Reject(rejection) = &decision.outcome {
            addresses.extend(rejection.address.clone());
        }
        let is_placed_on = |shard: &str| addresses.iter().any(|address| address.as_str() == shard);
        for shard in expected.shards.iter().filter(|shard| !is_placed_on(shard)) {
            let mut shards: Vec<&str> = addresses
                .iter()
                .filter(|address| address.is_shard())
                .map(|address| address.as_str())
                .collect();
            shards.dedup();
            let actual = if open.contains(shard) {
                format!(
                    "one of {}, which share a rule: not decided on this engine",
                    open.join(", ")
                )
            } else if shards.is_empty() {
                "no shard".to_owned()
            } else {
                shards.join(", ")
            };
            mismatches.push(Some("shard"), *shard, actual);
        }
        let passed: Vec<&Address> = path
            .iter()
            .filter(|taken| !self.acts(taken))
            .map(|taken| &taken.address)
            .collect();
        let mut acting: Vec<&str> = addresses
            .iter()
            .filter(|address| !passed.contains(address))
            .chain(
                path.iter()
                    .filter(|taken| self.acts(taken))
                    .map(|taken| &taken.address),
            )
            .map(Address::as_str)
            .collect();
        acting.dedup();
        if let Some(rule) = expected
            .rule
            .filter(|rule| !acting.iter().any(|address| is_inside(address, rule)))
        {
            let actual = if acting.is_empty() {
                "no rule".to_owned()
            } else {
                acting.join(", ")
            };
            mismatches.push(Some("rule"), rule, actual);
        }
    }
}

/// Whether a row does something to the statements that match it. Rows of objects that only lead on, or end the chain of an
/// object for the statements that it is not about, do nothing; of a row in the engine's columns, an end is what it is for.
fn acts(rule: &Rule) -> bool {
    let Body::Engine(row) = &rule.body else {
        return true;
    };
    let is_written = rule.address.as_str().starts_with("query_rules.");
    let effect = EngineRule {
        flag_out: None,
        flag_outs: Vec::new(),
        apply: row.apply && is_written,
        ..row.effect()
    };
    effect != EngineRule::default()
}

/// Compares addresses that stand in no order.
fn compare_names<'n>(
    field: &'static str,
    wanted: Option<&[&str]>,
    actual: impl Iterator<Item = &'n str>,
    mismatches: &mut Mismatches,
) {
    let Some(wanted) = wanted else { return };
    let (wanted, actual) = (
        wanted.iter().copied().collect::<BTreeSet<_>>(),
        actual.collect::<BTreeSet<_>>(),
    );
    let listed = |names: &BTreeSet<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.iter().copied().collect::<Vec<_>>().join(", "),
    };
    if wanted != actual {
        mismatches.push(Some(field), listed(&wanted), listed(&actual));
    }
}

/// Whether an address is `object`'s, or that of something in it.
fn is_inside(address: &str, object: &str) -> bool {
    address
        .strip_prefix(object)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// What the fields that only one outcome has say about it.
fn implied(expected: &Expected<'_>) -> Option<OutcomeKind> {
    if expected.error.is_some() {
        Some(OutcomeKind::Reject)
    } else if expected.answer.is_some() {
        Some(OutcomeKind::Answer)
    } else if expected.outcome.is_none() && route_field(expected).is_some() {
        Some(OutcomeKind::Route)
    } else {
        None
    }
}

/// The first field that only a statement which is sent has.
fn route_field(expected: &Expected<'_>) -> Option<&'static str> {
    let fields = [
        ("cluster", expected.cluster.is_some()),
        ("role", expected.role.is_some()),
        ("shard", !expected.shards.is_empty()),
        ("hostgroup", expected.hostgroup.is_some()),
        ("query", expected.query.is_some()),
        ("backend_schema", expected.backend_schema.is_some()),
        ("delay", expected.delay_ms.is_some()),
        ("cache_ttl", expected.cache_ttl_ms.is_some()),
        ("mirror", expected.mirror.is_some()),
        ("multiplex", expected.multiplex.is_some()),
        ("served_by", expected.served_by.is_some()),
        ("throttled_by", expected.throttled_by.is_some()),
    ];
    fields
        .into_iter()
        .find(|(_, given)| *given)
        .map(|(field, _)| field)
}

/// The field that asks for an outcome.
fn field_of(expected: &Expected<'_>, wanted: OutcomeKind) -> &'static str {
    match wanted {
        _ if expected.outcome.is_some() => "outcome",
        OutcomeKind::Reject => "error",
        OutcomeKind::Answer => "answer",
        OutcomeKind::Route => route_field(expected).unwrap_or("outcome"),
    }
}

/// What became of a statement, in a few words.
fn became(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Route(route) => match (&route.cluster, route.role) {
            (Some(cluster), Some(role)) => format!("sent to {cluster}, {role}"),
            _ => format!("sent to hostgroup {}", route.hostgroup),
        },
        Outcome::Reject(_) => "a refusal".to_owned(),
        Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => {
            "an answer of the proxy".to_owned()
        }
    }
}
