//! How much of a configuration changes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shardwright_rules::{Address, Configuration, Hostgroup, HostgroupId};

use crate::objects::Objects;
use crate::{Action, Effect, ObjectKind, RowKey};

/// Things of one sort: how many are added, changed or removed, of how many there are before or after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// New ones.
    pub added: usize,
    /// Those that stay with other values.
    pub changed: usize,
    /// Those that go.
    pub removed: usize,
    /// All that exist before or after.
    pub total: usize,
}

impl Count {
    /// How many differ.
    pub fn different(self) -> usize {
        self.added + self.changed + self.removed
    }

    fn note(&mut self, action: Action) {
        match action {
            Action::Add => self.added += 1,
            Action::Change => self.changed += 1,
            Action::Remove => self.removed += 1,
        }
    }
}

/// Counts per sort of thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Rules of the rule graph.
    pub rules: Count,
    /// Rows of fast routing.
    pub fast_routes: Count,
    /// Hostgroups, by number, cluster and role; their servers are counted as servers.
    pub hostgroups: Count,
    /// Clusters.
    pub clusters: Count,
    /// Servers.
    pub servers: Count,
    /// Users.
    pub users: Count,
    /// Shards.
    pub shards: Count,
}

impl Counts {
    pub(crate) fn new(
        observed: (&Configuration, &Objects),
        desired: (&Configuration, &Objects),
        effects: &[Effect],
    ) -> Self {
        let mut counts = Self {
            hostgroups: hostgroups(observed.0, desired.0),
            ..Self::default()
        };
        counts.totals(observed.1, desired.1);
        counts.note(effects);
        counts
    }

    /// Counts of effects that were found row by row. `objects` and `rows` are all that exist before or after.
    pub fn of_rows<'a>(
        effects: &[Effect],
        objects: impl IntoIterator<Item = &'a Address>,
        rows: impl IntoIterator<Item = &'a RowKey>,
    ) -> Self {
        let mut counts = Self::default();
        for address in objects {
            if let Some(count) = counts.of(ObjectKind::of(address)) {
                count.total += 1;
            }
        }
        for row in rows {
            if let Some(count) = counts.of_row(row) {
                count.total += 1;
            }
        }
        counts.note(effects);
        counts
    }

    fn note(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Some(count) = self.of(effect.kind()) {
                count.note(effect.action);
            }
            for row in &effect.rows {
                if let Some(count) = self.of_row(&row.row) {
                    count.note(row.action);
                }
            }
        }
    }

    fn totals(&mut self, observed: &Objects, desired: &Objects) {
        let gone = observed.keys().filter(|address| !desired.contains_key(address));
        for address in desired.keys().chain(gone) {
            if let Some(count) = self.of(ObjectKind::of(address)) {
                count.total += 1;
            }
        }
        let mut rows: Vec<&RowKey> = [observed, desired]
            .into_iter()
            .flat_map(|objects| objects.values().flat_map(|object| object.rows.keys()))
            .collect();
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            if let Some(count) = self.of_row(row) {
                count.total += 1;
            }
        }
    }

    fn of(&mut self, kind: ObjectKind) -> Option<&mut Count> {
        match kind {
            ObjectKind::Cluster => Some(&mut self.clusters),
            ObjectKind::Server => Some(&mut self.servers),
            ObjectKind::User => Some(&mut self.users),
            ObjectKind::Shard => Some(&mut self.shards),
            _ => None,
        }
    }

    fn of_row(&mut self, row: &RowKey) -> Option<&mut Count> {
        match row {
            RowKey::Rule(_) => Some(&mut self.rules),
            RowKey::FastRoute { .. } => Some(&mut self.fast_routes),
            // Its object is counted.
            RowKey::Row { .. } => None,
        }
    }
}

fn hostgroups(observed: &Configuration, desired: &Configuration) -> Count {
    let by_id = |configuration: &Configuration| -> BTreeMap<HostgroupId, Hostgroup> {
        let without_members = configuration.hostgroups.iter().map(|hostgroup| Hostgroup {
            members: Vec::new(),
            ..hostgroup.clone()
        });
        without_members
            .map(|hostgroup| (hostgroup.id, hostgroup))
            .collect()
    };
    let (old, new) = (by_id(observed), by_id(desired));
    let mut count = Count {
        added: new.keys().filter(|id| !old.contains_key(id)).count(),
        ..Count::default()
    };
    for (id, before) in &old {
        match new.get(id) {
            None => count.removed += 1,
            Some(after) if after != before => count.changed += 1,
            Some(_) => {}
        }
    }
    count.total = old.len() + count.added;
    count
}
