//! Hostgroups, their servers, and the clusters that the monitor's tables make of them.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use shardwright_diagnostics::Severity;
use shardwright_rules::tables::SERVERS;
use shardwright_rules::{
    Address, ClusterKind, Failback, Group, Hostgroup, HostgroupId, Member, MemberStatus, ReadOnlyCheck,
    RefusingHostgroup, ServerTls, WriterServesReads, left_columns,
};

use super::clusters::Clusters;
use super::variables::Variables;
use super::{LEFT, Lift, filled, text};
use crate::codes::MISREAD;
use crate::scheduled::Scheduled;
use crate::store::Row;

/// The layout: servers by hostgroup, and hostgroups by cluster. A hostgroup that no table joins with another is a
/// cluster of its own; one that no server is in and no table names is none.
pub(super) fn lift(lift: &mut Lift<'_>, variables: &Variables, scheduled: &[Scheduled]) {
    let mut members = servers(lift);
    let mut clusters = Clusters::default();
    for row in lift.rows("mysql_replication_hostgroups") {
        replication(lift, &row, variables, &mut clusters);
    }
    for (table, galera) in [
        ("mysql_galera_hostgroups", true),
        ("mysql_group_replication_hostgroups", false),
    ] {
        for row in lift.rows(table) {
            group(lift, table, &row, galera, &mut clusters);
        }
    }
    for scheduled in scheduled {
        super::scheduled::join(lift, scheduled, &members, &mut clusters);
    }
    let mut alone = Vec::new();
    for id in members.keys().filter(|id| !clusters.owned.contains_key(id)) {
        alone.push(*id);
    }
    for id in alone {
        let name = format!("hg{id}");
        let address = Address::new(format!("mysql_servers.{id}"));
        clusters.add(
            name,
            address,
            ClusterKind::Single,
            id,
            None,
            WriterServesReads::Always,
        );
    }
    for (id, (cluster, role)) in clusters.owned {
        lift.configuration.hostgroups.push(Hostgroup {
            id,
            cluster,
            role,
            members: members.remove(&id).unwrap_or_default(),
        });
    }
    clusters.list.sort_by(|a, b| a.name.cmp(&b.name));
    lift.configuration.clusters = clusters.list;
}

/// What people call a cluster: the row's comment where it is short.
fn name_of(row: &Row, writer: u32) -> String {
    let comment = filled(row, "comment").map(|comment| comment.trim_start_matches("clusters.").to_owned());
    let is_name = |name: &String| {
        name.len() <= 64 && name.chars().any(char::is_alphanumeric) && !name.chars().any(char::is_control)
    };
    comment.filter(is_name).unwrap_or_else(|| format!("hg{writer}"))
}

fn replication(lift: &mut Lift<'_>, row: &Row, variables: &Variables, clusters: &mut Clusters) {
    let (Some(writer), Some(reader)) = (
        lift.count(row, "writer_hostgroup"),
        lift.count(row, "reader_hostgroup"),
    ) else {
        return;
    };
    let check = text(row, "check_type").unwrap_or_default().to_ascii_lowercase();
    let read_only_check = match check.as_str() {
        "super_read_only" => ReadOnlyCheck::SuperReadOnly,
        "innodb_read_only" => ReadOnlyCheck::InnodbReadOnly,
        "read_only" => ReadOnlyCheck::ReadOnly,
        _ => {
            lift.say(
                Severity::Info,
                MISREAD,
                row,
                format!("check_type {check} is read as read_only"),
            );
            ReadOnlyCheck::ReadOnly
        }
    };
    let serves = match variables.writer_is_also_reader() {
        true => WriterServesReads::Always,
        false => WriterServesReads::Never,
    };
    let address = lift.address(format!("mysql_replication_hostgroups.{writer}"), row);
    clusters.add(
        name_of(row, writer),
        address,
        ClusterKind::Replication { read_only_check },
        HostgroupId(writer),
        Some(HostgroupId(reader)),
        serves,
    );
}

fn group(lift: &mut Lift<'_>, table: &str, row: &Row, galera: bool, clusters: &mut Clusters) {
    let Some(writer) = lift.count(row, "writer_hostgroup") else {
        return;
    };
    if !lift.flag(row, "active") {
        lift.ignored(row, format!("the row of writer hostgroup {writer} is not active"));
        return;
    }
    if !matches!(row.cell("reader_hostgroup"), Value::Integer(_)) {
        let what = "LOAD MYSQL SERVERS TO RUNTIME ends the engine: reader_hostgroup is no number".to_owned();
        lift.say(Severity::Error, MISREAD, row, what);
    }
    let hostgroup = |lift: &mut Lift<'_>, column| HostgroupId(lift.count(row, column).unwrap_or(0));
    let reader = hostgroup(lift, "reader_hostgroup");
    let group = Group {
        backup_writer: hostgroup(lift, "backup_writer_hostgroup"),
        offline: hostgroup(lift, "offline_hostgroup"),
        writers: lift.count(row, "max_writers").unwrap_or(1),
        max_transactions_behind: lift.count(row, "max_transactions_behind").unwrap_or(0),
        failback: Failback::Manual,
    };
    let serves = match lift.count(row, "writer_is_also_reader") {
        Some(1) => WriterServesReads::Always,
        also => {
            if galera && also == Some(0) {
                let what = format!(
                    "writer_is_also_reader 0 of writer hostgroup {writer} is read as 2: with 0, servers that could write and do not would not be readers either"
                );
                lift.say(Severity::Info, MISREAD, row, what);
            }
            WriterServesReads::Never
        }
    };
    let kind = match galera {
        true => ClusterKind::Galera(group),
        false => ClusterKind::GroupReplication(group),
    };
    let address = lift.address(format!("{table}.{writer}"), row);
    clusters.add(
        name_of(row, writer),
        address,
        kind,
        HostgroupId(writer),
        Some(reader),
        serves,
    );
}

fn servers(lift: &mut Lift<'_>) -> BTreeMap<HostgroupId, Vec<Member>> {
    let mut members: BTreeMap<HostgroupId, Vec<Member>> = BTreeMap::new();
    let mut refusing = Vec::new();
    for row in lift.rows("mysql_servers") {
        let Some(hostgroup) = lift.count(&row, "hostgroup_id") else {
            continue;
        };
        let host = text(&row, "hostname").unwrap_or_default();
        let port = lift
            .count(&row, "port")
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or(0);
        let comment = filled(&row, "comment").unwrap_or_default();
        if let Some((refuser, reason)) = RefusingHostgroup::parse_comment(&comment) {
            let address = lift.address(format!("mysql_servers.{hostgroup}"), &row);
            refusing.push(RefusingHostgroup {
                id: HostgroupId(hostgroup),
                address,
                reason: reason.to_owned(),
                refuser,
                host,
                port,
            });
            continue;
        }
        let status = match text(&row, "status")
            .unwrap_or_default()
            .to_ascii_uppercase()
            .as_str()
        {
            "OFFLINE_SOFT" => MemberStatus::Draining,
            "OFFLINE_HARD" => MemberStatus::Offline,
            "SHUNNED" => {
                let what = format!("{host}:{port} is SHUNNED in the file: it does not come back by itself");
                lift.say(Severity::Warning, MISREAD, &row, what);
                MemberStatus::Offline
            }
            _ => MemberStatus::Online,
        };
        for column in left_columns(&SERVERS) {
            if lift.number(&row, column).is_some_and(|number| number != 0) {
                lift.reports_gtids |= *column == "gtid_port";
                lift.ignored(&row, format!("{column} of {host}:{port} {LEFT}"));
            }
        }
        let place = lift.origins.contains_key(&format!("mysql_servers.{hostgroup}"));
        if let Some(span) = row.place.filter(|_| !place) {
            lift.origins.insert(format!("mysql_servers.{hostgroup}"), span);
        }
        let member = Member {
            server: lift.address(format!("mysql_servers.{hostgroup}.{host}:{port}"), &row),
            host,
            port,
            weight: lift.count(&row, "weight").unwrap_or(0),
            tier: 0,
            max_connections: lift.count(&row, "max_connections").unwrap_or(0),
            max_replication_lag_s: lift.count(&row, "max_replication_lag").unwrap_or(0),
            // ProxySQL connects without TLS to a server that offers none.
            tls: match lift.flag(&row, "use_ssl") {
                true => ServerTls::Preferred,
                false => ServerTls::Disabled,
            },
            status,
        };
        members.entry(HostgroupId(hostgroup)).or_default().push(member);
    }
    // A second server could let statements through.
    refusing.retain(|refusing: &RefusingHostgroup| !members.contains_key(&refusing.id));
    refusing.sort_by_key(|refusing| refusing.id);
    refusing.dedup_by_key(|refusing| refusing.id);
    lift.configuration.refusing = refusing;
    members
}
