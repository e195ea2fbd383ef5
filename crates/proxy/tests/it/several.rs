//! Several statements in one text, against a server that gets the same text.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{ClientOptions, connect, text_rows};

use crate::raw::RawClient;
use crate::support::{
    PASSWORD, Setup, USER, error, map_alone, schema, server, start, tenants_by_comment, value,
};

/// Each result's rows, rows changed and warnings; and the code of the error that ends the text.
pub(crate) type Results = (Vec<String>, Option<u16>);

/// What a client sees of a text.
pub(crate) fn results(client: &mut Conn, text: &str) -> Results {
    let mut seen = Vec::new();
    let mut answer = match client.query_iter(text) {
        Ok(answer) => answer,
        Err(mysql::Error::MySqlError(error)) => return (seen, Some(error.code)),
        Err(other) => panic!("{text}: {other}"),
    };
    loop {
        let Some(mut result) = answer.iter() else { break };
        let mut rows = Vec::new();
        for row in result.by_ref() {
            match row {
                Ok(row) => rows.push(format!("{:?}", row.unwrap())),
                Err(mysql::Error::MySqlError(error)) => return (seen, Some(error.code)),
                Err(other) => panic!("{text}: {other}"),
            }
        }
        seen.push(format!(
            "{rows:?} {} {} {:?}",
            result.affected_rows(),
            result.warnings(),
            result.last_insert_id()
        ));
    }
    (seen, None)
}

pub(crate) fn direct(schema: &str) -> Conn {
    let address = ([127, 0, 0, 1], server().port()).into();
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(schema),
    };
    connect(address, options).unwrap()
}

#[test]
fn a_text_is_answered_as_a_server_answers_it() {
    let name = schema("several");
    let proxy = start(&Setup::default());
    let create = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)";
    let mut both = [direct(&name), proxy.connect(Some(&name))];
    for text in [
        "SELECT 1; SELECT 2, 3; SELECT 4 FROM DUAL WHERE 0",
        "BEGIN; INSERT INTO t (a) VALUES (1), (2); COMMIT; SELECT COUNT(*) FROM t",
        "INSERT INTO t (a) VALUES (3); SELECT LAST_INSERT_ID(); SELECT a FROM t ORDER BY id",
        "SET @x = 5; SELECT @x",
        "SET NAMES latin1; SELECT @@character_set_client; SET NAMES utf8mb4",
        "SELECT a FROM t; SELECT nothing FROM t; INSERT INTO t (a) VALUES (9)",
        "SELECT COUNT(*) FROM t",
        "START TRANSACTION; DELETE FROM t; ROLLBACK; SELECT COUNT(*) FROM t",
        "SELECT 1; /* nothing */ ; SELECT 2",
        "SELECT 1;; SELECT 2",
        "SELECT 1; SELECT 2; /* nothing */",
        "SELECT 1; SELECT 2; # nothing",
        "SELECT 1; SELECT 2; -- nothing\n ;",
        "/* nothing */; SELECT 1",
        "SELECT 1; SELECT 2; /* nothing */ /* more */ ",
        "SELECT 1/0; SHOW WARNINGS; SELECT 2",
        "CREATE TABLE u (a INT); ALTER TABLE u ADD b INT; INSERT INTO u VALUES (1, 2); DROP TABLE u",
        "USE mysql; SELECT DATABASE(); USE several; SELECT DATABASE()",
        "SELECT REPEAT('x', 100000); SELECT LENGTH(REPEAT('y', 300000)), REPEAT('y', 300000)",
        "UPDATE t SET a = a + 1; SELECT ROW_COUNT(); SELECT 1",
    ] {
        // Both run on the same tables, so each begins with the same rows.
        let [direct, through] = both.each_mut().map(|client| {
            client.query_drop("DROP TABLE IF EXISTS t, u").unwrap();
            client.query_drop(create).unwrap();
            client.query_drop("INSERT INTO t (a) VALUES (7)").unwrap();
            results(client, text)
        });
        assert_eq!(direct, through, "{text}");
    }
}

#[test]
fn procedures_are_made_and_called_in_a_text() {
    let name = schema("several_procedures");
    let proxy = start(&Setup::default());
    let text =
        "CREATE TABLE t (a INT); CREATE PROCEDURE p() BEGIN INSERT INTO t VALUES (1); SELECT a FROM t; END";
    let mut client = proxy.connect(Some(&name));
    assert_eq!(results(&mut client, text).1, None);
    let mut direct = direct(&name);
    for text in [
        "SELECT 0; CALL p(); SELECT 3",
        "CALL p(); CALL p()",
        "DROP PROCEDURE p; CREATE PROCEDURE p() BEGIN IF 1 THEN SELECT 5; END IF; SELECT 6; END; CALL p(); SELECT 7",
        "DROP PROCEDURE p; CREATE PROCEDURE p() SELECT CASE 1 WHEN 1 THEN 2 END; CALL p()",
        "DROP PROCEDURE p; CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR NOT FOUND BEGIN END; SELECT 8; END; CALL p()",
        "CREATE FUNCTION f(n INT) RETURNS INT DETERMINISTIC RETURN IF(n, 2, 3); SELECT f(0), f(1); DROP FUNCTION f",
        "CREATE TRIGGER sets BEFORE INSERT ON t FOR EACH ROW BEGIN SET @x = NEW.a; SET NEW.a = 7; END; INSERT INTO t VALUES (1); \
         SELECT a, @x FROM t ORDER BY a DESC LIMIT 1; DROP TRIGGER sets",
        "CREATE EVENT later ON SCHEDULE EVERY 1 YEAR DISABLE DO BEGIN DELETE FROM t; DELETE FROM t; END; SELECT 1; DROP EVENT later",
        // A syntax error of the server.
        "SELECT 1; CREATE PROCEDURE q() BEGIN SELECT 1; SELECT 2; CALL q()",
    ] {
        let through = results(&mut client, text);
        client.query_drop("DELETE FROM t").unwrap();
        let expected = results(&mut direct, text);
        direct.query_drop("DELETE FROM t").unwrap();
        assert_eq!(through, expected, "{text}");
    }
}

#[test]
fn a_text_runs_in_one_place_or_not_at_all() {
    let name = schema("several_places");
    for tenant in [1, 2] {
        let shard = schema(&format!("several_places_{tenant}"));
        server().run(format!("CREATE TABLE {shard}.t (a INT)")).unwrap();
    }
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(tenants_by_comment(&name));
        }),
        ..Setup::default()
    });
    let mut client = proxy.connect(Some("several_places"));
    let insert = |tenant: i64, value: i64| format!("/* tenant={tenant} */ INSERT INTO t VALUES ({value})");
    let rows = |tenant: i64| {
        let mut server = direct(&format!("several_places_{tenant}"));
        value(&mut server, "SELECT GROUP_CONCAT(a ORDER BY a) FROM t")
    };
    client
        .query_drop(format!("BEGIN; {}; {}; COMMIT", insert(1, 1), insert(1, 2)))
        .unwrap();
    assert_eq!((rows(1).as_str(), rows(2).as_str()), ("1,2", "NULL"));
    for (text, expected) in [
        (format!("{}; {}", insert(1, 3), insert(2, 3)), 1235),
        (
            format!("BEGIN; {}; SELECT 1; {}; COMMIT", insert(1, 3), insert(2, 3)),
            1148,
        ),
        // Without a key of its own.
        (format!("{}; INSERT INTO t VALUES (4)", insert(1, 3)), 1148),
    ] {
        let (code, message) = error(&mut client, &text);
        assert_eq!(code, expected, "{text}: {message}");
        assert!(
            message.contains("statement 2") || message.contains("statement 4"),
            "{message}"
        );
        assert_eq!((rows(1).as_str(), rows(2).as_str()), ("1,2", "NULL"), "{text}");
    }
    assert_eq!(value(&mut client, "/* tenant=2 */ SELECT COUNT(*) FROM t"), "0");
}

#[test]
fn a_client_says_whether_it_sends_several() {
    let proxy = start(&Setup::default());
    let address = proxy.running().listen_address();
    let two = b"\x03SELECT 1; SELECT 2";
    let mut client = RawClient::log_in(address);
    assert_eq!(client.code(two), Some(1064));
    assert_eq!(client.code(&[27, 0, 0]), Some(0));
    client.send(0, two);
    let answer: Vec<Vec<u8>> = std::iter::from_fn(|| client.packet()).take(10).collect();
    assert_eq!(answer[5][0], 1, "the second result follows: {answer:?}");
    assert_eq!(client.code(&[27, 1, 0]), Some(0));
    assert_eq!(client.code(two), Some(1064));
    assert_eq!(client.code(b"\x03SELECT 1"), Some(0));
}

#[test]
fn the_session_goes_on_after_a_text() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    assert_eq!(results(&mut client, "BEGIN; SELECT 1").1, None);
    assert_eq!(value(&mut client, "SELECT @@in_transaction"), "1");
    assert_eq!(
        results(&mut client, "COMMIT; SET autocommit=0; SELECT @@autocommit").1,
        None
    );
    assert_eq!(value(&mut client, "SELECT @@autocommit"), "0");
    assert_eq!(text_rows(&mut client, "SELECT 1; SELECT 2").unwrap().len(), 2);
}
