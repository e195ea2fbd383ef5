//! A configuration taken apart into the objects that people wrote.

pub(crate) mod clusters;
mod routing;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Value, json};
use shardwright_rules::tables::digest_text;
use shardwright_rules::{Address, Configuration, Firewall, HostgroupId, Role, User};

use crate::{Facts, RowKey};

/// What a configuration holds of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    /// The values of the object itself.
    pub(crate) facts: Facts,
    /// The rows of the engine's tables that came from it.
    pub(crate) rows: BTreeMap<RowKey, Facts>,
}

/// Objects by address.
pub(crate) type Objects = BTreeMap<Address, Object>;

/// The name and role of the cluster that a hostgroup belongs to.
type Places<'a> = HashMap<HostgroupId, (&'a str, Role)>;

/// Takes a configuration apart. Equal configurations give equal objects; the reverse holds but for the order of what
/// has no order of its own in the files, which [`crate::diff`] covers.
pub(crate) fn objects(configuration: &Configuration) -> Objects {
    let mut objects = Objects::new();
    let mut settings = facts_of(&configuration.settings);
    settings.insert("engine".into(), json!(configuration.engine));
    for (variable, value) in &configuration.variables {
        settings.insert(variable.clone(), json!(value));
    }
    objects.entry("engine_settings".into()).or_default().facts = settings;
    clusters::collect(configuration, &mut objects);
    let places = places(configuration);
    for user in &configuration.users {
        objects.entry(user.address.clone()).or_default().facts = user_facts(user, &places);
    }
    if let Some(monitor) = &configuration.monitor {
        objects.entry(monitor.address.clone()).or_default().facts = without(facts_of(monitor), &["address"]);
    }
    for listener in &configuration.listeners {
        let facts = without(facts_of(listener), &["address", "name"]);
        objects.entry(listener.address.clone()).or_default().facts = facts;
    }
    routing::collect(configuration, &places, &mut objects);
    routing::refusals(configuration, &mut objects);
    for firewall in &configuration.firewall {
        let facts = firewall_facts(firewall);
        objects
            .entry(firewall.address.clone())
            .or_default()
            .facts
            .extend(facts);
    }
    objects
}

/// What a user may send; of users who are not limited, that they are not.
fn firewall_facts(firewall: &Firewall) -> Facts {
    let mut facts = Facts::from_iter([("firewall".to_owned(), json!(firewall.mode))]);
    if !firewall.digests.is_empty() {
        let digests = firewall.digests.iter().map(|digest| digest_text(*digest));
        facts.insert("allow".into(), digests.collect());
        facts.insert("schemas".into(), json!(firewall.schemas));
        facts.insert("flags".into(), json!(firewall.flags));
    }
    facts
}

fn places(configuration: &Configuration) -> Places<'_> {
    let mut places = Places::new();
    for cluster in &configuration.clusters {
        places.insert(cluster.writer, (&cluster.name, Role::Writer));
        if let Some(reader) = cluster.reader {
            places.insert(reader, (&cluster.name, Role::Reader));
        }
    }
    places
}

fn user_facts(user: &User, places: &Places<'_>) -> Facts {
    let mut facts = facts_of(user);
    for key in ["name", "address", "default_hostgroup"] {
        facts.shift_remove(key);
    }
    // Said, because nobody should have to notice its absence.
    facts.entry("password").or_insert(Value::Null);
    match places.get(&user.default_hostgroup) {
        Some((cluster, Role::Writer)) => facts.insert("cluster".into(), json!(cluster)),
        Some((cluster, Role::Reader)) => facts.insert("cluster".into(), json!(format!("{cluster} readers"))),
        None => facts.insert("hostgroup".into(), json!(user.default_hostgroup)),
    };
    facts
}

fn without(mut facts: Facts, keys: &[&str]) -> Facts {
    facts.retain(|key, _| !keys.contains(&key.as_str()));
    facts
}

/// The serialized fields of a struct, without those that are null.
fn facts_of(value: &impl Serialize) -> Facts {
    match serde_json::to_value(value) {
        Ok(Value::Object(mut fields)) => {
            fields.retain(|_, value| !value.is_null());
            fields
        }
        other => unreachable!("a configuration's structs serialize to JSON objects: {other:?}"),
    }
}
