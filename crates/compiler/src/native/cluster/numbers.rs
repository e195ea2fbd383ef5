//! A number for every hostgroup: written, else locked, else probed.

use std::collections::HashMap;

use shardwright_rules::HostgroupId;
use shardwright_topology::model::{self as model, ClusterKind, IdRanges, OriginId, Topology};

use crate::ids::lock::Lock;
use crate::ids::probe::Probe;
use crate::report::{EXHAUSTED, NUMBERS, Report};

/// What a hostgroup of a cluster is for, as it is called in pins and in the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Writer,
    Reader,
    BackupWriter,
    Offline,
}

impl Purpose {
    const ALL: [Purpose; 4] = [
        Purpose::Writer,
        Purpose::Reader,
        Purpose::BackupWriter,
        Purpose::Offline,
    ];

    const fn word(self) -> &'static str {
        match self {
            Purpose::Writer => "writer",
            Purpose::Reader => "reader",
            Purpose::BackupWriter => "backup_writer",
            Purpose::Offline => "offline",
        }
    }

    const fn pin(self, pins: &model::HostgroupPins) -> Option<u32> {
        match self {
            Purpose::Writer => pins.writer,
            Purpose::Reader => pins.reader,
            Purpose::BackupWriter => pins.backup_writer,
            Purpose::Offline => pins.offline,
        }
    }

    /// Whether clusters of the type have such a hostgroup without asking for it.
    const fn is_part_of(self, kind: ClusterKind) -> bool {
        match self {
            Purpose::Writer => true,
            Purpose::Reader => !matches!(kind, ClusterKind::Single),
            Purpose::BackupWriter | Purpose::Offline => {
                matches!(kind, ClusterKind::Galera | ClusterKind::GroupReplication)
            }
        }
    }
}

/// Hostgroup numbers by cluster and purpose.
pub(super) struct Numbers(HashMap<String, HostgroupId>);

impl Numbers {
    /// The number of a hostgroup that clusters of this type have.
    pub(super) fn of(&self, cluster: &model::Cluster, purpose: Purpose) -> HostgroupId {
        self.0[&name_of(cluster, purpose)]
    }
}

fn name_of(cluster: &model::Cluster, purpose: Purpose) -> String {
    format!("hostgroups.{}.{}", cluster.name, purpose.word())
}

/// Numbers all hostgroups. Engine-independent: single clusters get a number for readers only when they write one.
pub(super) fn numbers(
    topology: &Topology,
    ids: &IdRanges,
    lock: &mut Lock,
    report: &mut Report<'_>,
) -> Numbers {
    let mut probe = Probe::new((*ids.hostgroups.start(), *ids.hostgroups.end()));
    let mut numbers: HashMap<String, HostgroupId> = HashMap::new();
    let mut wanted: Vec<(String, OriginId)> = Vec::new();
    for cluster in &topology.clusters {
        for purpose in Purpose::ALL {
            let name = name_of(cluster, purpose);
            match purpose.pin(&cluster.hostgroups) {
                Some(id) => {
                    if !probe.take(id) {
                        let field = format!("hostgroups.{}", purpose.word());
                        let message = format!("hostgroup {id} of {name} is also another hostgroup's number");
                        report.error(NUMBERS, cluster.origin, &field, message);
                    }
                    numbers.insert(name, HostgroupId(id));
                }
                None if purpose.is_part_of(cluster.kind) => wanted.push((name, cluster.origin)),
                None => {}
            }
        }
    }
    wanted.sort();
    wanted.retain(|(name, _)| match lock.get(name).filter(|&id| probe.is_free(id)) {
        Some(id) => {
            probe.take(id);
            numbers.insert(name.clone(), HostgroupId(id));
            false
        }
        None => true,
    });
    let mut first_without = None;
    for (name, origin) in wanted {
        let id = probe.give(&name).unwrap_or_else(|| {
            first_without = first_without.or(Some(origin));
            0
        });
        numbers.insert(name, HostgroupId(id));
    }
    if let Some(origin) = first_without {
        let message = format!(
            "ids.hostgroups {}-{} has {} numbers, {} too few for the hostgroups of this topology",
            ids.hostgroups.start(),
            ids.hostgroups.end(),
            probe.size(),
            probe.missing()
        );
        report.error(EXHAUSTED, origin, "", message);
    }
    lock.forget("hostgroups.");
    for (name, id) in &numbers {
        lock.set(name.clone(), id.0);
    }
    Numbers(numbers)
}
