//! Roles in a cluster in which every server could write (Galera, group replication).

use super::{GaleraSight, GroupSight, RoleMemory, Sight, Standing, WatchedCluster, Why};
use crate::{Address, Failback, Group, MemberStatus};

/// Names of `wsrep_local_state`, from 0.
const STATES: [&str; 6] = [
    "Initialized",
    "Joining",
    "Donor/Desynced",
    "Joined",
    "Synced",
    "Error",
];

/// How well a server could write.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fitness {
    Fit,
    /// Only if nobody else can: it helps another server to join, or is behind.
    Poor(Why),
    Unfit(Why),
}

/// What each candidate does as a writer; `None`: not all were looked at for the first time.
pub(super) fn writers(
    watched: &WatchedCluster<'_>,
    group: &Group,
    sights: &[Sight],
    memory: &mut RoleMemory,
) -> Option<Vec<Standing>> {
    if group.failback == Failback::Automatic {
        // Who writes follows from what is seen alone.
        memory.doubt = None;
    }
    if !memory.knows_anything() && sights.contains(&Sight::Unseen) {
        return None;
    }
    let fitness: Vec<Fitness> = watched
        .servers
        .iter()
        .zip(sights)
        .map(|((candidate, member), sight)| match member.status {
            MemberStatus::Online => fitness(&candidate.server, group, sight, memory),
            status => Fitness::Unfit(Why::Written(status)),
        })
        .collect();
    let server = |at: usize| &watched.servers[at].0.server;
    let wrote = |at: usize| group.failback == Failback::Manual && memory.wrote_last(server(at));
    // After a start, who wrote has the first word: it may answer a moment later than others.
    let is_awaited = (0..fitness.len()).any(|at| wrote(at) && fitness[at] == Fitness::Unfit(Why::Unseen));
    let choose = |is_able: &dyn Fn(&Fitness) -> bool| {
        let able = (0..fitness.len()).filter(|&at| is_able(&fitness[at]) && (wrote(at) || !is_awaited));
        let mut able: Vec<usize> = able.collect();
        // Stable: beside those that write, the order of preference stays.
        able.sort_by_key(|&at| !wrote(at));
        able.truncate(group.writers as usize);
        able
    };
    if let Some(doubt) = &memory.doubt {
        let standing = |fitness| match fitness {
            Fitness::Fit | Fitness::Poor(_) => Standing::Out(Why::Doubted(doubt.clone())),
            Fitness::Unfit(why) => Standing::Out(why),
        };
        return Some(fitness.into_iter().map(standing).collect());
    }
    let mut chosen = choose(&|fitness| *fitness == Fitness::Fit);
    if chosen.is_empty() {
        chosen = choose(&|fitness| !matches!(fitness, Fitness::Unfit(_)));
    }
    let writing: Vec<Address> = chosen.iter().map(|&at| server(at).clone()).collect();
    let standing = |(at, fitness): (usize, Fitness)| match fitness {
        _ if chosen.contains(&at) => Standing::Serves,
        Fitness::Fit => Standing::StandsBy,
        Fitness::Poor(why) | Fitness::Unfit(why) => Standing::Out(why),
    };
    let standings = fitness.into_iter().enumerate().map(standing).collect();
    if !is_awaited {
        memory.remember(writing);
    }
    Some(standings)
}

fn fitness(server: &Address, group: &Group, sight: &Sight, memory: &RoleMemory) -> Fitness {
    if sight.tells_nothing() {
        return match memory.wrote_last(server) {
            true => Fitness::Fit,
            false => Fitness::Unfit(sight.silence()),
        };
    }
    let seen = match sight {
        Sight::Lost { why } => return Fitness::Unfit(Why::Lost(why.clone())),
        Sight::Unseen | Sight::Silent { .. } => return Fitness::Unfit(Why::Unseen),
        Sight::Seen(seen) => seen,
    };
    if seen.is_read_only == Some(true) {
        return Fitness::Unfit(Why::ReadOnly);
    }
    match may_read(group, sight) {
        Ok(()) => Fitness::Fit,
        Err(why) if seen.galera.as_ref().is_some_and(GaleraSight::takes_writes) => Fitness::Poor(why),
        Err(why @ (Why::Behind { .. } | Why::QueueUnknown)) => Fitness::Poor(why),
        Err(why) => Fitness::Unfit(why),
    }
}

/// Whether a server that does not write may answer reads: its data are those of the group, and it is not too far behind.
pub(super) fn may_read(group: &Group, sight: &Sight) -> Result<(), Why> {
    let seen = match sight {
        Sight::Unseen => return Err(Why::Unseen),
        Sight::Lost { why } => return Err(Why::Lost(why.clone())),
        Sight::Silent { why } => return Err(Why::Silent(why.clone())),
        Sight::Seen(seen) => seen,
    };
    let queue = match (&seen.galera, &seen.group) {
        (Some(galera), _) => galera.state()?,
        (None, Some(member)) => member.state()?,
        (None, None) => return Err(Why::State("it is no member of the group".to_owned())),
    };
    match (group.max_transactions_behind, queue) {
        (0, _) => Ok(()),
        (_, None) => Err(Why::QueueUnknown),
        (limit, Some(queue)) if queue > u64::from(limit) => Err(Why::Behind { queue, limit }),
        (_, Some(_)) => Ok(()),
    }
}

impl GaleraSight {
    /// Whether the server takes writes at all.
    fn takes_writes(&self) -> bool {
        self.is_ready == Some(true)
            && self.is_primary == Some(true)
            && !self.rejects_queries
            && !self.is_in_maintenance
    }

    /// The transactions that wait, if the server serves.
    fn state(&self) -> Result<Option<u64>, Why> {
        let state = |text: String| Err(Why::State(text));
        if self.is_primary != Some(true) {
            return state("it is not in the majority of the cluster (wsrep_cluster_status)".to_owned());
        }
        if self.is_ready != Some(true) {
            return state("wsrep_ready is not ON".to_owned());
        }
        if self.rejects_queries {
            return state("wsrep_reject_queries is set".to_owned());
        }
        if self.is_in_maintenance {
            return state("pxc_maint_mode is set".to_owned());
        }
        match self.state {
            Some(Self::SYNCED) if self.is_desynced == Some(true) => state("wsrep_desync is ON".to_owned()),
            Some(Self::SYNCED) => Ok(self.queue),
            Some(other) => {
                let name = STATES.get(other as usize).copied().unwrap_or("unknown");
                state(format!("wsrep_local_state is {other} ({name})"))
            }
            None => state("it does not say its wsrep_local_state".to_owned()),
        }
    }
}

impl GroupSight {
    /// The transactions that wait, if the server serves.
    fn state(&self) -> Result<Option<u64>, Why> {
        if self.state != "ONLINE" {
            return Err(Why::State(format!("its MEMBER_STATE is {}", self.state)));
        }
        if !self.has_majority {
            return Err(Why::State("it is not in the majority of the group".to_owned()));
        }
        Ok(self.queue)
    }
}
