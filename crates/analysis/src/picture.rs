//! The rule graph as a picture: chains, the jumps between them, where statements leave, and what a walk costs at worst.

mod cost;
mod draw;

use std::collections::BTreeMap;

use serde::Serialize;
use shardwright_rules::{
    Body, Configuration, EngineRule, HostgroupId, MapStep, MissingAction, NativeStep, Rule, UnknownKey,
};

pub use draw::{dot, mermaid, tree};

/// Chains and the edges between them. Parallel edges are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// The engine that the rules are for.
    pub engine: &'static str,
    /// Restarts after jumps that the engine allows.
    pub iterations: u32,
    /// By flag.
    pub chains: Vec<Chain>,
    /// By where they begin, in the order of their first rules.
    pub edges: Vec<Edge>,
    /// Every node that an edge leads to and that is no chain.
    #[serde(rename = "places")]
    pub exits: Vec<Exit>,
    /// Rows of fast routing.
    pub fast_routing: usize,
    /// Patterns that one statement can have evaluated at most; none where the restarts are too many to count.
    pub worst_evaluations: Option<u32>,
}

/// The rules of one flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// The flag.
    pub flag: u32,
    /// What most of its rules came from.
    pub address: String,
    /// How many rules.
    pub rules: usize,
    /// Patterns of the rules.
    pub patterns: u32,
    /// The first and the last id.
    pub ids: (u32, u32),
    /// Patterns that a statement that enters the chain can have evaluated from there on at most.
    pub worst_evaluations: Option<u32>,
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// Another chain.
    Chain(u32),
    /// Servers.
    Hostgroup(u32),
    /// An error.
    Refused,
    /// An answer of the proxy.
    Answered,
    /// What the user's hostgroup takes, since no rule placed it.
    Default,
}

/// Rules that lead from a chain to somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The chain.
    pub from: u32,
    /// Where they lead.
    pub to: Node,
    /// How many rules, or shards of a map.
    pub rules: usize,
    /// The id of the first.
    pub first: u32,
}

/// A node where statements leave the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exit {
    /// Which.
    pub node: Node,
    /// For people.
    pub name: String,
}

impl Picture {
    /// Draws a configuration.
    #[must_use]
    pub fn of(configuration: &Configuration) -> Self {
        let costs = cost::Costs::of(configuration);
        let mut chains: BTreeMap<u32, Vec<&Rule>> = BTreeMap::new();
        for rule in &configuration.graph.rules {
            chains.entry(rule.flag_in).or_default().push(rule);
        }
        // A statement starts in chain 0, whether it has rules or not.
        chains.entry(0).or_default();
        let mut edges: BTreeMap<(u32, Node), (usize, u32)> = BTreeMap::new();
        for rule in &configuration.graph.rules {
            for (node, count) in leads_to(configuration, rule) {
                let edge = edges.entry((rule.flag_in, node)).or_insert((0, rule.id));
                edge.0 += count;
            }
        }
        for (flag, rules) in &chains {
            if !rules.last().is_some_and(|rule| takes_all(rule)) {
                edges.entry((*flag, Node::Default)).or_insert((0, 0));
            }
        }
        let mut nodes: Vec<Node> = edges.keys().map(|(_, node)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self {
            engine: configuration.engine.name(),
            iterations: configuration.settings.query_processor_iterations,
            chains: chains
                .into_iter()
                .map(|(flag, rules)| chain(flag, &rules, &costs))
                .collect(),
            edges: in_order(edges),
            exits: nodes
                .into_iter()
                .filter(|node| !matches!(node, Node::Chain(_)))
                .map(|node| Exit {
                    node,
                    name: name(node, configuration),
                })
                .collect(),
            fast_routing: configuration.graph.fast_routing.len(),
            worst_evaluations: costs.entering(0),
        }
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, node: Node) -> String {
        if let Node::Chain(flag) = node {
            return format!("chain {flag}");
        }
        let exit = self.exits.iter().find(|exit| exit.node == node);
        exit.map_or_else(String::new, |exit| exit.name.clone())
    }

    /// The edges of a chain.
    pub fn edges_of(&self, flag: u32) -> impl Iterator<Item = &Edge> {
        let from = self.edges.partition_point(|edge| edge.from < flag);
        self.edges[from..]
            .iter()
            .take_while(move |edge| edge.from == flag)
    }
}

/// As a statement meets the rules; what nothing takes comes last.
fn in_order(edges: BTreeMap<(u32, Node), (usize, u32)>) -> Vec<Edge> {
    let edges = edges.into_iter().map(|((from, to), (rules, first))| Edge {
        from,
        to,
        rules,
        first,
    });
    let mut edges: Vec<Edge> = edges.collect();
    edges.sort_by_key(|edge| (edge.from, edge.to == Node::Default, edge.first));
    edges
}

fn chain(flag: u32, rules: &[&Rule], costs: &cost::Costs) -> Chain {
    let mut origins: BTreeMap<String, usize> = BTreeMap::new();
    for rule in rules {
        // A number is that of the rule itself, not a name.
        let named = |part: &&str| !part.bytes().all(|byte| byte.is_ascii_digit());
        let parts: Vec<&str> = rule.address.as_str().split('.').take(2).filter(named).collect();
        *origins.entry(parts.join(".")).or_default() += 1;
    }
    let most = origins.into_iter().max_by_key(|(_, count)| *count);
    Chain {
        flag,
        address: most.map(|(address, _)| address).unwrap_or_default(),
        rules: rules.len(),
        patterns: rules.iter().map(|rule| cost::patterns(rule)).sum(),
        ids: (
            rules.first().map_or(0, |rule| rule.id),
            rules.last().map_or(0, |rule| rule.id),
        ),
        worst_evaluations: costs.entering(flag),
    }
}

fn name(node: Node, configuration: &Configuration) -> String {
    match node {
        Node::Chain(flag) => format!("chain {flag}"),
        Node::Hostgroup(id) => configuration.hostgroup_name(HostgroupId(id)),
        Node::Refused => "refused".to_owned(),
        Node::Answered => "answered by the proxy".to_owned(),
        Node::Default => "default hostgroup".to_owned(),
    }
}

/// Whether every statement that comes to a rule matches it and stops there.
pub(crate) fn takes_all(rule: &Rule) -> bool {
    match &rule.body {
        Body::Engine(row) => row.apply && row.is_unconditional(),
        Body::Native { .. } => false,
    }
}

/// Where a rule leads, and by how many ways.
fn leads_to(configuration: &Configuration, rule: &Rule) -> Vec<(Node, usize)> {
    match &rule.body {
        Body::Engine(row) => row_leads_to(configuration, row),
        Body::Native {
            step: NativeStep::Map(map),
            ..
        } => map_leads_to(configuration, map),
        Body::Native {
            step: NativeStep::Role(_),
            ..
        } => {
            let readers = configuration.clusters.iter().filter_map(|cluster| cluster.reader);
            readers.map(|reader| (Node::Hostgroup(reader.0), 1)).collect()
        }
        Body::Native { .. } => Vec::new(),
    }
}

fn row_leads_to(configuration: &Configuration, row: &EngineRule) -> Vec<(Node, usize)> {
    let mut nodes = Vec::new();
    if row.ok_msg.is_some() {
        nodes.push((Node::Answered, 1));
    } else if row.error_msg.is_some() {
        nodes.push((Node::Refused, 1));
    } else if let Some(id) = row.destination_hostgroup {
        let refuses = configuration.refusing(HostgroupId(id)).is_some();
        nodes.push((
            if refuses {
                Node::Refused
            } else {
                Node::Hostgroup(id)
            },
            1,
        ));
    }
    nodes.extend(row.jumps().map(|flag| (Node::Chain(flag), 1)));
    nodes
}

fn map_leads_to(configuration: &Configuration, map: &MapStep) -> Vec<(Node, usize)> {
    let writer = |name: &str| configuration.cluster(name).map(|cluster| cluster.writer);
    let mut counts: BTreeMap<HostgroupId, usize> = BTreeMap::new();
    let placed = map.shards.iter().filter(|shard| shard.refuse.is_none());
    for cluster in placed.filter_map(|shard| shard.cluster.as_deref()) {
        if let Some(writer) = writer(cluster) {
            *counts.entry(writer).or_default() += 1;
        }
    }
    let mut nodes: Vec<(Node, usize)> = counts
        .into_iter()
        .map(|(writer, count)| (Node::Hostgroup(writer.0), count))
        .collect();
    let refuses = matches!(map.unknown, UnknownKey::Reject)
        || map
            .every_missing()
            .any(|missing| missing.statements == MissingAction::Reject)
        || map.shards.iter().any(|shard| shard.refuse.is_some());
    if refuses {
        nodes.push((Node::Refused, 1));
    }
    nodes
}
