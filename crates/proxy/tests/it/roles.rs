//! Clusters whose servers are watched: who writes and who reads follows the servers, on real ones.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{
    Candidate, ClusterKind, Configuration, EngineRule, Hostgroup, HostgroupId, Member, Monitor,
    ReadOnlyCheck, Role, SecretReference, WriterServesReads,
};
use shardwright_testkit::{Flavour, MariaDb, Options, Replication, eventually};

use crate::support::{PATIENCE, Setup, create_users, error, member, rule, start, start_on, try_value, value};

/// MariaDB's, whatever other tests run on.
pub(crate) fn mariadb() -> Options {
    Options {
        flavour: Flavour::MariaDb,
        ..Options::default()
    }
}

pub(crate) fn prepare(server: &MariaDb) {
    create_users(server);
    // Who may write on a replica is not stopped by read_only.
    server
        .run("REVOKE READ ONLY ADMIN ON *.* FROM 'app'@'%'")
        .unwrap();
    server
        .create_user("monitor", "watch", Some("REPLICA MONITOR ON *.*"))
        .unwrap();
}

/// Cluster `a` with these servers, its writer in hostgroup 10 and its readers, to which `/* read */` goes, in 11.
fn watched(configuration: &mut Configuration, kind: &ClusterKind, addresses: &[SocketAddr]) {
    let server = |at: usize| -> Member {
        Member {
            server: format!("clusters.a.servers.a{}", at + 1).into(),
            host: addresses[at].ip().to_string(),
            ..member("a", addresses[at].port(), 20)
        }
    };
    let cluster = &mut configuration.clusters[0];
    cluster.kind = kind.clone();
    cluster.reader = Some(HostgroupId(11));
    cluster.writer_serves_reads = WriterServesReads::LastResort;
    cluster.candidates = (0..addresses.len())
        .map(|at| Candidate {
            server: server(at).server,
            write_weight: 1,
            read_weight: 1,
            max_replication_lag_ms: 5_000,
        })
        .collect();
    configuration.hostgroups[0].members = vec![server(0)];
    let readers = Hostgroup {
        id: HostgroupId(11),
        cluster: cluster.address.clone(),
        role: Role::Reader,
        members: (1..addresses.len()).map(server).collect(),
    };
    configuration.hostgroups.insert(1, readers);
    configuration.monitor = Some(Monitor {
        address: "monitor".into(),
        user: "monitor".into(),
        password: None,
        heartbeat: None,
    });
    let reads = EngineRule {
        match_pattern: Some(r"/\* read \*/".into()),
        destination_hostgroup: Some(11),
        apply: true,
        ..EngineRule::default()
    };
    configuration.graph.rules.insert(0, rule(50, reads));
}

pub(crate) fn setup(kind: ClusterKind, servers: &[MariaDb]) -> Setup {
    let addresses: Vec<SocketAddr> = servers.iter().map(MariaDb::address).collect();
    Setup {
        port: addresses[0].port(),
        configuration: Box::new(move |configuration| {
            watched(configuration, &kind, &addresses);
            let secret = configuration.users[0].password.clone();
            let Some(SecretReference::File(path)) = secret else {
                panic!("the secret of the users is in a file");
            };
            let path = std::path::Path::new(&path).with_file_name("monitor");
            std::fs::write(&path, "watch").unwrap();
            let monitor = configuration.monitor.as_mut().unwrap();
            monitor.password = Some(SecretReference::File(path.to_str().unwrap().into()));
        }),
        options: Box::new(|options| options.limits.checkout_timeout = PATIENCE),
        ..Setup::default()
    }
}

pub(crate) fn replication() -> ClusterKind {
    ClusterKind::Replication {
        read_only_check: ReadOnlyCheck::ReadOnly,
    }
}

/// The servers that answer reads now.
pub(crate) fn readers(client: &mut Conn) -> BTreeSet<String> {
    (0..40)
        .map(|_| value(client, "SELECT /* read */ @@server_id"))
        .collect()
}

/// What the admin port says of a server.
pub(crate) fn told(admin: &mut Conn, server: &str, column: &str) -> String {
    let sql = format!(
        "SELECT {column} FROM stats_shardwright_servers WHERE server = 'clusters.a.servers.{server}'"
    );
    value(admin, &sql)
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn writes_follow_the_promotion_and_not_the_server_that_comes_back() {
    let mut servers = Replication::start(3, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, at INT)")
        .unwrap();
    let proxy = start(&setup(replication(), &servers.servers));
    let mut client = proxy.connect(None);
    // The first statement waits until the servers have been looked at.
    assert_eq!(value(&mut client, "SELECT @@server_id"), "1");
    eventually(PATIENCE, || readers(&mut client) == set(&["2", "3"]));
    // A crash: statements wait for the promotion, and none fails.
    servers.servers[0].kill().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut client = proxy.connect(None);
            client.query_drop("INSERT INTO t.t (at) VALUES (1)").unwrap();
            value(&mut client, "SELECT @@server_id")
        });
        let mut admin = proxy.admin();
        eventually(PATIENCE, || {
            told(&mut admin, "a1", "writes").contains("does not answer")
        });
        servers.promote(1);
        servers.follow(2, 1);
        assert_eq!(waiting.join().unwrap(), "2");
    });
    eventually(PATIENCE, || readers(&mut client) == set(&["3"]));
    // The former primary is back, and can write: it gets nothing until it is a replica.
    servers.servers[0].restart().unwrap();
    let mut admin = proxy.admin();
    eventually(PATIENCE, || {
        told(&mut admin, "a1", "writes").contains("promoted later")
    });
    assert_eq!(value(&mut client, "SELECT @@server_id"), "2");
    assert_eq!(readers(&mut client), set(&["3"]));
    servers.follow(0, 1);
    eventually(PATIENCE, || readers(&mut client) == set(&["1", "3"]));
    let changes = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Role_changes'";
    assert!(value(&mut admin, changes).parse::<u64>().unwrap() >= 3);
    // Whoever is promoted later takes the writes.
    servers.promote(0);
    eventually(PATIENCE, || value(&mut client, "SELECT @@server_id") == "1");
}

/// Whether a server works on a statement.
fn executes(server: &MariaDb, statement: &str) -> bool {
    let processes = format!(
        "SELECT 1 FROM information_schema.processlist WHERE command = 'Query' AND info = '{statement}'"
    );
    !server.run(processes).unwrap().is_empty()
}

#[test]
fn a_writer_that_hangs_is_left_and_stays_left_after_a_restart_of_the_proxy() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    let setup = setup(replication(), &servers.servers);
    let mut proxy = start(&setup);
    let mut client = proxy.connect(None);
    assert_eq!(value(&mut client, "SELECT @@server_id"), "1");
    eventually(PATIENCE, || readers(&mut client) == set(&["2"]));
    let mut in_transaction = proxy.connect(None);
    in_transaction.query_drop("BEGIN").unwrap();
    assert_eq!(value(&mut in_transaction, "SELECT @@server_id"), "1");
    std::thread::scope(|scope| {
        let in_flight = scope.spawn(|| error(&mut client, "DO SLEEP(100)"));
        eventually(PATIENCE, || executes(&servers.servers[0], "DO SLEEP(100)"));
        servers.servers[0].pause().unwrap();
        let mut admin = proxy.admin();
        eventually(PATIENCE, || {
            told(&mut admin, "a1", "writes").contains("does not answer")
        });
        servers.promote(1);
        // Nobody knows whether it was executed: it is not sent again.
        assert_eq!(in_flight.join().unwrap().0, 2013);
    });
    assert_eq!(value(&mut client, "SELECT @@server_id"), "2");
    assert!(
        try_value(&mut in_transaction, "SELECT 1").is_err(),
        "its transaction is lost"
    );
    servers.servers[0].resume().unwrap();
    let mut admin = proxy.admin();
    eventually(PATIENCE, || {
        told(&mut admin, "a1", "writes").contains("promoted later")
    });
    assert_eq!(
        readers(&mut client),
        set(&["2"]),
        "what the former writer has is not what was written"
    );
    drop((client, admin, in_transaction));
    drop(proxy.running.take());
    let proxy = start_on(proxy.directory.clone(), &setup);
    let mut client = proxy.connect(None);
    for _ in 0..20 {
        assert_eq!(value(&mut client, "SELECT @@server_id"), "2");
    }
    let mut admin = proxy.admin();
    eventually(PATIENCE, || {
        told(&mut admin, "a1", "writes").contains("promoted later")
    });
}

#[test]
fn a_promotion_ends_the_wait_for_a_writer_that_hangs() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    let proxy = start(&setup(replication(), &servers.servers));
    let mut client = proxy.connect(None);
    assert_eq!(value(&mut client, "SELECT @@server_id"), "1");
    eventually(PATIENCE, || readers(&mut client) == set(&["2"]));
    let mut admin = proxy.admin();
    std::thread::scope(|scope| {
        let in_flight = scope.spawn(|| error(&mut client, "DO SLEEP(100)"));
        eventually(PATIENCE, || executes(&servers.servers[0], "DO SLEEP(100)"));
        servers.servers[0].pause().unwrap();
        // Whoever promotes has noticed sooner than the monitor.
        servers.promote(1);
        eventually(PATIENCE, || {
            told(&mut admin, "a1", "seen").contains("no answer, and another server was promoted")
        });
        assert_eq!(in_flight.join().unwrap().0, 2013);
    });
    assert_eq!(value(&mut client, "SELECT @@server_id"), "2");
    servers.servers[0].resume().unwrap();
}

#[test]
fn two_servers_that_always_could_write_get_nothing_until_a_person_decides() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    eventually(PATIENCE, || {
        servers.servers[1]
            .run("SELECT 1 FROM mysql.user WHERE user = 'monitor'")
            .unwrap()
            .len()
            == 1
    });
    servers.promote(1);
    let proxy = start(&Setup {
        options: Box::new(|options| options.limits.checkout_timeout = Duration::from_millis(500)),
        ..setup(replication(), &servers.servers)
    });
    let mut client = proxy.connect(None);
    let (code, message) = error(&mut client, "SELECT 1");
    assert_eq!(code, 9001);
    assert!(
        message.contains("clusters.a.servers.a1 and clusters.a.servers.a2 say that they can write"),
        "{message}"
    );
    servers.follow(0, 1);
    eventually(PATIENCE, || {
        try_value(&mut client, "SELECT @@server_id").is_ok_and(|id| id == "2")
    });
}

#[test]
fn a_move_of_the_writer_fails_no_statement_and_loses_none() {
    const CLIENTS: u64 = 4;
    const MOVES: usize = 6;
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY)")
        .unwrap();
    let proxy = start(&setup(replication(), &servers.servers));
    let has_moved = AtomicBool::new(false);
    let written: Vec<u64> = std::thread::scope(|scope| {
        let write = |first: u64| {
            let mut client = proxy.connect(None);
            let mut id = first;
            while !has_moved.load(Ordering::Relaxed) {
                // Half of them as text, half as executions of a prepared statement.
                let written = match first % 2 {
                    0 => client.query_drop(format!("INSERT INTO t.t VALUES ({id})")),
                    _ => client.exec_drop("INSERT INTO t.t VALUES (?)", (id,)),
                };
                written.unwrap();
                id += CLIENTS;
            }
            (id - first) / CLIENTS
        };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|first| scope.spawn(move || write(first)))
            .collect();
        let mut admin = proxy.admin();
        for at in 0..MOVES {
            let (from, to) = (at % 2, (at + 1) % 2);
            let answered = || {
                value(
                    &mut proxy.admin(),
                    "SELECT SUM(Queries) FROM stats_mysql_connection_pool",
                )
                .parse::<u64>()
                .unwrap()
            };
            let before = answered();
            eventually(PATIENCE, || answered() > before + 100);
            servers.servers[from].run("SET GLOBAL read_only = 1").unwrap();
            let gtid = servers.servers[from].run("SELECT @@gtid_binlog_pos").unwrap()[0][0]
                .clone()
                .unwrap();
            servers.servers[to]
                .run(format!("SELECT MASTER_GTID_WAIT('{gtid}')"))
                .unwrap();
            servers.promote(to);
            servers.follow(from, to);
            let name = format!("a{}", to + 1);
            eventually(PATIENCE, || told(&mut admin, &name, "writes") == "yes");
        }
        has_moved.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let kept = servers.servers[0].run("SELECT COUNT(*) FROM t.t").unwrap()[0][0]
        .clone()
        .unwrap();
    assert_eq!(kept, written.iter().sum::<u64>().to_string());
}

#[test]
fn an_open_transaction_hears_of_it_and_a_statement_alone_waits() {
    let servers = Replication::start(1, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY)")
        .unwrap();
    let proxy = start(&setup(replication(), &servers.servers));
    let mut client = proxy.connect(None);
    client.query_drop("BEGIN").unwrap();
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t.t"), "0");
    servers.servers[0].run("SET GLOBAL read_only = 1").unwrap();
    let refused = error(&mut client, "INSERT INTO t.t VALUES (1)");
    assert_eq!(refused.0, 1290, "{}", refused.1);
    client.query_drop("ROLLBACK").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| client.query_drop("INSERT INTO t.t VALUES (2)").unwrap());
        let mut admin = proxy.admin();
        eventually(PATIENCE, || {
            told(&mut admin, "a1", "writes") == "no: it is read-only"
        });
        servers.servers[0].run("SET GLOBAL read_only = 0").unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(id) FROM t.t"), "2");
    assert_eq!(value(&mut client, "SELECT @@in_transaction"), "0");
}

#[test]
fn a_replica_that_lags_or_does_not_say_so_answers_no_reads() {
    let servers = Replication::start(3, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    let proxy = start(&setup(replication(), &servers.servers));
    let mut client = proxy.connect(None);
    eventually(PATIENCE, || readers(&mut client) == set(&["2", "3"]));
    servers.servers[1].run("STOP SLAVE SQL_THREAD").unwrap();
    eventually(PATIENCE, || readers(&mut client) == set(&["3"]));
    let mut admin = proxy.admin();
    let why = told(&mut admin, "a2", "reads");
    assert!(
        why.ends_with("its limit is 5 s, its replication is stopped"),
        "{why}"
    );
    servers.servers[2].run("STOP SLAVE SQL_THREAD").unwrap();
    // The last resort.
    eventually(PATIENCE, || readers(&mut client) == set(&["1"]));
    servers.servers[1].run("START SLAVE").unwrap();
    eventually(PATIENCE, || readers(&mut client) == set(&["2"]));
}
