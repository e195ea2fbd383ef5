//! Shard maps, policies, throttles and raw rules, with the rows that they became.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shardwright_rules::tables::{Part, RULE_COLUMNS};
use shardwright_rules::{
    Address, Body, Configuration, EngineRule, HostgroupId, MapStep, Modifiers, NativeStep, Rule, Scope,
};

use super::{Objects, Places, facts_of, without};
use crate::{Facts, ObjectKind, RowKey};

/// Where the rows of one object send statements.
#[derive(Default)]
struct Destinations {
    hostgroups: BTreeSet<HostgroupId>,
    schemas: BTreeSet<String>,
}

pub(super) fn collect(configuration: &Configuration, places: &Places<'_>, objects: &mut Objects) {
    let mut destinations: BTreeMap<&Address, Destinations> = BTreeMap::new();
    for rule in &configuration.graph.rules {
        let row = match &rule.body {
            Body::Engine(engine) => {
                let hostgroup = engine.destination_hostgroup.map(HostgroupId);
                if let Some(hostgroup) = hostgroup.filter(|id| configuration.refusing(*id).is_none()) {
                    let destination = destinations.entry(&rule.address).or_default();
                    destination.hostgroups.insert(hostgroup);
                }
                let row = engine_row(rule, engine);
                effect_facts(&rule.address, &row, objects);
                row
            }
            Body::Native { scope, step } => native_step(rule, scope, step, objects),
        };
        let object = objects.entry(rule.address.clone()).or_default();
        object.rows.insert(RowKey::Rule(rule.id), row);
    }
    for route in &configuration.graph.fast_routing {
        let destination = destinations.entry(&route.address).or_default();
        destination.hostgroups.insert(route.hostgroup);
        destination.schemas.insert(route.schemaname.clone());
        let key = RowKey::FastRoute {
            username: route.username.clone(),
            schemaname: route.schemaname.clone(),
            flag_in: route.flag_in,
        };
        let row = [("destination_hostgroup".to_owned(), json!(route.hostgroup))];
        let object = objects.entry(route.address.clone()).or_default();
        object.rows.insert(key, Facts::from_iter(row));
    }
    for (address, destination) in destinations {
        let kind = ObjectKind::of(address);
        if matches!(
            kind,
            ObjectKind::Shard | ObjectKind::QueryRule | ObjectKind::FastRoute
        ) {
            let facts = &mut objects.entry(address.clone()).or_default().facts;
            facts.extend(destination_facts(kind, &destination, places));
        }
    }
}

/// Why and where the objects refuse by hostgroup.
pub(super) fn refusals(configuration: &Configuration, objects: &mut Objects) {
    let mut by_address: BTreeMap<&Address, Facts> = BTreeMap::new();
    for refusing in &configuration.refusing {
        let facts = without(facts_of(refusing), &["id", "address"]);
        let of_object = by_address.entry(&refusing.address).or_default();
        of_object.insert(refusing.id.to_string(), Value::Object(facts));
    }
    for (address, by_hostgroup) in by_address {
        let facts = &mut objects.entry(address.clone()).or_default().facts;
        facts.insert("refusing_hostgroups".into(), Value::Object(by_hostgroup));
    }
}

/// What the rows of an effect set; those that only lead to them set nothing.
fn effect_facts(address: &Address, row: &Facts, objects: &mut Objects) {
    let kind = ObjectKind::of(address);
    let is_effect = matches!(
        kind,
        ObjectKind::Throttle | ObjectKind::PoolingException | ObjectKind::Cache | ObjectKind::Mirror
    );
    if !is_effect {
        return;
    }
    let facts = &mut objects.entry(address.clone()).or_default().facts;
    for column in RULE_COLUMNS.iter().filter(|column| column.part == Part::Effect) {
        if let Some(value) = row.get(column.field) {
            facts.insert(column.field.into(), value.clone());
        }
    }
}

fn engine_row(rule: &Rule, engine: &EngineRule) -> Facts {
    let mut row = facts_of(engine);
    if engine.re_modifiers == Modifiers::default() {
        row.shift_remove("re_modifiers");
    }
    row.insert("flag_in".into(), json!(rule.flag_in));
    row
}

/// The row of a native step. What the step says becomes facts of its object; only where an object has several steps
/// of one sort do the later ones say it in their rows.
fn native_step(rule: &Rule, scope: &Scope, step: &NativeStep, objects: &mut Objects) -> Facts {
    let mut row = Facts::from_iter([("flag_in".to_owned(), json!(rule.flag_in))]);
    let mut facts = match step {
        NativeStep::Map(map) => {
            shards(map, objects);
            map_facts(map)
        }
        NativeStep::Role(role) => facts_of(role.as_ref()),
        NativeStep::Delay(delay) => facts_of(delay),
        NativeStep::Throttle(throttle) => facts_of(throttle),
        NativeStep::NoMultiplex => Facts::from_iter([("multiplex".to_owned(), json!("never"))]),
        NativeStep::StopIfPlaced => Facts::new(),
    };
    row.insert("step".into(), json!(step.name()));
    if *scope != Scope::default() {
        facts.insert("applies_to".into(), Value::Object(scope_facts(scope)));
    }
    let object = objects.entry(rule.address.clone()).or_default();
    if object.facts.is_empty() {
        object.facts = facts;
    } else {
        row.extend(facts);
    }
    row
}

/// A scope as it is written: a list of names, and `except_…` beside it.
fn scope_facts(scope: &Scope) -> Facts {
    let mut facts = facts_of(scope);
    for (key, names) in [
        ("users", &scope.users),
        ("schemas", &scope.schemas),
        ("clusters", &scope.clusters),
        ("tables", &scope.tables),
    ] {
        facts.shift_remove(key);
        if !names.any_of.is_empty() {
            facts.insert(key.into(), json!(names.any_of));
        }
        if !names.except.is_empty() {
            facts.insert(format!("except_{key}"), json!(names.except));
        }
    }
    facts
}

fn map_facts(map: &MapStep) -> Facts {
    let mut facts = Facts::from_iter([
        ("key".to_owned(), json!(map.key)),
        ("type".to_owned(), json!(map.kind)),
        ("key_from".to_owned(), json!(map.finders)),
        ("conflict".to_owned(), json!(map.conflict)),
        ("unqualified".to_owned(), json!(map.unqualified)),
        ("missing_key".to_owned(), json!(map.missing)),
        ("unknown_key".to_owned(), json!(map.unknown)),
    ]);
    let optional = [
        ("logical_schema", json!(map.logical_schema)),
        ("remainder", json!(map.remainder)),
        ("otherwise", json!(map.otherwise)),
    ];
    if !map.missing_by_user.is_empty() {
        facts.insert("missing_key_by_user".into(), json!(map.missing_by_user));
    }
    for (key, value) in optional {
        if !value.is_null() {
            facts.insert(key.into(), value);
        }
    }
    facts
}

fn shards(map: &MapStep, objects: &mut Objects) {
    for shard in &map.shards {
        let mut facts = facts_of(shard);
        facts.shift_remove("address");
        objects.entry(shard.address.clone()).or_default().facts = facts;
    }
}

fn destination_facts(kind: ObjectKind, destination: &Destinations, places: &Places<'_>) -> Facts {
    let mut clusters = BTreeSet::new();
    let mut roles = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for hostgroup in &destination.hostgroups {
        match places.get(hostgroup) {
            Some((cluster, role)) => {
                clusters.insert(json!(cluster).to_string());
                roles.insert(json!(role).to_string());
            }
            None => {
                unknown.insert(json!(hostgroup).to_string());
            }
        }
    }
    let schemas = destination.schemas.iter().map(|schema| json!(schema).to_string());
    let mut facts = Facts::new();
    let mut put = |key: &str, values: BTreeSet<String>| {
        if let Some(value) = one_or_list(values) {
            facts.insert(key.into(), value);
        }
    };
    put("cluster", clusters);
    if matches!(kind, ObjectKind::QueryRule | ObjectKind::FastRoute) {
        put("role", roles);
    }
    put("hostgroup", unknown);
    put("schema", schemas.collect());
    facts
}

/// `values` are serialized JSON, so that they sort and compare.
fn one_or_list(values: BTreeSet<String>) -> Option<Value> {
    let mut parsed: Vec<Value> = values
        .iter()
        .map(|text| serde_json::from_str(text).expect("it was serialized just before"))
        .collect();
    match parsed.len() {
        0 => None,
        1 => parsed.pop(),
        _ => Some(Value::Array(parsed)),
    }
}
