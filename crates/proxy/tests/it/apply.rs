//! Applying: all or nothing, only on what was expected, and durable before it is acknowledged.

use std::sync::Barrier;

use mysql::prelude::Queryable;
use shardwright_rules::{Configuration, EngineRule, HostgroupId, MemberStatus, SecretReference, ServerTls};

use crate::support::{
    self, PASSWORD, Setup, TestProxy, USER, apply, apply_expecting, configuration, error, observe, rule,
    schema, server, start, start_on, try_value, value, write_secret,
};

fn refusal(result: mysql::Result<(i64, String)>) -> String {
    match result {
        Err(mysql::Error::MySqlError(error)) => {
            assert_eq!((error.code, error.state.as_str()), (1105, "HY000"));
            error.message
        }
        other => panic!("{other:?} is no refusal"),
    }
}

#[test]
fn what_is_applied_is_observed_and_served() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let wanted = configuration(&setup, &write_secret(&proxy.directory));
    let mut admin = proxy.admin();
    let (generation, fingerprint, json) = observe(&mut admin);
    assert_eq!((generation, fingerprint), (1, wanted.fingerprint()));
    assert_eq!(json, wanted.to_json());
    assert_eq!(apply(&mut admin, &wanted).unwrap(), (2, wanted.fingerprint()));
}

#[test]
fn a_proxy_that_never_had_a_configuration_says_so() {
    let directory = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let proxy = start_on(directory, &Setup::default());
    assert_eq!(observe(&mut proxy.admin()), (0, String::new(), String::new()));
    assert!(proxy.try_connect(USER, PASSWORD, None).is_err());
}

#[test]
fn a_stale_base_changes_nothing() {
    let proxy = start(&Setup::default());
    let mut admin = proxy.admin();
    let (generation, fingerprint, json) = observe(&mut admin);
    for (generation, fingerprint) in [
        (generation + 1, fingerprint.as_str()),
        (generation, "0000"),
        (0, ""),
    ] {
        let message = refusal(apply_expecting(&mut admin, generation, fingerprint, &json));
        assert!(message.starts_with("STALE: "), "{message}");
    }
    assert_eq!(observe(&mut admin), (generation, fingerprint, json));
}

#[test]
fn of_two_applies_at_once_one_wins() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let wanted = configuration(&setup, &write_secret(&proxy.directory)).to_json();
    let (generation, fingerprint, _) = observe(&mut proxy.admin());
    let barrier = Barrier::new(4);
    let outcomes: Vec<bool> = std::thread::scope(|scope| {
        let contenders: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut admin = proxy.admin();
                    barrier.wait();
                    match apply_expecting(&mut admin, generation, &fingerprint, &wanted) {
                        Ok((new, _)) => {
                            assert_eq!(new, generation + 1);
                            true
                        }
                        refused => {
                            let message = refusal(refused);
                            assert!(
                                message.starts_with("STALE: ") || message.starts_with("CONTENDED: "),
                                "{message}"
                            );
                            false
                        }
                    }
                })
            })
            .collect();
        contenders
            .into_iter()
            .map(|contender| contender.join().unwrap())
            .collect()
    });
    assert_eq!(outcomes.iter().filter(|won| **won).count(), 1);
    assert_eq!(observe(&mut proxy.admin()).0, generation + 1);
}

#[test]
fn an_invalid_configuration_changes_nothing_and_says_where() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let secret = write_secret(&proxy.directory);
    let mut admin = proxy.admin();
    let before = observe(&mut admin);
    let mut check = |change: &dyn Fn(&mut shardwright_rules::Configuration), expected: &str| {
        let mut broken = configuration(&setup, &secret);
        change(&mut broken);
        let message = refusal(apply(&mut admin, &broken));
        assert_eq!(message, format!("INVALID: {expected}"));
        assert_eq!(observe(&mut admin), before);
    };
    check(
        &|c| c.format = 9,
        "configuration: format 9 is not supported, only 1",
    );
    check(
        &|c| c.engine = shardwright_rules::EngineId::Proxysql27,
        "configuration: it is for engine proxysql-2.7, not for bundled",
    );
    check(
        &|c| c.users[0].default_hostgroup = HostgroupId(99),
        "users.app: default_hostgroup 99 does not exist",
    );
    check(
        &|c| c.users[0].password = Some(SecretReference::Env("SHARDWRIGHT_TEST_NOT_SET".into())),
        "users.app: the environment variable SHARDWRIGHT_TEST_NOT_SET is not set",
    );
    check(
        &|c| c.users[0].password = Some(SecretReference::Command(vec!["true".into()])),
        "users.app: secrets by command are not allowed in this proxy",
    );
    check(
        &|c| c.users.reverse(),
        "users.app: user app comes after user other",
    );
    check(
        &|c| {
            let first = c.graph.rules[0].clone();
            c.graph.rules.push(first);
        },
        "query_rules.test.rules[100]: rule 100 appears twice",
    );
    check(
        &|c| {
            c.graph.rules.push(rule(
                200,
                EngineRule {
                    destination_hostgroup: Some(7),
                    ..EngineRule::default()
                },
            ));
        },
        "query_rules.test.rules[200]: destination_hostgroup 7 does not exist",
    );
    check(
        &|c| c.clusters[1].writer = HostgroupId(10),
        "clusters.b: hostgroup 10 belongs to two clusters or roles",
    );
    check(
        &|c| c.hostgroups[0].members[0].tls = ServerTls::Verify,
        "clusters.a.servers.a1: its certificate is to be checked: start the proxy with --tls-server-ca",
    );
    let message = refusal(apply_expecting(&mut admin, before.0, &before.1, "{"));
    assert!(
        message.starts_with("INVALID: configuration: it is not a configuration"),
        "{message}"
    );
}

#[test]
fn a_pattern_that_does_not_compile_is_refused() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let mut broken = configuration(&setup, &write_secret(&proxy.directory));
    broken.graph.rules.push(rule(
        200,
        EngineRule {
            match_pattern: Some("(".into()),
            ..EngineRule::default()
        },
    ));
    let message = refusal(apply(&mut proxy.admin(), &broken));
    assert!(
        message.starts_with("INVALID: query_rules.test.rules[200]: rule 200: match_pattern: "),
        "{message}"
    );
}

#[test]
fn a_restart_serves_what_was_applied_last() {
    let setup = Setup::default();
    let mut proxy = start(&setup);
    let before = observe(&mut proxy.admin());
    proxy.running.take().unwrap().shutdown();
    let proxy = start_on(proxy.directory.clone(), &setup);
    assert_eq!(observe(&mut proxy.admin()), before);
    assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
}

#[test]
fn a_secret_that_is_gone_at_a_restart_keeps_its_user_out() {
    let setup = Setup {
        configuration: Box::new(|c| c.users[1].password = None),
        ..Setup::default()
    };
    let mut proxy = start(&setup);
    proxy.running.take().unwrap().shutdown();
    std::fs::remove_file(proxy.directory.path().join("secret")).unwrap();
    let proxy = start_on(proxy.directory.clone(), &setup);
    assert!(proxy.try_connect(USER, PASSWORD, None).is_err());
    assert_eq!(observe(&mut proxy.admin()).0, 1);
}

#[test]
fn transactions_and_statements_outlive_an_apply() {
    let setup = Setup::default();
    let name = schema("apply_transactions");
    let proxy = start(&setup);
    let mut client = proxy.connect(Some(&name));
    client.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    client.query_drop("BEGIN").unwrap();
    client.query_drop("INSERT INTO t VALUES (1)").unwrap();
    let mut moved = configuration(&setup, &write_secret(&proxy.directory));
    // Everything goes to the other hostgroup, and the first has no server any more.
    moved
        .users
        .iter_mut()
        .for_each(|user| user.default_hostgroup = HostgroupId(20));
    moved.hostgroups[0].members.clear();
    let mut other = proxy.connect(Some(&name));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| value(&mut other, "SELECT 'slow' FROM DUAL WHERE SLEEP(1) = 0"));
        let sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(1)%' AND info NOT LIKE '%processlist%'";
        let mut root = server().root().unwrap();
        shardwright_testkit::eventually(support::PATIENCE, || value(&mut root, sleeping) != "0");
        apply(&mut proxy.admin(), &moved).unwrap();
        assert_eq!(running.join().unwrap(), "slow");
    });
    client.query_drop("INSERT INTO t VALUES (2)").unwrap();
    client.query_drop("COMMIT").unwrap();
    assert_eq!(
        value(&mut client, "SELECT COUNT(*) FROM t"),
        "2",
        "the session goes on in the new generation"
    );
}

#[test]
fn hits_outlive_an_apply_where_the_rule_does() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let mut admin = proxy.admin();
    let mut client = proxy.connect(None);
    for _ in 0..3 {
        client.query_drop("SELECT /* b */ 1").unwrap();
    }
    let hits = "SELECT hits FROM stats_mysql_query_rules WHERE rule_id = 100";
    assert_eq!(value(&mut admin, hits), "3");
    let mut changed = configuration(&setup, &write_secret(&proxy.directory));
    changed.graph.rules.insert(0, rule(50, EngineRule::default()));
    apply(&mut admin, &changed).unwrap();
    client.query_drop("SELECT /* b */ 1").unwrap();
    assert_eq!(value(&mut admin, hits), "4");
    changed.graph.rules[1].address = "query_rules.another.rules[0]".into();
    apply(&mut admin, &changed).unwrap();
    assert_eq!(
        value(&mut admin, hits),
        "0",
        "another rule with the same number begins at 0"
    );
}

#[test]
fn a_removed_user_is_shown_out() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let mut client = proxy.connect(None);
    let mut changed = configuration(&setup, &write_secret(&proxy.directory));
    changed.users.remove(0);
    apply(&mut proxy.admin(), &changed).unwrap();
    assert_eq!(error(&mut client, "SELECT 1").0, 1045);
    assert!(
        try_value(&mut client, "SELECT 1").is_err(),
        "the connection is closed"
    );
}

#[test]
fn secrets_are_nowhere() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    client.query_drop("SELECT 1").unwrap();
    let mut admin = proxy.admin();
    let mut everything = observe(&mut admin).2;
    for table in [
        "mysql_servers",
        "mysql_users",
        "mysql_query_rules",
        "stats_mysql_global",
        "global_variables",
        "stats_mysql_query_digest",
    ] {
        let rows = shardwright_testkit::text_rows(&mut admin, format!("SELECT * FROM {table}")).unwrap();
        everything.push_str(&format!("{rows:?}"));
    }
    let data = proxy.directory.path().join("data");
    for entry in std::fs::read_dir(data).unwrap() {
        everything.push_str(&String::from_utf8_lossy(
            &std::fs::read(entry.unwrap().path()).unwrap(),
        ));
    }
    for canary in [PASSWORD, support::ADMIN_PASSWORD] {
        assert!(!everything.contains(canary));
    }
}

/// How the session's connection reaches the server: the address of a TCP connection, `localhost` by its socket.
const REACHED: &str = "SELECT SUBSTRING_INDEX(USER(), '@', -1) FROM DUAL";

#[test]
fn state_that_can_be_repeated_follows_its_hostgroup_to_another_server() {
    for status in [None, Some(MemberStatus::Draining), Some(MemberStatus::Offline)] {
        for (sql, question, expected) in [
            ("SET time_zone = '+03:00'", "SELECT @@time_zone", "+03:00"),
            ("SET autocommit = 0", "SELECT @@autocommit", "0"),
            ("SET SESSION TRANSACTION READ ONLY", "SELECT @@tx_read_only", "1"),
            ("SELECT 1/0", "SELECT 1", "1"),
        ] {
            let setup = Setup::default();
            let proxy = start(&setup);
            let mut client = proxy.connect(None);
            client.query_drop(sql).unwrap();
            assert_eq!(value(&mut client, REACHED), "127.0.0.1");
            client.query_drop(sql).unwrap();
            apply(&mut proxy.admin(), &moved_to_socket(&proxy, &setup, status)).unwrap();
            assert_eq!(value(&mut client, REACHED), "localhost", "{sql}, {status:?}");
            assert_eq!(value(&mut client, question), expected, "{sql}, {status:?}");
        }
    }
}

#[test]
fn state_that_cannot_be_repeated_ends_with_its_server() {
    for (status, is_lost) in [
        (None, true),
        (Some(MemberStatus::Offline), true),
        (Some(MemberStatus::Draining), false),
    ] {
        let setup = Setup::default();
        let proxy = start(&setup);
        let mut client = proxy.connect(None);
        client.query_drop("SET @a = 5").unwrap();
        apply(&mut proxy.admin(), &moved_to_socket(&proxy, &setup, status)).unwrap();
        if is_lost {
            let (code, message) = error(&mut client, REACHED);
            assert_eq!(code, 2013);
            assert!(message.contains("user variables"), "{message}");
            assert!(client.query_drop("SELECT 1").is_err(), "the session is over");
        } else {
            assert_eq!(value(&mut client, REACHED), "127.0.0.1");
            assert_eq!(value(&mut client, "SELECT @a"), "5");
        }
        assert_eq!(value(&mut proxy.connect(None), REACHED), "localhost");
    }
}

/// The first hostgroup is another server from now on; the one it had has this status, or is gone.
fn moved_to_socket(proxy: &TestProxy, setup: &Setup, status: Option<MemberStatus>) -> Configuration {
    let mut moved = configuration(setup, &write_secret(&proxy.directory));
    let members = &mut moved.hostgroups[0].members;
    let mut other = support::member("other", 0, 20);
    other.host = server().socket().to_str().unwrap().to_owned();
    match status {
        Some(status) => members[0].status = status,
        None => members.clear(),
    }
    members.push(other);
    moved
}
