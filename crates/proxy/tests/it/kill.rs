//! KILL, time limits, and clients that go while a server works for them.

use std::net::Shutdown;
use std::thread;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{EngineRule, OnClientGone};
use shardwright_testkit::{ClientOptions, eventually};

use crate::raw::RawClient;
use crate::support::{self, PATIENCE, Setup, TestProxy, error, rule, schema, server, value};

/// Sessions that the proxy has.
const CLIENTS: &str =
    "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Client_Connections_connected'";

fn direct() -> Conn {
    let login = ClientOptions {
        user: support::USER,
        password: support::PASSWORD,
        schema: None,
    };
    server().connect(login).unwrap()
}

/// How many connections of the server run this text.
fn running(text: &str) -> u64 {
    let counted = server()
        .run(format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '{}%'",
            text.replace('\'', "''")
        ))
        .unwrap();
    counted[0][0].as_ref().unwrap().parse().unwrap()
}

/// A connection that keeps everybody else from reading the table `t` of a new schema as soon as it is told to.
fn locker(name: &str) -> Conn {
    schema(name);
    let mut lock = server().root().unwrap();
    lock.query_drop(format!("USE {name}")).unwrap();
    lock.query_drop("CREATE TABLE t (a INT)").unwrap();
    lock
}

const LOCK: &str = "LOCK TABLES t WRITE";

/// The error of a statement that another connection ends, and the connection.
fn ended(mut client: Conn, text: &'static str, end: impl FnOnce()) -> (Option<u16>, Conn) {
    let ends = thread::spawn(move || {
        let code = match client.query_drop(text) {
            Err(mysql::Error::MySqlError(error)) => Some(error.code),
            Err(_) => None,
            Ok(()) => panic!("{text} was not ended"),
        };
        (code, client)
    });
    eventually(PATIENCE, || running(text) == 1);
    end();
    ends.join().unwrap()
}

#[test]
fn a_statement_ends_and_its_session_goes_on() {
    let proxy = support::start(&Setup::default());
    let mut locker = locker("kill_query");
    locker.query_drop(LOCK).unwrap();
    for number in 0..20 {
        let mut client = proxy.connect(None);
        client.query_drop("SET @a = 7").unwrap();
        let mut killer = proxy.connect(None);
        let kill = format!("KILL QUERY {}", client.connection_id());
        let (code, mut client) = ended(client, "SELECT a FROM kill_query.t", || {
            killer.query_drop(&kill).unwrap();
        });
        assert_eq!(code, Some(1317), "round {number}");
        assert_eq!(value(&mut client, "SELECT @a"), "7");
        // Nothing is left to kill, and nothing waits for the next statement.
        killer.query_drop(&kill).unwrap();
        assert_eq!(value(&mut client, "SELECT @a + SLEEP(0.01)"), "7");
    }
}

#[test]
fn a_session_ends_with_its_statement_and_its_transaction() {
    let proxy = support::start(&Setup::default());
    let name = schema("kill_session");
    server().run(format!("CREATE TABLE {name}.t (a INT)")).unwrap();
    let mut client = proxy.connect(Some(&name));
    client.query_drop("BEGIN").unwrap();
    client.query_drop("INSERT INTO t VALUES (1)").unwrap();
    let mut killer = proxy.connect(Some(&name));
    let kill = format!("KILL {}", client.connection_id());
    let (code, mut client) = ended(client, "SELECT SLEEP(1001)", || killer.query_drop(&kill).unwrap());
    assert_eq!(code, Some(1927));
    assert!(client.query_drop("SELECT 1").is_err());
    eventually(PATIENCE, || running("SELECT SLEEP(1001)") == 0);
    eventually(PATIENCE, || {
        value(&mut killer, "SELECT COUNT(*) FROM t FOR UPDATE") == "0"
    });
    // An idle one, by the command that drivers have for it.
    let mut idle = proxy.connect(None);
    let number = idle.connection_id();
    let error = killer.query_drop(format!("KILL CONNECTION {number}"));
    error.unwrap();
    assert!(idle.query_drop("SELECT 1").is_err());
    assert_eq!(error_code(&mut killer, &format!("KILL {number}")), 1094);
}

fn error_code(client: &mut Conn, sql: &str) -> u16 {
    error(client, sql).0
}

#[test]
fn people_on_call_see_sessions_and_end_them() {
    let proxy = support::start(&Setup::default());
    let mut admin = proxy.admin();
    let mut locker = locker("kill_by_admin");
    locker.query_drop(LOCK).unwrap();
    let client = proxy.connect(None);
    let number = client.connection_id();
    let shown = |admin: &mut Conn| -> Option<(String, String, String, Option<u64>)> {
        let sql = format!(
            "SELECT user, client, hostgroups, running_ms FROM stats_shardwright_sessions WHERE connection_id = {number}"
        );
        admin.query_first(sql).unwrap()
    };
    let client_ip = "127.0.0.1".to_owned();
    let idle = Some((support::USER.to_owned(), client_ip, String::new(), None));
    eventually(PATIENCE, || shown(&mut admin) == idle);
    let (code, client) = ended(client, "SELECT a FROM kill_by_admin.t", || {
        let (_, _, hostgroups, running_ms) = shown(&mut admin).unwrap();
        assert_eq!(hostgroups, "10");
        assert!(running_ms.is_some());
        let kill = format!("SHARDWRIGHT KILL QUERY {number}");
        assert_eq!(value(&mut admin, &kill), number.to_string());
    });
    assert_eq!(code, Some(1317));
    eventually(PATIENCE, || shown(&mut admin) == idle);
    let kill = format!("SHARDWRIGHT KILL {number}");
    let (code, _client) = ended(client, "SELECT SLEEP(1002)", || admin.query_drop(&kill).unwrap());
    assert_eq!(code, Some(1927));
    eventually(PATIENCE, || running("SELECT SLEEP(1002)") == 0);
    eventually(PATIENCE, || shown(&mut admin).is_none());
    assert_eq!(error_code(&mut admin, &kill), 1094);
    let done: Vec<(String, Option<String>)> = admin
        .query("SELECT operation, error FROM stats_shardwright_operations WHERE operation LIKE 'KILL%' ORDER BY number")
        .unwrap();
    let unknown = format!("Unknown thread id: {number}");
    assert_eq!(
        done,
        [
            (format!("KILL QUERY {number}"), None),
            (format!("KILL CONNECTION {number}"), None),
            (format!("KILL CONNECTION {number}"), Some(unknown)),
        ]
    );
}

#[test]
fn numbers_and_errors_are_a_servers() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    let own = client.connection_id();
    for asked in [
        "SELECT CONNECTION_ID()",
        "SELECT CONNECTION_ID() AS c",
        "SELECT (SELECT CONNECTION_ID())",
    ] {
        assert_eq!(value(&mut client, asked), own.to_string(), "{asked}");
        let prepared: Option<u32> = client.exec_first(asked, ()).unwrap();
        assert_eq!(prepared, Some(own), "{asked}");
    }
    let name = client
        .query_iter("SELECT 1, connection_id()")
        .unwrap()
        .columns()
        .as_ref()[1]
        .name_str()
        .into_owned();
    assert_eq!(name, "connection_id()");
    // What is compared with the server's own numbers stays the server's.
    client.query_drop("DO GET_LOCK('of mine', 0)").unwrap();
    assert_eq!(
        value(&mut client, "SELECT IS_USED_LOCK('of mine') = CONNECTION_ID()"),
        "1"
    );

    let mut directly = direct();
    for sql in [
        "KILL 0",
        "KILL QUERY 4294967295",
        "KILL 18446744073709551615",
        "KILL QUERY CONNECTION_ID()",
        "/* c */ kill soft query connection_id();",
        "/*!50000 KILL QUERY CONNECTION_ID() */",
    ] {
        let said = error(&mut client, sql);
        assert_eq!(said, error(&mut directly, sql), "{sql}");
    }
    // The server's numbers are nobody's here.
    let of_server = value(&mut client, "SELECT @@pseudo_thread_id");
    assert_eq!(error_code(&mut client, &format!("KILL {of_server}")), 1094);
    let mut other = proxy.try_connect("other", support::PASSWORD, None).unwrap();
    assert_eq!(
        error(&mut other, &format!("KILL {own}")),
        (1095, format!("You are not owner of thread {own}"))
    );
    assert_eq!(error_code(&mut client, "KILL CONNECTION_ID()"), 1927);
    assert!(client.query_drop("SELECT 1").is_err());
    assert_eq!(error_code(&mut directly, "KILL CONNECTION_ID()"), 1927);
    let mut fresh = proxy.connect(None);
    for refused in ["KILL USER app", "KILL QUERY ID 5", "KILL"] {
        assert_eq!(error_code(&mut fresh, refused), 1047, "{refused}");
    }
}

#[test]
fn another_proxys_number_is_nobodys() {
    let (first, second) = (
        support::start(&Setup::default()),
        support::start(&Setup::default()),
    );
    let mut victims: Vec<Conn> = (0..20).map(|_| first.connect(None)).collect();
    let mut strangers: Vec<Conn> = (0..20).map(|_| second.connect(None)).collect();
    let numbers: Vec<u32> = strangers.iter().map(Conn::connection_id).collect();
    let mut killer = first.connect(None);
    for number in numbers {
        assert_eq!(error_code(&mut killer, &format!("KILL QUERY {number}")), 1094);
        assert_eq!(error_code(&mut killer, &format!("KILL {number}")), 1094);
    }
    for client in victims.iter_mut().chain(&mut strangers) {
        assert_eq!(value(client, "SELECT 1"), "1");
    }
}

#[test]
fn a_wait_ends() {
    let proxy = support::start(&Setup {
        max_connections: 1,
        configuration: Box::new(|configuration| {
            configuration.graph.rules.push(rule(
                200,
                EngineRule {
                    match_pattern: Some("slow".into()),
                    delay_ms: Some(1_000_000),
                    apply: true,
                    ..EngineRule::default()
                },
            ));
        }),
        options: Box::new(|options| options.limits.checkout_timeout = PATIENCE * 10),
        ..Setup::default()
    });
    let mut holder = proxy.connect(None);
    holder.query_drop("SET @a = 1").unwrap();
    let mut killer = proxy.connect(None);
    for text in ["SELECT 'slow'", "SELECT 'no connection is free'"] {
        let mut client = proxy.connect(None);
        let number = client.connection_id();
        let waits = thread::spawn(move || {
            let code = error(&mut client, text).0;
            (code, client)
        });
        // As soon as the statement has been read, it ends; before that, there is nothing to end.
        eventually(PATIENCE, || {
            killer.query_drop(format!("KILL QUERY {number}")).unwrap();
            waits.is_finished()
        });
        let (code, mut client) = waits.join().unwrap();
        assert_eq!(code, 1317, "{text}");
        assert_eq!(value(&mut client, "SELECT CONNECTION_ID()"), number.to_string());
    }
}

/// Ends the connections that proxies have in a schema.
fn close_connections_in(name: &str) {
    let connections = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{name}' AND user = '{}'",
        support::USER
    );
    let kill = |row: Vec<Option<String>>| format!("KILL {}", row[0].as_ref().unwrap());
    let found = server().run(&connections).unwrap();
    assert!(!found.is_empty(), "nobody is in {name}");
    for statement in found.into_iter().map(kill) {
        server().run(statement).unwrap();
    }
    eventually(PATIENCE, || server().run(&connections).unwrap().is_empty());
}

#[test]
fn what_the_proxy_asks_for_a_session_ends_with_it() {
    const TEXT: &str = "SELECT a FROM kill_prepare.t";
    let proxy = support::start(&Setup::default());
    let name = "kill_prepare";
    let mut lock = locker(name);
    // The server has forgotten the statement and must be asked to prepare it again, which waits for the lock.
    let mut client = proxy.connect(Some(name));
    let statement = client.prep(TEXT).unwrap();
    close_connections_in(name);
    lock.query_drop(LOCK).unwrap();
    let number = client.connection_id();
    let waits = thread::spawn(move || {
        let code = match client.exec_drop(&statement, ()) {
            Err(mysql::Error::MySqlError(error)) => error.code,
            other => panic!("{other:?}"),
        };
        (code, client)
    });
    eventually(PATIENCE, || running(TEXT) == 1);
    let mut killer = proxy.connect(None);
    killer.query_drop(format!("KILL QUERY {number}")).unwrap();
    let (code, mut client) = waits.join().unwrap();
    assert_eq!(code, 1317);
    assert_eq!(value(&mut client, "SELECT 7"), "7");
    drop((client, killer));

    lock.query_drop("UNLOCK TABLES").unwrap();
    let mut leaves = RawClient::log_in(proxy.running().listen_address());
    leaves.send(0, &[&[2], name.as_bytes()].concat());
    assert_eq!(leaves.packet().unwrap()[0], 0);
    leaves.send(0, &[&[22], TEXT.as_bytes()].concat());
    let answer: Vec<Vec<u8>> = (0..3).map(|_| leaves.packet().unwrap()).collect();
    assert_eq!((answer[0][0], answer[2][0]), (0, 0xFE), "{answer:?}");
    close_connections_in(name);
    lock.query_drop(LOCK).unwrap();
    let id = &answer[0][1..5];
    leaves.send(0, &[&[23], id, &[0, 1, 0, 0, 0]].concat());
    eventually(PATIENCE, || running(TEXT) == 1);
    leaves.stream.shutdown(Shutdown::Both).unwrap();
    let mut admin = proxy.admin();
    eventually(PATIENCE, || value(&mut admin, CLIENTS) == "0");
    lock.query_drop("UNLOCK TABLES").unwrap();
}

#[test]
fn a_rule_limits_the_time() {
    let proxy = support::start(&Setup {
        configuration: Box::new(|configuration| {
            configuration.graph.rules.push(rule(
                200,
                EngineRule {
                    match_pattern: Some("limited".into()),
                    timeout_ms: Some(50),
                    apply: true,
                    ..EngineRule::default()
                },
            ));
            configuration.users[1].statement_timeout_ms = Some(50);
        }),
        ..Setup::default()
    });
    let mut locker = locker("kill_limited");
    let mut client = proxy.connect(None);
    client.query_drop("SET @a = 5").unwrap();
    let limited = "SELECT 'limited' FROM kill_limited.t";
    let prepared = client.prep(limited).unwrap();
    locker.query_drop(LOCK).unwrap();
    for _ in 0..3 {
        assert_eq!(error(&mut client, limited).0, 1317);
        let executed: mysql::Result<Option<String>> = client.exec_first(&prepared, ());
        assert!(matches!(executed, Err(mysql::Error::MySqlError(error)) if error.code == 1317));
        assert_eq!(value(&mut client, "SELECT @a"), "5", "the session goes on");
    }
    // A user's limit is for all that the user sends.
    let mut other = proxy.try_connect("other", support::PASSWORD, None).unwrap();
    assert_eq!(error_code(&mut other, "SELECT a FROM kill_limited.t"), 1317);
    locker.query_drop("UNLOCK TABLES").unwrap();
    client.query_drop(limited).unwrap();
    other.query_drop("SELECT a FROM kill_limited.t").unwrap();
}

/// Sends a text and goes away while the server works at it.
fn leave(proxy: &TestProxy, text: &str) {
    let mut client = RawClient::log_in(proxy.running().listen_address());
    client.send(0, &[&[3], text.as_bytes()].concat());
    eventually(PATIENCE, || running(text) == 1);
    client.stream.shutdown(Shutdown::Both).unwrap();
}

fn with(policy: OnClientGone) -> TestProxy {
    support::start(&Setup {
        configuration: Box::new(move |configuration| {
            let (name, word) = (shardwright_rules::ON_CLIENT_GONE, policy.to_string());
            configuration.variables.insert(name.to_owned(), word);
        }),
        ..Setup::default()
    })
}

#[test]
fn what_a_client_leaves_behind_ends_or_finishes() {
    let name = schema("kill_gone");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a INT); CREATE TABLE {name}.done (a TEXT)"
        ))
        .unwrap();
    for (policy, reads_end, writes_end) in [
        (OnClientGone::Kill, true, true),
        (OnClientGone::KillReads, true, false),
        (OnClientGone::Finish, false, false),
    ] {
        let proxy = with(policy);
        let read = format!("SELECT a, '{policy}' FROM {name}.t");
        let write = format!("INSERT INTO {name}.done SELECT '{policy}' FROM {name}.t");
        let mut lock = server().root().unwrap();
        lock.query_drop(format!(
            "INSERT INTO {name}.t SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM {name}.t)"
        ))
        .unwrap();
        lock.query_drop(format!("LOCK TABLES {name}.t WRITE")).unwrap();
        leave(&proxy, &read);
        leave(&proxy, &write);
        // What ends, ends under the lock.
        for (text, ends) in [(&read, reads_end), (&write, writes_end)] {
            if ends {
                eventually(PATIENCE, || running(text) == 0);
            }
        }
        let mut admin = proxy.admin();
        eventually(PATIENCE, || value(&mut admin, CLIENTS) == "0");
        assert_eq!(running(&read), u64::from(!reads_end), "{policy}");
        assert_eq!(running(&write), u64::from(!writes_end), "{policy}");
        lock.query_drop("UNLOCK TABLES").unwrap();
        if !writes_end {
            let done = format!("SELECT COUNT(*) FROM {name}.done WHERE a = '{policy}'");
            eventually(PATIENCE, || value(&mut lock, &done) == "1");
        }
    }
}

#[test]
fn a_kill_in_a_comment_is_no_kill_of_a_servers_connection() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    let mut directly = direct();
    let number = directly.connection_id();
    for sql in [
        format!("/*! KILL {number} */"),
        format!("/*M!100100 KILL QUERY {number} */;"),
    ] {
        assert_eq!(error_code(&mut client, &sql), 1094, "{sql}");
    }
    assert_eq!(value(&mut directly, "SELECT 1"), "1");
}
