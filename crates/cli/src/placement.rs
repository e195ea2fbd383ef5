//! Where an object of the topology is on an engine, in words.

use shardwright_rules::{Address, Body, Configuration, NativeStep};

/// Where a shard is, and which hostgroups a cluster has.
pub(crate) fn placement(configuration: &Configuration, address: &Address) -> Vec<String> {
    let shard = configuration
        .graph
        .rules
        .iter()
        .find_map(|rule| match &rule.body {
            Body::Native {
                step: NativeStep::Map(step),
                ..
            } => step.shards.iter().find(|shard| shard.address == *address),
            Body::Native { .. } | Body::Engine(_) => None,
        });
    let mut lines = Vec::new();
    if let Some(shard) = shard {
        lines.extend(shard.refuse.as_ref().map(|why| format!("refused: {why}")));
        lines.extend(
            shard
                .cluster
                .as_ref()
                .map(|cluster| format!("on cluster {cluster}")),
        );
        lines.extend(shard.schema.as_ref().map(|schema| format!("in schema {schema}")));
    }
    for hostgroup in configuration
        .hostgroups
        .iter()
        .filter(|hostgroup| hostgroup.cluster == *address)
    {
        let servers: Vec<String> = hostgroup
            .members
            .iter()
            .map(|member| format!("{}:{}", member.host, member.port))
            .collect();
        lines.push(format!(
            "hostgroup {} ({}): {}",
            hostgroup.id,
            hostgroup.role,
            servers.join(", ")
        ));
    }
    lines
}
