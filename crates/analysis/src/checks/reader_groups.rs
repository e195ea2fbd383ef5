//! SW403: a reader hostgroup that can become empty; SW405: a lag limit that broken replication does not reach; SW407: a
//! destination that serves nobody; SW408: hostgroups shared by clusters; SW409: a lag check that the servers do not answer.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{ClusterKind, HostgroupId, MemberStatus, Role, WriterServesReads};

use super::CheckContext;
use crate::Finding;
use crate::codes::{EMPTY_READERS, LAG_NEVER_SEEN, NOBODY_SERVES, SHARED_HOSTGROUP, SLAVE_STATUS};

/// `mysql-monitor_slave_lag_when_null` where nothing is set.
const LAG_WHEN_NULL: u32 = 60;

pub(crate) fn empty(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for cluster in &set.configuration.clusters {
        let Some(reader) = cluster
            .reader
            .filter(|_| cluster.writer_serves_reads == WriterServesReads::Never)
        else {
            continue;
        };
        let members = set
            .configuration
            .hostgroup(reader)
            .map_or(&[][..], |group| group.members.as_slice());
        let online: Vec<_> = members
            .iter()
            .filter(|member| member.status == MemberStatus::Online)
            .collect();
        let sent = set
            .written()
            .find(|(_, row)| row.destination_hostgroup == Some(reader.0));
        let Some((rule, _)) = sent else { continue };
        let why = if matches!(cluster.kind, ClusterKind::Galera(_)) {
            "every node of the Galera cluster that could write is kept out of it"
        } else if !online.is_empty() && online.iter().all(|member| member.max_replication_lag_s > 0) {
            "every reader has a lag limit, and none is left when all are behind"
        } else {
            continue;
        };
        let message = format!(
            "hostgroup {reader}, the readers of cluster {}, can become empty: {why}, and the writer never serves reads",
            cluster.name
        );
        let finding = Finding::new(EMPTY_READERS, Severity::Warning, Proof::Possible, message).about(
            set,
            &[rule],
            format!("sends to hostgroup {reader}"),
        );
        findings.push(finding.help("set `writer_serves_reads: last_resort`"));
    }
}

pub(crate) fn lag(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let configuration = context.set.configuration;
    let substitute = configuration
        .variables
        .get("mysql-monitor_slave_lag_when_null")
        .and_then(|value| value.parse().ok())
        .unwrap_or(LAG_WHEN_NULL);
    let new_server = configuration
        .variables
        .get("mysql-server_version")
        .is_some_and(|version| version.starts_with("8.4") || version.starts_with('9'));
    let proxysql = configuration.engine.is_proxysql();
    let asks_replica_status = configuration.engine.profile().asks_replica_status;
    for member in configuration
        .hostgroups
        .iter()
        .flat_map(|group| &group.members)
        .filter(|_| proxysql)
    {
        let limit = member.max_replication_lag_s;
        if limit > 0 && limit >= substitute {
            let message = format!(
                "server {}:{} takes statements until it is {limit} s behind, and stopped replication counts as \
                 {substitute} s: it is never taken out",
                member.host, member.port
            );
            let finding = Finding::new(LAG_NEVER_SEEN, Severity::Warning, Proof::Proved, message)
                .at(&member.server, "stopped replication stays below this limit");
            findings.push(finding.help(format!(
                "set the limit below {substitute} s, or mysql-monitor_slave_lag_when_null above it"
            )));
        }
        if limit > 0 && new_server && !asks_replica_status {
            let message = format!(
                "the lag of {}:{} is read with SHOW SLAVE STATUS, which servers do not have from 8.4 on",
                member.host, member.port
            );
            let finding = Finding::new(SLAVE_STATUS, Severity::Warning, Proof::Possible, message)
                .at(&member.server, "has a lag limit");
            findings.push(finding.help("upgrade the engine, or drop the limit"));
            break;
        }
    }
}

pub(crate) fn nobody(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    for cluster in &set.configuration.clusters {
        let Some(group) = cluster.kind.group() else {
            continue;
        };
        for (position, row) in set.written() {
            let to = row.destination_hostgroup.map(HostgroupId);
            let what = match to {
                Some(to) if to == group.offline => "servers that are out",
                Some(to) if to == group.backup_writer => "servers that could write and do not",
                _ => continue,
            };
            let message = format!(
                "rule {} sends to hostgroup {}, where the monitor puts the {what} of cluster {}",
                set.id(position),
                row.destination_hostgroup.unwrap_or_default(),
                cluster.name
            );
            let finding = Finding::new(NOBODY_SERVES, Severity::Warning, Proof::Proved, message).about(
                set,
                &[position],
                "serves nobody",
            );
            findings.push(finding.help("send to the writers or the readers of the cluster"));
        }
    }
}

pub(crate) fn shared(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let mut owners: BTreeMap<HostgroupId, (&str, Role)> = BTreeMap::new();
    for cluster in &context.set.configuration.clusters {
        let roles = [
            (Some(cluster.writer), Role::Writer),
            (cluster.reader, Role::Reader),
        ];
        for (id, role) in roles.into_iter().filter_map(|(id, role)| Some((id?, role))) {
            let Some((other, other_role)) = owners.insert(id, (&cluster.name, role)) else {
                continue;
            };
            if other == &*cluster.name {
                continue;
            }
            let message = format!(
                "hostgroup {id} is the {role} of cluster {} and the {other_role} of cluster {other}: the engine \
                 ignores one of them when it loads",
                cluster.name
            );
            let finding = Finding::new(SHARED_HOSTGROUP, Severity::Error, Proof::Proved, message)
                .at(&cluster.address, "shares a hostgroup");
            findings.push(finding.help("give each cluster hostgroups of its own"));
        }
    }
}
