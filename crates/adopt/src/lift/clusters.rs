//! Two hostgroups that no table joins, as one cluster whose roles something else decides.
//!
//! A pair is a hostgroup of one server and one of several, or of another one, where rules send some statements of the first
//! to the second. Whether the servers replicate is not known: a scheduler, or nobody, moves them, so `roles_by` is external.

use std::collections::BTreeSet;

use shardwright_rules::{HostgroupId, ReadOnlyCheck, RolesBy, WriterServesReads};

use super::Joined;
use crate::draft::{ClusterDraft, ClusterForm, Draft, Hostgroups, ServerDraft};
use crate::names::Names;

/// Pairs that could be one cluster each.
pub(super) fn pairs(draft: &Draft) -> Vec<Joined> {
    let mut joined = Vec::new();
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    for writer in draft
        .clusters
        .iter()
        .filter(|cluster| cluster.form == ClusterForm::Single)
    {
        let Some(reader) = reader_of(draft, writer).filter(|reader| !taken.contains(reader.name.as_str()))
        else {
            continue;
        };
        if !taken.insert(&writer.name) {
            continue;
        }
        taken.insert(&reader.name);
        joined.push(join(writer, reader));
    }
    joined
}

/// The hostgroup that reads go to of sessions whose users stay at the writer otherwise: that of the last rule about them, which
/// is the most general one.
fn reader_of<'d>(draft: &'d Draft, writer: &ClusterDraft) -> Option<&'d ClusterDraft> {
    let is_home = |cluster: &ClusterDraft| {
        draft
            .users
            .iter()
            .any(|user| user.hostgroup == cluster.hostgroups.writer)
    };
    if !is_home(writer) {
        return None;
    }
    let reads = draft.rules.iter().filter(|rule| {
        let pattern = rule
            .row
            .match_digest
            .as_deref()
            .or(rule.row.match_pattern.as_deref());
        rule.is_active && pattern.is_some_and(|pattern| pattern.to_ascii_uppercase().contains("SELECT"))
    });
    let last = reads
        .filter_map(|rule| rule.row.destination_hostgroup)
        .rfind(|id| *id != writer.hostgroups.writer.0)?;
    draft
        .clusters
        .iter()
        .find(|cluster| !cluster.form.has_roles() && cluster.hostgroups.writer.0 == last && !is_home(cluster))
}

fn join(writer: &ClusterDraft, reader: &ClusterDraft) -> Joined {
    let is_also = |server: &ServerDraft| {
        writer
            .servers
            .iter()
            .any(|own| (&own.host, own.port) == (&server.host, server.port))
    };
    let mut names = Names::default();
    let mut servers = Vec::new();
    for server in writer
        .servers
        .iter()
        .chain(reader.servers.iter().filter(|server| !is_also(server)))
    {
        servers.push(ServerDraft {
            name: names.take(&[server.name.clone(), format!("{}-{}", server.name, server.port)]),
            ..server.clone()
        });
    }
    for own in &mut servers {
        let as_reader = reader
            .servers
            .iter()
            .find(|server| (&server.host, server.port) == (&own.host, own.port));
        if let Some(row) = as_reader {
            own.max_replication_lag_s = own.max_replication_lag_s.max(row.max_replication_lag_s);
            own.read_weight = (row.weight != own.weight).then_some(row.weight);
        }
    }
    let reads = reader.servers.iter().any(is_also);
    let cluster = ClusterDraft {
        form: ClusterForm::Replication(ReadOnlyCheck::ReadOnly),
        hostgroups: Hostgroups {
            writer: writer.hostgroups.writer,
            reader: Some(HostgroupId(reader.hostgroups.writer.0)),
            group: None,
        },
        writer_serves_reads: match reads {
            true => WriterServesReads::Always,
            false => WriterServesReads::Never,
        },
        roles_by: RolesBy::External,
        servers,
        ..writer.clone()
    };
    Joined {
        replaces: BTreeSet::from([writer.name.clone(), reader.name.clone()]),
        cluster,
    }
}
