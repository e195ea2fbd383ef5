//! Which servers answer in which hostgroup of a live ProxySQL.

use shardwright_plan::LiveServers;
use shardwright_rules::tables::{
    GALERA_HOSTGROUPS, GROUP_REPLICATION_HOSTGROUPS, REPLICATION_HOSTGROUPS, SERVERS, Table, USERS,
};

use super::live::Live;
use super::row::{Row, TableName};

/// Columns of the hostgroups in which the servers of one cluster answer. Servers of several clusters may be offline in one
/// hostgroup, so that one is left out.
const HOSTGROUPS: [&str; 3] = ["writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup"];

/// The servers, clusters and users' hostgroups of rows, of others too.
pub(super) fn live_servers(live: &Live) -> LiveServers {
    let rows = |table: &'static Table| live.of_table(TableName::of(table));
    let number = |row: &Row, column: &str| {
        row.number(column)
            .and_then(|hostgroup| u64::try_from(hostgroup).ok())
    };
    let servers = rows(&SERVERS).filter_map(|(_, found)| {
        let row = &found.row;
        let address = format!("{}:{}", row.text("hostname"), row.number("port").unwrap_or(0));
        Some((number(row, "hostgroup_id")?, address))
    });
    let clusters = [
        &REPLICATION_HOSTGROUPS,
        &GALERA_HOSTGROUPS,
        &GROUP_REPLICATION_HOSTGROUPS,
    ];
    let clusters = clusters.into_iter().flat_map(|table| {
        rows(table).map(|(_, found)| {
            let hostgroups = HOSTGROUPS.iter().filter_map(|column| number(&found.row, column));
            hostgroups.collect()
        })
    });
    let defaults = rows(&USERS).filter_map(|(_, found)| {
        let hostgroup = number(&found.row, "default_hostgroup")?;
        Some((found.row.text("username").to_owned(), hostgroup))
    });
    LiveServers {
        servers: servers.collect(),
        clusters: clusters.collect(),
        default_hostgroups: defaults.collect(),
    }
}
