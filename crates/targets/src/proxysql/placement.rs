//! Servers that something else than an apply puts into hostgroups: a scheduler, an operator, or ProxySQL's monitor.
//!
//! This is the one place that says so. A plan leaves alone what a scheduler has decided (`roles_by: external`), or it would
//! undo a failover. Drift leaves out what the monitor has decided as well.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use shardwright_rules::tables::SERVERS;
use shardwright_rules::{Cluster, Configuration};

use super::change::Change;
use super::live::Live;
use super::row::{Row, RowName};
use super::wanted::Wanted;

/// Who moves servers between the hostgroups of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mover {
    /// ProxySQL's monitor.
    Monitor,
    /// A scheduler or an operator, as `roles_by: external` says.
    External,
}

/// Hostgroups between which servers are moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Placements(Vec<(BTreeSet<i64>, Mover)>);

impl Placements {
    /// Those of the clusters of a configuration.
    pub(super) fn of(configuration: &Configuration) -> Self {
        let with_roles = configuration
            .clusters
            .iter()
            .filter(|cluster| cluster.reader.is_some());
        let groups = with_roles.map(|cluster| {
            let mover = match cluster.roles_by.is_engine() {
                true => Mover::Monitor,
                false => Mover::External,
            };
            (hostgroups(cluster), mover)
        });
        Self(groups.collect())
    }

    /// Who has decided a difference between what is live and what is wanted; `None`: it is a difference.
    pub(super) fn decided(&self, change: &Change, live: &Live, wanted: &Wanted) -> Option<Mover> {
        let hostgroup = change.name.number(0).filter(|_| change.name.is_in(&SERVERS))?;
        let (hostgroups, mover) = self.0.iter().find(|(group, _)| group.contains(&hostgroup))?;
        let is_elsewhere = |name: &RowName| {
            is_sibling(&change.name, name) && name.number(0).is_some_and(|id| hostgroups.contains(&id))
        };
        let is_decided = match (&change.old, &change.new) {
            (None, Some(_)) => live.rows().any(|(name, _)| is_elsewhere(name)),
            (Some(_), None) => wanted.rows.keys().any(is_elsewhere),
            (Some(old), Some(new)) => is_state(old, new, *mover),
            (None, None) => false,
        };
        is_decided.then_some(*mover)
    }
}

/// The hostgroups of a cluster in which its servers may be.
fn hostgroups(cluster: &Cluster) -> BTreeSet<i64> {
    let group = cluster.kind.group();
    let of_group = group
        .into_iter()
        .flat_map(|group| [group.backup_writer, group.offline]);
    let ids = std::iter::once(cluster.writer)
        .chain(cluster.reader)
        .chain(of_group);
    ids.map(|id| i64::from(id.0)).collect()
}

/// Whether two rows of `mysql_servers` are of one server in two hostgroups.
fn is_sibling(one: &RowName, other: &RowName) -> bool {
    other.is_in(&SERVERS) && one.key.first() != other.key.first() && one.key.get(1..) == other.key.get(1..)
}

/// Whether nothing but a state differs that is not written in the files: they say nothing of a server that is online.
fn is_state(old: &Row, new: &Row, mover: Mover) -> bool {
    let is = |row: &Row, status: &str| row.text("status").eq_ignore_ascii_case(status);
    let same_status = |row: &Row| {
        let mut row = row.clone();
        row.facts.shift_remove("status");
        row
    };
    let is_moved = match mover {
        Mover::Monitor => is(old, "SHUNNED"),
        Mover::External => true,
    };
    is_moved && is(new, "ONLINE") && same_status(old) == same_status(new)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use shardwright_plan::Facts;

    use super::super::row::TableName;
    use super::super::session::Found;
    use super::super::wanted::Wish;
    use super::*;

    fn server(hostgroup: i64, host: &str, status: &str, weight: i64) -> (RowName, Row) {
        let facts = Facts::from_iter([
            ("hostgroup_id".to_owned(), json!(hostgroup)),
            ("hostname".to_owned(), json!(host)),
            ("port".to_owned(), json!(3306)),
            ("status".to_owned(), json!(status)),
            ("weight".to_owned(), json!(weight)),
        ]);
        (
            RowName::of(TableName::of(&SERVERS), &facts),
            Row { facts, secret: None },
        )
    }

    fn change(old: Option<(RowName, Row)>, new: Option<(RowName, Row)>) -> Change {
        let name = old.as_ref().or(new.as_ref()).map(|(name, _)| name.clone());
        Change {
            name: name.expect("one of both"),
            address: "clusters.c.servers.a".into(),
            old: old.map(|(_, row)| row),
            new: new.map(|(_, row)| row),
            reference: None,
            is_at_start: false,
            aside: Default::default(),
        }
    }

    #[test]
    fn where_a_server_is_is_left_to_who_moves_it_and_nothing_else() {
        let online = |hostgroup, host| server(hostgroup, host, "ONLINE", 1);
        let row = |(name, row): (RowName, Row)| (name, Found { row, is_ours: true });
        // Live: the failover made a reader of `a` and a writer of `b`. Wanted: the other way round, and `c` besides.
        let live = Live::of_rows(BTreeMap::from([row(online(10, "b")), row(online(11, "a"))]));
        let wish = |(name, row): (RowName, Row)| (name, Wish::of_row(row, "clusters.c.servers.x".into()));
        let wanted = Wanted {
            rows: BTreeMap::from([
                wish(online(10, "a")),
                wish(online(11, "b")),
                wish(online(11, "c")),
            ]),
            ..Wanted::default()
        };
        for mover in [Mover::Monitor, Mover::External] {
            let placements = Placements(vec![(BTreeSet::from([10, 11]), mover)]);
            let decided = |old, new| placements.decided(&change(old, new), &live, &wanted);
            assert_eq!(decided(Some(online(10, "b")), None), Some(mover));
            assert_eq!(decided(None, Some(online(10, "a"))), Some(mover));
            // A server that is nowhere yet, and one that nobody wants any more.
            assert_eq!(decided(None, Some(online(11, "c"))), None);
            assert_eq!(decided(Some(online(11, "d")), None), None);
            // Another weight is a difference, also of a server that is out.
            let out = server(11, "a", "OFFLINE_SOFT", 1);
            assert_eq!(
                decided(Some(out.clone()), Some(online(11, "a"))),
                (mover == Mover::External).then_some(mover)
            );
            assert_eq!(
                decided(Some(server(11, "a", "OFFLINE_SOFT", 2)), Some(online(11, "a"))),
                None
            );
            // What the files say of a state counts.
            assert_eq!(decided(Some(online(11, "a")), Some(out)), None);
        }
        let elsewhere = Placements(vec![(BTreeSet::from([20, 21]), Mover::External)]);
        assert_eq!(
            elsewhere.decided(&change(Some(online(10, "b")), None), &live, &wanted),
            None
        );
    }
}
