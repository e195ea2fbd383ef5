//! The examples of a plan: one statement for each kind of change, with the part of users, schemas and shards that it concerns.

use std::cmp::Reverse;

use serde_json::{Map, Value};
use shardwright_plan::render::shown;
use shardwright_plan::{Concern, Witness};
use shardwright_prover::equivalence::{ChangeKind, Difference, Share, change_kinds};
use shardwright_rules::{Body, Configuration, Decision, Effects, MapStep, Outcome, Route};
use shardwright_targets::proxysql::object_in_comment;

/// Kinds of change that are shown.
const MOST_SHOWN: usize = 5;
/// The longest statement that is shown, in characters.
const LONGEST: usize = 160;

/// Statements that go another way afterwards.
#[derive(Clone)]
pub(super) struct Examples {
    pub(super) witnesses: Vec<Witness>,
    /// Kinds of change without a statement.
    pub(super) more_kinds: usize,
}

impl Examples {
    /// None.
    pub(super) const NONE: Self = Self {
        witnesses: Vec::new(),
        more_kinds: 0,
    };

    /// Those of the kinds that concern the most. `found` are differences that a comparison has found between what a target
    /// routes before and after a plan; `desired` is the project's configuration, which knows the names of clusters, and
    /// `maps` are its shard maps.
    pub(super) fn of(
        [before, after]: [&Configuration; 2],
        found: &[Difference],
        desired: &Configuration,
        maps: &[MapStep],
    ) -> Self {
        let both = [before, after].map(with_objects);
        let mut kinds = change_kinds([&both[0], &both[1]], found, maps);
        kinds.sort_by_key(|kind| Reverse((kind.is_ordinary, weight(kind), kind.seen)));
        let shown = kinds.iter().take(MOST_SHOWN);
        Self {
            witnesses: shown.map(|kind| witness(kind, [desired, before])).collect(),
            more_kinds: kinds.len().saturating_sub(MOST_SHOWN),
        }
    }
}

/// How much a kind of change concerns, in millionths.
fn weight(kind: &ChangeKind) -> usize {
    match kind.shards.of {
        0 => kind.users.per_mille() * kind.schemas.per_mille(),
        _ => kind.shards.per_mille() * 1000,
    }
}

/// Rows of a proxy with the names of the objects that their comments name.
fn with_objects(configuration: &Configuration) -> Configuration {
    let mut named = configuration.clone();
    for rule in &mut named.graph.rules {
        if let Body::Engine(row) = &rule.body
            && let Some(object) = row.comment.as_deref().and_then(object_in_comment)
        {
            rule.address = object;
        }
    }
    named
}

/// Hostgroups have the names of the first configuration that knows them.
fn witness(kind: &ChangeKind, names: [&Configuration; 2]) -> Witness {
    let Difference {
        session,
        statement,
        left,
        right,
    } = &kind.example;
    let name = |decision: &Option<Decision>| place(decision.as_ref(), names);
    let (from, mut to) = (name(left), name(right));
    let routes = [left, right].map(|decision| match decision.as_ref().map(|one| &one.outcome) {
        Some(Outcome::Route(route)) => Some(route),
        _ => None,
    });
    if let [Some(left), Some(right)] = routes {
        let aspects = aspects(left, right).join(", ");
        to = match (from == to, aspects.is_empty()) {
            (true, _) => format!("the same with {aspects}"),
            (false, true) => to,
            (false, false) => format!("{to}, {aspects}"),
        };
    }
    Witness {
        user: session.user.clone(),
        schema: session.schemas[1].clone().filter(|schema| !schema.is_empty()),
        statement: shortened(&String::from_utf8_lossy(statement)),
        before: from,
        after: to,
        concerns: concerns(kind),
    }
}

/// Parts of more than one thing.
fn concerns(kind: &ChangeKind) -> Vec<Concern> {
    let parts = [
        ("users", kind.users),
        ("schemas", kind.schemas),
        ("shards", kind.shards),
    ];
    let told = parts
        .into_iter()
        .filter(|(_, Share { concerned, of })| *of > 1 && *concerned > 0);
    told.map(|(things, share)| Concern {
        things: things.to_owned(),
        concerned: share.concerned,
        total: share.of,
    })
    .collect()
}

/// Where a statement goes, in the names of the first configuration that has the hostgroup; `None`: its user cannot log in.
fn place(decision: Option<&Decision>, configurations: [&Configuration; 2]) -> String {
    match decision.map(|decision| &decision.outcome) {
        None => "no such user".to_owned(),
        Some(Outcome::Route(route)) => {
            let knows = |configuration: &&&Configuration| configuration.cluster_of(route.hostgroup).is_some();
            let knowing = configurations.iter().find(knows).unwrap_or(&configurations[0]);
            knowing.hostgroup_name(route.hostgroup)
        }
        Some(Outcome::Reject(rejection)) => format!("refused with error {}", rejection.code),
        Some(Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin) => {
            "answered by the proxy".to_owned()
        }
    }
}

/// Differences of two routes besides the place, each as `delay_ms none → 50`.
fn aspects(before: &Route, after: &Route) -> Vec<String> {
    let mut aspects = Vec::new();
    let text = |route: &Route| {
        route
            .rewritten
            .as_ref()
            .map(|text| String::from_utf8_lossy(text).into_owned())
    };
    if before.rewritten != after.rewritten {
        aspects.push(match text(after) {
            Some(text) => format!("sent as {}", shortened(&text)),
            None => "sent as it is".to_owned(),
        });
    }
    if before.backend_schema != after.backend_schema {
        let schema = |route: &Route| Value::from(route.backend_schema.as_deref());
        aspects.push(changed("schema", &schema(before), &schema(after)));
    }
    let (old, new) = (facts(&before.effects), facts(&after.effects));
    let keys = new.keys().chain(old.keys().filter(|key| !new.contains_key(*key)));
    aspects.extend(keys.filter_map(|key| {
        let [old, new] = [&old, &new].map(|side| side.get(key).unwrap_or(&Value::Null));
        (old != new).then(|| changed(key, old, new))
    }));
    if before.locks != after.locks {
        aspects.push(changed(
            "locks the session",
            &before.locks.into(),
            &after.locks.into(),
        ));
    }
    aspects
}

fn changed(what: &str, old: &Value, new: &Value) -> String {
    format!("{what} {} → {}", shown(old), shown(new))
}

fn facts(effects: &Effects) -> Map<String, Value> {
    match serde_json::to_value(effects) {
        Ok(Value::Object(facts)) => facts,
        _ => unreachable!("effects are a struct of numbers and names"),
    }
}

fn shortened(statement: &str) -> String {
    match statement.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &statement[..end]),
        None => statement.to_owned(),
    }
}
