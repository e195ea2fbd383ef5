//! COM_RESET_CONNECTION as servers carry it out. A table of `docs/language/pooling.md` lists what it leaves, per server: found
//! here by trying every variable and the statements that change a session. No other session meets any of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{MariaDb, Options, poll_until};

use crate::leaks::one_connection;
use crate::support::{Setup, create_users, server, start, text_of, value};

/// Variables that differ between connections, or from one statement to the next.
pub(crate) const OWN: [&str; 7] = [
    "last_gtid",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "statement_id",
    "timestamp",
    "gtid_binlog_state",
];

/// Variables that take no other value in these servers: they are read-only in a session, or need a plugin or a table.
const UNTRIED: [&str; 14] = [
    "default_collation_for_utf8mb4",
    "external_table_storage_engine",
    "innodb_ft_user_stopword_table",
    "innodb_tmpdir",
    "max_allowed_packet",
    "max_user_connections",
    "net_buffer_length",
    "query_cache_type",
    "system_versioning_asof",
    "wsrep_gtid_seq_no",
    "wsrep_on",
    "wsrep_trx_fragment_size",
    "wsrep_trx_fragment_unit",
    // Without rows' metadata the client of the test reads nothing.
    "resultset_metadata",
];

/// Values that some variable takes.
pub(crate) const VALUES: [&str; 28] = [
    "OFF",
    "ON",
    "0",
    "1",
    "2",
    "3",
    "4096",
    "8192",
    "65536",
    "1048576",
    "NULL",
    "''",
    "'latin1'",
    "latin1_bin",
    "'READ-COMMITTED'",
    "'de_DE'",
    "'+03:00'",
    "'MyISAM'",
    "'MEMORY'",
    "'ROW'",
    "'CRC32'",
    "'x1'",
    "'mrr=on'",
    "'mrr=off'",
    "'TREE'",
    "'*'",
    "'enabled=on'",
    "'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:1'",
];

/// Statements that change a session, and may leave something; a server refuses those of the other kind.
const STATEMENTS: [&[&str]; 66] = [
    &["USE t"],
    &["SET ROLE r"],
    &["SET RESOURCE GROUP rgx"],
    &["CALL t.sets_group()"],
    &["PREPARE s FROM 'SET RESOURCE GROUP rgx'", "EXECUTE s"],
    &["SELECT /*+ RESOURCE_GROUP(rgx) */ 1"],
    &["SET TRANSACTION READ ONLY"],
    &["SET SESSION TRANSACTION READ ONLY"],
    &["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
    &["SET STATEMENT max_statement_time=5 FOR SELECT 1"],
    &["SET NAMES latin1"],
    &["SET CHARACTER SET latin1"],
    &["SET @a=1"],
    &["SELECT 1 INTO @a"],
    &["PREPARE s FROM 'SELECT 1'"],
    &["EXECUTE IMMEDIATE 'SET @a=1'"],
    &["HANDLER t.x OPEN"],
    &["LOCK TABLES t.x WRITE"],
    &["LOCK TABLES t.x READ"],
    &["FLUSH TABLES WITH READ LOCK"],
    &["FLUSH TABLES t.x WITH READ LOCK"],
    &["FLUSH TABLES t.x FOR EXPORT"],
    &["BACKUP STAGE START"],
    &["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"],
    &["BACKUP LOCK t.x"],
    &["LOCK INSTANCE FOR BACKUP"],
    &["SELECT GET_LOCK('l', 0)"],
    &["SELECT service_get_write_locks('n', 'l', 0)"],
    &["XA START 'a'"],
    &["XA START 'a'", "INSERT INTO t.x VALUES (5, 5)"],
    &["XA START 'a'", "XA END 'a'"],
    &[
        "XA START 'a'",
        "INSERT INTO t.x VALUES (6, 6)",
        "XA END 'a'",
        "XA PREPARE 'a'",
    ],
    &["CREATE TEMPORARY TABLE t.kept (a INT)"],
    &["CREATE TEMPORARY TABLE t.x (a INT)"],
    &["SELECT NEXTVAL(t.s)"],
    &["SELECT SETVAL(t.s, 50)"],
    &["SELECT LAST_INSERT_ID(77)"],
    &["SET insert_id=5"],
    &["SET last_insert_id=5"],
    &["BEGIN"],
    &["BEGIN", "INSERT INTO t.x VALUES (7, 7)"],
    &["START TRANSACTION WITH CONSISTENT SNAPSHOT"],
    &["SET autocommit=0", "INSERT INTO t.x VALUES (8, 8)"],
    &["SAVEPOINT a"],
    &["SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 UNION SELECT 3"],
    &["SELECT 1/0"],
    &["SIGNAL SQLSTATE '01000'"],
    &["SET profiling=1", "SELECT 'mine'"],
    &["SET optimizer_trace='enabled=on'", "SELECT 'mine' FROM t.x"],
    &["SET sql_log_bin=0"],
    &["SET default_master_connection='m1'"],
    &["SET gtid_seq_no=5"],
    &["SET gtid_next='aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:5'"],
    &["UPDATE performance_schema.threads SET INSTRUMENTED='NO' WHERE PROCESSLIST_ID=CONNECTION_ID()"],
    &["UPDATE performance_schema.threads SET HISTORY='NO' WHERE PROCESSLIST_ID=CONNECTION_ID()"],
    &["SET session_track_system_variables='*', session_track_schema=ON"],
    &["SET session_track_transaction_info='CHARACTERISTICS'"],
    &["SET completion_type=1", "BEGIN", "COMMIT"],
    &["SET system_versioning_asof='2020-01-01'"],
    &["SET pseudo_slave_mode=1"],
    &["SET pseudo_replica_mode=1"],
    &["SET wait_timeout=1000, max_execution_time=5"],
    &["FLUSH STATUS"],
    &["HELP 'SELECT'"],
    &["BEGIN NOT ATOMIC SET @a=1; SET time_zone='+03:00'; END"],
    &["DELETE FROM t.x WHERE a > 100"],
];

/// Asks the connection itself. The first comes first: it is about the statement before.
const LOOKS: [(&str, &str); 15] = [
    ("FOUND_ROWS()", "SELECT CONCAT(FOUND_ROWS(), ' ', ROW_COUNT())"),
    ("DATABASE()", "SELECT DATABASE()"),
    ("CURRENT_ROLE()", "SELECT CURRENT_ROLE()"),
    ("LAST_INSERT_ID()", "SELECT LAST_INSERT_ID()"),
    ("insert_id", "SELECT @@insert_id"),
    (
        "SHOW PROFILES",
        "SELECT COUNT(*) FROM information_schema.PROFILING",
    ),
    (
        "OPTIMIZER_TRACE",
        "SELECT COUNT(*) FROM information_schema.OPTIMIZER_TRACE",
    ),
    (
        "threads.RESOURCE_GROUP",
        "SELECT RESOURCE_GROUP FROM performance_schema.threads WHERE PROCESSLIST_ID=CONNECTION_ID()",
    ),
    (
        "threads.INSTRUMENTED",
        "SELECT CONCAT(INSTRUMENTED, HISTORY) FROM performance_schema.threads WHERE PROCESSLIST_ID=CONNECTION_ID()",
    ),
    ("@a", "SELECT @a"),
    ("a temporary table", "SELECT COUNT(*) FROM t.kept"),
    ("EXECUTE", "EXECUTE s"),
    ("HANDLER", "HANDLER x READ FIRST"),
    ("LASTVAL", "SELECT /*M!100300 LASTVAL(t.s) + */ 0"),
    ("XA END", "XA END 'other'"),
];

/// Statements of the connection itself, and then of another one, which locks and open transactions would refuse.
const WORK: [(bool, &str); 10] = [
    (true, "INSERT INTO t.x VALUES (50, 50)"),
    (true, "DELETE FROM t.x WHERE a = 50"),
    (false, "INSERT INTO t.x VALUES (51, 51)"),
    (false, "DELETE FROM t.x WHERE a = 51"),
    (false, "ALTER TABLE t.x COMMENT 'changed'"),
    (false, "DO GET_LOCK('l', 0)"),
    (false, "DO RELEASE_ALL_LOCKS()"),
    (false, "SELECT service_get_write_locks('n', 'l', 0)"),
    (false, "FLUSH TABLES WITH READ LOCK"),
    (false, "UNLOCK TABLES"),
];

pub(crate) fn try_text(connection: &mut Conn, sql: &str) -> String {
    match connection.query::<mysql::Row, _>(sql) {
        Ok(rows) => rows.first().map_or("none".to_owned(), text_of),
        Err(mysql::Error::MySqlError(error)) => format!("error {}", error.code),
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn variables(connection: &mut Conn) -> BTreeMap<String, String> {
    let rows: Vec<(String, Option<String>)> = connection.query("SHOW SESSION VARIABLES").unwrap();
    rows.into_iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()))
        .map(|(name, value)| (name, value.unwrap_or_default()))
        .collect()
}

/// The names of what is not as `expected`.
fn differences(expected: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> BTreeSet<String> {
    let differs = |(name, value): &(&String, &String)| found.get(*name) != Some(value);
    expected
        .iter()
        .filter(differs)
        .map(|(name, _)| name.clone())
        .collect()
}

/// A server of the test's own: locks and replication are whole servers'.
fn own_server() -> MariaDb {
    let server = MariaDb::start(Options::default()).unwrap();
    create_users(&server);
    let mut root = server.root().unwrap();
    for sql in [
        "CREATE DATABASE t",
        "CREATE TABLE t.x (a INT PRIMARY KEY, b INT)",
        "INSERT INTO t.x VALUES (1, 1)",
        "CREATE TABLE t.parent (a INT PRIMARY KEY)",
        "CREATE TABLE t.child (a INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES t.parent (a))",
        "INSERT INTO t.parent VALUES (1)",
        "INSERT INTO t.child VALUES (1, 1)",
        "CREATE ROLE r",
        "GRANT r TO root@localhost, app@'%'",
        "GRANT SELECT ON *.* TO r",
        "CREATE PROCEDURE t.sets_role() SQL SECURITY INVOKER SET ROLE r",
        "CREATE FUNCTION t.role_is_set() RETURNS INT DETERMINISTIC SQL SECURITY INVOKER BEGIN SET ROLE r; RETURN 1; END",
    ] {
        root.query_drop(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let of_kind: &[&str] = match server.flavour().is_mysql() {
        true => &[
            "CREATE RESOURCE GROUP rgx TYPE=USER",
            "CREATE PROCEDURE t.sets_group() SET RESOURCE GROUP rgx",
            "CREATE FUNCTION service_get_write_locks RETURNS INT SONAME 'locking_service.so'",
        ],
        false => &["CREATE SEQUENCE t.s"],
    };
    for sql in of_kind {
        root.query_drop(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    server
}

/// The states of the page that this server's resets leave.
fn listed(server: &MariaDb) -> BTreeSet<String> {
    let page = include_str!("../../../../docs/language/pooling.md");
    let (_, table) = page
        .split_once("\n| state | MariaDB | MySQL | the proxy |\n")
        .unwrap();
    let column = if server.flavour().is_mysql() { 2 } else { 1 };
    table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').skip(1).map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells[column] == "stays")
        .flat_map(|cells| {
            cells[0]
                .split(", ")
                .map(|name| name.trim_matches('`').to_owned())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn outlasting_variables(server: &MariaDb) -> BTreeSet<String> {
    let mut fresh = server.root().unwrap();
    let names = variables(&mut fresh);
    fresh.reset().unwrap();
    let mut base = variables(&mut fresh);
    let (mut outlasting, mut untried) = (differences(&names, &base), Vec::new());
    for name in names.keys() {
        let mut connection = server.root().unwrap();
        let read = format!("SELECT @@session.{name}");
        // A variable of the server alone.
        let Ok(before) = connection.query_first::<mysql::Value, _>(&read) else {
            continue;
        };
        let mut takes = |value: &str| match connection.query_drop(format!("SET SESSION {name} = {value}")) {
            Ok(()) => connection.query_first::<mysql::Value, _>(&read).unwrap() != before,
            // It is read-only.
            Err(mysql::Error::MySqlError(error)) => error.code == 1238,
            Err(error) => panic!("{name}: {error}"),
        };
        if !VALUES.iter().any(|value| takes(value)) {
            untried.push(name.clone());
            continue;
        }
        connection.reset().unwrap();
        let after = variables(&mut connection);
        outlasting.extend(differences(&base, &after));
        base = after;
    }
    untried.retain(|name| !UNTRIED.contains(&name.as_str()));
    assert!(untried.is_empty(), "no value changes {untried:?}");
    outlasting
}

/// Answers after statements and a reset, by what they are about.
fn seen_after(server: &MariaDb, statements: &[&str]) -> BTreeMap<String, String> {
    let (mut connection, mut other) = (server.root().unwrap(), server.root().unwrap());
    // Long: a lock that is left is there until the connection ends, and a busy server may be slow to give up others.
    other.query_drop("SET SESSION lock_wait_timeout=60").unwrap();
    other
        .query_drop("SET SESSION innodb_lock_wait_timeout=60")
        .unwrap();
    for sql in statements {
        try_text(&mut connection, sql);
    }
    connection.reset().unwrap();
    let mut seen = BTreeMap::new();
    for (name, sql) in LOOKS {
        seen.insert(name.to_owned(), try_text(&mut connection, sql));
    }
    seen.extend(variables(&mut connection));
    let prepared = try_text(&mut other, "XA RECOVER");
    if prepared == "none" {
        for (is_own, sql) in WORK {
            let worker = if is_own { &mut connection } else { &mut other };
            seen.insert(sql.to_owned(), try_text(worker, sql));
        }
    } else {
        // Its locks would be seen by other statements too.
        seen.clear();
    }
    seen.insert("XA PREPARE".to_owned(), prepared);
    let id = connection.connection_id();
    drop(connection);
    // Until a server has ended the connection, MariaDB answers OK to a rollback and leaves the locks of the transaction for ever.
    let ended = poll_until(Duration::from_secs(60), || {
        let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
        (try_text(&mut other, &sql) == "0").then_some(())
    });
    assert!(ended.is_ok(), "{statements:?}: the connection does not end");
    if seen["XA PREPARE"] != "none" {
        assert_eq!(try_text(&mut other, "XA ROLLBACK 'a'"), "none", "{statements:?}");
    }
    seen
}

pub(crate) fn a_reset_leaves_what_is_listed() {
    let server = own_server();
    let mut found = outlasting_variables(&server);
    let plain = seen_after(&server, &["DO 0"]);
    for statements in STATEMENTS {
        let others = |seen: BTreeMap<String, String>| -> BTreeSet<String> {
            let differs =
                |(name, value): &(&String, &String)| plain.get(*name).is_none_or(|plain| plain != *value);
            seen.iter()
                .filter(differs)
                .map(|(name, _)| name.clone())
                .collect()
        };
        let once = others(seen_after(&server, statements));
        if once.iter().any(|name| !found.contains(name)) {
            // A lock of a connection that is just ending is no state that stays: that shows every time.
            let again = others(seen_after(&server, statements));
            found.extend(once.intersection(&again).cloned());
        }
    }
    assert_eq!(found, listed(&server));
    // Both the primary and the foreign key are against it: who checks first tells who checks.
    let broken_twice = "INSERT INTO t.child VALUES (1, 9)";
    let mut connection = server.root().unwrap();
    let fresh = try_text(&mut connection, broken_twice);
    connection.reset().unwrap();
    let is_otherwise = try_text(&mut connection, broken_twice) != fresh;
    assert_eq!(is_otherwise, server.flavour().is_mysql(), "the page says so");
}

/// What a second client sees once a first has done this and gone.
pub(crate) fn nothing_that_outlasts_a_reset_is_seen() {
    let server = own_server();
    let port = server.port();
    let proxy = start(&Setup {
        port,
        ..one_connection()
    });
    let mut cases = vec![
        (vec!["SET ROLE r"], "SELECT CURRENT_ROLE()"),
        (vec!["/*!40101 SET ROLE r */"], "SELECT CURRENT_ROLE()"),
        (
            vec!["SET time_zone='+01:00'", "SET ROLE r"],
            "SELECT CURRENT_ROLE()",
        ),
        (vec!["CALL t.sets_role()"], "SELECT CURRENT_ROLE()"),
        (vec!["SELECT t.role_is_set()"], "SELECT CURRENT_ROLE()"),
        (
            vec!["PREPARE s FROM 'SET ROLE r'", "EXECUTE s"],
            "SELECT CURRENT_ROLE()",
        ),
        (
            vec!["SET profiling=1", "SELECT 'mine'"],
            "SELECT COUNT(*) FROM information_schema.PROFILING",
        ),
        (
            vec!["SET optimizer_trace='enabled=on'", "SELECT 'mine' FROM t.x"],
            "SELECT COUNT(*) FROM information_schema.OPTIMIZER_TRACE",
        ),
        (
            vec!["UPDATE performance_schema.threads SET HISTORY='NO' WHERE PROCESSLIST_ID=CONNECTION_ID()"],
            "SELECT COUNT(*) FROM performance_schema.threads WHERE HISTORY='NO' AND PROCESSLIST_ID=CONNECTION_ID()",
        ),
    ];
    if server.flavour().is_mysql() {
        let group =
            "SELECT RESOURCE_GROUP FROM performance_schema.threads WHERE PROCESSLIST_ID=CONNECTION_ID()";
        cases.extend([
            (vec!["SET RESOURCE GROUP rgx"], group),
            (vec!["/*!80000 SET RESOURCE GROUP rgx */"], group),
            (vec!["CALL t.sets_group()"], group),
            (
                vec!["PREPARE s FROM 'SET RESOURCE GROUP rgx'", "EXECUTE s"],
                group,
            ),
        ]);
    }
    for (does, question) in cases {
        let expected = value(&mut server.root().unwrap(), question);
        let mut first = proxy.connect(None);
        for sql in &does {
            first
                .query_drop(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        drop(first);
        assert_eq!(
            value(&mut proxy.connect(None), question),
            expected,
            "after {does:?}"
        );
    }
}

#[test]
fn what_a_reset_leaves_is_listed() {
    a_reset_leaves_what_is_listed();
}

#[test]
fn what_a_reset_leaves_reaches_no_other_session() {
    nothing_that_outlasts_a_reset_is_seen();
}

/// A reset leaves the schema, and forgets its character set, in which servers read files and which routines keep.
#[test]
fn a_pooled_connection_has_the_character_set_of_its_schema() {
    let name = "resets_charset";
    server()
        .run(format!(
            "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET cp1250; USE {name}; \
             CREATE PROCEDURE asks() SELECT @@character_set_database"
        ))
        .unwrap();
    let proxy = start(&Setup {
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    });
    for sql in [
        "SELECT @@character_set_database",
        "SELECT @@character_set_database",
        "SELECT LEFT(@@collation_database, 6)",
        "CALL asks()",
    ] {
        let mut client = proxy.connect(Some(name));
        assert_eq!(value(&mut client, sql), "cp1250", "{sql}");
        client.query_drop("SELECT 1").unwrap();
        drop(client);
        proxy.settle();
    }
    let mut client = proxy.connect(Some(name));
    client
        .query_drop("CREATE FUNCTION keeps(a VARCHAR(9)) RETURNS VARCHAR(9) DETERMINISTIC RETURN a")
        .unwrap();
    assert_eq!(value(&mut client, "SELECT CHARSET(keeps('a'))"), "cp1250");
    drop(client);
    proxy.settle();
    let mut client = proxy.connect(Some(name));
    client.query_drop("SET CHARACTER SET latin1").unwrap();
    assert_eq!(value(&mut client, "SELECT CHARSET('a')"), "cp1250");
}
