//! Roles and own writes on MySQL's own servers: a group of three, and a replica that follows by GTID. They run where
//! `SHARDWRIGHT_MYSQLD` names a MySQL.

use std::collections::BTreeSet;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{ClusterKind, Failback, Group, HostgroupId};
use shardwright_testkit::{MariaDb, MySqlGroup, Options, Replication, eventually};

use crate::causal::{TABLES, causal, counted, every_way, free_run, served_by};
use crate::resets::{a_reset_leaves_what_is_listed, nothing_that_outlasts_a_reset_is_seen};
use crate::roles::{readers, replication, setup, told};
use crate::support::{PASSWORD, PATIENCE, USER, start, value};

/// Writes and reads of each free run.
const ROUNDS: u64 = 150;

/// A MySQL, where there is one.
fn mysql() -> Option<Options> {
    let options = Options::default();
    options.flavour.is_mysql().then_some(options)
}

/// The users have no privilege that would let them write in spite of `read_only`.
fn prepare(server: &MariaDb) {
    server.run(TABLES).unwrap();
    server.create_user(USER, PASSWORD, Some("ALL ON t.*")).unwrap();
    server
        .create_user("monitor", "watch", Some("REPLICATION CLIENT ON *.*"))
        .unwrap();
    server
        .run("GRANT SELECT ON performance_schema.* TO monitor@'%'")
        .unwrap();
}

fn group() -> ClusterKind {
    ClusterKind::GroupReplication(Group {
        backup_writer: HostgroupId(12),
        offline: HostgroupId(13),
        writers: 1,
        max_transactions_behind: 100,
        failback: Failback::Manual,
    })
}

fn others_than(writer: &str) -> BTreeSet<String> {
    let all = ["1", "2", "3"].map(str::to_owned);
    all.into_iter().filter(|number| number != writer).collect()
}

#[test]
fn writes_follow_the_primary_of_a_group_and_end_with_its_majority() {
    let Some(options) = mysql() else { return };
    let mut servers = MySqlGroup::start(3, &options).unwrap();
    prepare(&servers.servers[0]);
    let proxy = start(&setup(group(), &servers.servers));
    let mut client = proxy.connect(None);
    assert_eq!(value(&mut client, "SELECT @@server_id"), "1");
    eventually(PATIENCE, || readers(&mut client) == others_than("1"));
    // A crash of the primary: statements wait until the group has elected another.
    servers.servers[0].kill().unwrap();
    client.query_drop("INSERT INTO t.t (at) VALUES (1)").unwrap();
    let writer = value(&mut client, "SELECT @@server_id");
    let at = writer.parse::<usize>().unwrap() - 1;
    let elected = servers.primary_seen_by(at);
    assert_eq!(elected, Some(servers.servers[at].port()));
    // Who comes back reads.
    servers.servers[0].restart().unwrap();
    servers.join(0);
    eventually(PATIENCE, || readers(&mut client) == others_than(&writer));
    assert_eq!(value(&mut client, "SELECT @@server_id"), writer);
    // The person in charge moves the primary: no statement fails.
    let uuid = servers.servers[0]
        .run("SELECT @@server_uuid")
        .unwrap()
        .remove(0)
        .remove(0)
        .unwrap();
    servers.servers[at]
        .run(format!("SELECT group_replication_set_as_primary('{uuid}')"))
        .unwrap();
    client.query_drop("INSERT INTO t.t (at) VALUES (2)").unwrap();
    eventually(PATIENCE, || value(&mut client, "SELECT @@server_id") == "1");
    eventually(PATIENCE, || readers(&mut client) == others_than("1"));
    // Alone it has no majority: it says so, and nobody is asked to write there.
    for other in [1, 2] {
        servers.servers[other].kill().unwrap();
    }
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "a1", "writes").contains("majority"));
    let kept = servers.servers[0].run("SELECT at FROM t.t ORDER BY at").unwrap();
    assert_eq!(kept, [[Some("1".to_owned())], [Some("2".to_owned())]]);
}

/// The table is locked: what is applied to it waits. Reads of it do not.
fn lock(server: &MariaDb) -> Conn {
    let mut lock = server.root().unwrap();
    lock.query_drop("LOCK TABLES t.t READ").unwrap();
    lock
}

/// With the first writing, and the second reading.
fn own_writes_are_read(kind: &ClusterKind, servers: &[MariaDb]) {
    let proxy = start(&causal(kind.clone(), servers, Duration::from_millis(20)));
    served_by(&proxy, &servers[1]);
    let held = lock(&servers[1]);
    every_way(&proxy, &servers[0]);
    assert!(counted(&proxy, "Causal_reads_on_writer") > 0);
    drop(held);
    let proxy = start(&causal(kind.clone(), servers, PATIENCE));
    served_by(&proxy, &servers[1]);
    let (_, stale) = free_run(&proxy, ROUNDS);
    assert_eq!(stale, 0);
    assert_eq!(counted(&proxy, "Causal_reads_on_writer"), 0);
    assert!((1..=ROUNDS).contains(&counted(&proxy, "Causal_reads_waited")));
}

#[test]
fn what_a_reset_leaves_is_listed_and_reaches_no_other_session() {
    if mysql().is_some() {
        a_reset_leaves_what_is_listed();
        nothing_that_outlasts_a_reset_is_seen();
    }
}

#[test]
fn own_writes_are_read_in_a_group() {
    let Some(options) = mysql() else { return };
    let servers = MySqlGroup::start(2, &options).unwrap();
    prepare(&servers.servers[0]);
    own_writes_are_read(&group(), &servers.servers);
}

#[test]
fn own_writes_are_read_on_a_replica_of_mysql() {
    let Some(options) = mysql() else { return };
    let servers = Replication::start(2, &options).unwrap();
    prepare(&servers.servers[0]);
    own_writes_are_read(&replication(), &servers.servers);
}
