//! Two hostgroups that no table joins, as one cluster whose roles something else decides.
//!
//! A pair is a hostgroup of one server and one of several, or of another one, where rules send some statements of the first
//! to the second. Whether the servers replicate is not known: a scheduler, or nobody, moves them, so `roles_by` is external.

use std::collections::BTreeSet;

use shardwright_rules::{HostgroupId, ReadOnlyCheck, RolesBy, WriterServesReads};

use super::Joined;
use crate::draft::{ClusterDraft, ClusterForm, Draft, Hostgroups, RuleDraft, ServerDraft};
use crate::names::Names;

/// Pairs that could be one cluster each.
pub(super) fn pairs(draft: &Draft) -> Vec<Joined> {
    let mut joined = Vec::new();
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    let is_home = |cluster: &ClusterDraft| {
        let own = cluster.hostgroups.writer;
        draft.users.iter().any(|user| user.hostgroup == own)
    };
    let mut writers: Vec<&ClusterDraft> = draft
        .clusters
        .iter()
        .filter(|cluster| cluster.form == ClusterForm::Single)
        .collect();
    // Where rules name a key, they say which hostgroups belong together.
    writers.sort_by_key(|cluster| is_home(cluster));
    for writer in writers {
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

/// The hostgroup that reads go to of sessions which stay at the writer otherwise: because it is their users' own, or because a
/// rule sends the rest of their user's or schema's statements there. Of several, that of the last rule, the most general one.
fn reader_of<'d>(draft: &'d Draft, writer: &ClusterDraft) -> Option<&'d ClusterDraft> {
    let own = writer.hostgroups.writer;
    let is_home = |hostgroup: HostgroupId| draft.users.iter().any(|user| user.hostgroup == hostgroup);
    let active = || draft.rules.iter().filter(|rule| rule.is_active);
    let reads = || {
        let leaves = |rule: &&RuleDraft| rule.row.destination_hostgroup.is_some_and(|id| id != own.0);
        active().filter(|rule| is_read(rule)).filter(leaves)
    };
    let last = match is_home(own) {
        true => reads().next_back(),
        false => {
            let rest =
                active().filter(|rule| rule.row.destination_hostgroup == Some(own.0) && !has_pattern(rule));
            let keys: Vec<_> = rest
                .map(|rule| key(rule))
                .filter(|key| *key != (None, None))
                .collect();
            reads().rfind(|rule| keys.contains(&key(rule)))
        }
    };
    let last = HostgroupId(last?.row.destination_hostgroup?);
    draft
        .clusters
        .iter()
        .find(|cluster| !cluster.form.has_roles() && cluster.hostgroups.writer == last && !is_home(last))
}

/// Whether a rule looks for a word of reads.
fn is_read(rule: &RuleDraft) -> bool {
    let patterns = [&rule.row.match_digest, &rule.row.match_pattern];
    let mut patterns = patterns.into_iter().flatten();
    patterns.any(|pattern| pattern.to_ascii_uppercase().contains("SELECT"))
}

fn has_pattern(rule: &RuleDraft) -> bool {
    rule.row.match_digest.is_some() || rule.row.match_pattern.is_some()
}

/// The user and the schema that a rule asks for.
fn key(rule: &RuleDraft) -> (Option<&str>, Option<&str>) {
    (rule.row.username.as_deref(), rule.row.schemaname.as_deref())
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
