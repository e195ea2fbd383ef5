//! What a client does all day: log in, query, change schema, use transactions.

use mysql::Conn;
use mysql::prelude::Queryable;

use shardwright_rules::{
    Body, Hostgroup, HostgroupId, NativeStep, ReadSelection, Role, RoleStep, Rule, Scope,
};
use shardwright_testkit::{MariaDb, Options};

use crate::raw::RawClient;
use crate::support::{self, Setup, error, schema, server, value};

#[test]
fn statements_reach_the_server_and_answers_come_back() {
    let proxy = support::start(&Setup::default());
    let name = schema("statements_basic");
    let mut client = proxy.connect(Some(&name));
    assert_eq!(value(&mut client, "SELECT 1 + 1"), "2");
    assert_eq!(value(&mut client, "SELECT DATABASE()"), name);
    client
        .query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20))")
        .unwrap();
    client
        .query_drop("INSERT INTO t (a) VALUES ('x'), ('y')")
        .unwrap();
    assert_eq!((client.affected_rows(), client.last_insert_id()), (2, 1));
    assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), "1");
    client.query_drop("UPDATE t SET a = 'z'").unwrap();
    assert_eq!(value(&mut client, "SELECT ROW_COUNT()"), "2");
    assert!(client.ping().is_ok());
}

#[test]
fn errors_of_the_server_pass_as_they_are() {
    let proxy = support::start(&Setup::default());
    let mut through = proxy.connect(None);
    let mut direct = server().root().unwrap();
    for sql in ["SELEKT 1", "SELECT * FROM nowhere.t", "SELECT nothing"] {
        assert_eq!(error(&mut through, sql), error(&mut direct, sql), "{sql}");
    }
    assert_eq!(value(&mut through, "SELECT 1"), "1");
}

#[test]
fn the_schema_follows_the_session() {
    let proxy = support::start(&Setup::default());
    let (one, two) = (schema("statements_one"), schema("statements_two"));
    let mut client = proxy.connect(None);
    assert_eq!(value(&mut client, "SELECT DATABASE()"), "NULL");
    client.query_drop(format!("USE {one}")).unwrap();
    assert_eq!(value(&mut client, "SELECT DATABASE()"), one);
    assert!(client.select_db(&two).is_ok());
    assert_eq!(value(&mut client, "SELECT DATABASE()"), two);
    client.query_drop("USE `no_such_schema`").unwrap();
    assert_eq!(
        error(&mut client, "SELECT 1").0,
        1049,
        "the schema is looked for with the next statement"
    );
    client.query_drop(format!("USE {one}")).unwrap();
    assert_eq!(value(&mut client, "SELECT DATABASE()"), one);
    assert_eq!(value(&mut proxy.connect(None), "SELECT DATABASE()"), "NULL");
}

/// To a server that reads latin1, the bytes of `é` in UTF-8 are the name of another schema.
#[test]
fn a_schema_beyond_ascii_is_entered_by_sessions_of_utf8() {
    let proxy = support::start(&Setup::default());
    let accented = schema("statements_é");
    let plain = schema("statements_plain");
    let of_server = |client: &mut Conn| value(client, "SELECT CONVERT(DATABASE() USING utf8mb4)");
    let mut client = proxy.connect(Some(&plain));
    client.query_drop("SET NAMES latin1").unwrap();
    let refused = error(&mut client, &format!("USE {accented}"));
    assert!(
        refused.0 == 1049 && refused.1.contains("SET NAMES utf8mb4"),
        "{refused:?}"
    );
    assert!(client.select_db(&accented).is_err());
    assert_eq!(of_server(&mut client), plain);
    client.query_drop("SET NAMES utf8mb4").unwrap();
    client.query_drop(format!("USE {accented}")).unwrap();
    assert_eq!(of_server(&mut client), accented);
    // A connection that it has no other use for is told of the schema before of the character set.
    client.query_drop("SET NAMES latin1").unwrap();
    client.query_drop("SET @a = 1").unwrap();
    assert_eq!(
        value(&mut client, "SELECT HEX(CONVERT(DATABASE() USING utf8mb4))"),
        hex(&accented)
    );
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn wrong_logins_are_refused_alike() {
    let proxy = support::start(&Setup::default());
    for (user, password) in [
        ("app", "wrong"),
        ("app", ""),
        ("nobody", "x"),
        ("", ""),
        ("root", ""),
    ] {
        match proxy.try_connect(user, password, None) {
            Err(mysql::Error::MySqlError(error)) => {
                let using = if password.is_empty() { "NO" } else { "YES" };
                let expected =
                    format!("Access denied for user '{user}'@'127.0.0.1' (using password: {using})");
                assert_eq!(
                    (error.code, error.state.as_str(), error.message),
                    (1045, "28000", expected)
                );
            }
            other => panic!("{user}: {:?}", other.map(|_| "logged in")),
        }
    }
    assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
}

#[test]
fn transactions_stay_together_and_apart() {
    let proxy = support::start(&Setup::default());
    let name = schema("statements_transactions");
    let mut one = proxy.connect(Some(&name));
    let mut two = proxy.connect(Some(&name));
    one.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    one.query_drop("BEGIN").unwrap();
    one.query_drop("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(value(&mut one, "SELECT COUNT(*) FROM t"), "1");
    assert_eq!(value(&mut two, "SELECT COUNT(*) FROM t"), "0");
    one.query_drop("ROLLBACK").unwrap();
    assert_eq!(value(&mut one, "SELECT COUNT(*) FROM t"), "0");
    one.query_drop("SET autocommit=0").unwrap();
    one.query_drop("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(value(&mut two, "SELECT COUNT(*) FROM t"), "0");
    one.query_drop("COMMIT").unwrap();
    assert_eq!(value(&mut two, "SELECT COUNT(*) FROM t"), "1");
    one.query_drop("INSERT INTO t VALUES (3)").unwrap();
    one.query_drop("SET autocommit=1").unwrap();
    assert_eq!(
        value(&mut two, "SELECT COUNT(*) FROM t"),
        "2",
        "turning autocommit on commits"
    );
    drop((one, two));
    proxy.settle();
}

#[test]
fn a_transaction_refuses_statements_that_belong_elsewhere() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    client.query_drop("BEGIN").unwrap();
    let (_, message) = error(&mut client, "SELECT /* b */ 1 FROM DUAL");
    assert!(message.starts_with("SW356"), "{message}");
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    client.query_drop("COMMIT").unwrap();
    assert_eq!(value(&mut client, "SELECT /* b */ 1"), "1");
}

#[test]
fn what_cannot_be_routed_is_refused_and_the_session_goes_on() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    for (sql, code) in [
        ("KILL 1", 1094),
        ("KILL USER app", 1047),
        ("SET NAMES gbk", 1115),
        ("SET sql_mode='ORACLE'", 1231),
        ("/*!40101 SET NAMES gbk */", 1115),
        ("SET time_zone = '+00:00' /*!80000 , sql_mode = 'ANSI' */", 1064),
        ("SET time_zone = '+00:00' /*!, sql_mode = 'ORACLE' */", 1231),
        ("SET time_zone = '+00:00' /*!40101 , NAMES gbk */", 1115),
        (
            "SET STATEMENT sql_mode='ANSI_QUOTES' FOR EXECUTE IMMEDIATE 'SELECT 1'",
            1064,
        ),
        ("SET STATEMENT character_set_client=latin1 FOR SELECT 1", 1064),
        ("", 1065),
        (" ; ", 1065),
        ("/* x", 1064),
        (" /* SELECT 1", 1064),
        ("/* x */ /* y", 1064),
        ("; /* x", 1064),
    ] {
        assert_eq!(error(&mut client, sql).0, code, "{sql}");
    }
    assert_eq!(value(&mut client, "SELECT 1;"), "1");
}

#[test]
fn what_a_dump_begins_with_is_followed() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    client.query_drop("/*!40101 SET NAMES latin1 */").unwrap();
    client.query_drop("/*!40103 SET TIME_ZONE='+00:00' */").unwrap();
    for hint in ["", "/* b */"] {
        let sql = format!("SELECT {hint} CONCAT(@@character_set_client, @@time_zone)");
        assert_eq!(value(&mut client, &sql), "latin1+00:00", "{sql}");
    }
}

#[test]
fn a_comment_inside_a_set_that_every_server_executes_is_read() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    let set =
        "SET time_zone = '+02:00' /*!40101 , sql_mode = CONCAT(@@sql_mode, _utf8 ',ANSI_QUOTES'), @a = 5 */";
    client.query_drop(set).unwrap();
    // On the same connection, and on another one.
    for hint in ["", "/* b */"] {
        let sql = format!("SELECT {hint} CONCAT(\"t\".a, @@time_zone) FROM (SELECT 1 AS a) \"t\"");
        match hint {
            "" => assert_eq!(value(&mut client, &sql), "1+02:00", "{sql}"),
            // It has assigned a user variable, which stays where it is.
            _ => assert_eq!(error(&mut client, &sql).0, 9006, "{sql}"),
        }
    }
    client.reset().unwrap();
    client
        .query_drop("SET time_zone = '+03:00' /*!, sql_mode = 'ANSI_QUOTES' */")
        .unwrap();
    for hint in ["", "/* b */"] {
        let sql = format!("SELECT {hint} CONCAT(\"t\".a, @@time_zone) FROM (SELECT 1 AS a) \"t\"");
        assert_eq!(value(&mut client, &sql), "1+03:00", "{sql}");
    }
}

#[test]
fn a_hidden_change_to_a_character_set_that_cannot_be_read_ends_the_session() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    client
        .query_drop("PREPARE s FROM 'SET character_set_client = gbk'")
        .unwrap();
    client.query_drop("EXECUTE s").unwrap();
    assert_eq!(error(&mut client, "SELECT 1").0, 1105);
    assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
}

fn held(admin: &mut Conn) -> String {
    value(admin, "SELECT SUM(ConnUsed) FROM stats_mysql_connection_pool")
}

#[test]
fn connections_are_held_for_state_and_shared_otherwise() {
    let proxy = support::start(&Setup::default());
    let mut admin = proxy.admin();
    let mut client = proxy.connect(None);
    for (sql, expected) in [
        ("SELECT 1", "0"),
        ("SET NAMES latin1", "0"),
        ("SET autocommit=1", "0"),
        ("BEGIN", "1"),
        ("COMMIT", "0"),
        ("SELECT 1/0", "1"),
        ("SELECT 1", "0"),
        ("SET time_zone='+01:00'", "0"),
        ("SELECT 1", "0"),
        ("SET autocommit=0", "0"),
        ("SELECT 1", "0"),
        ("SELECT COUNT(*) FROM mysql.time_zone_name", "1"),
        ("COMMIT", "0"),
        ("SET @a=1", "1"),
        ("SELECT 1", "1"),
    ] {
        client.query_drop(sql).unwrap();
        assert_eq!(held(&mut admin), expected, "after {sql}");
    }
    client.reset().unwrap();
    proxy.settle();
    assert_eq!(value(&mut client, "SELECT @@time_zone = @@global.time_zone"), "1");
}

#[test]
fn questions_are_about_the_last_statement_wherever_that_ran() {
    let proxy = support::start(&Setup::default());
    let name = schema("statements_questions");
    let mut client = proxy.connect(Some(&name));
    client
        .query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)")
        .unwrap();
    for (sql, id) in [
        ("INSERT INTO t VALUES (NULL)", "1"),
        ("INSERT /* b */ INTO t VALUES (NULL)", "2"),
        ("INSERT INTO t VALUES (NULL)", "3"),
    ] {
        client.query_drop(sql).unwrap();
        assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), id, "{sql}");
        assert_eq!(
            value(&mut client, "SELECT LAST_INSERT_ID()"),
            id,
            "{sql}, asked again"
        );
    }
    client.query_drop("SELECT /* b */ 1/0").unwrap();
    assert_eq!(value(&mut client, "SHOW COUNT(*) WARNINGS"), "1");
    client.query_drop("SELECT 1 FROM t").unwrap();
    assert_eq!(value(&mut client, "SHOW COUNT(*) WARNINGS"), "0");
}

/// The readers of `a` have no server: a statement that goes to them fails.
fn without_readers() -> Setup {
    Setup {
        configuration: Box::new(|configuration| {
            configuration.clusters[0].reader = Some(HostgroupId(11));
            let readers = Hostgroup {
                id: HostgroupId(11),
                cluster: "clusters.a".into(),
                role: Role::Reader,
                members: Vec::new(),
            };
            configuration.hostgroups.insert(1, readers);
            let policy = RoleStep {
                reads: ReadSelection::All,
                writer_hint: None,
                after_write_ms: 0,
                causal: false,
                session_functions_on_readers: false,
            };
            configuration.graph.rules.push(Rule {
                id: 200,
                address: "read_write_policies.rw".into(),
                shards: Vec::new(),
                summary: None,
                flag_in: 0,
                body: Body::Native {
                    scope: Box::new(Scope::default()),
                    step: NativeStep::Role(Box::new(policy)),
                },
            });
        }),
        ..Setup::default()
    }
}

#[test]
fn a_read_under_autocommit_0_opens_its_transaction_on_the_writer() {
    let proxy = support::start(&without_readers());
    let name = schema("statements_autocommit");
    let mut client = proxy.connect(Some(&name));
    client.query_drop("CREATE TABLE t (a INT)").unwrap();
    client.query_drop("INSERT INTO t VALUES (1)").unwrap();
    let read = "SELECT a FROM t";
    let (_, message) = error(&mut client, read);
    assert!(message.contains("hostgroup 11"), "{message}");
    client.query_drop("SET autocommit=0").unwrap();
    assert_eq!(value(&mut client, read), "1");
    client.query_drop("UPDATE t SET a = 2").unwrap();
    client.query_drop("ROLLBACK").unwrap();
    let prepared = client.prep(read).unwrap();
    assert_eq!(client.exec_first::<i64, _, _>(&prepared, ()).unwrap(), Some(1));
    client.query_drop("COMMIT").unwrap();
    client.query_drop("SET autocommit=1").unwrap();
    assert!(client.exec_drop(&prepared, ()).is_err(), "it is a read again");
    let (_, message) = error(&mut client, read);
    assert!(message.contains("hostgroup 11"), "{message}");
}

#[test]
fn the_end_of_a_transaction_needs_no_schema() {
    let empty = MariaDb::start(Options::default()).unwrap();
    support::create_users(&empty);
    let port = empty.port();
    let proxy = support::start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.hostgroups[0].members = vec![support::member("a", port, 20)];
        }),
        ..Setup::default()
    });
    let name = schema("statements_no_schema");
    let mut client = proxy.connect(Some(&name));
    for sql in ["COMMIT", "ROLLBACK", "SAVEPOINT a", "SET autocommit=0", "COMMIT"] {
        client.query_drop(sql).unwrap();
        assert_eq!(value(&mut client, "SELECT /* b */ DATABASE()"), name, "{sql}");
    }
    assert_eq!(error(&mut client, "SELECT DATABASE()").0, 1049);
    let mut client = proxy.connect(None);
    let leave = format!("USE {name}");
    for sql in [
        "BEGIN",
        &leave,
        "SAVEPOINT a",
        "ROLLBACK TO a",
        "COMMIT",
        "USE mysql",
        "BEGIN",
        &leave,
        "ROLLBACK",
    ] {
        client.query_drop(sql).unwrap();
    }
}

#[test]
fn settings_are_set_back_to_what_was_saved() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    let settings = "SELECT CONCAT_WS(' ', @@character_set_client, @@sql_mode, @@time_zone, @@unique_checks)";
    let before = value(&mut client, settings);
    for sql in [
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
        "/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "SET @saved = @@unique_checks",
        "SET NAMES latin1",
        "SET time_zone='+05:00', unique_checks=0",
    ] {
        client.query_drop(sql).unwrap();
    }
    assert_ne!(value(&mut client, settings), before);
    for sql in [
        "/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */",
        "/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;",
        "SET time_zone = @OLD_TIME_ZONE, unique_checks = @saved",
    ] {
        client.query_drop(sql).unwrap();
    }
    assert_eq!(value(&mut client, settings), before);
    // What the proxy must know and cannot is still refused.
    client.query_drop("SET @mode = 'ORACLE'").unwrap();
    for (sql, code) in [
        ("SET sql_mode = @mode", 1231),
        ("SET sql_mode = @never", 1231),
        ("SET character_set_client = @never", 1115),
    ] {
        assert_eq!(error(&mut client, sql).0, code, "{sql}");
    }
}

#[test]
fn a_dump_is_made_and_restored() {
    let name = support::schema("dumped");
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'ä'), (2, NULL), (3, 'it''s \\\\ \\n'); \
             CREATE VIEW v AS SELECT a FROM t; CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.b = CONCAT(NEW.b, ''); \
             CREATE PROCEDURE p() SELECT 1"
        ))
        .unwrap();
    let proxy = support::start(&Setup::default());
    let address = proxy.running().listen_address();
    let client = |program: &str| {
        let mut command = std::process::Command::new(program);
        command
            .args(["--no-defaults", "--host=127.0.0.1", "--user", support::USER])
            .arg(format!("--port={}", address.port()))
            .arg(format!("--password={}", support::PASSWORD));
        command
    };
    let dump = |schema: &str| {
        let output = client("mariadb-dump")
            .args(["--routines", "--skip-dump-date", schema])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    };
    let first = dump(&name);
    let restored = support::schema("dumped_restored");
    let file = proxy.directory.path().join("dump.sql");
    std::fs::write(&file, &first).unwrap();
    let output = client("mariadb")
        .arg(&restored)
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let same = String::from_utf8(dump(&restored))
        .unwrap()
        .replace(&restored, &name);
    assert_eq!(same, String::from_utf8(first).unwrap());
}

#[test]
fn a_client_is_disconnected_after_its_wait_timeout() {
    let proxy = support::start(&Setup::default());
    let mut client = RawClient::log_in(proxy.running().listen_address());
    assert_eq!(client.code(b"\x03SET SESSION wait_timeout = 1"), Some(0));
    // The error comes unasked, and then the end.
    assert_eq!(client.packet().unwrap()[..3], [0xFF, 0xBF, 0x0F]);
    assert_eq!(client.packet(), None);
}
