//! Servers, and how the monitor moves them between hostgroups.

use shardwright_rules::{
    Cluster, ClusterKind, Configuration, Group, Hostgroup, HostgroupId, Member, MemberStatus, ReadOnlyCheck,
    RefusingHostgroup, WriterServesReads,
};

use super::{Row, Table};
use crate::emit::EmitError;

const MAX_REFUSALS_AT_A_TIME: u32 = 100;

/// `mysql_servers`
pub(super) fn servers(configuration: &Configuration) -> Result<Vec<Row>, EmitError> {
    let mut rows = Vec::new();
    for hostgroup in &configuration.hostgroups {
        let galera = configuration.cluster_of(hostgroup.id).is_some_and(|cluster| {
            matches!(cluster.kind, ClusterKind::Galera(_)) && cluster.roles_by.is_engine()
        });
        for member in &hostgroup.members {
            // The monitor of Galera hostgroups sets the status of every server that could write to ONLINE, whatever it
            // was (2.7.1, `update_galera_set_writer`): only a server without a row stays out.
            if galera && member.status != MemberStatus::Online {
                continue;
            }
            rows.push(server(hostgroup, member)?);
        }
    }
    for hostgroup in &configuration.refusing {
        rows.push(refuser(hostgroup)?);
    }
    Ok(rows)
}

/// The one server of a hostgroup that refuses. A login there is over at once, so a few at a time are enough.
fn refuser(hostgroup: &RefusingHostgroup) -> Result<Row, EmitError> {
    let mut row = Row::new(Table::Servers, &hostgroup.address);
    row.set("hostgroup_id", hostgroup.id.0);
    row.set("hostname", hostgroup.host.as_str());
    row.set("port", u32::from(hostgroup.port));
    row.set("max_connections", MAX_REFUSALS_AT_A_TIME);
    row.set("comment", hostgroup.comment().as_str());
    row.checked()
}

fn server(hostgroup: &Hostgroup, member: &Member) -> Result<Row, EmitError> {
    // There are no tiers: a last resort is a member of the lowest weight that is not none.
    let weight = match member.tier {
        0 => member.weight,
        _ => member.weight.min(1),
    };
    let member = &Member {
        weight,
        ..member.clone()
    };
    let row = Row::filled(Table::Servers, &member.server, member.cells(hostgroup.id));
    row.checked()
}

/// The tables that tell the monitor which hostgroups belong together. A cluster whose roles something else decides has
/// no row, or the monitor would undo that.
pub(super) fn hostgroups(configuration: &Configuration) -> Result<Vec<Row>, EmitError> {
    let mut rows = Vec::new();
    for cluster in configuration
        .clusters
        .iter()
        .filter(|cluster| cluster.roles_by.is_engine())
    {
        let Some(reader) = cluster.reader else { continue };
        match &cluster.kind {
            ClusterKind::Single => {}
            ClusterKind::Replication { read_only_check } => {
                rows.push(replication(cluster, reader, *read_only_check)?);
            }
            // Servers that could write count as readers only from 1 on: with 0, nothing would be left to read from but
            // servers that are read-only. 2 makes readers of those that could write and do not.
            ClusterKind::Galera(row) => rows.push(group(Table::GaleraHostgroups, cluster, reader, row, 2)?),
            // Here all but the primary are read-only.
            ClusterKind::GroupReplication(row) => {
                rows.push(group(Table::GroupReplicationHostgroups, cluster, reader, row, 0)?);
            }
        }
    }
    rows.sort_by_key(|row| row.table);
    Ok(rows)
}

fn replication(cluster: &Cluster, reader: HostgroupId, check: ReadOnlyCheck) -> Result<Row, EmitError> {
    let mut row = Row::new(Table::ReplicationHostgroups, &cluster.address);
    row.set("writer_hostgroup", cluster.writer.0);
    row.set("reader_hostgroup", reader.0);
    row.set(
        "check_type",
        match check {
            ReadOnlyCheck::ReadOnly => "read_only",
            ReadOnlyCheck::SuperReadOnly => "super_read_only",
            ReadOnlyCheck::InnodbReadOnly => "innodb_read_only",
        },
    );
    row.set("comment", cluster.address.as_str());
    row.checked()
}

fn group(
    table: Table,
    cluster: &Cluster,
    reader: HostgroupId,
    group: &Group,
    writer_never_reads: u32,
) -> Result<Row, EmitError> {
    let mut row = Row::new(table, &cluster.address);
    for (column, id) in [
        ("reader_hostgroup", reader),
        ("backup_writer_hostgroup", group.backup_writer),
        ("offline_hostgroup", group.offline),
    ] {
        if id.0 == 0 {
            return Err(row.error(column, "is 0, which only a writer hostgroup may be"));
        }
    }
    row.set("writer_hostgroup", cluster.writer.0);
    row.set("backup_writer_hostgroup", group.backup_writer.0);
    row.set("reader_hostgroup", reader.0);
    row.set("offline_hostgroup", group.offline.0);
    row.set("active", true);
    row.set("max_writers", group.writers);
    row.set(
        "writer_is_also_reader",
        match cluster.writer_serves_reads {
            WriterServesReads::Never => writer_never_reads,
            WriterServesReads::LastResort | WriterServesReads::Always => 1,
        },
    );
    row.set("max_transactions_behind", group.max_transactions_behind);
    row.set("comment", cluster.address.as_str());
    row.checked()
}
