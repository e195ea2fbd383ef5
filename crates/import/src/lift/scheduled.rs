//! Clusters whose servers a program moves between hostgroups: the hostgroups are joined that its file names.

use std::collections::BTreeMap;

use shardwright_diagnostics::Diagnostic;
use shardwright_rules::{
    Address, ClusterKind, Group, HostgroupId, Member, ReadOnlyCheck, RolesBy, WriterServesReads,
};

use super::Lift;
use super::clusters::Clusters;
use crate::codes::{REFUSED, UNMODELLED};
use crate::scheduled::Scheduled;

/// Makes one cluster of the hostgroups that statements go to and of those of servers that are out, and one of each of those
/// that hold templates.
pub(super) fn join(
    lift: &mut Lift<'_>,
    scheduled: &Scheduled,
    members: &BTreeMap<HostgroupId, Vec<Member>>,
    clusters: &mut Clusters,
) {
    let (writer, reader) = (scheduled.writer, scheduled.reader);
    if let Some(id) = [writer, reader].iter().find(|id| clusters.owned.contains_key(id)) {
        let what = format!(
            "a table of ProxySQL names hostgroup {id} too: its monitor and the program both move the servers there"
        );
        let help = "delete the row there, or stop the program: the cluster is read as the table says";
        let warning = Diagnostic::warning(UNMODELLED, what).at(scheduled.place, "");
        lift.problems.push(warning.help(help));
        return;
    }
    let has_servers = |id: &HostgroupId| members.contains_key(id);
    let kept = scheduled.kept;
    let templates = kept.map(|kept| [kept.writer_templates, kept.reader_templates]);
    let templates = templates.into_iter().flatten();
    if ![writer, reader]
        .into_iter()
        .chain(templates)
        .any(|id| has_servers(&id))
    {
        let what = format!("the rule set has no server in hostgroups {writer} and {reader}");
        let error = Diagnostic::error(REFUSED, what).at(scheduled.place, "");
        lift.problems
            .push(error.help("give the file of the program that moves servers of this ProxySQL"));
        return;
    }
    let kind = match kept {
        Some(kept) => ClusterKind::Galera(Group {
            backup_writer: kept.out_of_readers,
            offline: kept.out_of_writers,
            writers: scheduled.writers,
            max_transactions_behind: 0,
            failback: scheduled.failback,
        }),
        // Nothing but a row of a group has a place for hostgroups of servers that are out.
        None => ClusterKind::Replication {
            read_only_check: ReadOnlyCheck::ReadOnly,
        },
    };
    let is_first = clusters.list.iter().all(|cluster| &*cluster.name != "pxc");
    let name = if is_first {
        "pxc".to_owned()
    } else {
        format!("pxc-{writer}")
    };
    let address = |id: HostgroupId| Address::new(format!("mysql_servers.{id}"));
    let serves = scheduled.writer_serves_reads;
    clusters.add(name.clone(), address(writer), kind, writer, Some(reader), serves);
    if let Some(cluster) = clusters.list.last_mut() {
        cluster.roles_by = RolesBy::External;
    }
    let templates = kept.map(|kept| {
        [
            ("writer", kept.writer_templates),
            ("reader", kept.reader_templates),
        ]
    });
    for (role, id) in templates.into_iter().flatten().filter(|(_, id)| has_servers(id)) {
        let name = format!("{name}-{role}-templates");
        clusters.add(
            name,
            address(id),
            ClusterKind::Single,
            id,
            None,
            WriterServesReads::Always,
        );
    }
}
