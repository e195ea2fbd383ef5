//! The `mysql` client library against a server.

use crate::support::{code, world};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

#[test]
fn the_right_password_is_let_in_and_no_other() {
    let world = world();
    for (user, password) in [("app", "secret"), ("hashed", "password"), ("open", "")] {
        Conn::new(world.opts(user, password, None)).unwrap_or_else(|error| panic!("{user}: {error}"));
    }
    for (user, password) in [
        ("app", "wrong"),
        ("app", ""),
        ("open", "x"),
        ("nobody", "secret"),
        ("", ""),
    ] {
        assert_eq!(
            code(Conn::new(world.opts(user, password, None))),
            1045,
            "{user}:{password}"
        );
    }
    assert_eq!(
        code(Conn::new(world.opts("app", "secret", Some("Atlantis")))),
        1049
    );
}

#[test]
fn rows_come_in_text_and_in_binary() {
    let world = world();
    let mut conn = world.connect(Some("Europe"));
    let expected = vec![
        ("Berlin".to_owned(), Some(3_386_667_i64)),
        ("Cork".into(), Some(127_187)),
        ("Nowhere".into(), None),
    ];
    let text: Vec<(String, Option<i64>)> = conn
        .query("SELECT Name, Population FROM City ORDER BY ID")
        .unwrap();
    assert_eq!(text, expected);
    let binary: Vec<(String, Option<i64>)> = conn
        .exec(
            "SELECT Name, Population FROM City WHERE ID >= ? ORDER BY ID",
            (1,),
        )
        .unwrap();
    assert_eq!(binary, expected);
    let none: Vec<String> = conn
        .exec("SELECT Name FROM City WHERE Name = ?", ("Rome",))
        .unwrap();
    assert!(none.is_empty());
}

#[test]
fn tables_are_listed_as_they_are_now() {
    let world = world();
    let mut conn = world.connect(Some("Europe"));
    let question = "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'Europe' AND TABLE_NAME = 'City'";
    let asked = |conn: &mut Conn| conn.query::<String, _>(question).unwrap();
    assert_eq!(asked(&mut conn), ["BASE TABLE"]);
    let absent: Vec<String> = conn
        .query("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.tables WHERE TABLE_NAME = 'Later'")
        .unwrap();
    assert!(absent.is_empty());
    conn.query_drop("CREATE TABLE Later (id INT)").unwrap();
    let there: Vec<String> = conn
        .query("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.tables WHERE TABLE_NAME = 'Later'")
        .unwrap();
    assert_eq!(there, ["Later"]);
    for number in 0..12 {
        conn.query_drop(format!("CREATE DATABASE more_{number}")).unwrap();
    }
    conn.query_drop("CREATE TABLE more_11.City (Name TEXT)").unwrap();
    assert_eq!(
        asked(&mut conn),
        ["BASE TABLE"],
        "with more schemas than can be open at a time"
    );
    let own: Vec<String> = conn.query("SELECT Name FROM City LIMIT 1").unwrap();
    assert_eq!(own.len(), 1, "the session's own schema is as it was");
    conn.query_drop("CREATE TABLE more_11.TABLES (id INT)").unwrap();
    conn.query_drop("USE more_11").unwrap();
    let own: Vec<i64> = conn.query("SELECT COUNT(*) FROM TABLES").unwrap();
    assert_eq!(own, [0], "a schema's own TABLES is that");
    for write in [
        "DELETE FROM information_schema.TABLES",
        "CREATE TABLE information_schema.t (id INT)",
    ] {
        assert!(conn.query_drop(write).is_err(), "{write}");
    }
}

#[test]
fn parameters_keep_their_values() {
    let world = world();
    let mut conn = world.connect(None);
    let values: Vec<Value> = vec![
        Value::NULL,
        Value::Int(-5),
        Value::UInt(7),
        Value::Double(1.5),
        Value::Bytes(b"it's \\ \"text\"".to_vec()),
        Value::Bytes(vec![0xFF, 0, 0xFE]),
    ];
    let sent = values.clone();
    let row: mysql::Row = conn.exec_first("SELECT ?, ?, ?, ?, ?, ?", sent).unwrap().unwrap();
    let mut expected = values;
    expected[2] = Value::Int(7);
    assert_eq!(row.unwrap(), expected);
    let date = mysql::Value::Date(2024, 2, 29, 13, 14, 15, 0);
    assert_eq!(
        conn.exec_first::<String, _, _>("SELECT ?", (date,))
            .unwrap()
            .unwrap(),
        "2024-02-29 13:14:15"
    );
}

#[test]
fn long_values_are_sent_in_pieces() {
    let world = world();
    let mut conn = world.connect(None);
    let long = "x".repeat(17 * 1024 * 1024);
    let len: Option<(i64, i64)> = conn.exec_first("SELECT length(?), ?", (&long, 3)).unwrap();
    assert_eq!(len, Some((long.len() as i64, 3)));
    let echoed: Option<String> = conn.exec_first("SELECT ?", (&long,)).unwrap();
    assert!(echoed.is_some_and(|echoed| echoed == long));
    let text: Option<String> = conn.query_first(format!("SELECT '{long}'")).unwrap();
    assert_eq!(text.map(|text| text.len()), Some(long.len()));
}

#[test]
fn changes_tell_how_many_and_which() {
    let world = world();
    let mut conn = world.connect(Some("Europe"));
    conn.query_drop("INSERT INTO City (Name) VALUES ('Rome'), ('Oslo')")
        .unwrap();
    assert_eq!((conn.affected_rows(), conn.last_insert_id()), (2, 4));
    assert_eq!(
        conn.query_first::<i64, _>("SELECT LAST_INSERT_ID()").unwrap(),
        Some(4)
    );
    conn.exec_drop("UPDATE City SET Population = ? WHERE ID > ?", (1, 3))
        .unwrap();
    assert_eq!((conn.affected_rows(), conn.last_insert_id()), (2, 0));
    conn.query_drop("CREATE TABLE t (a int)").unwrap();
    assert_eq!(conn.affected_rows(), 0);
}

#[test]
fn a_schema_is_its_own_world() {
    let world = world();
    let mut conn = world.connect(Some("Asia"));
    assert_eq!(code(conn.query_drop("SELECT * FROM City")), 1146);
    assert_eq!(
        conn.query_first::<i64, _>("SELECT count(*) FROM Europe.City")
            .unwrap(),
        Some(3)
    );
    conn.query_drop("CREATE TABLE City (Name text)").unwrap();
    conn.query_drop("INSERT INTO City VALUES ('Tokyo')").unwrap();
    let names = "SELECT Name FROM City LIMIT 1";
    assert_eq!(conn.query_first::<String, _>(names).unwrap().unwrap(), "Tokyo");
    conn.query_drop("USE Europe").unwrap();
    assert_eq!(conn.query_first::<String, _>(names).unwrap().unwrap(), "Berlin");
    assert_eq!(
        conn.query_first::<String, _>("SELECT DATABASE()")
            .unwrap()
            .unwrap(),
        "Europe"
    );
    assert!(conn.select_db("Asia").is_ok());
    assert_eq!(conn.query_first::<String, _>(names).unwrap().unwrap(), "Tokyo");
    let mut nowhere = world.connect(None);
    assert_eq!(code(nowhere.query_drop("SELECT * FROM City")), 1046);
    assert_eq!(code(nowhere.query_drop("CREATE TABLE t (a int)")), 1046);
    assert_eq!(
        nowhere
            .query_first::<Option<String>, _>("SELECT DATABASE()")
            .unwrap(),
        Some(None)
    );
}

#[test]
fn many_schemas_can_be_used_by_one_session() {
    let world = world();
    let mut conn = world.connect(None);
    for at in 0..40 {
        conn.query_drop(format!("CREATE DATABASE s{at}")).unwrap();
        conn.query_drop(format!("CREATE TABLE s{at}.t AS SELECT {at} AS n"))
            .unwrap();
    }
    for at in 0..40 {
        assert_eq!(
            conn.query_first::<i64, _>(format!("SELECT n FROM s{at}.t"))
                .unwrap(),
            Some(at)
        );
    }
    conn.query_drop("DROP DATABASE s7").unwrap();
    assert_eq!(code(conn.query_drop("USE s7")), 1049);
    assert_eq!(code(conn.query_drop("DROP DATABASE s7")), 1008);
    conn.query_drop("DROP DATABASE IF EXISTS s7").unwrap();
    assert_eq!(code(conn.query_drop("CREATE DATABASE s8")), 1007);
}

#[test]
fn transactions_are_seen_by_others_when_they_commit() {
    let world = world();
    let (mut one, mut other) = (world.connect(Some("Europe")), world.connect(Some("Europe")));
    let count = "SELECT count(*) FROM City";
    one.query_drop("START TRANSACTION").unwrap();
    one.query_drop("INSERT INTO City (Name) VALUES ('Rome')").unwrap();
    assert_eq!(one.query_first::<i64, _>(count).unwrap(), Some(4));
    assert_eq!(other.query_first::<i64, _>(count).unwrap(), Some(3));
    one.query_drop("ROLLBACK").unwrap();
    assert_eq!(other.query_first::<i64, _>(count).unwrap(), Some(3));
    one.query_drop("SET autocommit = 0").unwrap();
    one.query_drop("INSERT INTO City (Name) VALUES ('Rome')").unwrap();
    one.query_drop("COMMIT").unwrap();
    assert_eq!(other.query_first::<i64, _>(count).unwrap(), Some(4));
    one.query_drop("DELETE FROM City").unwrap();
    drop(one);
    // The next statement waits for the lock of the connection that is going.
    other
        .query_drop("INSERT INTO City (Name) VALUES ('Oslo')")
        .unwrap();
    assert_eq!(other.query_first::<i64, _>(count).unwrap(), Some(5));
}

#[test]
fn errors_have_mysqls_numbers() {
    let world = world();
    let mut conn = world.connect(Some("Europe"));
    for (sql, number) in [
        ("SELEC 1", 1064),
        ("SELECT 'open", 1064),
        ("SELECT 1; SELECT 2", 1064),
        ("", 1065),
        ("SELECT * FROM Missing", 1146),
        ("SELECT * FROM Atlantis.City", 1146),
        ("SELECT Missing FROM City", 1054),
        ("INSERT INTO City (ID, Name) VALUES (1, 'x')", 1062),
        ("INSERT INTO City (ID, Name) VALUES (9, NULL)", 1048),
        ("INSERT INTO City (ID, Name) VALUES (9)", 1136),
        ("CREATE TABLE City (a int)", 1050),
        ("SELECT missing()", 1305),
        ("SET missing = 1", 1193),
        ("SET NAMES gbk", 1115),
        ("ATTACH '/etc/passwd' AS x", 1148),
        ("PRAGMA writable_schema = on", 1148),
        ("VACUUM INTO '/tmp/stolen'", 1148),
    ] {
        assert_eq!(code(conn.query_drop(sql)), number, "{sql}");
    }
    assert_eq!(conn.query_first::<i64, _>("SELECT 1").unwrap(), Some(1));
}

#[test]
fn variables_are_set_and_read() {
    let world = world();
    let mut conn = world.connect(None);
    conn.query_drop(
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin, @@session.sql_mode = 'ANSI', wait_timeout = 60 * 2",
    )
    .unwrap();
    let row: Option<(String, i64, i64)> = conn
        .query_first("SELECT @@sql_mode, @@session.wait_timeout, @@autocommit")
        .unwrap();
    assert_eq!(row, Some(("ANSI".into(), 120, 1)));
    conn.query_drop("SET @a = 1 + 2, @b := 'x'").unwrap();
    assert_eq!(
        conn.query_first("SELECT @a, @B, @c").unwrap(),
        Some((3, "x".to_owned(), None::<String>))
    );
    let extremes = "SELECT LEAST(@@session.wait_timeout, CAST(7 AS UNSIGNED)), GREATEST(1, 2.5), LEAST('b', 'a'), LEAST(1, NULL)";
    assert_eq!(
        conn.query_first(extremes).unwrap(),
        Some((7, 2.5, "a".to_owned(), None::<i64>))
    );
    let comment: mysql::Row = conn
        .query_first("select @@version_comment limit 1")
        .unwrap()
        .unwrap();
    assert_eq!(comment.columns_ref()[0].name_str(), "@@version_comment");
    conn.query_drop("/*!40101 SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED */")
        .unwrap();
    assert_eq!(
        conn.query_first::<String, _>("SELECT VERSION()")
            .unwrap()
            .unwrap(),
        "8.4.0-test"
    );
    assert_eq!(
        conn.query_first::<String, _>("SELECT USER()").unwrap().unwrap(),
        "app@127.0.0.1"
    );
    assert_eq!(
        conn.query_first("SELECT CONNECTION_ID()").unwrap(),
        Some(conn.connection_id())
    );
}

#[test]
fn a_reset_connection_has_forgotten() {
    let world = world();
    let mut conn = world.connect(Some("Europe"));
    conn.query_drop("SET @a = 1").unwrap();
    conn.query_drop("BEGIN").unwrap();
    conn.query_drop("DELETE FROM City").unwrap();
    conn.reset().unwrap();
    assert_eq!(
        conn.query_first("SELECT @a, DATABASE(), count(*) FROM City")
            .unwrap(),
        Some((None::<i64>, "Europe".to_owned(), 3))
    );
    conn.change_user(
        mysql::ChangeUserOpts::new()
            .with_user(Some("hashed".into()))
            .with_pass(Some("password".into())),
    )
    .unwrap();
    assert!(
        conn.query_first::<String, _>("SELECT USER()")
            .unwrap()
            .unwrap()
            .starts_with("hashed@")
    );
}

#[test]
fn the_log_tells_who_ran_what_where() {
    let world = world();
    let mut conn = world.connect(Some("Europe"));
    conn.query_drop("SELECT /* here */ 1").unwrap();
    conn.exec_drop("SELECT ?", (1,)).unwrap();
    let log = world.log.lock().unwrap();
    let mine: Vec<_> = log
        .iter()
        .filter(|(_, _, sql)| !sql.contains("@@"))
        .cloned()
        .collect();
    let entry = |sql: &str| (conn.connection_id(), Some("Europe".to_owned()), sql.to_owned());
    assert_eq!(mine, [entry("SELECT /* here */ 1"), entry("SELECT ?")]);
}
