//! What was expected of a statement against what became of it.

use shardwright_diagnostics::shortened;
use shardwright_rules::{Decision, HostgroupId, Outcome, Route, Statement};

use super::session::Simulated;
use super::{Expected, Mismatch, OutcomeKind, Runner, Step};

/// Characters of a long text that a mismatch shows.
const SHOWN: usize = 400;

impl Runner<'_> {
    pub(super) fn mismatches(
        &self,
        step: &Step<'_>,
        session: &Simulated,
        statement: &Statement<'_>,
        decision: &Decision,
    ) -> Vec<Mismatch> {
        let mut found = Found::default();
        let Some(expected) = &step.expect else {
            if let Outcome::Reject(_) = &decision.outcome {
                found.push(None, "no refusal", "a refusal");
            }
            return found.mismatches;
        };
        let outcome = expected.outcome.or_else(|| implied(expected));
        let actual = OutcomeKind::of(&decision.outcome);
        if let Some(wanted) = outcome.filter(|wanted| *wanted != actual) {
            found.push(
                Some(field_of(expected, wanted)),
                wanted.as_str(),
                became(&decision.outcome),
            );
            return found.mismatches;
        }
        match &decision.outcome {
            Outcome::Route(route) => self.route(expected, route, statement, &mut found),
            Outcome::Reject(rejection) => {
                if let Some(part) = expected.error.filter(|part| !rejection.message.contains(part)) {
                    found.push(Some("error"), part, rejection.message.clone());
                }
            }
            Outcome::Answer { message } => {
                if let Some(answer) = expected.answer.filter(|answer| *answer != message) {
                    found.push(Some("answer"), answer, message.clone());
                }
            }
            Outcome::Own { .. } | Outcome::DeferBegin => {
                if let Some(answer) = expected.answer.filter(|answer| !answer.is_empty()) {
                    found.push(Some("answer"), answer, "");
                }
            }
        }
        if !expected.shards.is_empty() || expected.rule.is_some() {
            self.provenance(expected, step, session, statement, decision, &mut found);
        }
        found.mismatches
    }

    /// What of an expectation does not hold of a route that no path is known of: its shard is the one that counts.
    pub(crate) fn route_mismatches(
        &self,
        expected: &Expected<'_>,
        route: &Route,
        statement: &Statement<'_>,
    ) -> Vec<Mismatch> {
        let mut found = Found::default();
        let without_text = Expected {
            query: None,
            ..expected.clone()
        };
        self.route(&without_text, route, statement, &mut found);
        let shard = route.shard.as_ref().map(|shard| shard.as_str());
        for wanted in expected.shards.iter().filter(|wanted| Some(**wanted) != shard) {
            found.push(Some("shard"), wanted, shard.unwrap_or("no shard"));
        }
        found.mismatches
    }

    fn route(&self, expected: &Expected<'_>, route: &Route, statement: &Statement<'_>, found: &mut Found) {
        found.compare("cluster", expected.cluster, route.cluster.as_deref());
        let role = route.role.map(|role| role.to_string());
        found.compare(
            "role",
            expected.role.map(|role| role.to_string()).as_deref(),
            role.as_deref(),
        );
        found.number(
            "hostgroup",
            expected.hostgroup.map(u64::from),
            Some(u64::from(route.hostgroup.0)),
            "",
        );
        if let Some(query) = expected.query {
            let sent = route
                .rewritten
                .as_deref()
                .unwrap_or(statement.text())
                .trim_ascii_end();
            if sent != query.trim_end().as_bytes() {
                found.push(Some("query"), query, String::from_utf8_lossy(sent));
            }
        }
        found.compare(
            "backend_schema",
            expected.backend_schema,
            route.backend_schema.as_deref(),
        );
        let effects = &route.effects;
        let delay = effects.delay_ms.unwrap_or(0);
        found.number("delay", expected.delay_ms, Some(u64::from(delay)), "ms");
        let kept = effects.cache_ttl_ms.unwrap_or(0);
        found.number("cache_ttl", expected.cache_ttl_ms, Some(u64::from(kept)), "ms");
        let mirror = effects.mirror_hostgroup.map(|id| self.name_of(HostgroupId(id)));
        found.compare("mirror", expected.mirror, mirror.as_deref());
        let multiplex = effects.multiplex.map(u64::from);
        found.number("multiplex", expected.multiplex.map(u64::from), multiplex, "");
    }

    fn name_of(&self, hostgroup: HostgroupId) -> String {
        match self.configuration.cluster_of(hostgroup) {
            Some(cluster) => cluster.name.to_string(),
            None => format!("hostgroup {hostgroup}"),
        }
    }

    /// Which shards placed the statement, and which objects' rules matched. The path costs more than the decision, so
    /// it is asked for only where the decision does not tell.
    fn provenance(
        &self,
        expected: &Expected<'_>,
        step: &Step<'_>,
        session: &Simulated,
        statement: &Statement<'_>,
        decision: &Decision,
        found: &mut Found,
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
        let mut addresses: Vec<&str> = path.iter().map(|step| step.address.as_str()).collect();
        addresses.extend(placed.map(|shard| shard.as_str()));
        if let Outcome::Reject(rejection) = &decision.outcome {
            addresses.extend(rejection.address.as_ref().map(|address| address.as_str()));
        }
        for shard in expected.shards.iter().filter(|shard| !addresses.contains(*shard)) {
            let mut shards: Vec<&str> = addresses
                .iter()
                .copied()
                .filter(|address| is_shard(address))
                .collect();
            shards.dedup();
            let actual = if shards.is_empty() {
                "no shard".to_owned()
            } else {
                shards.join(", ")
            };
            found.push(Some("shard"), *shard, actual);
        }
        if let Some(rule) = expected
            .rule
            .filter(|rule| !addresses.iter().any(|address| is_inside(address, rule)))
        {
            let actual = if addresses.is_empty() {
                "no rule".to_owned()
            } else {
                addresses.join(", ")
            };
            found.push(Some("rule"), rule, actual);
        }
    }
}

/// Whether an address is a shard's.
fn is_shard(address: &str) -> bool {
    address.starts_with("shard_maps.") && address.contains(".shards.")
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

#[derive(Default)]
struct Found {
    mismatches: Vec<Mismatch>,
}

impl Found {
    fn push(&mut self, field: Option<&'static str>, expected: impl AsRef<str>, actual: impl AsRef<str>) {
        self.mismatches.push(Mismatch {
            field,
            expected: shortened(expected.as_ref(), SHOWN).into_owned(),
            actual: shortened(actual.as_ref(), SHOWN).into_owned(),
        });
    }

    fn compare(&mut self, field: &'static str, expected: Option<&str>, actual: Option<&str>) {
        if let Some(expected) = expected.filter(|expected| Some(*expected) != actual) {
            self.push(Some(field), expected, actual.unwrap_or("none"));
        }
    }

    fn number(&mut self, field: &'static str, expected: Option<u64>, actual: Option<u64>, unit: &str) {
        if let Some(expected) = expected.filter(|expected| Some(*expected) != actual) {
            let actual = actual.map_or_else(|| "none".to_owned(), |actual| format!("{actual}{unit}"));
            self.push(Some(field), format!("{expected}{unit}"), actual);
        }
    }
}
