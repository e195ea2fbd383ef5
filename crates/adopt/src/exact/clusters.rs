//! Clusters of the language for the hostgroups of a rule set, so that the same rows are compiled where the language can.

use std::collections::BTreeMap;

use shardwright_import::{Kept, Scheduled};
use shardwright_rules::{
    Cluster, ClusterKind, Configuration, Failback, Group, HostgroupId, Member, MemberStatus, ServerTls,
    WriterServesReads, is_host,
};

use super::{LEFT, Unwritten};
use crate::draft::{ClusterDraft, ClusterForm, Hostgroups, ServerDraft};
use crate::names::{self, Names};

/// How much more weight a reader is given than a writer that serves reads as a last resort; Galera and group replication
/// have it between all of their weights.
const READER_WEIGHT_FACTOR: u32 = 100;
/// What the language takes Galera servers to be behind where nothing is said.
const GALERA_DEFAULT_BEHIND: u32 = 100;

/// The clusters that can be written, and those that cannot.
pub(super) fn clusters(
    source: &Configuration,
    scheduled: &[Scheduled],
    unwritten: &mut Vec<Unwritten>,
) -> Vec<ClusterDraft> {
    let mut names = Names::default();
    let mut drafts = Vec::new();
    for cluster in &source.clusters {
        let name = names.take(&[names::slug(&cluster.name), format!("hg{}", cluster.writer)]);
        let by = scheduled.iter().find(|by| by.writer == cluster.writer);
        match draft(source, cluster, by, name) {
            Ok(draft) => drafts.push(draft),
            Err(why) => unwritten.push(Unwritten {
                what: format!("hostgroup {}", cluster.writer),
                why: format!("{why}; {LEFT}"),
            }),
        }
    }
    unwritten.extend(sockets(source));
    drafts.sort_by(|a, b| a.name.cmp(&b.name));
    drafts
}

/// Servers that are unix sockets.
fn sockets(source: &Configuration) -> Vec<Unwritten> {
    let members = source.hostgroups.iter().flat_map(|hostgroup| {
        let members = hostgroup.members.iter().filter(|member| !is_server(member));
        members.map(move |member| Unwritten {
            what: format!("server {} of hostgroup {}", member.host, hostgroup.id),
            why: match member.port {
                0 => format!("it is a unix socket, and servers of a cluster have a port; {LEFT}"),
                _ => format!("no server has this name; {LEFT}"),
            },
        })
    });
    members.collect()
}

/// Whether a cluster can have a server.
fn is_server(member: &Member) -> bool {
    member.port > 0 && is_host(&member.host)
}

/// A server with its rows.
struct Found<'m> {
    writer: Option<&'m Member>,
    reader: Option<&'m Member>,
}

impl<'m> Found<'m> {
    fn any(&self) -> &'m Member {
        let row = self.writer.or(self.reader);
        row.expect("a server is found by one of its rows")
    }
}

fn draft(
    source: &Configuration,
    cluster: &Cluster,
    scheduled: Option<&Scheduled>,
    name: String,
) -> Result<ClusterDraft, &'static str> {
    let is_moved = !cluster.roles_by.is_engine();
    let kept = scheduled
        .filter(|_| is_moved)
        .and_then(|scheduled| scheduled.kept);
    let found = servers(source, cluster, kept);
    if found.is_empty() {
        return Err("it has no server with a name and a port, and a cluster needs one");
    }
    let mut draft = ClusterDraft {
        name,
        form: ClusterForm::Single,
        hostgroups: Hostgroups {
            writer: cluster.writer,
            reader: cluster.reader,
            group: cluster
                .kind
                .group()
                .map(|group| (group.backup_writer, group.offline)),
        },
        writer_serves_reads: cluster.writer_serves_reads,
        roles_by: cluster.roles_by,
        failback: Failback::Manual,
        writers: 1,
        max_transactions_behind: None,
        tls: tls(&found),
        servers: Vec::new(),
    };
    let weights = match &cluster.kind {
        ClusterKind::Single => {
            let lags = found.iter().any(|server| server.any().max_replication_lag_s > 0);
            draft.form = match found.len() == 1 && !lags {
                true => ClusterForm::Single,
                false => ClusterForm::Hostgroup,
            };
            found.iter().map(|server| (server.any().weight, None)).collect()
        }
        ClusterKind::Replication { read_only_check } => {
            draft.form = ClusterForm::Replication(*read_only_check);
            match is_moved {
                true => scheduled_weights(&found),
                false => replication_weights(&found, &mut draft),
            }
        }
        ClusterKind::Galera(group) if is_moved => {
            draft.form = ClusterForm::Galera;
            draft.failback = group.failback;
            draft.writers = writers(group, &found);
            scheduled_weights(&found)
        }
        ClusterKind::Galera(group) => {
            draft.form = ClusterForm::Galera;
            // ProxySQL knows no other.
            draft.failback = Failback::Automatic;
            draft.max_transactions_behind =
                (!matches!(group.max_transactions_behind, 0 | GALERA_DEFAULT_BEHIND))
                    .then_some(group.max_transactions_behind);
            group_weights(&found, group, &mut draft)
        }
        ClusterKind::GroupReplication(group) => {
            draft.form = ClusterForm::GroupReplication;
            draft.max_transactions_behind =
                (group.max_transactions_behind > 0).then_some(group.max_transactions_behind);
            group_weights(&found, group, &mut draft)
        }
    };
    draft.servers = named(&found, weights);
    if matches!(draft.form, ClusterForm::Galera | ClusterForm::GroupReplication) {
        // The language has none there: servers of a group are measured by the transactions that wait.
        draft
            .servers
            .iter_mut()
            .for_each(|server| server.max_replication_lag_s = 0);
    }
    if is_moved {
        // Whether they take traffic is for the program to say.
        draft
            .servers
            .iter_mut()
            .for_each(|server| server.state = MemberStatus::Online);
    }
    Ok(draft)
}

/// The servers of a cluster, the most wanted writer first. What templates say of a server comes before what other rows do.
fn servers<'c>(source: &'c Configuration, cluster: &Cluster, kept: Option<Kept>) -> Vec<Found<'c>> {
    let rows = |id: HostgroupId| {
        source
            .hostgroup(id)
            .map_or(&[][..], |hostgroup| &hostgroup.members)
    };
    let mut found: Vec<Found<'c>> = Vec::new();
    let mut places: BTreeMap<(&str, u16), usize> = BTreeMap::new();
    let mut add = |member: &'c Member, reads: bool| {
        let at = *places.entry((&member.host, member.port)).or_insert_with(|| {
            found.push(Found {
                writer: None,
                reader: None,
            });
            found.len() - 1
        });
        let row = match reads {
            true => &mut found[at].reader,
            false => &mut found[at].writer,
        };
        row.get_or_insert(member);
    };
    let heaviest_first = |id: HostgroupId| {
        let mut rows: Vec<&Member> = rows(id).iter().filter(|member| is_server(member)).collect();
        if cluster.kind.group().is_some() {
            // The heaviest write.
            rows.sort_by_key(|member| std::cmp::Reverse(member.weight));
        }
        rows
    };
    let (as_writers, as_readers) = hostgroups(cluster, kept);
    for (ids, reads) in [(as_writers, false), (as_readers, true)] {
        for id in ids {
            heaviest_first(id)
                .into_iter()
                .for_each(|member| add(member, reads));
        }
    }
    found
}

/// Where a cluster's servers may be as writers and as readers; the rows that count most first.
fn hostgroups(cluster: &Cluster, kept: Option<Kept>) -> (Vec<HostgroupId>, Vec<HostgroupId>) {
    let reader = cluster.reader.into_iter();
    match (kept, cluster.kind.group()) {
        (Some(kept), _) => (
            vec![kept.writer_templates, cluster.writer, kept.out_of_writers],
            std::iter::once(kept.reader_templates)
                .chain(reader)
                .chain([kept.out_of_readers])
                .collect(),
        ),
        (None, Some(group)) => (
            vec![cluster.writer, group.backup_writer, group.offline],
            reader.collect(),
        ),
        (None, None) => (vec![cluster.writer], reader.collect()),
    }
}

/// With TLS where any server has it: ProxySQL does without where a server offers none.
fn tls(found: &[Found<'_>]) -> ServerTls {
    match found.iter().all(|server| server.any().tls == ServerTls::Disabled) {
        true => ServerTls::Disabled,
        false => ServerTls::Preferred,
    }
}

/// The weight of each server, and that of its reads where it is another.
type Weights = Vec<(u32, Option<u32>)>;

fn replication_weights(found: &[Found<'_>], draft: &mut ClusterDraft) -> Weights {
    let (first, others) = found.split_first().expect("a cluster has servers");
    let is_multiple = |server: &Found<'_>| {
        let weight = server.reader.map_or(0, |row| row.weight);
        server.writer.is_none() && weight > 0 && weight.is_multiple_of(READER_WEIGHT_FACTOR)
    };
    let is_last_resort = draft.writer_serves_reads == WriterServesReads::Always
        && first.writer.is_some()
        && first.reader.is_some_and(|row| row.weight == 1)
        && !others.is_empty()
        && others.iter().all(is_multiple);
    if is_last_resort {
        draft.writer_serves_reads = WriterServesReads::LastResort;
    }
    let weights = found.iter().map(|server| {
        let written = server.any().weight;
        match (server.writer, server.reader) {
            (_, Some(row)) if is_last_resort && server.writer.is_none() => {
                (row.weight / READER_WEIGHT_FACTOR, None)
            }
            (Some(_), Some(row)) if !is_last_resort && row.weight != written => (written, Some(row.weight)),
            _ => (written, None),
        }
    });
    weights.collect()
}

/// A cluster has at most as many writers as servers.
fn writers(group: &Group, found: &[Found<'_>]) -> u32 {
    let most = u32::try_from(found.len()).unwrap_or(u32::MAX);
    group.writers.clamp(1, most)
}

/// Nothing copies weights from one hostgroup to the other.
fn scheduled_weights(found: &[Found<'_>]) -> Weights {
    let weights = found.iter().map(|server| {
        let written = server.any().weight;
        let reads = server.reader.map(|row| row.weight);
        (written, reads.filter(|weight| *weight != written))
    });
    weights.collect()
}

/// One weight ranks writers and shares reads: what is compiled has room between weights for the ranks. A writer that reads
/// as a last resort has weight 1 among the readers.
fn group_weights(found: &[Found<'_>], group: &Group, draft: &mut ClusterDraft) -> Weights {
    draft.writers = writers(group, found);
    let is_last_resort = |server: &Found<'_>| match (server.writer, server.reader) {
        (Some(writer), Some(reader)) => reader.weight == 1 && writer.weight >= READER_WEIGHT_FACTOR,
        _ => false,
    };
    let mut both = found
        .iter()
        .filter(|server| server.writer.is_some() && server.reader.is_some())
        .peekable();
    if draft.writer_serves_reads == WriterServesReads::Always
        && both.peek().is_some()
        && both.all(is_last_resort)
    {
        draft.writer_serves_reads = WriterServesReads::LastResort;
    }
    let weight = |server: &Found<'_>| {
        let row = match is_last_resort(server) {
            true => server.writer,
            false => server.reader.or(server.writer),
        };
        row.map_or(1, |row| row.weight)
    };
    let has_room = found.iter().all(|server| weight(server) >= READER_WEIGHT_FACTOR);
    let factor = if has_room { READER_WEIGHT_FACTOR } else { 1 };
    found
        .iter()
        .map(|server| (weight(server) / factor, None))
        .collect()
}

fn named(found: &[Found<'_>], weights: Weights) -> Vec<ServerDraft> {
    let mut names = Names::default();
    let servers = found.iter().zip(weights).map(|(server, (weight, read_weight))| {
        let row = server.any();
        let lags = [server.writer, server.reader].into_iter().flatten();
        ServerDraft {
            name: names.take(&names::server(&row.host, row.port)),
            host: row.host.clone(),
            port: row.port,
            weight,
            read_weight,
            max_connections: row.max_connections,
            max_replication_lag_s: lags.map(|row| row.max_replication_lag_s).max().unwrap_or(0),
            state: row.status,
        }
    });
    servers.collect()
}
