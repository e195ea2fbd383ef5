//! Roles in a cluster of type replication: who was promoted last writes, whoever follows a source reads.

use super::claims::{self, Claim};
use super::{RoleMemory, ServerSight, Sight, Source, Standing, WatchedCluster, Why};
use crate::{Address, Candidate, MemberStatus};

/// What each candidate does as a writer; `None`: not all were looked at for the first time.
pub(super) fn writer(
    watched: &WatchedCluster<'_>,
    sights: &[Sight],
    memory: &mut RoleMemory,
) -> Option<Vec<Standing>> {
    if !memory.knows_anything() && sights.contains(&Sight::Unseen) {
        return None;
    }
    let servers = watched.servers.iter().map(|(candidate, _)| &candidate.server);
    let seen = servers.zip(sights).map(|(server, sight)| (server, sight.seen()));
    if claims::follow(&mut memory.claims, seen) {
        memory.doubt = None;
    }
    let chosen = chosen(memory);
    let standings: Vec<Standing> = watched
        .servers
        .iter()
        .zip(sights)
        .map(|((candidate, member), sight)| match member.status {
            MemberStatus::Online => standing(&candidate.server, sight, chosen.as_ref(), memory),
            status => Standing::Out(Why::Written(status)),
        })
        .collect();
    let writes = |(at, standing): (usize, &Standing)| {
        (*standing == Standing::Serves).then(|| watched.servers[at].0.server.clone())
    };
    memory.remember(standings.iter().enumerate().filter_map(writes).collect());
    Some(standings)
}

/// Who writes: who was promoted last, else the only server that can.
fn chosen(memory: &RoleMemory) -> Option<Address> {
    let holder = claims::holder(&memory.claims);
    let is_contested = claims::with(&memory.claims, Claim::Contested).next().is_some();
    let only = || {
        let mut writable = claims::with(&memory.claims, Claim::Writable);
        writable
            .next()
            .filter(|_| writable.next().is_none() && !is_contested)
    };
    holder.or_else(only).cloned()
}

fn standing(server: &Address, sight: &Sight, chosen: Option<&Address>, memory: &RoleMemory) -> Standing {
    match sight {
        Sight::Unseen => return Standing::Out(Why::Unseen),
        Sight::Lost { why } => return Standing::Out(Why::Lost(why.clone())),
        Sight::Silent { .. } | Sight::Seen(_) if sight.tells_nothing() => {
            let is_writer = memory.wrote_last(server) && chosen.is_none_or(|chosen| chosen == server);
            return if is_writer {
                writes_unless_doubted(memory)
            } else {
                Standing::Out(sight.silence())
            };
        }
        Sight::Silent { .. } | Sight::Seen(_) => {}
    }
    if chosen == Some(server) {
        return writes_unless_doubted(memory);
    }
    let contested = |claim| Why::Undecided(claims::with(&memory.claims, claim).cloned().collect());
    Standing::Out(match (memory.claims.get(server), chosen) {
        (None | Some(Claim::ReadOnly), _) => Why::ReadOnly,
        (Some(Claim::Contested), _) => contested(Claim::Contested),
        (Some(Claim::Writable), None) if claims::with(&memory.claims, Claim::Contested).next().is_none() => {
            contested(Claim::Writable)
        }
        (Some(Claim::Writable), _) => Why::Replicates,
        (Some(Claim::Superseded | Claim::Promoted), by) => Why::Superseded(by.cloned()),
    })
}

fn writes_unless_doubted(memory: &RoleMemory) -> Standing {
    let doubt = memory.doubt.clone();
    doubt.map_or(Standing::Serves, |doubt| Standing::Out(Why::Doubted(doubt)))
}

/// Whether a server that does not write may answer reads. `reads_unknown`: the writer is gone, and replicas read on though nobody
/// knows how far they are behind.
pub(super) fn may_read(
    candidate: &Candidate,
    writes: &Standing,
    sight: &Sight,
    reads_unknown: bool,
) -> Result<(), Why> {
    let sight = match sight {
        Sight::Unseen => return Err(Why::Unseen),
        Sight::Lost { why } => return Err(Why::Lost(why.clone())),
        Sight::Silent { .. } if candidate.max_replication_lag_ms == 0 => return Ok(()),
        Sight::Silent { why } => return Err(Why::Silent(why.clone())),
        Sight::Seen(sight) => sight,
    };
    if let Standing::Out(why @ (Why::Superseded(_) | Why::Undecided(_))) = writes {
        return Err(why.clone());
    }
    if sight.source == Source::None {
        return Err(Why::NoReplica);
    }
    match candidate.max_replication_lag_ms {
        0 => Ok(()),
        limit_ms => is_within(limit_ms, sight, reads_unknown),
    }
}

/// Whether a replica is within its limit. While it does not follow its source, its lag grows from where it was; once the writer
/// is gone, nothing is written that it could be behind of.
fn is_within(limit_ms: u64, sight: &ServerSight, reads_unknown: bool) -> Result<(), Why> {
    // A server of which one thread is stopped says no lag.
    let source = match (sight.source, sight.lag_ms) {
        (Source::Running, None) => Source::Stopped,
        (source, _) => source,
    };
    let lag_ms = match (sight.lag_ms, sight.last_lag) {
        (_, Some(last)) if source == Source::Connecting && reads_unknown => last.lag_ms,
        (Some(lag_ms), _) => lag_ms,
        (None, Some(last)) => last.lag_ms.saturating_add(last.ago_ms),
        (None, None) if source == Source::Connecting && reads_unknown => return Ok(()),
        (None, None) => return Err(Why::LagUnknown),
    };
    // A lag of no second says as little as can be said.
    let rounded_ms = if sight.is_lag_rounded && lag_ms > 0 {
        1000
    } else {
        0
    };
    let lag_ms = lag_ms.saturating_add(rounded_ms);
    if lag_ms <= limit_ms {
        return Ok(());
    }
    Err(Why::Lags {
        lag_ms,
        limit_ms,
        source,
    })
}
