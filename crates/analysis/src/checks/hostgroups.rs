//! SW701 and SW702: hostgroups that statements are sent to and that cannot take them.

use std::collections::{BTreeMap, HashMap};

use shardwright_diagnostics::{Code, Proof, Severity};
use shardwright_rules::{Address, Body, Cluster, Hostgroup, HostgroupId, Member, MemberStatus, NativeStep};

use super::CheckContext;
use crate::Finding;
use crate::codes::{NO_CAPACITY, NO_SERVERS};

/// Senders to a hostgroup that have a finding each: a comment allows one of them, and not the others.
const MOST_APART: usize = 16;

/// What sends statements to a hostgroup: all rules that were made of one thing are one sender.
struct Sender {
    address: Address,
    /// The name of the first of them.
    what: String,
    rule_ids: Vec<u32>,
}

pub(crate) fn check(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    // Rules alone, as a dump of their table has them: their servers are elsewhere.
    let has_servers = |group: &Hostgroup| !group.members.is_empty();
    if !set.configuration.hostgroups.iter().any(has_servers) {
        return;
    }
    let groups: HashMap<HostgroupId, &Hostgroup> = set
        .configuration
        .hostgroups
        .iter()
        .map(|group| (group.id, group))
        .collect();
    for (id, senders) in senders(context) {
        if set.configuration.refusing(id).is_some() || context.beside.filled_hostgroups.contains(&id) {
            continue;
        }
        let group = groups.get(&id);
        let Some((code, severity, what, help)) = problem(group.map(|group| group.members.as_slice())) else {
            continue;
        };
        let cluster = set
            .cluster_of(id)
            .map_or_else(String::new, |cluster| format!(" of cluster {}", cluster.name));
        let finding = |by: &str, sender: &Sender, rule_ids: Vec<u32>| {
            let message = format!("{by} to hostgroup {id}{cluster}, which {what}: statements wait and fail");
            let mut finding = Finding::new(code, severity, Proof::Proved, message)
                .help(help)
                .at(&sender.address, format!("hostgroup {id} {what}"));
            finding.rule_ids = rule_ids;
            finding
        };
        let (apart, together) = senders.split_at(senders.len().min(MOST_APART));
        for sender in apart {
            let by = format!("{} sends", sender.what);
            findings.push(finding(&by, sender, sender.rule_ids.clone()));
        }
        if let Some(first) = together.first() {
            let by = match together.len() {
                1 => format!("{} sends", first.what),
                n => format!("{} and {} more send", first.what, n - 1),
            };
            let rule_ids = together.iter().flat_map(|sender| sender.rule_ids.clone());
            findings.push(finding(&by, first, rule_ids.collect()));
        }
    }
}

fn problem(members: Option<&[Member]>) -> Option<(Code, Severity, &'static str, &'static str)> {
    let Some(members) = members.filter(|members| !members.is_empty()) else {
        return Some((
            NO_SERVERS,
            Severity::Error,
            "has no server",
            "give it servers, or send the statements elsewhere",
        ));
    };
    let online: Vec<&Member> = members
        .iter()
        .filter(|member| member.status == MemberStatus::Online)
        .collect();
    if online.is_empty() {
        return Some((
            NO_SERVERS,
            Severity::Warning,
            "has no server online",
            "set a server online, or send the statements elsewhere",
        ));
    }
    if online.iter().all(|member| member.weight == 0) {
        return Some((
            NO_CAPACITY,
            Severity::Error,
            "has only servers of weight 0",
            "give a server a weight above 0",
        ));
    }
    let usable = |member: &&Member| member.weight > 0 && member.max_connections > 0;
    if !online.iter().any(usable) {
        return Some((
            NO_CAPACITY,
            Severity::Error,
            "has only servers with max_connections 0",
            "allow connections to a server",
        ));
    }
    None
}

fn senders(context: &CheckContext<'_, '_>) -> BTreeMap<HostgroupId, Vec<Sender>> {
    let configuration = context.set.configuration;
    let clusters: HashMap<&str, &Cluster> = configuration
        .clusters
        .iter()
        .map(|cluster| (&*cluster.name, cluster))
        .collect();
    let mut senders: BTreeMap<HostgroupId, Vec<Sender>> = BTreeMap::new();
    let mut indexes: HashMap<(HostgroupId, Address), usize> = HashMap::new();
    let mut add = |id: HostgroupId, address: &Address, rule: Option<u32>, what: String| {
        let own = senders.entry(id).or_default();
        let index = *indexes.entry((id, address.clone())).or_insert(own.len());
        if index == own.len() {
            own.push(Sender {
                address: address.clone(),
                what,
                rule_ids: Vec::new(),
            });
        }
        own[index].rule_ids.extend(rule);
    };
    for (position, rule) in configuration.graph.rules.iter().enumerate() {
        match &rule.body {
            Body::Engine(row) if !context.reach.is_dead(position) => {
                for id in [row.destination_hostgroup, row.mirror_hostgroup]
                    .into_iter()
                    .flatten()
                {
                    add(
                        HostgroupId(id),
                        &rule.address,
                        Some(rule.id),
                        format!("rule {}", rule.id),
                    );
                }
            }
            Body::Native {
                step: NativeStep::Map(map),
                ..
            } => {
                let mut to = |name: &str, address: &Address, what: String| {
                    if let Some(cluster) = clusters.get(name) {
                        add(cluster.writer, address, Some(rule.id), what);
                    }
                };
                for shard in map.shards.iter().filter(|shard| shard.refuse.is_none()) {
                    if let Some(name) = &shard.cluster {
                        to(name, &shard.address, format!("shard {}", shard.address.short()));
                    }
                }
                let whole = format!("shard map {}", map.map);
                for name in map.clusters_elsewhere() {
                    to(name, &rule.address, whole.clone());
                }
            }
            Body::Engine(_) | Body::Native { .. } => {}
        }
    }
    for row in &configuration.graph.fast_routing {
        add(
            row.hostgroup,
            &row.address,
            None,
            format!("fast routing of schema {}", row.schemaname),
        );
    }
    for user in &configuration.users {
        add(
            user.default_hostgroup,
            &user.address,
            None,
            format!("user {}", user.name),
        );
    }
    senders
}
