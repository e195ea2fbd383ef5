//! Reads whose connection is lost: ended by hand, on a server that cannot be reached, and on a server that ends with them.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::roles::{mariadb, prepare, readers, replication, setup, told};
use crate::support::{PATIENCE, Setup, TestProxy, error, start, value};

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A proxy in front of a writer and `count - 1` readers, which serve.
fn watched(servers: &Replication, count: usize) -> TestProxy {
    prepare(&servers.servers[0]);
    let proxy = start(&Setup {
        options: Box::new(|options| options.limits.checkout_timeout = Duration::from_secs(2)),
        ..setup(replication(), &servers.servers)
    });
    let mut client = proxy.connect(None);
    let expected: Vec<String> = (2..=count).map(|id| id.to_string()).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    eventually(PATIENCE, || readers(&mut client) == set(&expected));
    proxy
}

/// Whether a server runs a statement, as text or prepared.
fn executes(server: &MariaDb, statement: &str) -> bool {
    let processes = format!(
        "SELECT 1 FROM information_schema.processlist WHERE command IN ('Query', 'Execute') AND info = '{statement}'"
    );
    !server.run(processes).unwrap().is_empty()
}

/// Where a statement runs now, the writer being 0.
fn running(servers: &[MariaDb], statement: &str) -> Vec<usize> {
    (0..servers.len())
        .filter(|at| executes(&servers[*at], statement))
        .collect()
}

fn code_of(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{other:?} is no error of the server"),
    }
}

#[test]
fn a_read_that_was_killed_by_hand_is_not_sent_again() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    let proxy = watched(&servers, 2);
    let read = "SELECT /* read */ SLEEP(100)";
    let send: [fn(&mut Conn, &str) -> mysql::Result<()>; 2] = [
        |client, read| client.query_drop(read),
        |client, read| client.exec_drop(read, ()),
    ];
    for send in send {
        let mut client = proxy.connect(None);
        thread::scope(|scope| {
            let in_flight = scope.spawn(|| code_of(send(&mut client, read)));
            eventually(PATIENCE, || running(&servers.servers, read) == [1]);
            let kill = "SELECT CONCAT('KILL ', id) FROM information_schema.processlist \
                WHERE info LIKE '%SLEEP(100)%' AND info NOT LIKE '%processlist%'";
            let kill = servers.servers[1].run(kill).unwrap()[0][0].clone().unwrap();
            servers.servers[1].run(kill).unwrap();
            // Sent again, it would run for 100 s.
            assert_eq!(in_flight.join().unwrap(), 2013);
        });
        assert!(running(&servers.servers, read).is_empty());
        // Its server did nothing wrong, and the read neither.
        assert_eq!(value(&mut client, "SELECT /* read */ SLEEP(0)"), "0");
    }
    let mut admin = proxy.admin();
    assert_eq!(
        value(
            &mut admin,
            "SELECT COUNT(*) FROM stats_shardwright_withheld_reads"
        ),
        "0"
    );
    assert_eq!(total(&mut admin, "Reads_sent_again"), "0");
}

fn total(admin: &mut Conn, name: &str) -> String {
    let total = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    value(admin, &total)
}

#[test]
fn a_read_goes_to_one_further_reader_and_not_to_the_writer() {
    let servers = Replication::start(3, &mariadb()).unwrap();
    let proxy = watched(&servers, 3);
    let read = "SELECT /* read */ SLEEP(101)";
    let mut client = proxy.connect(None);
    let mut admin = proxy.admin();
    thread::scope(|scope| {
        let in_flight = scope.spawn(|| error(&mut client, read));
        let mut first = Vec::new();
        eventually(PATIENCE, || {
            first = running(&servers.servers, read);
            !first.is_empty()
        });
        let (first, second) = (first[0], 3 - first[0]);
        servers.servers[first].pause().unwrap();
        eventually(PATIENCE, || executes(&servers.servers[second], read));
        assert_eq!(total(&mut admin, "Reads_sent_again"), "1");
        servers.servers[second].pause().unwrap();
        assert_eq!(in_flight.join().unwrap().0, 2013);
        assert!(!executes(&servers.servers[0], read));
    });
    // Nobody knows that the servers have ended: nothing is withheld. Now there is no reader, and the writer serves new reads.
    assert_eq!(value(&mut client, "SELECT /* read */ @@server_id"), "1");
    for reader in &servers.servers[1..] {
        reader.resume().unwrap();
    }
}

#[test]
fn the_last_resort_gets_no_read_that_a_reader_has_lost() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    let proxy = watched(&servers, 2);
    let read = "SELECT /* read */ SLEEP(102)";
    let mut client = proxy.connect(None);
    thread::scope(|scope| {
        let in_flight = scope.spawn(|| error(&mut client, read));
        eventually(PATIENCE, || running(&servers.servers, read) == [1]);
        servers.servers[1].pause().unwrap();
        let (code, message) = in_flight.join().unwrap();
        assert_eq!(code, 9001, "{message}");
        assert!(message.contains("is not sent to the writer"), "{message}");
        assert!(!executes(&servers.servers[0], read));
    });
    servers.servers[1].resume().unwrap();
}

/// Ends each server with SIGKILL as soon as it runs a statement with this word, until it is told to stop. How many have ended.
fn crashing<T>(servers: &[MariaDb], word: &str, work: impl FnOnce() -> T) -> (T, usize) {
    let is_over = AtomicBool::new(false);
    let processes = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE command IN ('Query', 'Execute') AND info LIKE '%{word}%' AND info NOT LIKE '%processlist%'"
    );
    thread::scope(|scope| {
        let watch = |server: &MariaDb| {
            let mut root = server.root().unwrap();
            while !is_over.load(Ordering::SeqCst) {
                if value(&mut root, &processes) != "0" {
                    let process = server.process_id().to_string();
                    let killed = Command::new("kill").args(["-9", &process]).status();
                    assert!(killed.unwrap().success());
                    return 1;
                }
            }
            0
        };
        let watchers: Vec<_> = servers
            .iter()
            .map(|server| scope.spawn(move || watch(server)))
            .collect();
        let done = work();
        is_over.store(true, Ordering::SeqCst);
        (
            done,
            watchers.into_iter().map(|watcher| watcher.join().unwrap()).sum(),
        )
    })
}

#[test]
fn a_read_that_ends_its_server_ends_no_other() {
    let mut servers = Replication::start(3, &mariadb()).unwrap();
    let proxy = watched(&servers, 3);
    let read = "SELECT /* read */ 'crash', SLEEP(100)";
    let mut client = proxy.connect(None);
    let ((), ended) = crashing(&servers.servers, "crash", || {
        assert_eq!(error(&mut client, read).0, 2013);
        // Its client tries again, on this connection and on others, as text and prepared, with other values and on the writer.
        for _ in 0..3 {
            let mut other = proxy.connect(None);
            assert_eq!(error(&mut client, read).0, 9102);
            let (code, message) = error(&mut other, "SELECT /* read */ 'crash', SLEEP(99)");
            assert_eq!(code, 9102);
            assert!(message.contains("SHARDWRIGHT ALLOW DIGEST '0x"), "{message}");
            assert_eq!(error(&mut other, "SELECT 'crash', SLEEP(99)").0, 9102);
            assert_eq!(code_of(other.exec_drop(read, ())), 9102);
            other.query_drop("BEGIN").unwrap();
            assert_eq!(error(&mut other, read).0, 9102);
            // The transaction and other statements go on.
            assert_eq!(value(&mut other, "SELECT 'other', SLEEP(0), 1"), "other");
            other.query_drop("COMMIT").unwrap();
        }
    });
    assert_eq!(ended, 1);
    let mut admin = proxy.admin();
    let rows: Vec<(String, String, u64, u64)> = admin
        .query("SELECT digest_text, only, left_s, refused FROM stats_shardwright_withheld_reads")
        .unwrap();
    let [(text, only, left_s, refused)] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!((text.as_str(), only.as_str()), ("SELECT ?,SLEEP(?)", ""));
    assert!(*left_s > 500 && *refused == 15, "{rows:?}");
    assert_eq!(total(&mut admin, "Reads_withheld"), "1");
    assert_eq!(total(&mut admin, "Refused_9102"), "15");
    let digest = value(&mut admin, "SELECT digest FROM stats_shardwright_withheld_reads");
    assert_eq!(
        value(&mut admin, &format!("SHARDWRIGHT ALLOW DIGEST '{digest}'")),
        digest
    );
    assert_eq!(value(&mut client, "SELECT 'crash', SLEEP(0)"), "crash");
    for (at, server) in servers.servers.iter_mut().enumerate() {
        if told(&mut admin, &format!("a{}", at + 1), "seen").contains("answer") {
            server.restart().unwrap();
        }
    }
}

#[test]
fn of_a_read_that_was_often_answered_only_its_values_are_withheld() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    let proxy = watched(&servers, 2);
    let mut client = proxy.connect(None);
    for number in 0..200 {
        client
            .query_drop(format!("SELECT /* read */ 'crash{number}', SLEEP(0)"))
            .unwrap();
        client
            .exec_drop("SELECT /* read */ ? || SLEEP(0)", (number,))
            .unwrap();
    }
    let text = "SELECT /* read */ 'crash500', SLEEP(100)";
    let ((), ended) = crashing(&servers.servers, "crash500", || {
        assert_eq!(error(&mut client, text).0, 2013);
        assert_eq!(error(&mut client, text).0, 9102);
    });
    assert_eq!(ended, 1);
    assert_eq!(
        value(&mut client, "SELECT /* read */ 'crash501', SLEEP(0)"),
        "crash501"
    );
    let mut admin = proxy.admin();
    assert_eq!(
        value(&mut admin, "SELECT only FROM stats_shardwright_withheld_reads"),
        "the same values"
    );
}
