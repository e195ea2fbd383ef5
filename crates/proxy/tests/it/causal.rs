//! `consistency: causal`: a session reads its own writes on readers that are really behind.
//!
//! A read with `/* read */` goes to readers by a rule of its own, which asks for nothing: it shows what readers have. A replica
//! whose applier waits for a lock, and a Galera server whose provider is paused, are behind for certain.

use std::io::Write as _;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};
use shardwright_rules::{
    Body, ClusterKind, Configuration, EngineRule, NativeStep, ReadSelection, RoleStep, Rule, Scope,
};
use shardwright_testkit::{ClientOptions, Galera, MariaDb, Replication, eventually, text_rows};

use crate::galera;
use crate::roles::{mariadb, prepare, replication, setup};
use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, rule, start, value};

/// Writes and reads of each free run.
const ROUNDS: u64 = 150;
/// What MariaDB tracks by itself, and the position.
pub(crate) const TRACK: &str = "SET GLOBAL session_track_system_variables = 'autocommit,character_set_client,\
    character_set_connection,character_set_results,time_zone,last_gtid'";

/// A cluster `a` whose reads go to readers that have the session's writes. No limit on their lag.
pub(crate) fn causal(kind: ClusterKind, servers: &[MariaDb], wait: Duration) -> Setup {
    let Setup {
        options,
        configuration,
        port,
        max_connections,
    } = setup(kind, servers);
    Setup {
        options: Box::new(move |chosen| {
            options(chosen);
            chosen.limits.causal_wait = wait;
        }),
        configuration: Box::new(move |chosen: &mut Configuration| {
            configuration(chosen);
            for candidate in &mut chosen.clusters[0].candidates {
                candidate.max_replication_lag_ms = 0;
            }
            let to_writer = EngineRule {
                match_pattern: Some(r"/\* write \*/".into()),
                destination_hostgroup: Some(10),
                apply: true,
                ..EngineRule::default()
            };
            chosen.graph.rules.splice(1..1, [rule(51, to_writer), policy()]);
        }),
        port,
        max_connections,
    }
}

/// The same without a monitor: servers stay what they are written as.
fn unwatched(setup: Setup) -> Setup {
    let configuration = setup.configuration;
    Setup {
        configuration: Box::new(move |chosen: &mut Configuration| {
            configuration(chosen);
            chosen.clusters[0].candidates.clear();
            chosen.monitor = None;
        }),
        ..setup
    }
}

fn policy() -> Rule {
    let step = RoleStep {
        reads: ReadSelection::All,
        writer_hint: None,
        after_write_ms: 0,
        causal: true,
        session_functions_on_readers: false,
    };
    Rule {
        id: 60,
        address: "read_write_policies.own".into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Native {
            scope: Box::new(Scope::default()),
            step: NativeStep::Role(Box::new(step)),
        },
    }
}

pub(crate) const TABLES: &str = "CREATE DATABASE t; \
    CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, at BIGINT); \
    CREATE TABLE t.plain (at BIGINT PRIMARY KEY); \
    CREATE PROCEDURE t.add() BEGIN INSERT INTO t.t (at) VALUES (1); INSERT INTO t.t (at) VALUES (2); END";

/// A counter of the admin port.
pub(crate) fn counted(proxy: &TestProxy, name: &str) -> u64 {
    let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    value(&mut proxy.admin(), &sql).parse().unwrap()
}

fn count(client: &mut Conn) -> String {
    value(client, "SELECT COUNT(*) FROM t.t")
}

/// What readers have of the table, whoever has written it.
fn count_on_reader(client: &mut Conn) -> String {
    value(client, "SELECT /* read */ COUNT(*) FROM t.t")
}

/// Ways to write a row or more, each in a session of its own.
const WRITES: [&[&str]; 12] = [
    &["INSERT INTO t.t (at) VALUES (1)"],
    &["BEGIN", "INSERT INTO t.t (at) VALUES (1)", "COMMIT"],
    &[
        "BEGIN",
        "INSERT INTO t.t (at) VALUES (1)",
        "SELECT COUNT(*) FROM t.t",
        "COMMIT",
    ],
    &["BEGIN", "INSERT INTO t.t (at) VALUES (1)", "BEGIN", "ROLLBACK"],
    &[
        "BEGIN",
        "INSERT INTO t.t (at) VALUES (1)",
        "CREATE TABLE IF NOT EXISTS t.other (a INT)",
    ],
    &[
        "SET autocommit = 0",
        "INSERT INTO t.t (at) VALUES (1)",
        "SET autocommit = 1",
    ],
    &["CALL t.add()"],
    &["INSERT INTO t.t (at) VALUES (1); INSERT INTO t.t (at) VALUES (2)"],
    &["BEGIN; INSERT INTO t.t (at) VALUES (1); COMMIT"],
    &["EXECUTE IMMEDIATE 'INSERT INTO t.t (at) VALUES (1)'"],
    &[
        "PREPARE s FROM 'INSERT INTO t.t (at) VALUES (1)'",
        "EXECUTE s",
        "DEALLOCATE PREPARE s",
    ],
    &[
        "REPLACE INTO t.t (id, at) VALUES (100000, 1)",
        "DELETE FROM t.t ORDER BY id LIMIT 1",
    ],
];

/// A client that has a file of two rows.
fn with_file(proxy: &TestProxy) -> Conn {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some("t"),
    };
    let file = LocalInfileHandler::new(|_, stream| stream.write_all(b"5\n6\n"));
    let options = options
        .tcp(proxy.running().listen_address())
        .local_infile_handler(Some(file));
    Conn::new(options).unwrap()
}

/// Runs each way to write while readers stand still, and sees what the session reads then.
pub(crate) fn every_way(proxy: &TestProxy, writer: &MariaDb) {
    let is_mysql = writer.flavour().is_mysql();
    let known = |texts: &&[&str]| !(is_mysql && texts[0].starts_with("EXECUTE IMMEDIATE"));
    for texts in WRITES.into_iter().filter(known) {
        let mut client = proxy.connect(Some("t"));
        for text in texts {
            text_rows(&mut client, text).unwrap();
        }
        let written = writer.run("SELECT COUNT(*) FROM t.t").unwrap();
        let written = written[0][0].clone().unwrap();
        // Not the session itself: what it has left on the writer may keep it there.
        let on_reader = count_on_reader(&mut proxy.connect(None));
        assert_ne!(on_reader, written, "{texts:?}: the reader is not behind");
        assert_eq!(count(&mut client), written, "{texts:?}");
        let read = client.prep("SELECT COUNT(*) FROM t.t").unwrap();
        let prepared: Option<u64> = client.exec_first(&read, ()).unwrap();
        assert_eq!(prepared.unwrap().to_string(), written, "{texts:?}, prepared");
    }
    // From a file of the client's.
    let mut client = with_file(proxy);
    client
        .query_drop("LOAD DATA LOCAL INFILE 'a' INTO TABLE t.t (at)")
        .unwrap();
    let written = writer.run("SELECT COUNT(*) FROM t.t").unwrap();
    let on_reader = count_on_reader(&mut proxy.connect(None));
    assert_ne!(
        Some(on_reader),
        written[0][0],
        "LOAD DATA: the reader is not behind"
    );
    assert_eq!(Some(count(&mut client)), written[0][0]);
    // In the binary protocol, and after COM_RESET_CONNECTION.
    let mut client = proxy.connect(Some("t"));
    let insert = client.prep("INSERT INTO t.t (at) VALUES (?)").unwrap();
    client.exec_drop(&insert, (7,)).unwrap();
    client.reset().unwrap();
    let written = writer.run("SELECT COUNT(*) FROM t.t").unwrap();
    assert_eq!(Some(count(&mut client)), written[0][0]);
}

/// Writes and reads in turn while servers follow as they can; how many of the reads were stale, with and without.
pub(crate) fn free_run(proxy: &TestProxy, rounds: u64) -> (u64, u64) {
    let mut client = proxy.connect(Some("t"));
    client
        .query_drop("REPLACE INTO t.t (id, at) VALUES (1, 0)")
        .unwrap();
    let (mut stale, mut lacking) = (0, 0);
    for round in 1..=rounds {
        client
            .query_drop(format!("UPDATE t.t SET at = {round} WHERE id = 1"))
            .unwrap();
        let read = value(&mut client, "SELECT /* read */ at FROM t.t WHERE id = 1");
        lacking += u64::from(read != round.to_string());
        client
            .query_drop(format!("UPDATE t.t SET at = {round} + 1000000 WHERE id = 1"))
            .unwrap();
        for _ in 0..3 {
            let read = value(&mut client, "SELECT at FROM t.t WHERE id = 1");
            stale += u64::from(read != (round + 1_000_000).to_string());
        }
    }
    (lacking, stale)
}

fn two_servers() -> Replication {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0].run(TABLES).unwrap();
    servers
}

fn port_of_reader(client: &mut Conn) -> String {
    value(client, "SELECT @@port FROM t.t UNION SELECT @@port LIMIT 1")
}

/// Waits until reads are served by the reader.
pub(crate) fn served_by(proxy: &TestProxy, reader: &MariaDb) {
    let port = reader.port().to_string();
    eventually(PATIENCE, || {
        let mut client = proxy.connect(None);
        client
            .query_first::<String, _>("SELECT /* read */ @@port")
            .is_ok_and(|served| served.as_deref() == Some(&port))
    });
}

/// The table is locked: what is applied to it waits. Reads of it do not.
fn lock(replica: &MariaDb) -> Conn {
    let mut lock = replica.root().unwrap();
    lock.query_drop("LOCK TABLES t.t READ").unwrap();
    lock
}

#[test]
fn a_session_reads_its_writes_although_the_replica_does_not_have_them() {
    let servers = two_servers();
    let (primary, replica) = (&servers.servers[0], &servers.servers[1]);
    let proxy = start(&causal(
        replication(),
        &servers.servers,
        Duration::from_millis(20),
    ));
    served_by(&proxy, replica);
    for tracks in [false, true] {
        if tracks {
            primary.run(TRACK).unwrap();
        }
        let held = lock(replica);
        every_way(&proxy, primary);
        // Who has not written reads where it did.
        let mut other = proxy.connect(None);
        assert_eq!(port_of_reader(&mut other), replica.port().to_string());
        drop(held);
        let proxy = start(&causal(replication(), &servers.servers, PATIENCE));
        served_by(&proxy, replica);
        let (_, stale) = free_run(&proxy, ROUNDS);
        assert_eq!(stale, 0);
        assert_eq!(counted(&proxy, "Causal_reads_on_writer"), 0);
        assert!(counted(&proxy, "Causal_reads_waited") <= ROUNDS);
    }
    assert!(counted(&proxy, "Causal_reads_on_writer") > 0);
}

#[test]
fn a_read_waits_for_the_replica_and_later_ones_do_not() {
    let servers = two_servers();
    let replica = &servers.servers[1];
    let proxy = start(&causal(replication(), &servers.servers, PATIENCE));
    served_by(&proxy, replica);
    let held = lock(replica);
    let mut client = proxy.connect(None);
    client.query_drop("INSERT INTO t.t (at) VALUES (1)").unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let read = text_rows(&mut client, "SELECT @@port, COUNT(*) FROM t.t").unwrap();
            (read, client)
        });
        let waits = "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT MASTER_GTID_WAIT%'";
        eventually(PATIENCE, || !replica.run(waits).unwrap().is_empty());
        drop(held);
        let (read, mut client) = reading.join().unwrap();
        let expected = [Some(replica.port().to_string()), Some("1".to_owned())];
        assert_eq!(read, [expected.to_vec()]);
        // It is known to be there.
        for _ in 0..10 {
            assert_eq!(count(&mut client), "1");
        }
        assert_eq!(counted(&proxy, "Causal_reads_waited"), 1);
        assert_eq!(counted(&proxy, "Causal_reads_on_writer"), 0);
        assert!(counted(&proxy, "Causal_reads_waited_us") > 0);
    });
}

#[test]
fn a_write_whose_answer_did_not_come_is_waited_for_all_the_same() {
    let servers = two_servers();
    let (primary, replica) = (&servers.servers[0], &servers.servers[1]);
    let proxy = start(&causal(replication(), &servers.servers, PATIENCE));
    served_by(&proxy, replica);
    let mut client = proxy.connect(None);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let lost = client.query_drop("INSERT INTO t.plain SELECT 9 FROM DUAL WHERE SLEEP(1000) = 0");
            (lost, client)
        });
        let running =
            "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT INTO t.plain SELECT 9%'";
        eventually(PATIENCE, || !primary.run(running).unwrap().is_empty());
        let thread = primary.run(running).unwrap().remove(0).remove(0).unwrap();
        primary.run(format!("KILL CONNECTION {thread}")).unwrap();
        let (lost, mut client) = writing.join().unwrap();
        assert!(lost.is_err(), "{lost:?}");
        assert_eq!(port_of_reader(&mut client), replica.port().to_string());
        assert_eq!(counted(&proxy, "Causal_reads_waited"), 1);
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t.plain"), "0");
    });
}

#[test]
fn writes_that_are_in_no_log_are_read_from_the_writer() {
    let servers = two_servers();
    let (primary, replica) = (&servers.servers[0], &servers.servers[1]);
    let proxy = start(&causal(replication(), &servers.servers, PATIENCE));
    served_by(&proxy, replica);
    let mut client = proxy.connect(None);
    client.query_drop("SET SESSION sql_log_bin = 0").unwrap();
    client.query_drop("INSERT INTO t.t (at) VALUES (1)").unwrap();
    client.query_drop("SET SESSION sql_log_bin = 1").unwrap();
    assert_eq!(count_on_reader(&mut client), "0");
    assert_eq!(count(&mut client), "1");
    assert_eq!(counted(&proxy, "Causal_reads_waited"), 0);
    drop(client);
    // A failover that loses what was acknowledged: the reads follow the server that writes now, and wait for nothing else.
    let mut held = replica.root().unwrap();
    held.query_drop("LOCK TABLES t.plain READ").unwrap();
    let mut client = proxy.connect(None);
    client.query_drop("INSERT INTO t.plain VALUES (2)").unwrap();
    primary.pause().unwrap();
    replica.run("STOP SLAVE IO_THREAD").unwrap();
    drop(held);
    servers.promote(1);
    assert_eq!(port_of_reader(&mut client), replica.port().to_string());
    client.query_drop("INSERT INTO t.plain VALUES (3)").unwrap();
    let read: Option<u64> = client
        .query_first("SELECT COUNT(*) FROM t.plain WHERE at = 3")
        .unwrap();
    assert_eq!(read, Some(1));
    primary.resume().unwrap();
}

/// A Galera server that has everything, and applies nothing until the connection is closed.
fn stand_still(server: &MariaDb) -> Conn {
    let mut held = server.root().unwrap();
    held.query_drop("FLUSH TABLES WITH READ LOCK").unwrap();
    held
}

/// Transactions of a Galera server that began there.
fn own_transactions(server: &MariaDb) -> u64 {
    let rows = server.run("SHOW GLOBAL STATUS LIKE 'wsrep_replicated'").unwrap();
    rows[0][1].as_deref().unwrap().parse().unwrap()
}

/// Nothing that may write begins on a reader, whatever it looks like.
fn no_write_on_a_reader(proxy: &TestProxy, servers: &[MariaDb]) {
    const TEXTS: [&str; 5] = [
        "INSERT INTO t.t (at) VALUES (1)",
        "INSERT INTO t.t (at) SELECT at FROM t.t LIMIT 1",
        "SELECT at FROM t.t WHERE id = 1 FOR UPDATE",
        "CALL t.add()",
        "SELECT COUNT(*) FROM t.t; INSERT INTO t.t (at) VALUES (2)",
    ];
    let before = servers.iter().map(own_transactions).collect::<Vec<_>>();
    for text in TEXTS {
        let mut client = proxy.connect(None);
        for _ in 0..20 {
            text_rows(&mut client, text).unwrap();
        }
    }
    assert_eq!(own_transactions(&servers[1]), before[1]);
    assert_eq!(own_transactions(&servers[0]) - before[0], 100);
}

#[test]
fn own_writes_are_read_on_galera() {
    let galera = galera::cluster();
    galera.servers[0]
        .run("CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, at INT)")
        .unwrap();
    on_galera(&galera, &galera::kind());
}

/// With servers that are a cluster already, all synced; the first two are used.
fn on_galera(galera: &Galera, kind: &ClusterKind) {
    let servers = &galera.servers[..2];
    servers[0]
        .run("CREATE PROCEDURE t.add() BEGIN INSERT INTO t.t (at) VALUES (1); INSERT INTO t.t (at) VALUES (2); END")
        .unwrap();
    // A monitor would see that the reader stands still.
    let proxy = start(&unwatched(causal(
        kind.clone(),
        servers,
        Duration::from_millis(200),
    )));
    served_by(&proxy, &servers[1]);
    let held = stand_still(&servers[1]);
    let mut client = proxy.connect(None);
    for value in 0..3 {
        client
            .query_drop(format!("INSERT INTO t.t (at) VALUES ({value})"))
            .unwrap();
    }
    assert_eq!(count_on_reader(&mut client), "0", "the reader is not behind");
    assert_eq!(count(&mut client), "3");
    assert_eq!(counted(&proxy, "Causal_reads_on_writer"), 1);
    // A setting of the client's is its own, whoever answers.
    assert_eq!(value(&mut client, "SELECT @@wsrep_sync_wait"), "0");
    drop(held);
    let proxy = start(&causal(kind.clone(), servers, PATIENCE));
    served_by(&proxy, &servers[1]);
    let mut client = proxy.connect(None);
    client.query_drop("INSERT INTO t.t (at) VALUES (3)").unwrap();
    assert_eq!(count(&mut client), "4");
    assert_eq!(
        value(&mut client, "SELECT @@wsrep_sync_wait FROM t.t LIMIT 1"),
        "0"
    );
    let (_, stale) = free_run(&proxy, ROUNDS);
    assert_eq!(stale, 0);
    assert_eq!(counted(&proxy, "Causal_reads_on_writer"), 0);
    let waited = counted(&proxy, "Causal_reads_waited");
    assert!((1..=ROUNDS + 1).contains(&waited), "{waited}");
    no_write_on_a_reader(&proxy, servers);
}
