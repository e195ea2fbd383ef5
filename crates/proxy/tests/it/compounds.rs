//! MariaDB's compound statements outside of routines: answered as the server answers them, with all that they leave in a session.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::Flavour;

use crate::maps::tenants;
use crate::several::{Results, direct, results};
use crate::support::{Setup, TestProxy, error, schema, server, start, value};

/// What stands around statements.
const BLOCKS: [&str; 6] = [
    "BEGIN NOT ATOMIC {} END",
    "IF 1 THEN {} END IF",
    "CASE 1 WHEN 1 THEN {} ELSE SELECT 'else'; END CASE",
    "WHILE @turn IS NULL DO SET @turn = 1; {} END WHILE",
    "REPEAT {} UNTIL 1 END REPEAT",
    "FOR i IN 1..1 DO {} END FOR",
];

/// What a session may keep, or must not.
const INSIDE: [&str; 22] = [
    "SELECT 1; SELECT 2, 3;",
    "SET @a = 5;",
    "SET time_zone = '+03:00';",
    "SET NAMES latin1;",
    "SET autocommit = 0; INSERT INTO t VALUES (8);",
    "START TRANSACTION; INSERT INTO t VALUES (9);",
    "START TRANSACTION; INSERT INTO t VALUES (9); ROLLBACK;",
    "INSERT INTO t VALUES (7);",
    "INSERT INTO counted VALUES (NULL); INSERT INTO counted VALUES (NULL);",
    "CREATE TEMPORARY TABLE own (a INT); INSERT INTO own VALUES (3);",
    "PREPARE s FROM 'SELECT 7';",
    "SELECT GET_LOCK(DATABASE(), 0);",
    "DO LAST_INSERT_ID(77);",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;",
    "SET TRANSACTION READ ONLY;",
    "SET sql_select_limit = 1;",
    "SET sql_mode = 'STRICT_ALL_TABLES';",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'own';",
    "INSERT INTO t VALUES (7); SELECT nothing FROM t;",
    "CALL p();",
    "SELECT CASE 1 WHEN 1 THEN IF(1, 2, 3) END; BEGIN DECLARE x INT DEFAULT 4; SELECT x; END;",
    "IF 0 THEN SELECT 1; ELSE REPEAT SET @b = 1; UNTIL 1 END REPEAT; END IF;",
];

const PROBES: [&str; 13] = [
    "SELECT @a",
    "SELECT @b",
    "SELECT @@time_zone, @@character_set_client, @@autocommit, @@tx_isolation, @@sql_select_limit, @@sql_mode",
    "SELECT @@in_transaction",
    "SELECT LAST_INSERT_ID()",
    "SELECT 1 UNION SELECT 2",
    "SELECT * FROM own",
    "EXECUTE s",
    "SELECT COUNT(*) FROM t",
    "INSERT INTO t VALUES (1)",
    "ROLLBACK",
    "SELECT COUNT(*) FROM t",
    "SELECT RELEASE_LOCK(DATABASE())",
];

/// One worker, so that sessions share what connections there are.
fn shared() -> TestProxy {
    start(&Setup {
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    })
}

/// All that a session sees of a text and after it. Between its statements, `besides` runs.
fn story(client: &mut Conn, text: &str, mut besides: impl FnMut()) -> Vec<Results> {
    let mut seen = Vec::new();
    client
        .query_drop("DELETE FROM t; ALTER TABLE counted AUTO_INCREMENT = 1")
        .unwrap();
    besides();
    seen.push(results(client, text));
    for probe in PROBES {
        besides();
        seen.push(results(client, probe));
    }
    seen
}

#[test]
fn compound_statements_are_answered_as_a_server_answers_them() {
    if Flavour::default().is_mysql() {
        return;
    }
    let name = schema("compounds");
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT); CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY); \
             CREATE PROCEDURE p() BEGIN SET @a = 6; SELECT 5; END"
        ))
        .unwrap();
    let proxy = shared();
    let mut other = proxy.connect(Some(&name));
    let mut different = Vec::new();
    for block in BLOCKS {
        for inside in INSIDE {
            let text = block.replace("{}", inside);
            for text in [text.clone(), format!("SELECT 0; {text}; SELECT 9")] {
                let mut client = direct(&name);
                server().run(format!("TRUNCATE {name}.counted")).unwrap();
                let expected = story(&mut client, &text, || ());
                drop(client);
                server().run(format!("TRUNCATE {name}.counted")).unwrap();
                let mut client = proxy.connect(Some(&name));
                // Another session gets each connection that is free, and leaves something on it.
                let found = story(&mut client, &text, || {
                    other.query_drop("SET @a = 99; DO LAST_INSERT_ID(99)").unwrap();
                    other.reset().unwrap();
                });
                let pairs = found.iter().zip(&expected).enumerate();
                for (at, (found, expected)) in pairs.filter(|(_, (found, expected))| found != expected) {
                    // As after a CALL: code may have set a variable that no text names, on a connection that is gone; and one
                    // that has no value here may have been set on another before.
                    let may_be_lost =
                        !text.contains('@') || expected.0.iter().any(|row| row.contains("Null"));
                    let is_documented = [1, 2].contains(&at) && may_be_lost && found.1 == Some(1105);
                    if !is_documented {
                        let asked = if at == 0 { "itself" } else { PROBES[at - 1] };
                        different.push(format!("{text}: {asked}\n  {found:?}\n  {expected:?}"));
                    }
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// What a compound statement has left does not reach the next client.
#[test]
fn what_a_compound_statement_leaves_stays_in_its_session() {
    if Flavour::default().is_mysql() {
        return;
    }
    let name = schema("compounds_leaks");
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT); CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY); \
             CREATE PROCEDURE p() SET @a = 6"
        ))
        .unwrap();
    let proxy = shared();
    let fresh = |client: &mut Conn| -> Vec<_> { PROBES.map(|probe| results(client, probe)).into() };
    let expected = fresh(&mut direct(&name));
    for block in BLOCKS {
        for inside in INSIDE {
            server().run(format!("TRUNCATE {name}.t")).unwrap();
            let text = block.replace("{}", inside);
            let mut client = proxy.connect(Some(&name));
            let _outcome = results(&mut client, &text);
            drop(client);
            proxy.settle();
            server().run(format!("TRUNCATE {name}.t")).unwrap();
            let mut next = proxy.connect(Some(&name));
            let mut found = fresh(&mut next);
            next.query_drop("DELETE FROM t").unwrap();
            found.truncate(expected.len());
            assert_eq!(found, expected, "{text}");
        }
    }
}

/// A map cannot read what is in it, whatever key it has.
#[test]
fn a_compound_statement_is_refused_under_a_map() {
    let proxy = tenants("compounds_keys");
    let mut client = proxy.connect(Some("compounds_keys"));
    for block in BLOCKS {
        let block = block.replace("{}", "UPDATE t SET who = 5;");
        for text in [
            block.clone(),
            format!("/* tenant=2 */ {block}"),
            format!("/* tenant=2 */ SELECT 1; {block}"),
        ] {
            let (code, message) = error(&mut client, &text);
            assert_eq!(code, 1148, "{text}: {message}");
        }
        for tenant in ["1", "2"] {
            let who = value(&mut client, &format!("/* tenant={tenant} */ SELECT who FROM t"));
            assert_eq!(who, tenant, "{block}");
        }
    }
}
