//! A number for every hostgroup: written, else locked, else given.
//!
//! In a new lock, numbers follow the order of clusters, with gaps: the first cluster has 1000 and 1001, the second 1010 and
//! 1011, so that a number on a dashboard can be found. A lock that has numbers gives new ones by a hash of the name, so that two
//! branches that add different clusters seldom take the same number.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::Severity;
use shardwright_ids::{Lock, Probe};
use shardwright_rules::HostgroupId;
use shardwright_topology::model::{self as model, ClusterKind, IdRanges, Topology};

use crate::diagnostics::{Diagnostics, EXHAUSTED, NUMBERS};

/// What a hostgroup of a cluster is for, as it is called in pins and in the lock.
#[derive(Clone, Copy, Debug)]
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
            Purpose::Reader => kind.has_roles(),
            Purpose::BackupWriter | Purpose::Offline => {
                matches!(kind, ClusterKind::Galera | ClusterKind::GroupReplication)
            }
        }
    }
}

/// How far the numbers of neighbouring clusters may be apart in a new lock.
const DISTANCES: [u32; 3] = [10, 5, 4];

/// Hostgroup numbers by cluster and purpose, and those of servers that users have for themselves.
pub(super) struct Numbers {
    of_purposes: Vec<[Option<HostgroupId>; Purpose::ALL.len()]>,
    of_servers: BTreeMap<(usize, u32), HostgroupId>,
}

impl Numbers {
    /// The servers that users have for themselves, by the indexes of their clusters and theirs, with the number of the
    /// hostgroup that holds only this server.
    pub(super) fn servers(&self) -> impl Iterator<Item = (usize, u32, HostgroupId)> {
        self.of_servers
            .iter()
            .map(|(&(at, server), &id)| (at, server, id))
    }

    /// The number of a hostgroup that clusters of this type have; `at` is the cluster's index in the topology.
    pub(super) fn of(&self, at: usize, purpose: Purpose) -> HostgroupId {
        self.of_purposes[at][purpose as usize].expect("each hostgroup of a cluster has a number")
    }
}

/// A hostgroup of the cluster at this index.
struct Wanted {
    name: String,
    at: usize,
    holds: Holds,
}

/// What a hostgroup holds.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// The servers of a purpose.
    Purpose(Purpose),
    /// The server at this index alone.
    Server(u32),
}

/// Numbers all hostgroups. Engine-independent: single clusters get a number for readers only when they write one.
pub(super) fn numbers(
    topology: &Topology,
    ids: &IdRanges,
    lock: &mut Lock,
    report: &mut Diagnostics<'_>,
) -> Numbers {
    let mut probe = Probe::new((&ids.hostgroups).into());
    let mut of_purposes = vec![[None; Purpose::ALL.len()]; topology.clusters.len()];
    let mut of_servers = BTreeMap::new();
    let mut names: Vec<(Wanted, Option<u32>)> = Vec::with_capacity(topology.clusters.len());
    for (at, cluster) in topology.clusters.iter().enumerate() {
        for purpose in Purpose::ALL {
            let pin = purpose.pin(&cluster.hostgroups);
            if pin.is_none() && !purpose.is_part_of(cluster.kind) {
                continue;
            }
            let name = format!("hostgroups.{}.{}", cluster.name, purpose.word());
            if let Some(id) = pin
                && !probe.take(id)
            {
                let field = format!("hostgroups.{}", purpose.word());
                let message =
                    format!("hostgroup number {id} of {name} is also the number of another hostgroup");
                report.error(NUMBERS, cluster.origin, &field, message);
            }
            let holds = Holds::Purpose(purpose);
            names.push((Wanted { name, at, holds }, pin));
        }
    }
    names.extend(of_users(topology).into_iter().map(|wanted| (wanted, None)));
    names.sort_unstable_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let is_new = lock.below("hostgroups.").next().is_none();
    let doubled = take_locked(lock, &mut names, &mut probe);
    if is_new {
        in_order(topology, ids, &mut names, &mut probe);
    }
    let mut first_without = None;
    for (wanted, id) in &mut names {
        let id = *id.get_or_insert_with(|| {
            probe.give(&wanted.name).unwrap_or_else(|| {
                first_without = first_without.or(Some(topology.clusters[wanted.at].origin));
                0
            })
        });
        match wanted.holds {
            Holds::Purpose(purpose) => of_purposes[wanted.at][purpose as usize] = Some(HostgroupId(id)),
            Holds::Server(server) => {
                of_servers.insert((wanted.at, server), HostgroupId(id));
            }
        }
    }
    for doubled in doubled {
        doubled.report(topology, &names, report);
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
    for (wanted, id) in names {
        lock.set(wanted.name, id.unwrap_or_default());
    }
    Numbers {
        of_purposes,
        of_servers,
    }
}

/// A number that the lock has for two names: two branches gave it, and a merge kept both lines.
struct Doubled {
    id: u32,
    /// Indexes of the name that keeps it and of the one that gets another.
    keeps: usize,
    loses: usize,
}

/// Gives each name its locked number. Of several with the same number, one that was not numbered by its hash is older; else the
/// first keeps it.
fn take_locked(lock: &Lock, names: &mut [(Wanted, Option<u32>)], probe: &mut Probe) -> Vec<Doubled> {
    let mut holders: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, (wanted, pin)) in names.iter().enumerate() {
        let locked = lock.get(&wanted.name).filter(|_| pin.is_none());
        if let Some(id) = locked.filter(|&id| probe.is_free(id)) {
            holders.entry(id).or_default().push(at);
        }
    }
    let mut doubled = Vec::new();
    for (id, mut holders) in holders {
        holders.sort_by_key(|&at| probe.is_first_choice(&names[at].0.name, id));
        let keeps = holders[0];
        names[keeps].1 = Some(id);
        probe.take(id);
        doubled.extend(holders[1..].iter().map(|&loses| Doubled { id, keeps, loses }));
    }
    doubled
}

impl Doubled {
    fn report(&self, topology: &Topology, names: &[(Wanted, Option<u32>)], report: &mut Diagnostics<'_>) {
        let Self { id, keeps, loses } = *self;
        let (keeps, _) = &names[keeps];
        let (Wanted { name, at, holds }, given) = &names[loses];
        let cluster = &topology.clusters[*at];
        let pin = match holds {
            Holds::Purpose(purpose) => {
                let (name, word) = (&cluster.name, purpose.word());
                format!(": if a live system has it there, write clusters.{name}.hostgroups.{word}: {id}")
            }
            Holds::Server(_) => String::new(),
        };
        let message = format!(
            "the lock has number {id} for {} and for {name}, which gets {} now{pin}",
            keeps.name,
            given.unwrap_or_default()
        );
        report.add(Severity::Warning, NUMBERS, cluster.origin, "", message);
    }
}

/// The hostgroups of servers that users have for themselves.
fn of_users(topology: &Topology) -> Vec<Wanted> {
    let pinned = topology
        .users
        .iter()
        .filter_map(|user| Some((user.cluster.0 as usize, user.server?)));
    let pinned: BTreeSet<(usize, u32)> = pinned.collect();
    let wanted = pinned.into_iter().map(|(at, server)| {
        let cluster = &topology.clusters[at];
        let name = &cluster.servers[server as usize].name;
        Wanted {
            name: format!("hostgroups.{}.servers.{name}", cluster.name),
            at,
            holds: Holds::Server(server),
        }
    });
    wanted.collect()
}

/// Gives numbers in the order of clusters, the same distance apart, where the range has room for as many clusters again.
fn in_order(topology: &Topology, ids: &IdRanges, names: &mut [(Wanted, Option<u32>)], probe: &mut Probe) {
    let mut order: Vec<usize> = (0..topology.clusters.len()).collect();
    order.sort_by_key(|&at| topology.clusters[at].name.as_ref());
    let room = probe.size() / (2 * order.len().max(1) as u64);
    let Some(distance) = DISTANCES
        .into_iter()
        .find(|&distance| u64::from(distance) <= room)
    else {
        return;
    };
    let mut nth = vec![0; order.len()];
    for (position, &at) in order.iter().enumerate() {
        nth[at] = position as u32;
    }
    for (wanted, id) in names.iter_mut().filter(|(_, id)| id.is_none()) {
        let first = ids.hostgroups.start() + nth[wanted.at] * distance;
        // Behind those of the purposes, as far as they do not reach the next cluster.
        let place = match wanted.holds {
            Holds::Purpose(purpose) => purpose as u32,
            Holds::Server(server) => Purpose::ALL.len() as u32 + server,
        };
        let number = first + place;
        if place < distance && probe.is_free(number) {
            probe.take(number);
            *id = Some(number);
        }
    }
}
