//! Clusters, their hostgroups and their servers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shardwright_rules::{Address, Candidate, Cluster, Configuration, Hostgroup, Member, Role, ServerTls};

use super::{Object, Objects, facts_of};
use crate::Facts;

/// The key under which a server's roles stand.
const ROLES: &str = "roles";

/// The keys under which a cluster's servers stand in their order of preference.
pub(crate) const SERVER_ORDER: [&str; 2] = ["writers", "readers"];

pub(super) fn collect(configuration: &Configuration, objects: &mut Objects) {
    for cluster in &configuration.clusters {
        objects.entry(cluster.address.clone()).or_default().facts = cluster_facts(cluster);
    }
    let mut memberships: BTreeMap<&Address, Vec<(&Hostgroup, &Member)>> = BTreeMap::new();
    for hostgroup in &configuration.hostgroups {
        let object: &mut Object = objects.entry(hostgroup.cluster.clone()).or_default();
        let number = match hostgroup.role {
            Role::Writer => "writer_hostgroup",
            Role::Reader => "reader_hostgroup",
        };
        object.facts.entry(number).or_insert_with(|| json!(hostgroup.id));
        let order: Vec<&str> = hostgroup
            .members
            .iter()
            .map(|member| last_part(&member.server))
            .collect();
        let key = SERVER_ORDER[usize::from(hostgroup.role == Role::Reader)];
        object.facts.insert(key.into(), json!(order));
        for member in &hostgroup.members {
            memberships
                .entry(&member.server)
                .or_default()
                .push((hostgroup, member));
        }
    }
    for (server, memberships) in memberships {
        objects.entry(server.clone()).or_default().facts = server_facts(&memberships);
    }
    for candidate in configuration
        .clusters
        .iter()
        .flat_map(|cluster| &cluster.candidates)
    {
        let object: &mut Object = objects.entry(candidate.server.clone()).or_default();
        object.facts.extend(candidate_facts(candidate));
    }
}

fn cluster_facts(cluster: &Cluster) -> Facts {
    let mut facts = facts_of(&cluster.kind);
    facts.insert("writer_serves_reads".into(), json!(cluster.writer_serves_reads));
    if !cluster.on_unknown.reads() {
        facts.insert("on_unknown".into(), json!(cluster.on_unknown));
    }
    if !cluster.slow_readers.get_fewer() {
        facts.insert("slow_readers".into(), json!(cluster.slow_readers));
    }
    if !cluster.roles_by.is_engine() {
        facts.insert("roles_by".into(), json!(cluster.roles_by));
    }
    facts.insert("writer_hostgroup".into(), json!(cluster.writer));
    if let Some(reader) = cluster.reader {
        facts.insert("reader_hostgroup".into(), json!(reader));
    }
    if !cluster.candidates.is_empty() {
        let order = cluster
            .candidates
            .iter()
            .map(|candidate| last_part(&candidate.server));
        facts.insert("watched_servers".into(), order.collect());
    }
    facts
}

/// What a server may be in each role, where the engine gives roles itself.
fn candidate_facts(candidate: &Candidate) -> Facts {
    let facts = facts_of(candidate).into_iter().filter(|(key, _)| key != "server");
    facts
        .map(|(key, value)| (format!("watched_{key}"), value))
        .collect()
}

/// A server's values are kept once where its memberships agree, and per role (`reader_weight`) where they do not.
fn server_facts(memberships: &[(&Hostgroup, &Member)]) -> Facts {
    let each: Vec<(Role, Facts)> = memberships
        .iter()
        .map(|(hostgroup, member)| {
            let mut facts = facts_of(*member);
            facts.shift_remove("server");
            (hostgroup.role, facts)
        })
        .collect();
    let roles: Vec<Value> = each.iter().map(|(role, _)| json!(role)).collect();
    let mut facts = Facts::from_iter([(ROLES.to_owned(), Value::Array(roles))]);
    for (key, value) in each.first().into_iter().flat_map(|(_, first)| first) {
        if each.iter().all(|(_, other)| other.get(key) == Some(value)) {
            facts.insert(key.clone(), value.clone());
            continue;
        }
        for (role, own) in &each {
            if let Some(value) = own.get(key) {
                facts.insert(format!("{role}_{key}"), value.clone());
            }
        }
    }
    facts.retain(|key, value| {
        let is_default = *value == json!(0) || *value == json!(ServerTls::Disabled);
        !(is_default && (key.ends_with("tier") || key.ends_with("tls")))
    });
    facts
}

/// `facts` of a server with every value per role that `other` keeps per role.
pub(crate) fn aligned(facts: &Facts, other: &Facts) -> Facts {
    let roles = facts.get(ROLES).and_then(Value::as_array);
    let roles: Vec<&str> = roles.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut aligned = Facts::new();
    for (key, value) in facts {
        let is_split = |role| other.contains_key(&format!("{role}_{key}"));
        if is_split(Role::Writer) || is_split(Role::Reader) {
            aligned.extend(roles.iter().map(|role| (format!("{role}_{key}"), value.clone())));
        } else {
            aligned.insert(key.clone(), value.clone());
        }
    }
    aligned
}

fn last_part(address: &Address) -> &str {
    address.as_str().rsplit('.').next().unwrap_or_default()
}
