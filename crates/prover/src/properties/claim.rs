//! A claim against what becomes of statements.

use std::collections::HashMap;

use shardwright_rules::{Address, Body, Configuration, Decision, Outcome, Route, Statement, Step};

use super::outcome::PossibleOutcome;
use super::outcomes::moves_on;
use super::state::{Action, Schema};
use super::{Claim, CounterExample, DecidedStatement, Property, Prover, SessionStatement};
use crate::expectation::{Expected, Mismatch, OutcomeKind};

/// What of an expectation does not hold at an outcome; empty where it holds.
pub(super) fn mismatches_of_outcome(
    configuration: &Configuration,
    expected: &Expected<'_>,
    outcome: &PossibleOutcome,
) -> Vec<Mismatch> {
    let actual = match outcome.action {
        Action::Route(_) => OutcomeKind::Route,
        Action::Reject => OutcomeKind::Reject,
        Action::Answer => OutcomeKind::Answer,
    };
    match outcome.route(configuration) {
        Some(mut route) => outcome_mismatch(expected, actual).unwrap_or_else(|| {
            // The outcome is that of several shards.
            if outcome.state.shares_rule {
                route.shard = None;
            }
            expected.mismatches_of_route(configuration, &route)
        }),
        None => outcome_mismatch(expected, actual).unwrap_or_default(),
    }
}

/// The outcome against the one that is asked for, where one is and it is another.
fn outcome_mismatch(expected: &Expected<'_>, actual: OutcomeKind) -> Option<Vec<Mismatch>> {
    let wanted = expected.outcome.filter(|wanted| *wanted != actual)?;
    Some(vec![Mismatch {
        field: Some("outcome"),
        expected: wanted.as_str().to_owned(),
        actual: actual.as_str().to_owned(),
    }])
}

/// Two outcomes of different shards that may be in one schema of one cluster.
pub(super) fn meeting<'e>(
    configuration: &Configuration,
    outcomes: &'e [PossibleOutcome],
) -> Option<(&'e PossibleOutcome, &'e PossibleOutcome)> {
    // By cluster, what is known of each schema there; `None` stands for one that is not known.
    let mut seen: HashMap<String, HashMap<Option<String>, Vec<&PossibleOutcome>>> = HashMap::new();
    for outcome in outcomes {
        let Some(route) = outcome.route(configuration) else {
            continue;
        };
        let cluster = route.cluster.map_or_else(
            || format!("hostgroup {}", route.hostgroup),
            |name| name.to_string(),
        );
        let schema = schema_of(outcome);
        let there = seen.entry(cluster).or_default();
        // Shards that share a rule are on one cluster.
        if outcome.state.shares_rule {
            return Some((outcome, outcome));
        }
        let meets = |other: &&&PossibleOutcome| other.state.shard != outcome.state.shard;
        let other = match &schema {
            Some(_) => [schema.clone(), None]
                .iter()
                .filter_map(|schema| there.get(schema))
                .flatten()
                .find(meets),
            None => there.values().flatten().find(meets),
        };
        if let Some(other) = other {
            return Some((*other, outcome));
        }
        // One of a shard is enough to meet every outcome of another.
        let known = there.entry(schema).or_default();
        if !known.iter().any(|other| other.state.shard == outcome.state.shard) {
            known.push(outcome);
        }
    }
    None
}

/// The schema that the statements of an outcome read and write; none where it is not known.
fn schema_of(outcome: &PossibleOutcome) -> Option<String> {
    let state = &outcome.state;
    match (&state.own_schema, &state.backend_schema, &state.schema) {
        (Some(own), _, _) => Some(own.to_string()),
        _ if state.rewritten => None,
        (None, Some(schema), _) | (None, None, Schema::Known(schema)) => Some(schema.to_string()),
        (None, None, Schema::Any) => None,
    }
}

/// The shard that placed a statement last, by the path of its decision; none where its rule decides several.
pub fn shard_of(configuration: &Configuration, decision: &Decision) -> Option<Address> {
    match shards_of(configuration, decision).as_slice() {
        [shard] => Some(shard.clone()),
        _ => None,
    }
}

/// The shards that the rule decides which placed a statement last, by the path of its decision.
pub(super) fn shards_of(configuration: &Configuration, decision: &Decision) -> Vec<Address> {
    let rules = &configuration.graph.rules;
    let shards = |step: &Step| match rules.binary_search_by_key(&step.rule_id, |rule| rule.id) {
        Ok(at) if matches!(&rules[at].body, Body::Engine(row) if !moves_on(row)) => Vec::new(),
        Ok(at) if !step.address.is_shard() => rules[at].shards.clone(),
        // Fast routing is no rule.
        Ok(_) | Err(_) => Some(step.address.clone())
            .filter(Address::is_shard)
            .into_iter()
            .collect(),
    };
    let mut steps = decision.path.iter().rev().map(shards);
    steps.find(|shards| !shards.is_empty()).unwrap_or_default()
}

/// Where a statement reads and writes.
#[derive(PartialEq, Eq, Hash)]
struct Location {
    cluster: String,
    schema: String,
}

/// The shard that placed a statement, and where that is.
struct Placement {
    shard: String,
    location: Location,
}

impl Prover<'_> {
    /// The shard that placed a statement last; none where that is not known.
    fn shard_of(&self, candidate: &SessionStatement, decision: &Decision) -> Option<Address> {
        let statement = Statement::new(candidate.query.as_bytes(), Default::default());
        let shards = shards_of(self.configuration, decision);
        self.keys.among(&candidate.view(), &statement, &shards)
    }

    /// What of an expectation does not hold of a decision.
    fn mismatches(
        &self,
        expected: &Expected<'_>,
        candidate: &SessionStatement,
        decision: &Decision,
    ) -> Vec<Mismatch> {
        let actual = OutcomeKind::of(&decision.outcome);
        outcome_mismatch(expected, actual).unwrap_or_else(|| match &decision.outcome {
            Outcome::Route(route) => {
                let shard = self.shard_of(candidate, decision);
                // Of several shards that share a rule, nobody knows that it is another one.
                let is_open = shard.is_none() && shards_of(self.configuration, decision).len() > 1;
                let placed = Route {
                    shard,
                    ..route.clone()
                };
                let mut mismatches = expected.mismatches_of_route(self.configuration, &placed);
                mismatches.retain(|mismatch| !(is_open && mismatch.field == Some("shard")));
                mismatches
            }
            _ => Vec::new(),
        })
    }

    /// The placement of a statement; none where a shard did not place it, or a rewrite hides the schema.
    fn placement(&self, candidate: &SessionStatement, decision: &Decision) -> Option<Placement> {
        let Outcome::Route(route) = &decision.outcome else {
            return None;
        };
        let shard = self.shard_of(candidate, decision)?;
        let own = self
            .keys
            .maps()
            .iter()
            .filter(|map| map.logical_schema.is_some())
            .flat_map(|map| &map.shards)
            .find(|known| known.address == shard)
            .and_then(|known| known.schema.clone());
        let schema = match (own, &route.backend_schema) {
            (Some(own), _) => own.to_string(),
            _ if route.rewritten.is_some() => return None,
            (None, Some(schema)) => schema.to_string(),
            (None, None) => candidate.schema.clone().unwrap_or_default(),
        };
        let cluster = route
            .cluster
            .as_ref()
            .map_or_else(|| format!("hostgroup {}", route.hostgroup), ToString::to_string);
        Some(Placement {
            shard: shard.to_string(),
            location: Location { cluster, schema },
        })
    }
}

impl Prover<'_> {
    /// The first of the statements that break the property, by the evaluator.
    pub(super) fn refuted(
        &self,
        property: &Property<'_>,
        candidates: &[SessionStatement],
    ) -> Option<CounterExample> {
        match &property.claim {
            Claim::Each(expected) => candidates.iter().find_map(|candidate| {
                let statement = Statement::new(candidate.query.as_bytes(), Default::default());
                let quick = self.table.explain(&candidate.view(), &statement);
                // No property is about what the engine answers itself.
                if matches!(quick.outcome, Outcome::Own { .. }) {
                    return None;
                }
                if self.mismatches(expected, candidate, &quick).is_empty() {
                    return None;
                }
                let decided = self.decided(candidate);
                let mismatches = self.mismatches(expected, candidate, &decided.decision);
                (!mismatches.is_empty()).then(|| CounterExample {
                    statements: vec![decided],
                    mismatches,
                })
            }),
            Claim::Disjoint => self.meeting(candidates),
        }
    }

    /// The first two statements of different shards that the evaluator sends to one schema of one cluster.
    fn meeting(&self, candidates: &[SessionStatement]) -> Option<CounterExample> {
        let mut there: HashMap<Location, (String, &SessionStatement)> = HashMap::new();
        for candidate in candidates {
            let statement = Statement::new(candidate.query.as_bytes(), Default::default());
            let quick = self.table.explain(&candidate.view(), &statement);
            let Some(Placement { shard, location }) = self.placement(candidate, &quick) else {
                continue;
            };
            let Some((_, other)) = there.get(&location).filter(|(known, _)| *known != shard) else {
                there.entry(location).or_insert((shard, candidate));
                continue;
            };
            let statements = vec![self.decided(other), self.decided(candidate)];
            let confirmed = statements[1].decision.outcome == quick.outcome
                && self
                    .placement(other, &statements[0].decision)
                    .is_some_and(|placed| placed.location == location);
            if confirmed {
                return Some(CounterExample {
                    statements,
                    mismatches: Vec::new(),
                });
            }
        }
        None
    }

    fn decided(&self, candidate: &SessionStatement) -> DecidedStatement {
        let statement = Statement::new(candidate.query.as_bytes(), Default::default());
        DecidedStatement {
            user: candidate.user.clone(),
            schema: candidate.schema.clone(),
            query: candidate.query.clone(),
            decision: self.evaluator.decide(&candidate.view(), &statement),
        }
    }
}
