//! The servers as they are now: where they serve, what monitors see, and why.

use std::time::UNIX_EPOCH;

use shardwright_mysqlite::Value;
use shardwright_rules::roles::{Place, ServerSight, Sight, Standing, WatchedCluster};
use shardwright_rules::{Hostgroup, HostgroupId, Member, MemberStatus, ServerLimit, tables};

use super::rows::{Rows, int, row, text};
use crate::hostgroup_members::HostgroupMembers;
use crate::read_speed::WHOLE_SHARE;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::stats::WorkerFigures;

/// The servers of each hostgroup that serve in it now. A server of a watched cluster that serves nowhere is in the last of its
/// hostgroups, shunned.
pub(super) fn running(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let configuration = &snapshot.configuration;
    let mut rows = Vec::new();
    for hostgroup in &configuration.hostgroups {
        let cluster = configuration.cluster_of(hostgroup.id);
        let watched = cluster.and_then(|cluster| WatchedCluster::of(configuration, cluster));
        match watched {
            Some(watched) => serving(&snapshot, hostgroup, &watched, &mut rows),
            None => {
                let group = snapshot.hostgroups.get(&hostgroup.id);
                rows.extend(hostgroup.members.iter().enumerate().map(|(at, member)| {
                    let cells = row(&tables::SERVERS, &member.cells(hostgroup.id));
                    with_share(cells, group, at)
                }));
            }
        }
    }
    rows
}

/// The rows of one hostgroup of a watched cluster.
fn serving(snapshot: &Snapshot, hostgroup: &Hostgroup, watched: &WatchedCluster<'_>, rows: &mut Rows) {
    let own = places(snapshot, hostgroup.id);
    let all: Vec<Vec<Place>> = watched.hostgroups().map(|(_, id)| places(snapshot, id)).collect();
    let is_last = watched
        .hostgroups()
        .last()
        .is_some_and(|(_, id)| id == hostgroup.id);
    for (at, (_, member)) in watched.servers.iter().enumerate() {
        let status = match is_online(&own, at) {
            true => "ONLINE",
            false if is_last && !all.iter().any(|places| is_online(places, at)) => "SHUNNED",
            false => continue,
        };
        let member = Member {
            weight: own.get(at).map_or(member.weight, |place| place.weight),
            ..Member::clone(member)
        };
        let mut cells = member.cells(hostgroup.id);
        for (column, cell) in &mut cells {
            if *column == "status" {
                *cell = tables::Cell::Text(status.into());
            }
        }
        let cells = row(&tables::SERVERS, &cells);
        rows.push(with_share(cells, snapshot.hostgroups.get(&hostgroup.id), at));
    }
}

/// The row of a member of a hostgroup with the part of its weight that it gets, and its speed.
fn with_share(mut row: Vec<Value>, group: Option<&HostgroupMembers>, at: usize) -> Vec<Value> {
    let runtime = group
        .and_then(|group| group.members.get(at))
        .map(|member| &*member.runtime);
    let share = runtime.map(|runtime| runtime.share() as f64 * 100.0 / WHOLE_SHARE as f64);
    let times_slower = runtime.and_then(|runtime| runtime.speed.times_slower());
    row.extend([share, times_slower].map(|value| value.map_or(Value::Null, Value::Real)));
    row
}

/// The places of the members of a hostgroup.
fn places(snapshot: &Snapshot, id: HostgroupId) -> Vec<Place> {
    let group = snapshot.hostgroups.get(&id);
    let placed = group.into_iter().flat_map(|group| group.placed());
    placed.map(|(_, place)| place).collect()
}

fn is_online(places: &[Place], at: usize) -> bool {
    let place = places.get(at);
    place.is_some_and(|place| place.status == MemberStatus::Online)
}

/// What monitors know of each server.
pub(super) fn watched(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let knowledge = &shared.control.knowledge;
    let mut rows = Vec::new();
    for cluster in &snapshot.configuration.clusters {
        let Some(watched) = WatchedCluster::of(&snapshot.configuration, cluster) else {
            continue;
        };
        let roles = knowledge.roles(&cluster.address);
        let last_writers = knowledge.last_writers(&cluster.address);
        let writers = places(&snapshot, cluster.writer);
        for (at, (candidate, member)) in watched.servers.iter().enumerate() {
            let known = knowledge.server(&cluster.address, &candidate.server);
            let sight = known.as_ref().map(|known| &known.sight);
            let seen = sight.and_then(Sight::seen);
            let of_server = roles.as_ref().and_then(|roles| roles.of(&candidate.server));
            let since = known
                .as_ref()
                .and_then(|known| known.since.duration_since(UNIX_EPOCH).ok());
            rows.push(vec![
                text(cluster.address.as_str()),
                text(candidate.server.as_str()),
                text(member.host.as_str()),
                int(member.port),
                text(match of_server.map(|roles| &roles.writes) {
                    None => "not known yet".to_owned(),
                    // What is remembered is written down before statements go there.
                    Some(Standing::Serves) if !is_online(&writers, at) => "in a moment".to_owned(),
                    Some(writes) => said(writes),
                }),
                text(of_server.map_or_else(|| "not known yet".to_owned(), |roles| said(&roles.reads))),
                text(said_of_sight(sight)),
                since.map_or(Value::Null, |since| int(since.as_secs())),
                seen.and_then(|seen| seen.lag_ms).map_or(Value::Null, int),
                seen.and_then(queue).map_or(Value::Null, int),
                int(i64::from(last_writers.contains(&candidate.server))),
            ]);
        }
    }
    rows
}

fn queue(sight: &ServerSight) -> Option<u64> {
    let of_galera = sight.galera.as_ref().and_then(|galera| galera.queue);
    of_galera.or_else(|| sight.group.as_ref().and_then(|group| group.queue))
}

fn said(standing: &Standing) -> String {
    match standing {
        Standing::Serves => "yes".to_owned(),
        Standing::LastResort => "when nobody else can".to_owned(),
        Standing::StandsBy => "stands by".to_owned(),
        Standing::Out(why) => format!("no: {why}"),
    }
}

fn said_of_sight(sight: Option<&Sight>) -> String {
    match sight {
        None | Some(Sight::Unseen) => "not yet".to_owned(),
        Some(Sight::Lost { why }) => format!("no answer: {why}"),
        Some(Sight::Silent { why }) => format!("says nothing: {why}"),
        Some(Sight::Seen(sight)) => match sight.is_read_only {
            Some(true) => "read-only".to_owned(),
            Some(false) => "can write".to_owned(),
            None => "does not say whether it can write".to_owned(),
        },
    }
}

/// What servers have said of how many connections they take, as JSON: each server once, in the order of the configuration.
pub(super) fn server_limits(snapshot: &Snapshot) -> String {
    let mut limits: Vec<ServerLimit> = Vec::new();
    for member in snapshot.members_in_order() {
        let is_known = |limit: &ServerLimit| limit.port == member.port && limit.host == member.host;
        if let Some(max_connections) = member.room.said()
            && !limits.iter().any(is_known)
        {
            limits.push(ServerLimit {
                host: member.host.clone(),
                port: member.port,
                max_connections,
            });
        }
    }
    serde_json::to_string(&limits).expect("names and numbers, so JSON can hold them")
}
