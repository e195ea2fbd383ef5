//! Servers that are gone, full or slow, and limits.

use std::time::Instant;

use mysql::prelude::Queryable;
use shardwright_rules::{EngineRule, MemberStatus, Role};
use shardwright_testkit::MariaDb;

use crate::support::{self, PASSWORD, PATIENCE, Setup, USER, error, member, rule, start, try_value, value};

fn own_server() -> MariaDb {
    let server = MariaDb::start(shardwright_testkit::Options::default()).unwrap();
    support::create_users(&server);
    server
}

#[test]
fn a_server_that_dies_costs_its_statements_and_nothing_else() {
    let mut dying = own_server();
    let port = dying.port();
    let proxy = start(&Setup {
        configuration: Box::new(move |c| c.hostgroups[1].members = vec![member("b", port, 20)]),
        ..Setup::default()
    });
    let mut client = proxy.connect(None);
    let mut bystander = proxy.connect(None);
    assert_eq!(value(&mut client, "SELECT /* b */ 1"), "1");
    let mut in_transaction = proxy.connect(None);
    in_transaction.query_drop("BEGIN /* b */").unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| error(&mut client, "SELECT /* b */ SLEEP(100)"));
        let sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(100)%' AND info NOT LIKE '%processlist%'";
        let mut root = dying.root().unwrap();
        shardwright_testkit::eventually(PATIENCE, || value(&mut root, sleeping) == "1");
        dying.kill().unwrap();
        assert_eq!(running.join().unwrap().0, 2013);
    });
    let (code, message) = error(&mut client, "SELECT /* b */ 1");
    assert_eq!(code, 9001);
    assert!(message.contains("clusters.b.servers.b1"), "{message}");
    assert_eq!(
        value(&mut client, "SELECT 1"),
        "1",
        "the session goes on elsewhere"
    );
    assert_eq!(value(&mut bystander, "SELECT 1"), "1");
    assert!(
        try_value(&mut in_transaction, "SELECT 1").is_err(),
        "a lost transaction ends the session"
    );
    dying.restart().unwrap();
    shardwright_testkit::eventually(PATIENCE, || try_value(&mut client, "SELECT /* b */ 1").is_ok());
}

#[test]
fn a_full_server_makes_statements_wait_and_then_fail() {
    let proxy = start(&Setup {
        max_connections: 1,
        options: Box::new(|options| options.limits.checkout_timeout = std::time::Duration::from_millis(300)),
        ..Setup::default()
    });
    let mut holder = proxy.connect(None);
    let mut waiter = proxy.connect(None);
    holder.query_drop("BEGIN").unwrap();
    let (code, message) = error(&mut waiter, "SELECT 1");
    assert_eq!(code, 9001);
    assert!(message.contains("all 1 connections"), "{message}");
    holder.query_drop("COMMIT").unwrap();
    assert_eq!(value(&mut waiter, "SELECT 1"), "1");
}

#[test]
fn a_waiting_statement_takes_over_what_another_worker_gives_back() {
    let proxy = start(&Setup {
        max_connections: 1,
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(3)),
        ..Setup::default()
    });
    let mut clients: Vec<_> = (0..9).map(|_| proxy.connect(None)).collect();
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(value(client, "SELECT 1"), "1");
                }
            });
        }
    });
}

#[test]
fn what_is_kept_for_questions_is_not_kept_for_ever() {
    let name = support::schema("failures_brief");
    let proxy = start(&Setup {
        max_connections: 1,
        options: Box::new(|options| options.limits.brief_hold = std::time::Duration::from_millis(300)),
        ..Setup::default()
    });
    let mut one = proxy.connect(Some(&name));
    one.query_drop("SELECT 1/0").unwrap();
    let mut two = proxy.connect(Some(&name));
    assert_eq!(
        value(&mut two, "SELECT 1"),
        "1",
        "it waits until the first lets go"
    );
    let (_, message) = error(&mut one, "SHOW WARNINGS");
    assert!(message.contains("previous statement"), "{message}");
    // The error is the session's latest warning, as on a server.
    let own: Vec<(String, u16, String)> = one.query("show errors;").unwrap();
    assert_eq!(own, [("Error".to_owned(), 1105, message)]);
    assert_eq!(value(&mut one, "SELECT 1"), "1");
}

#[test]
fn draining_and_offline_servers_get_nothing() {
    for status in [MemberStatus::Draining, MemberStatus::Offline] {
        let proxy = start(&Setup {
            configuration: Box::new(move |c| c.hostgroups[1].members[0].status = status),
            ..Setup::default()
        });
        assert_eq!(error(&mut proxy.connect(None), "SELECT /* b */ 1").0, 9001);
    }
}

#[test]
fn readers_that_cannot_be_reached_are_passed_over() {
    let unused = shardwright_testkit::ReservedPort::new().unwrap();
    let gone = unused.number();
    let proxy = start(&Setup {
        options: Box::new(|options| {
            options.limits.backend_retry_after = std::time::Duration::from_secs(3600)
        }),
        configuration: Box::new(move |c| {
            let group = &mut c.hostgroups[1];
            group.role = Role::Reader;
            group.members[0].tier = 1;
            group.members.insert(0, member("gone", gone, 5));
        }),
        ..Setup::default()
    });
    let mut client = proxy.connect(None);
    for _ in 0..5 {
        assert_eq!(
            value(&mut client, "SELECT /* b */ 1"),
            "1",
            "the last resort answers"
        );
    }
    let mut admin = proxy.admin();
    let status = format!("SELECT status FROM stats_mysql_connection_pool WHERE srv_port = {gone}");
    assert_eq!(value(&mut admin, &status), "SHUNNED");
}

#[test]
fn sessions_and_users_are_limited() {
    let proxy = start(&Setup {
        options: Box::new(|options| options.limits.max_sessions = 3),
        configuration: Box::new(|c| c.users[0].max_connections = 2),
        ..Setup::default()
    });
    let _one = proxy.connect(None);
    let two = proxy.connect(None);
    let refused = |user: &str| match proxy.try_connect(user, PASSWORD, None) {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{:?}", other.map(|_| "logged in")),
    };
    assert_eq!(refused(USER), 1226);
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 2);
    let _three = proxy.try_connect("other", PASSWORD, None).unwrap();
    assert_eq!(refused("other"), 1040);
    drop(two);
    shardwright_testkit::eventually(PATIENCE, || proxy.try_connect(USER, PASSWORD, None).is_ok());
}

#[test]
fn an_idle_client_is_disconnected() {
    let proxy = start(&Setup {
        options: Box::new(|options| options.limits.idle_timeout = std::time::Duration::from_millis(100)),
        ..Setup::default()
    });
    let _client = proxy.connect(None);
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 0);
}

#[test]
fn a_delay_holds_statements_up_before_they_take_a_connection() {
    let proxy = start(&Setup {
        configuration: Box::new(|c| {
            c.graph.rules.insert(
                0,
                rule(
                    50,
                    EngineRule {
                        match_pattern: Some("slow".into()),
                        delay_ms: Some(150),
                        ..EngineRule::default()
                    },
                ),
            );
        }),
        ..Setup::default()
    });
    let mut client = proxy.connect(None);
    let started = Instant::now();
    assert_eq!(value(&mut client, "SELECT 'slow'"), "slow");
    assert!(started.elapsed().as_millis() >= 150);
}

#[test]
fn a_drain_lets_transactions_end() {
    let mut proxy = start(&Setup::default());
    let mut idle = proxy.connect(None);
    let mut busy = proxy.connect(None);
    busy.query_drop("BEGIN").unwrap();
    let running = proxy.running.take().unwrap();
    running.begin_drain();
    shardwright_testkit::eventually(PATIENCE, || running.sessions() == 1);
    assert!(try_value(&mut idle, "SELECT 1").is_err());
    assert_eq!(value(&mut busy, "SELECT 1"), "1");
    busy.query_drop("COMMIT").unwrap();
    shardwright_testkit::eventually(PATIENCE, || running.sessions() == 0);
    running.shutdown();
    assert!(try_value(&mut busy, "SELECT 1").is_err());
}
