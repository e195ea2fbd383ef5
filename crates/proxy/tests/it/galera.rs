//! The Galera cluster that tests share, one after the other: starting one takes long. And who writes and reads in it.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{ClusterKind, Failback, Group, HostgroupId};
use shardwright_testkit::{Galera, Network, eventually};

use crate::roles::{mariadb, prepare, setup, told};
use crate::support::{PATIENCE, start, value};

static CLUSTER: LazyLock<Mutex<Galera>> = LazyLock::new(|| {
    let network = Network::if_possible("a Galera server whose network is cut");
    let galera = Galera::start_in(network, 3, &mariadb()).unwrap();
    prepare(&galera.servers[0]);
    Mutex::new(galera)
});

/// Three servers that are all part of the cluster, with an empty schema `t`. The first is beyond a network, where the machine
/// allows that.
pub(crate) fn cluster() -> MutexGuard<'static, Galera> {
    let mut galera = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    galera.heal().unwrap();
    galera.servers[0]
        .run("DROP DATABASE IF EXISTS t; CREATE DATABASE t")
        .unwrap();
    galera
}

/// One writer, which stays the writer until it fails.
pub(crate) fn kind() -> ClusterKind {
    ClusterKind::Galera(Group {
        backup_writer: HostgroupId(12),
        offline: HostgroupId(13),
        writers: 1,
        max_transactions_behind: 100,
        failback: Failback::Manual,
    })
}

#[test]
fn a_galera_cluster_writes_in_one_place_and_moves_when_that_fails() {
    let mut galera = cluster();
    galera.servers[0]
        .run("CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, at INT)")
        .unwrap();
    let proxy = start(&setup(kind(), &galera.servers));
    let ports: Vec<String> = galera
        .servers
        .iter()
        .map(|server| server.port().to_string())
        .collect();
    let writer = |client: &mut Conn| value(client, "SELECT @@port");
    let readers = |client: &mut Conn| -> BTreeSet<String> {
        (0..40)
            .map(|_| value(client, "SELECT /* read */ @@port"))
            .collect()
    };
    let of = |at: &[usize]| at.iter().map(|&at| ports[at].clone()).collect::<BTreeSet<_>>();
    let mut client = proxy.connect(None);
    assert_eq!(writer(&mut client), ports[0]);
    eventually(PATIENCE, || readers(&mut client) == of(&[1, 2]));
    // Taken out by hand: the next in the order of preference writes, and the statement does not fail.
    galera.servers[0].run("SET GLOBAL wsrep_desync = ON").unwrap();
    eventually(PATIENCE, || writer(&mut client) == ports[1]);
    eventually(PATIENCE, || readers(&mut client) == of(&[2]));
    galera.servers[0].run("SET GLOBAL wsrep_desync = OFF").unwrap();
    eventually(PATIENCE, || readers(&mut client) == of(&[0, 2]));
    assert_eq!(writer(&mut client), ports[1], "it comes back when it is asked to");
    // A crash of the writer: statements wait until the others go on without it.
    galera.servers[1].kill().unwrap();
    // Until the survivors agree on who is left, they may refuse it, as without a proxy.
    eventually(PATIENCE, || {
        client
            .query_drop("REPLACE INTO t.t (id, at) VALUES (1, 1)")
            .is_ok()
    });
    assert_eq!(writer(&mut client), ports[0]);
    // The only one that is left has no majority: it says so, and nobody is asked to write there.
    galera.servers[2].kill().unwrap();
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "a1", "writes").contains("majority"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            proxy
                .connect(None)
                .query_drop("REPLACE INTO t.t (id, at) VALUES (2, 2)")
                .unwrap();
        });
        galera.servers[0]
            .run("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'")
            .unwrap();
        waiting.join().unwrap();
    });
    let kept = galera.servers[0].run("SELECT COUNT(*) FROM t.t").unwrap();
    assert_eq!(kept[0][0].as_deref(), Some("2"));
}
