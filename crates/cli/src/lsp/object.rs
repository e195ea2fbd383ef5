//! An object as its hover shows it: its address, what it resolved to, and its rules on each engine.

use std::fmt::Write as _;

use shardwright_compiler::{Compiled, tree};
use shardwright_diagnostics::shortened;
use shardwright_rules::EngineId;
use shardwright_topology::model::{Cluster, ClusterKind, Placement, Project, Server, Shard, ShardMap, User};
use shardwright_topology::symbols::Symbol;

use super::analysis::Analysis;
use crate::placement::placement;

/// Rules that are shown of one engine.
const MAX_RULES: usize = 6;
/// Characters of one rule that are shown.
const MAX_RULE_CHARACTERS: usize = 160;
/// Servers and keys that are named of one object.
const MAX_NAMED: usize = 5;

/// The objects that a name means; none if it defines nothing.
pub(super) fn describe(analysis: &Analysis, symbol: &Symbol) -> Option<String> {
    let definitions = analysis.symbols().definitions(symbol);
    let definition = definitions.first()?;
    let addresses = if symbol.addresses().is_empty() {
        definition.addresses()
    } else {
        symbol.addresses()
    };
    let first = addresses
        .iter()
        .find(|address| definition.addresses().contains(address))?;
    if first.starts_with("for_each.") {
        return None;
    }
    let place = analysis.loaded.sources.display(definition.span);
    let mut text = format!("**{first}**");
    if let Some(more) = addresses.len().checked_sub(1).filter(|more| *more > 0) {
        let last = addresses.last().map_or("", |last| &**last);
        write!(text, " and {more} more, to {last}").expect("writing to a string cannot fail");
    }
    write!(text, ", written at {place}").expect("writing to a string cannot fail");
    if let Some(project) = &analysis.loaded.project
        && let Some(summary) = summary(project, first)
    {
        write!(text, "\n\n{summary}").expect("writing to a string cannot fail");
    }
    for (engine, compiled) in analysis.compiled() {
        text.extend(rules(*engine, compiled, first));
    }
    Some(text)
}

/// What an object resolved to, in a sentence.
fn summary(project: &Project, address: &str) -> Option<String> {
    let topology = &project.topology;
    let parts: Vec<&str> = address.split('.').collect();
    match parts.as_slice() {
        ["clusters", name] => topology.clusters.get_named(name).map(cluster),
        ["clusters", name, "servers", server_name] => topology
            .clusters
            .get_named(name)?
            .servers
            .get_named(server_name)
            .map(server),
        ["users", name] => topology.users.get_named(name).map(|found| user(project, found)),
        ["shard_maps", name] => topology.shard_maps.get_named(name).map(shard_map),
        ["shard_maps", name, "shards", shard_name] => topology
            .shard_maps
            .get_named(name)?
            .shards
            .get_named(shard_name)
            .map(|found| shard(project, found)),
        _ => None,
    }
}

fn cluster(cluster: &Cluster) -> String {
    let kind = match cluster.kind {
        ClusterKind::Single => "Single cluster",
        ClusterKind::Hostgroup => "Hostgroup",
        ClusterKind::Replication { .. } => "Replication cluster",
        ClusterKind::Galera => "Galera cluster",
        ClusterKind::GroupReplication => "Group replication cluster",
    };
    let servers: Vec<String> = cluster.servers.into_iter().map(server_address).collect();
    format!("{kind}: {}", some(&servers))
}

fn server_address(server: &Server) -> String {
    format!("{} ({}:{})", server.name, server.host, server.port)
}

fn server(server: &Server) -> String {
    format!("Server {}:{}", server.host, server.port)
}

fn user(project: &Project, user: &User) -> String {
    let cluster = &project.topology.cluster(user.cluster).name;
    let schema = user
        .schema
        .as_ref()
        .map_or_else(String::new, |schema| format!(", schema {schema}"));
    format!("User of cluster {cluster}{schema}")
}

fn shard_map(map: &ShardMap) -> String {
    let by = match map.key.placement {
        Placement::Value => String::new(),
        Placement::Modulo(modulo) => format!(" modulo {modulo}"),
        Placement::Hash { modulo, .. } => format!(", hashed, modulo {modulo}"),
    };
    format!("{} shards by the key {}{by}", map.shards.len(), map.key.name)
}

fn shard(project: &Project, shard: &Shard) -> String {
    let keys = shard.keys.iter().map(ToString::to_string);
    let ranges = shard
        .ranges
        .iter()
        .chain(&shard.remainders)
        .map(ToString::to_string);
    let keys: Vec<String> = keys.chain(ranges).take(MAX_NAMED + 1).collect();
    let mut text = format!("Shard of {}", some(&keys));
    if let Some(why) = &shard.refuse {
        write!(text, ", refused: {why}").expect("writing to a string cannot fail");
    }
    if let Some(cluster) = shard.cluster {
        write!(text, ", on cluster {}", project.topology.cluster(cluster).name)
            .expect("writing to a string cannot fail");
    }
    if let Some(schema) = &shard.schema {
        write!(text, ", in schema {schema}").expect("writing to a string cannot fail");
    }
    text
}

fn some(things: &[String]) -> String {
    let named = things
        .iter()
        .take(MAX_NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if things.len() > MAX_NAMED {
        format!("{named}, …")
    } else {
        named
    }
}

/// What an object compiled to on one engine.
fn rules(engine: EngineId, compiled: &Compiled, address: &str) -> Option<String> {
    let explained = compiled.explain(address)?;
    let mut lines = placement(&compiled.configuration, &explained.address);
    let graph = &compiled.configuration.graph;
    let shown = explained.rules.iter().take(MAX_RULES);
    lines.extend(shown.filter_map(|reference| {
        let rule = graph.rules.iter().find(|rule| rule.id == reference.id)?;
        let what = tree::describe(compiled, rule);
        let short = shortened(&what, MAX_RULE_CHARACTERS);
        Some(format!("rule {} flag {}: {short}", rule.id, rule.flag_in))
    }));
    if let Some(more) = explained
        .rules
        .len()
        .checked_sub(MAX_RULES)
        .filter(|more| *more > 0)
    {
        lines.push(format!("and {more} more rules"));
    }
    if lines.is_empty() {
        return None;
    }
    Some(format!(
        "\n\n{}:\n```text\n{}\n```",
        engine.name(),
        lines.join("\n")
    ))
}
