//! Statements that would go back to servers which lack what was written since a run.
//!
//! A row that places statements is compared by the servers behind its hostgroups, not by their numbers: hostgroups of one
//! replicating cluster, and hostgroups that share a server, have the same data. A statement that goes from one such group to
//! another one is served by a copy that has not followed. Example: rows of fast routing for 70 tenants go from hostgroup 20
//! back to hostgroup 10; their servers differ, so each of the rows counts. A rule that goes from the writer of a cluster to its
//! reader does not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use shardwright_rules::Address;

use crate::{Action, Effect, Facts, ObjectKind, RowChange, RowKey};

/// The servers of a target before its run is taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveServers {
    /// Hostgroup and `host:port` of each server.
    pub servers: Vec<(u64, String)>,
    /// The hostgroups of each cluster whose servers replicate from each other.
    pub clusters: Vec<Vec<u64>>,
    /// Where statements of each user go that no row places.
    pub default_hostgroups: BTreeMap<String, u64>,
}

/// The objects whose statements, or whose hostgroups, would go to servers that have not followed, in listing order.
pub(crate) fn subjects(effects: &[Effect], live: &LiveServers) -> Vec<Address> {
    let groups = Groups::new(effects, live);
    let exchanged = exchanged_hostgroups(effects);
    let is_stale = |effect: &Effect, row: &RowChange| {
        exchanged.contains_row(row)
            || groups
                .ways(effect, row, live)
                .any(|(from, to)| groups.differ(from, to))
    };
    let concerned = effects
        .iter()
        .filter(|effect| effect.rows.iter().any(|row| is_stale(effect, row)));
    concerned.map(|effect| effect.address.clone()).collect()
}

/// The same of a proxy whose configuration is replaced as a whole: its rows do not lead to hostgroups one by one, so every object that
/// places statements counts once it places any of them elsewhere.
pub(crate) fn subjects_of_whole(effects: &[Effect]) -> Vec<Address> {
    const PLACES: [&str; 3] = ["cluster", "hostgroup", "destination_hostgroup"];
    let loses = |cluster: &str| {
        let mut removed = effects.iter().filter(|effect| effect.action == Action::Remove);
        removed.any(|effect| effect.kind() == ObjectKind::Server && cluster_of(effect) == Some(cluster))
    };
    let changes = |effect: &Effect, facts: &[&str]| {
        facts
            .iter()
            .any(|fact| effect.old.get(*fact) != effect.new.get(*fact))
    };
    let concerned = effects
        .iter()
        .filter(|effect| match (effect.kind(), effect.action) {
            (ObjectKind::Shard | ObjectKind::ShardMap, _) => true,
            (ObjectKind::Route | ObjectKind::QueryRule, Action::Add | Action::Remove) => true,
            (ObjectKind::Route | ObjectKind::QueryRule | ObjectKind::User, Action::Change) => {
                changes(effect, &PLACES) || (effect.kind() != ObjectKind::User && !effect.rows.is_empty())
            }
            (ObjectKind::Server, Action::Change) => changes(effect, &["host", "port"]),
            (ObjectKind::Server, Action::Add) => cluster_of(effect).is_some_and(loses),
            _ => false,
        });
    concerned.map(|effect| effect.address.clone()).collect()
}

/// The name of the cluster of a server, from its address.
fn cluster_of(effect: &Effect) -> Option<&str> {
    effect.address.as_str().split('.').nth(1)
}

/// Hostgroups that lose a server and get another one.
struct Exchanged(BTreeSet<String>);

fn exchanged_hostgroups(effects: &[Effect]) -> Exchanged {
    let rows = effects.iter().flat_map(|effect| &effect.rows);
    let removed = rows.filter(|row| row.action == Action::Remove);
    Exchanged(
        removed
            .filter_map(|row| server(row).map(|key| key[0].clone()))
            .collect(),
    )
}

impl Exchanged {
    fn contains_row(&self, row: &RowChange) -> bool {
        row.action == Action::Add && server(row).is_some_and(|key| self.0.contains(&key[0]))
    }
}

/// The key of a row of `mysql_servers`: hostgroup, host and port.
fn server(row: &RowChange) -> Option<&[String]> {
    match &row.row {
        RowKey::Row { table, key } if table == "mysql_servers" && key.len() >= 3 => Some(key),
        RowKey::Row { .. } | RowKey::Rule(_) | RowKey::FastRoute { .. } => None,
    }
}

/// Hostgroups by the servers that they lead to; hostgroups of one group have the same data.
struct Groups(BTreeMap<u64, u64>);

impl Groups {
    /// Servers that come back count as well: what goes to their hostgroups is served by them.
    fn new(effects: &[Effect], live: &LiveServers) -> Self {
        let rows = effects.iter().flat_map(|effect| &effect.rows);
        let returning = rows.filter(|row| row.action == Action::Add).filter_map(server);
        let returning =
            returning.filter_map(|key| Some((key[0].parse().ok()?, format!("{}:{}", key[1], key[2]))));
        let servers: Vec<(u64, String)> = live.servers.iter().cloned().chain(returning).collect();
        let mut groups = Self(
            servers
                .iter()
                .map(|(hostgroup, _)| (*hostgroup, *hostgroup))
                .collect(),
        );
        let mut first_of: BTreeMap<&str, u64> = BTreeMap::new();
        for (hostgroup, server) in &servers {
            let first = *first_of.entry(server).or_insert(*hostgroup);
            groups.join(first, *hostgroup);
        }
        for cluster in &live.clusters {
            for pair in cluster.windows(2) {
                groups.join(pair[0], pair[1]);
            }
        }
        groups
    }

    fn join(&mut self, one: u64, other: u64) {
        let (one, other) = (self.group(one), self.group(other));
        for group in self.0.values_mut().filter(|group| **group == other) {
            *group = one;
        }
        self.0.entry(other).or_insert(one);
        self.0.entry(one).or_insert(one);
    }

    fn group(&self, hostgroup: u64) -> u64 {
        self.0.get(&hostgroup).copied().unwrap_or(hostgroup)
    }

    /// Whether statements that go from one hostgroup to the other meet other servers. A hostgroup of no server, such as one
    /// that refuses, has taken no writes.
    fn differ(&self, from: u64, to: u64) -> bool {
        let is_served = |hostgroup| self.0.contains_key(&hostgroup);
        self.group(from) != self.group(to) && is_served(from) && is_served(to)
    }

    /// Where the statements of a row go now, and where they would go.
    fn ways(&self, effect: &Effect, row: &RowChange, live: &LiveServers) -> impl Iterator<Item = (u64, u64)> {
        let (column, users) = match &row.row {
            RowKey::Rule(_) => ("destination_hostgroup", user_of(row)),
            RowKey::FastRoute { username, .. } => ("destination_hostgroup", Some(username.as_str())),
            RowKey::Row { table, .. } if table == "mysql_users" => ("default_hostgroup", None),
            RowKey::Row { .. } => ("", None),
        };
        let (from, to) = (number(&row.old, column), number(&row.new, column));
        let defaults = || {
            let of_row = users.filter(|user| !user.is_empty());
            let all = live.default_hostgroups.iter();
            let some = all.filter(|(user, _)| of_row.is_none_or(|one| one == user.as_str()));
            some.map(|(_, hostgroup)| *hostgroup).collect::<Vec<u64>>()
        };
        // Without the row, its statements go where their user goes. Of compiled rules only the whole object says where.
        let decides_alone = match &row.row {
            RowKey::FastRoute { .. } => true,
            RowKey::Rule(_) => matches!(effect.kind(), ObjectKind::QueryRule | ObjectKind::Route),
            RowKey::Row { .. } => false,
        };
        let ways: Vec<(u64, u64)> = match (row.action, from, to) {
            (Action::Change, Some(from), Some(to)) => vec![(from, to)],
            (Action::Remove, Some(from), _) if decides_alone => {
                defaults().into_iter().map(|to| (from, to)).collect()
            }
            (Action::Add, _, Some(to)) if decides_alone => {
                defaults().into_iter().map(|from| (from, to)).collect()
            }
            _ => Vec::new(),
        };
        ways.into_iter()
    }
}

fn user_of(row: &RowChange) -> Option<&str> {
    let side = match row.action {
        Action::Remove => &row.old,
        Action::Add | Action::Change => &row.new,
    };
    side.get("username").and_then(Value::as_str)
}

fn number(facts: &Facts, column: &str) -> Option<u64> {
    let value = facts.get(column)?;
    value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}
