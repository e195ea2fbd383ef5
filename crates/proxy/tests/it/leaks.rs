//! Two clients share a pool of one connection: nothing of the first is there for the second.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use shardwright_testkit::{MariaDb, Options};

use crate::support::{self, Setup, USER, create_users, error, schema, server, start, value};

/// One connection on one worker: between workers, connections are not handed over but opened anew.
pub(crate) fn one_connection() -> Setup {
    Setup {
        max_connections: 1,
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    }
}

fn thread(client: &mut Conn) -> String {
    value(client, "SELECT @@pseudo_thread_id")
}

/// What a second client sees after a first has done `does` and gone; both had the same server connection.
fn seen_after(does: &[&str], question: &str, schema: Option<&str>) -> String {
    let proxy = start(&one_connection());
    let mut first = proxy.connect(schema);
    let first_thread = thread(&mut first);
    for sql in does {
        first
            .query_drop(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    drop(first);
    let mut second = proxy.connect(schema);
    let seen = value(&mut second, question);
    assert_eq!(
        thread(&mut second),
        first_thread,
        "{does:?}: the connection was not shared"
    );
    seen
}

#[test]
fn nothing_of_a_session_outlives_it() {
    let name = schema("leaks_state");
    server()
        .run(format!("CREATE TABLE {name}.t (id INT) ENGINE=InnoDB"))
        .unwrap();
    for (does, question, expected) in [
        (vec!["SET @secret = 'x'"], "SELECT @secret", "NULL"),
        (vec!["SELECT @secret := 'x'"], "SELECT @secret", "NULL"),
        (
            vec!["SET SESSION sql_mode = 'ALLOW_INVALID_DATES'"],
            "SELECT @@sql_mode LIKE '%INVALID%'",
            "0",
        ),
        (vec!["SET autocommit = 0"], "SELECT @@autocommit", "1"),
        (
            vec!["SET autocommit = 0", "INSERT INTO t VALUES (1)"],
            "SELECT COUNT(*) FROM t",
            "0",
        ),
        (
            vec!["BEGIN", "INSERT INTO t VALUES (1)"],
            "SELECT COUNT(*) FROM t",
            "0",
        ),
        (vec!["BEGIN"], "SELECT @@in_transaction", "0"),
        (
            vec!["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
            "SELECT @@tx_isolation",
            "REPEATABLE-READ",
        ),
        (
            vec!["SET SESSION tx_isolation = 'SERIALIZABLE'"],
            "SELECT @@tx_isolation",
            "REPEATABLE-READ",
        ),
        (
            vec!["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
            "SELECT @@tx_isolation",
            "REPEATABLE-READ",
        ),
        (
            vec!["SELECT GET_LOCK('leak', 0)"],
            "SELECT IS_FREE_LOCK('leak')",
            "1",
        ),
        (
            vec!["SET NAMES latin1"],
            "SELECT @@character_set_client",
            "utf8mb4",
        ),
        (
            vec!["SET NAMES latin1", "SELECT 1"],
            "SELECT @@character_set_client",
            "utf8mb4",
        ),
        (
            vec!["SET character_set_results = latin1"],
            "SELECT @@character_set_results",
            "utf8mb4",
        ),
        (vec!["SET SQL_LOG_BIN = 0"], "SELECT @@sql_log_bin", "1"),
        (
            vec!["SET foreign_key_checks = 0, unique_checks = 0"],
            "SELECT @@foreign_key_checks + @@unique_checks",
            "2",
        ),
        (
            vec!["SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1"],
            "SELECT FOUND_ROWS()",
            "0",
        ),
        (
            vec!["INSERT INTO t VALUES (1), (2)", "DELETE FROM t"],
            "SELECT ROW_COUNT()",
            "0",
        ),
        (vec!["SELECT LAST_INSERT_ID(77)"], "SELECT LAST_INSERT_ID()", "0"),
        (vec!["SELECT 1/0"], "SELECT @@warning_count", "0"),
    ] {
        assert_eq!(
            seen_after(&does, question, Some(&name)),
            expected,
            "{question} after {does:?}"
        );
    }
}

#[test]
fn what_hidden_code_has_set_is_not_seen() {
    let name = schema("leaks_hidden");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT); \
             CREATE TRIGGER {name}.spy BEFORE INSERT ON {name}.t FOR EACH ROW SET @spied = NEW.id; \
             CREATE PROCEDURE {name}.p() SET SESSION lock_wait_timeout = 77; \
             CREATE FUNCTION {name}.f() RETURNS INT \
             BEGIN SET SESSION lock_wait_timeout = 77; RETURN GET_LOCK('{name}', 0); END; \
             CREATE VIEW {name}.v AS SELECT {name}.f() AS a; \
             CREATE TRIGGER {name}.waits BEFORE DELETE ON {name}.t FOR EACH ROW SET SESSION lock_wait_timeout = 77; \
             INSERT INTO {name}.t VALUES (1)"
        ))
        .unwrap();
    for does in ["SELECT * FROM v", "DELETE FROM t WHERE id = 1"] {
        assert_ne!(
            seen_after(&[does], "SELECT @@lock_wait_timeout", Some(&name)),
            "77",
            "{does}"
        );
    }
    let is_free = format!("SELECT IS_FREE_LOCK('{name}')");
    assert_eq!(seen_after(&["SELECT * FROM v"], &is_free, Some(&name)), "1");
    assert_eq!(
        seen_after(&["INSERT INTO t VALUES (5)"], "SELECT @spied", Some(&name)),
        "NULL"
    );
    assert_ne!(
        seen_after(&["CALL p()"], "SELECT @@lock_wait_timeout", Some(&name)),
        "77"
    );
}

#[test]
fn code_finds_no_number_of_another_sessions_rows() {
    let name = schema("leaks_found");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT); INSERT INTO {name}.t VALUES (1), (2), (3), (4), (5), (6), (7); \
             CREATE PROCEDURE {name}.p() SELECT FOUND_ROWS(); \
             CREATE FUNCTION {name}.f() RETURNS INT RETURN FOUND_ROWS()"
        ))
        .unwrap();
    for asks in ["CALL p()", "SELECT f()", "SELECT f() FROM t LIMIT 1"] {
        let seen = seen_after(&["SELECT * FROM t"], asks, Some(&name));
        assert_eq!(seen, "0", "{asks}");
    }
}

#[test]
fn a_default_role_that_code_has_laid_down_is_there_for_the_next() {
    let server = MariaDb::start(Options::default()).unwrap();
    create_users(&server);
    let default_role = match server.flavour().is_mysql() {
        true => format!("SET DEFAULT ROLE r TO {USER}@'%'"),
        false => format!("SET DEFAULT ROLE r FOR {USER}@'%'"),
    };
    server
        .run(format!(
            "CREATE DATABASE d; CREATE PROCEDURE d.lays_down() SQL SECURITY INVOKER SET ROLE NONE; \
             CREATE ROLE r; GRANT r TO {USER}@'%'; {default_role}"
        ))
        .unwrap();
    let proxy = start(&Setup {
        port: server.port(),
        ..one_connection()
    });
    let mut roles = Vec::new();
    for _ in 0..3 {
        let mut client = proxy.connect(Some("d"));
        roles.push(value(&mut client, "SELECT LEFT(CURRENT_ROLE(), 2)"));
        client.query_drop("CALL lays_down()").unwrap();
    }
    let first = roles[0].trim_matches('`').to_owned();
    assert!(first.starts_with('r'), "{roles:?}");
    assert!(roles.iter().all(|role| *role == roles[0]), "{roles:?}");
}

#[test]
fn temporary_tables_and_named_statements_are_gone() {
    let name = schema("leaks_objects");
    let proxy = start(&one_connection());
    let mut first = proxy.connect(Some(&name));
    let first_thread = thread(&mut first);
    first.query_drop("CREATE TEMPORARY TABLE hidden (a INT)").unwrap();
    first.query_drop("PREPARE s FROM 'SELECT 1'").unwrap();
    assert_eq!(value(&mut first, "EXECUTE s"), "1");
    drop(first);
    let mut second = proxy.connect(Some(&name));
    assert_eq!(error(&mut second, "SELECT * FROM hidden").0, 1146);
    assert_eq!(error(&mut second, "EXECUTE s").0, 1243);
    assert_eq!(thread(&mut second), first_thread);
}

#[test]
fn table_locks_end_with_their_session() {
    let name = schema("leaks_locks");
    server().run(format!("CREATE TABLE {name}.t (id INT)")).unwrap();
    let seen = seen_after(&["LOCK TABLES t WRITE"], "SELECT COUNT(*) FROM t", Some(&name));
    assert_eq!(seen, "0");
    let (_, message) = {
        let proxy = support::start(&Setup::default());
        let mut client = proxy.connect(Some(&name));
        client.query_drop("LOCK TABLES t WRITE").unwrap();
        error(&mut client, "SELECT /* b */ COUNT(*) FROM t")
    };
    assert!(message.contains("table locks"), "{message}");
}

#[test]
fn a_schema_is_not_inherited() {
    let name = schema("leaks_schema");
    let proxy = start(&Setup {
        max_connections: 1,
        ..Setup::default()
    });
    let mut first = proxy.connect(Some(&name));
    first.query_drop("SELECT 1").unwrap();
    let mut second = proxy.connect(None);
    assert_eq!(value(&mut second, "SELECT DATABASE()"), "NULL");
    assert_eq!(error(&mut second, "SELECT * FROM t").0, 1046);
    assert_eq!(value(&mut first, "SELECT DATABASE()"), name);
}

#[test]
fn prepared_statements_of_another_session_are_unknown() {
    let proxy = start(&one_connection());
    let mut first = proxy.connect(None);
    let statement = first.prep("SELECT 'mine'").unwrap();
    let mine: Option<String> = first.exec_first(&statement, ()).unwrap();
    assert_eq!(mine.as_deref(), Some("mine"));
    let mut second = proxy.connect(None);
    match second.exec_drop(&statement, ()) {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1243),
        other => panic!("{other:?}"),
    }
    // The server's own number is no key either: a statement of the second session is its own.
    let other = second.prep("SELECT 'yours'").unwrap();
    let yours: Option<String> = second.exec_first(&other, ()).unwrap();
    assert_eq!(yours.as_deref(), Some("yours"));
}

#[test]
fn users_do_not_share_connections() {
    let proxy = start(&Setup {
        max_connections: 1,
        ..Setup::default()
    });
    let mut app = proxy.connect(None);
    assert!(value(&mut app, "SELECT USER()").starts_with("app@"));
    let mut other = proxy.try_connect("other", support::PASSWORD, None).unwrap();
    assert!(value(&mut other, "SELECT USER()").starts_with("other@"));
    assert!(value(&mut app, "SELECT USER()").starts_with("app@"));
}

#[test]
fn state_is_there_for_the_session_itself_wherever_it_goes() {
    let name = schema("leaks_own");
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&name));
    client.query_drop("SET time_zone = '+03:00'").unwrap();
    client.query_drop("SET NAMES latin1").unwrap();
    client
        .query_drop("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")
        .unwrap();
    for sql in ["SELECT @@time_zone", "SELECT /* b */ @@time_zone"] {
        assert_eq!(value(&mut client, sql), "+03:00", "{sql}");
    }
    assert_eq!(
        value(&mut client, "SELECT /* b */ @@character_set_client"),
        "latin1"
    );
    assert_eq!(
        value(&mut client, "SELECT /* b */ @@sql_mode"),
        "ALLOW_INVALID_DATES"
    );
    client.query_drop("SET @a = 5").unwrap();
    assert_eq!(value(&mut client, "SELECT @a"), "5");
    let (code, message) = error(&mut client, "SELECT /* b */ @a");
    assert_eq!(code, 9006);
    assert!(message.contains("user variables"), "{message}");
}

#[test]
fn a_reset_gives_a_clean_session() {
    let name = schema("leaks_reset");
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&name));
    client.query_drop("SET @a = 5, time_zone = '+03:00'").unwrap();
    client
        .query_drop("CREATE TEMPORARY TABLE hidden (a INT)")
        .unwrap();
    client.query_drop("SET autocommit = 0").unwrap();
    client.reset().unwrap();
    assert_eq!(value(&mut client, "SELECT @a"), "NULL");
    assert_eq!(value(&mut client, "SELECT @@autocommit"), "1");
    assert_eq!(value(&mut client, "SELECT @@time_zone = @@global.time_zone"), "1");
    assert_eq!(error(&mut client, "SELECT * FROM hidden").0, 1146);
    assert_eq!(value(&mut client, "SELECT DATABASE()"), name);
}

/// The answer to a reset says that it is done: no other session meets its locks and rows.
#[test]
fn what_a_session_has_locked_is_free_when_its_reset_is_answered() {
    let name = schema("reset_frees");
    let proxy = start(&Setup::default());
    let (mut client, mut other) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    other
        .query_drop("CREATE TABLE t (a INT PRIMARY KEY) ENGINE = InnoDB")
        .unwrap();
    for round in 0..60 {
        client.query_drop("SELECT GET_LOCK('reset_frees', 10)").unwrap();
        client.query_drop("BEGIN").unwrap();
        client.query_drop("INSERT INTO t VALUES (1)").unwrap();
        if round % 2 == 0 {
            client.reset().unwrap();
        } else {
            client.change_user(mysql::ChangeUserOpts::DEFAULT).unwrap();
        }
        assert_eq!(value(&mut other, "SELECT IS_FREE_LOCK('reset_frees')"), "1");
        let rows = "SELECT COUNT(*) FROM t WHERE a = 1 FOR UPDATE NOWAIT";
        assert_eq!(value(&mut other, rows), "0");
    }
}

#[test]
fn another_user_takes_over_a_clean_session() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    client.query_drop("SET @a = 5").unwrap();
    let options = mysql::ChangeUserOpts::new()
        .with_user(Some("other".to_owned()))
        .with_pass(Some(support::PASSWORD.to_owned()));
    client.change_user(options).unwrap();
    assert!(value(&mut client, "SELECT USER()").starts_with("other@"));
    assert_eq!(value(&mut client, "SELECT @a"), "NULL");
    let wrong = mysql::ChangeUserOpts::new()
        .with_user(Some("app".to_owned()))
        .with_pass(Some("wrong".to_owned()));
    assert!(client.change_user(wrong).is_err());
}

#[test]
fn a_variable_that_a_trigger_has_set_is_read_or_the_question_is_refused() {
    let name = schema("leaks_triggers");
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT); CREATE TABLE plain (a INT); \
             CREATE TRIGGER at_insert BEFORE INSERT ON t FOR EACH ROW SET @seen = NEW.a; \
             CREATE PROCEDURE sets() SET @by_procedure = 5"
        ))
        .unwrap();
    let proxy = start(&Setup {
        max_connections: 2,
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    });
    let (mut first, mut second) = (proxy.connect(Some(&name)), proxy.connect(Some(&name)));
    let all = |client: &mut Conn, texts: &[&str]| {
        for sql in texts {
            client
                .query_drop(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    };
    // Nobody has had the connection since.
    all(&mut first, &["INSERT INTO t VALUES (7)"]);
    assert_eq!(value(&mut first, "SELECT @seen"), "7");
    all(&mut second, &["INSERT INTO t VALUES (8)", "SELECT @other := 1"]);
    assert_eq!(value(&mut second, "SELECT @seen"), "8");
    first.reset().unwrap();
    second.reset().unwrap();
    // Somebody has: the second holds one connection, and took the other.
    all(&mut second, &["SET @held = 1"]);
    all(&mut first, &["INSERT INTO t VALUES (9)"]);
    let mut third = proxy.connect(Some(&name));
    all(&mut third, &["SELECT 1"]);
    assert_eq!(error(&mut first, "SELECT @seen").0, 1105);
    assert_eq!(error(&mut first, "SELECT a FROM plain WHERE a = @`SEEN`").0, 1105);
    // What the session assigns itself is there, and what its procedures may have assigned is asked.
    all(&mut first, &["SET @own = 3"]);
    assert_eq!(value(&mut first, "SELECT @own"), "3");
    assert_eq!(
        value(&mut first, "SELECT @row := @row + 1 FROM (SELECT @row := 0) r"),
        "1"
    );
    assert_eq!(error(&mut first, "SELECT @own, @seen").0, 1105);
    all(&mut first, &["INSERT INTO t VALUES (10)"]);
    assert_eq!(value(&mut first, "SELECT CONCAT(@own, @seen)"), "310");
    first.reset().unwrap();
    all(&mut first, &["INSERT INTO t VALUES (11)"]);
    all(&mut third, &["SELECT 1"]);
    all(&mut first, &["CALL sets()"]);
    assert_eq!(value(&mut first, "SELECT @by_procedure"), "5");
}

/// MySQL 9.7.4 gives what InnoDB kept for such a connection to the next one, whose COMMIT then commits nothing.
#[test]
fn after_a_procedure_that_has_set_autocommit_from_a_table_others_still_commit() {
    let name = schema("leaks_autocommit");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT) ENGINE=InnoDB; INSERT INTO {name}.t VALUES (0);
             CREATE PROCEDURE {name}.switches() SET autocommit = (SELECT id FROM {name}.t LIMIT 1)"
        ))
        .unwrap();
    let proxy = start(&one_connection());
    let mut first = proxy.connect(Some(&name));
    let id = thread(&mut first);
    let mut other = server().root().unwrap();
    first.query_drop("CALL switches()").unwrap();
    drop(first);
    let mut observer = server().root().unwrap();
    shardwright_testkit::eventually(support::PATIENCE, || {
        let threads: Vec<Row> = observer.query("SHOW PROCESSLIST").unwrap();
        threads
            .iter()
            .all(|thread| thread.get::<String, _>(0).unwrap() != id)
    });
    for sql in ["BEGIN", &format!("INSERT INTO {name}.t VALUES (1)"), "COMMIT"] {
        other.query_drop(sql).unwrap();
    }
    let seen = value(
        &mut observer,
        &format!("SELECT COUNT(*) FROM {name}.t WHERE id = 1"),
    );
    assert_eq!(seen, "1");
}
