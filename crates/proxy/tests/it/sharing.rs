//! Sessions that share server connections: what a session has set comes along, and holds no connection.

use std::sync::atomic::{AtomicBool, Ordering};

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::alike::{Exact, SETS, server_address};
use crate::support::{PASSWORD, Setup, TestProxy, USER, error, heavy, schema, server, start, value};

/// This many connections on one worker: between workers, connections are not handed over but opened anew.
fn connections(most: u32) -> TestProxy {
    start(&Setup {
        max_connections: most,
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    })
}

fn run(client: &mut Conn, sql: &str) {
    client
        .query_drop(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn sessions_without_autocommit_hold_a_connection_for_a_transaction_only() {
    let name = schema("sharing_autocommit");
    server()
        .run(format!("CREATE TABLE {name}.t (client INT) ENGINE=InnoDB"))
        .unwrap();
    let proxy = connections(1);
    let mut clients: Vec<Conn> = (0..6).map(|_| proxy.connect(Some(&name))).collect();
    for client in &mut clients {
        run(client, "SET autocommit=0");
    }
    for _ in 0..3 {
        for (number, client) in clients.iter_mut().enumerate() {
            assert_eq!(value(client, "SELECT @@autocommit"), "0");
            run(client, &format!("INSERT INTO t VALUES ({number})"));
            run(client, "ROLLBACK");
            run(client, &format!("INSERT INTO t VALUES ({number})"));
            run(client, "COMMIT");
            run(client, "SELECT COUNT(*) FROM t");
            run(client, "COMMIT");
        }
    }
    let mut other = proxy.connect(Some(&name));
    assert_eq!(value(&mut other, "SELECT @@autocommit"), "1");
    for number in 0..6 {
        let own = format!("SELECT COUNT(*) FROM t WHERE client = {number}");
        assert_eq!(value(&mut other, &own), "3");
    }
}

#[test]
fn variables_come_along_and_hold_nothing() {
    let proxy = connections(1);
    let (mut first, mut second) = (proxy.connect(None), proxy.connect(None));
    let thread = value(&mut first, "SELECT @@pseudo_thread_id");
    run(&mut first, "SET time_zone = '+03:00', foreign_key_checks = 0");
    run(&mut second, "SET group_concat_max_len = 4321");
    run(
        &mut second,
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    );
    for _ in 0..2 {
        let all = "SELECT CONCAT_WS(' ', @@time_zone = '+03:00', @@foreign_key_checks + 0, @@group_concat_max_len = 4321, \
                   @@tx_isolation = 'SERIALIZABLE', @@pseudo_thread_id)";
        assert_eq!(value(&mut first, all), format!("1 0 0 0 {thread}"));
        assert_eq!(value(&mut second, all), format!("0 1 1 1 {thread}"));
    }
}

#[test]
fn space_before_parentheses_is_ignored_for_those_who_asked_as_they_connected() {
    let proxy = connections(1);
    let asks = |flags: CapabilityFlags| {
        let address = proxy.running().listen_address();
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(address.ip().to_string()))
            .tcp_port(address.port())
            .user(Some(USER))
            .pass(Some(PASSWORD))
            .prefer_socket(false)
            .additional_capabilities(flags);
        Conn::new(options).unwrap()
    };
    let mut asking = asks(CapabilityFlags::CLIENT_IGNORE_SPACE);
    let mut other = asks(CapabilityFlags::empty());
    for _ in 0..3 {
        assert_eq!(value(&mut asking, "SELECT @@sql_mode LIKE '%IGNORE_SPACE%'"), "1");
        assert_eq!(value(&mut other, "SELECT @@sql_mode LIKE '%IGNORE_SPACE%'"), "0");
    }
    run(&mut asking, "SET sql_mode='ANSI_QUOTES'");
    assert_eq!(value(&mut other, "SELECT \"a\""), "a");
    assert_eq!(value(&mut asking, "SELECT @@sql_mode"), "ANSI_QUOTES");
    run(&mut asking, "SET sql_mode=DEFAULT");
    assert_eq!(value(&mut asking, "SELECT @@sql_mode LIKE '%IGNORE_SPACE%'"), "0");
    let mut asking = asks(CapabilityFlags::CLIENT_IGNORE_SPACE);
    assert_eq!(value(&mut asking, "SELECT COUNT (*)"), "1");
    // A server forgets it, too.
    asking.reset().unwrap();
    assert_eq!(value(&mut asking, "SELECT @@sql_mode LIKE '%IGNORE_SPACE%'"), "0");
}

#[test]
fn warnings_are_told_whatever_others_were_warned_of() {
    let proxy = connections(1);
    let mut client = proxy.connect(None);
    let mut other = proxy.connect(None);
    // What it is set to is asked of a server, so no list of warnings is the client's.
    run(&mut client, "SET sql_mode=CONCAT(@@sql_mode,',PIPES_AS_CONCAT')");
    for _ in 0..3 {
        run(&mut other, "SELECT 1/0");
        run(&mut other, "DO 0");
        run(&mut client, "SELECT CAST('12abc' AS INT), 1/0");
        assert_eq!(value(&mut client, "SHOW COUNT(*) WARNINGS"), "2");
        run(&mut client, "DO 0");
    }
}

#[test]
fn a_mode_that_builds_on_another_is_built_again() {
    let proxy = connections(1);
    let (mut first, mut second) = (proxy.connect(None), proxy.connect(None));
    run(&mut first, "SET sql_mode = 'PIPES_AS_CONCAT'");
    run(
        &mut first,
        "SET sql_mode = CONCAT(@@sql_mode, ',HIGH_NOT_PRECEDENCE')",
    );
    run(&mut first, "SET sql_mode = CONCAT(@@sql_mode, ',NO_ZERO_DATE')");
    let expected = value(&mut first, "SELECT @@sql_mode");
    assert_eq!(expected, "PIPES_AS_CONCAT,NO_ZERO_DATE,HIGH_NOT_PRECEDENCE");
    assert_ne!(value(&mut second, "SELECT @@sql_mode"), expected);
    assert_eq!(value(&mut first, "SELECT @@sql_mode"), expected);
    assert_eq!(value(&mut first, "SELECT /* b */ @@sql_mode"), expected);
}

#[test]
fn a_reset_forgets_what_idle_connections_have() {
    let proxy = connections(1);
    let mut client = proxy.connect(None);
    run(&mut client, "SET time_zone = '+03:00'");
    assert_eq!(value(&mut client, "SELECT @@time_zone"), "+03:00");
    client.reset().unwrap();
    assert_eq!(value(&mut client, "SELECT @@time_zone = @@global.time_zone"), "1");
    run(&mut client, "SET foreign_key_checks = 0");
    assert_eq!(value(&mut client, "SELECT @@time_zone = @@global.time_zone"), "1");
}

#[test]
fn a_savepoint_without_autocommit_is_found_again() {
    let name = schema("sharing_savepoint");
    server()
        .run(format!("CREATE TABLE {name}.t (id INT) ENGINE=InnoDB"))
        .unwrap();
    let proxy = connections(2);
    let (mut first, mut second) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    run(&mut first, "SET autocommit=0");
    run(&mut first, "SAVEPOINT a");
    run(&mut second, "SET time_zone = '+03:00'");
    run(&mut first, "INSERT INTO t VALUES (1)");
    run(&mut first, "ROLLBACK TO a");
    assert_eq!(value(&mut first, "SELECT COUNT(*) FROM t"), "0");
    run(&mut first, "COMMIT");
}

#[test]
fn what_is_set_once_is_not_repeated() {
    let name = schema("sharing_once");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT AUTO_INCREMENT PRIMARY KEY)"
        ))
        .unwrap();
    let proxy = connections(2);
    let (mut first, mut second) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    run(&mut first, "SET insert_id = 77");
    run(&mut second, "SELECT 1");
    run(&mut first, "INSERT INTO t VALUES (NULL)");
    run(&mut second, "SELECT 1");
    run(&mut first, "INSERT INTO t VALUES (NULL)");
    assert_eq!(
        value(&mut second, "SELECT GROUP_CONCAT(id ORDER BY id) FROM t"),
        "77,78"
    );
}

#[test]
fn set_transaction_is_for_one_transaction() {
    let name = schema("sharing_next");
    server()
        .run(format!("CREATE TABLE {name}.t (id INT) ENGINE=InnoDB"))
        .unwrap();
    let proxy = connections(1);
    let (mut first, mut second) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    for _ in 0..2 {
        run(&mut first, "SET TRANSACTION READ ONLY");
        run(&mut first, "BEGIN");
        run(&mut first, "SELECT * FROM t");
        run(&mut first, "COMMIT");
        run(&mut second, "INSERT INTO t VALUES (1)");
        run(&mut first, "INSERT INTO t VALUES (2)");
    }
}

/// Tables with an AUTO_INCREMENT on a schema of their own.
fn counted(name: &str) -> String {
    let name = schema(name);
    server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT); \
             CREATE TABLE {name}.children (id INT, parent INT)"
        ))
        .unwrap();
    name
}

#[test]
fn the_last_insert_id_comes_along() {
    let name = counted("sharing_insert_id");
    let proxy = connections(1);
    let (mut first, mut second) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    run(&mut first, "INSERT INTO t (a) VALUES (1)");
    run(&mut second, "INSERT INTO t (a) VALUES (2)");
    run(&mut second, "INSERT INTO t (a) VALUES (3)");
    for _ in 0..2 {
        assert_eq!(value(&mut first, "SELECT LAST_INSERT_ID()"), "1");
        assert_eq!(value(&mut second, "SELECT @@identity"), "3");
    }
    run(&mut first, "INSERT INTO children VALUES (1, LAST_INSERT_ID())");
    run(&mut second, "SELECT 1");
    run(&mut first, "INSERT INTO children SELECT 2, LAST_INSERT_ID()");
    assert_eq!(
        value(&mut second, "SELECT GROUP_CONCAT(parent) FROM children"),
        "1,1"
    );
    let mut third = proxy.connect(Some(&name));
    assert_eq!(value(&mut third, "SELECT LAST_INSERT_ID()"), "0");
}

/// Sessions that begin anew take connections over while others ask for the ids that they have left there.
#[test]
fn the_last_insert_id_is_there_while_others_take_its_connection_over() {
    let _alone = heavy();
    let name = counted("sharing_taken_over");
    let proxy = connections(20);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = proxy.connect(Some(&name));
                while !is_over.load(Ordering::Relaxed) {
                    run(&mut client, "SELECT 1");
                    client.reset().unwrap();
                }
            });
        }
        let asking: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = proxy.connect(Some(&name));
                    for _ in 0..400 {
                        let inserted = client.query_iter("INSERT INTO t (a) VALUES (1)").unwrap();
                        let id = inserted.last_insert_id().unwrap();
                        drop(inserted);
                        let asked: mysql::Result<Option<u64>> = client.query_first("SELECT LAST_INSERT_ID()");
                        assert_eq!(asked.unwrap(), Some(id));
                    }
                })
            })
            .collect();
        let ended: Vec<_> = asking
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
}

#[test]
fn the_last_insert_id_comes_along_whatever_the_client_speaks() {
    for capabilities in SETS {
        let name = counted("sharing_spoken_id");
        let proxy = connections(1);
        let connect = || Exact::log_in(proxy.running().listen_address(), capabilities);
        let [mut first, mut second] = [connect(), connect()];
        let mut direct = Exact::log_in(server_address(), capabilities);
        direct.query("SELECT LAST_INSERT_ID(1)");
        first.query(&format!("INSERT INTO {name}.t (a) VALUES (1)"));
        second.query("SELECT 1");
        let question = "SELECT LAST_INSERT_ID()";
        assert_eq!(first.query(question), direct.query(question), "{capabilities:?}");
    }
}

#[test]
fn an_explicit_id_leaves_the_last_insert_id_of_another_connection() {
    let name = counted("sharing_explicit_id");
    let proxy = connections(1);
    let (mut first, mut second) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    run(&mut first, "INSERT INTO t (a) VALUES (1)");
    run(&mut second, "SELECT LAST_INSERT_ID(99)");
    run(&mut first, "INSERT INTO t (id) VALUES (70)");
    assert_eq!(value(&mut first, "SELECT LAST_INSERT_ID()"), "1");
    assert_eq!(value(&mut second, "SELECT LAST_INSERT_ID()"), "99");
    run(
        &mut first,
        "UPDATE t SET a = LAST_INSERT_ID(a + 500) WHERE id = 1",
    );
    run(&mut second, "SELECT 1");
    assert_eq!(value(&mut first, "SELECT LAST_INSERT_ID()"), "501");
}

#[test]
fn the_last_insert_id_follows_to_another_hostgroup() {
    let name = counted("sharing_id_elsewhere");
    let proxy = connections(4);
    let mut client = proxy.connect(Some(&name));
    run(&mut client, "BEGIN");
    run(&mut client, "INSERT INTO t (a) VALUES (1)");
    run(&mut client, "COMMIT");
    run(
        &mut client,
        "INSERT /* b */ INTO children VALUES (1, LAST_INSERT_ID())",
    );
    assert_eq!(value(&mut client, "SELECT /* b */ parent FROM children"), "1");
    client.reset().unwrap();
    assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), "0");
}

#[test]
fn inserts_hold_no_connection() {
    let name = counted("sharing_inserts");
    let proxy = connections(1);
    let mut clients: Vec<Conn> = (0..4).map(|_| proxy.connect(Some(&name))).collect();
    for round in 0..3_u64 {
        for (number, client) in clients.iter_mut().enumerate() {
            run(client, "INSERT INTO t (a) VALUES (0)");
            assert_eq!(client.last_insert_id(), round * 4 + number as u64 + 1);
        }
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(value(client, "SELECT LAST_INSERT_ID()"), (9 + number).to_string());
    }
}

/// As a crash of its server does. What is asked for must be right; what is not asked for must not stop the session.
#[test]
fn a_last_insert_id_that_is_lost_stops_only_who_asks_for_it() {
    const LOST: &str = "the connection that had the session's LAST_INSERT_ID() is closed";
    let name = counted("sharing_lost_id");
    server()
        .run(format!(
            "CREATE PROCEDURE {name}.adds() INSERT INTO t (a) VALUES (LAST_INSERT_ID()); \
             CREATE PROCEDURE {name}.takes(n BIGINT) INSERT INTO t (a) VALUES (n)"
        ))
        .unwrap();
    let proxy = connections(4);
    let lose = |client: &mut Conn| {
        run(client, "INSERT INTO t (a) VALUES (1)");
        let id =
            format!("SELECT id FROM information_schema.processlist WHERE user = 'app' AND db = '{name}'");
        for row in server().run(id).unwrap() {
            let _gone = server().run(format!("KILL {}", row[0].clone().unwrap()));
        }
        // Other connections, which may have another id.
        let mut other = proxy.connect(Some(&name));
        run(&mut other, "SELECT LAST_INSERT_ID(99)");
    };
    let asks = |client: &mut Conn, sql: &str| {
        let (code, text) = error(client, sql);
        assert_eq!(code, 1105, "{sql}: {text}");
        assert!(text.contains(LOST), "{sql}: {text}");
    };
    let mut client = proxy.connect(Some(&name));
    lose(&mut client);
    asks(&mut client, "SELECT LAST_INSERT_ID()");
    // An explicit id leaves the one that was lost, whatever it answers.
    run(&mut client, "INSERT INTO t (id) VALUES (7000)");
    asks(&mut client, "SELECT LAST_INSERT_ID()");
    asks(&mut client, "INSERT INTO children VALUES (1, LAST_INSERT_ID())");
    // A new one is known.
    run(&mut client, "INSERT INTO t (a) VALUES (2)");
    assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), "7001");
    lose(&mut client);
    run(&mut client, "INSERT INTO t (a) VALUES (3)");
    let id = value(&mut client, "SELECT MAX(id) FROM t");
    assert_eq!(value(&mut client, "SELECT @@last_insert_id"), id);
    // An argument asks.
    for argument in [
        "LAST_INSERT_ID()",
        "@@identity",
        "LAST_INSERT_ID() + 1",
        "@@last_insert_id",
    ] {
        lose(&mut client);
        asks(&mut client, &format!("CALL takes({argument})"));
        asks(&mut client, &format!("CALL takes({argument})"));
        run(&mut client, "INSERT INTO t (a) VALUES (5)");
    }
    // A procedure may ask. The session is told, and can go on.
    lose(&mut client);
    asks(&mut client, "CALL adds()");
    run(&mut client, "CALL adds()");
    let mut client = proxy.connect(Some(&name));
    lose(&mut client);
    for _ in 0..3 {
        run(&mut client, "INSERT INTO t (a) VALUES (4)");
    }
}
