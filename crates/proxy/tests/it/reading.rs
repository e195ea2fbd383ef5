//! sql_mode decides how texts are read: by servers, by the proxy, and by clients that quote values.

use mysql::prelude::Queryable;
use shardwright_wire::{CapabilityFlags, Command};

use crate::alike::{Exact, SETS, server_address};
use crate::maps::tenants;
use crate::support::{Setup, error, schema, server, start, value};

const MODES: [&str; 6] = [
    "SET sql_mode='ANSI_QUOTES'",
    "SET sql_mode='NO_BACKSLASH_ESCAPES'",
    "SET SESSION sql_mode=CONCAT(@@sql_mode, ',ANSI_QUOTES')",
    "SET @old=@@sql_mode, sql_mode=\"ANSI,NO_BACKSLASH_ESCAPES\"",
    "/*!40101 SET sql_mode=@old */",
    "SET sql_mode=DEFAULT",
];

/// Texts that mean something else in another mode.
const TEXTS: [&str; 7] = [
    r#"SELECT "a", 'b' FROM t"#,
    r#"SELECT "x\" , 'y' FROM t -- " , "z" FROM t"#,
    r"SELECT 'it\'s' FROM t",
    r"SELECT 'a\' FROM t",
    r"SELECT 'a\nb', 'c\\', '\' FROM t -- '",
    r#"INSERT INTO "t" ("a") VALUES ('\\')"#,
    "SHOW STATUS LIKE 'nothing'",
];

#[test]
fn every_mode_is_that_of_the_server() {
    let name = schema("reading");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a VARCHAR(9)); INSERT INTO {name}.t VALUES ('v')"
        ))
        .unwrap();
    let proxy = start(&Setup::default());
    for capabilities in SETS {
        let mut both = [server_address(), proxy.running().listen_address()]
            .map(|address| Exact::log_in(address, capabilities));
        let mut compare = |command: Command<'_>| {
            let [direct, through] = both.each_mut().map(|client| client.answer_of_last(&command));
            match both[0].code() {
                Some(code) => assert_eq!(Some(code), both[1].code(), "{command:?} {capabilities:?}"),
                None if both[1].code().is_some() => panic!(
                    "{command:?} {capabilities:?}: {}",
                    String::from_utf8_lossy(&through)
                ),
                None => assert_eq!(direct, through, "{command:?} {capabilities:?}"),
            }
        };
        compare(Command::InitDb(name.as_bytes()));
        for mode in MODES {
            compare(Command::Query(mode.as_bytes()));
            for text in TEXTS {
                compare(Command::Query(b"BEGIN"));
                compare(Command::Query(text.as_bytes()));
                compare(Command::StmtPrepare(text.as_bytes()));
                // The proxy answers some statements itself, with the flags by which clients know how to quote.
                compare(Command::Query(b"ROLLBACK"));
                compare(Command::Query(b"SET NAMES utf8mb4"));
                compare(Command::Query(b"SELECT @@sql_mode"));
            }
        }
    }
}

/// What ORMs and drivers send, and what people find on the web.
#[test]
fn modes_are_made_of_those_of_the_server() {
    let proxy = start(&Setup::default());
    let mut both = [server().root().unwrap(), proxy.connect(None)];
    for sql in [
        "SET @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), ',NO_AUTO_VALUE_ON_ZERO'), \
         @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483",
        "SET SESSION sql_mode=(SELECT REPLACE(@@sql_mode, 'STRICT_TRANS_TABLES,', ''))",
        "SET sql_mode=CONCAT(@@sql_mode, ',ANSI_QUOTES')",
        "SET sql_mode=REPLACE(@@SESSION.sql_mode, 'ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES')",
        "SET sql_mode=@@GLOBAL.sql_mode",
        "SET @more = ',ANSI'",
        "SET sql_mode=CONCAT('STRICT_TRANS_TABLES', @more)",
        "SET sql_mode=CONCAT(@@sql_mode, ',NONESUCH')",
    ] {
        let results = both.each_mut().map(|client| match client.query_drop(sql) {
            Ok(()) => Ok(value(client, "SELECT @@sql_mode")),
            Err(mysql::Error::MySqlError(error)) => Err(error.code),
            Err(error) => panic!("{sql}: {error}"),
        });
        assert_eq!(results[0], results[1], "{sql}");
    }
    let refused = error(&mut both[1], "SET sql_mode=(SELECT a FROM nowhere.t)");
    assert_eq!(refused.0, 1231);
    assert!(refused.1.contains("CONCAT"), "{}", refused.1);
}

#[test]
fn each_session_on_a_connection_has_its_own_mode() {
    let name = schema("own_modes");
    let proxy = start(&Setup {
        max_connections: 1,
        ..Setup::default()
    });
    let mut plain = proxy.connect(None);
    let mut ansi = proxy.connect(None);
    ansi.query_drop("SET sql_mode='ANSI_QUOTES'").unwrap();
    let mut escapes = proxy.connect(None);
    escapes.query_drop("SET sql_mode='NO_BACKSLASH_ESCAPES'").unwrap();
    for _ in 0..3 {
        assert_eq!(value(&mut plain, r#"SELECT "a\\b" AS "c""#), r"a\b");
        assert_eq!(error(&mut ansi, r#"SELECT "a""#).0, 1054);
        assert_eq!(value(&mut ansi, r#"SELECT 'a\\b' AS "c""#), r"a\b");
        assert_eq!(value(&mut escapes, r#"SELECT "a\\b" AS "c""#), r"a\\b");
    }
    drop(name);
}

#[test]
fn keys_are_found_as_the_session_reads_texts() {
    let proxy = tenants("reading_keys");
    let mut client = proxy.connect(Some("reading_keys"));
    let in_string = r"SELECT '\' /* tenant=2 */ ', who FROM t /* tenant=1 */ # '";
    let in_name = r#"SELECT who AS "'" /* tenant=2 */, '"' FROM t /* tenant=1 */ -- '"#;
    assert_eq!(value(&mut client, in_string), r"' /* tenant=2 */ ");
    client.query_drop("SET sql_mode='NO_BACKSLASH_ESCAPES'").unwrap();
    let escaped = r"SELECT who, '\' FROM t /* tenant=2 */ -- ' /* tenant=1 */";
    assert_eq!(value(&mut client, escaped), "2");
    let glued = r"\, who FROM t /* tenant=1 */ # ";
    assert_eq!(
        value(&mut client, in_string),
        glued,
        "a comment between two strings"
    );
    client.query_drop("SET sql_mode='ANSI_QUOTES'").unwrap();
    assert_eq!(
        error(&mut client, escaped).0,
        1054,
        "no table any more: {escaped}"
    );
    assert!(error(&mut client, in_name).1.starts_with("SW353"));
    assert_eq!(value(&mut client, r#"SELECT "who" FROM "t" /* tenant=2 */"#), "2");
    assert_eq!(
        value(
            &mut client,
            r#"SELECT "who" FROM "reading_keys"."t" /* tenant=1 */"#
        ),
        "1"
    );
}

#[test]
fn prepared_statements_keep_the_reading_of_their_time() {
    let name = schema("reading_prepared");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a INT); INSERT INTO {name}.t VALUES (5)"
        ))
        .unwrap();
    let proxy = start(&Setup {
        max_connections: 1,
        ..Setup::default()
    });
    let mut client = proxy.connect(Some(&name));
    client.query_drop("SET sql_mode='ANSI_QUOTES'").unwrap();
    let quoted = client.prep(r#"SELECT "a" FROM "t""#).unwrap();
    let run = |client: &mut mysql::Conn| client.exec_first::<i64, _, _>(&quoted, ());
    assert_eq!(run(&mut client).unwrap(), Some(5));
    client.query_drop("SET sql_mode=''").unwrap();
    assert_eq!(run(&mut client).unwrap(), Some(5), "the connection still has it");
    let plain = client.exec_first::<String, _, _>(r#"SELECT "a" FROM t"#, ());
    assert_eq!(plain.unwrap().as_deref(), Some("a"));
    assert_eq!(
        value(&mut proxy.connect(None), "SELECT 1"),
        "1",
        "another session takes the connection"
    );
    let refused = run(&mut client).unwrap_err();
    assert!(
        matches!(&refused, mysql::Error::MySqlError(error) if error.code == 1615),
        "{refused}"
    );
    client.query_drop("SET sql_mode='ANSI_QUOTES'").unwrap();
    assert_eq!(run(&mut client).unwrap(), Some(5), "as it was prepared");
}

#[test]
fn a_text_whose_rest_would_be_read_otherwise_is_refused() {
    let proxy = start(&Setup::default());
    let several = CapabilityFlags::CLIENT_MULTI_STATEMENTS | CapabilityFlags::CLIENT_MULTI_RESULTS;
    let mut client = Exact::log_in(proxy.running().listen_address(), several);
    client.query("SET sql_mode='ANSI_QUOTES'; SELECT \"a\"");
    assert_eq!(client.code(), Some(1235));
    client.query("SET sql_mode='STRICT_ALL_TABLES'; SELECT \"a\"");
    assert_eq!(client.code(), None);
}

#[test]
fn what_a_prepared_set_does_is_followed() {
    let proxy = start(&Setup {
        max_connections: 1,
        ..Setup::default()
    });
    for (sql, question, expected) in [
        ("SET time_zone='+03:00'", "SELECT @@time_zone", "+03:00"),
        ("SET sql_mode='ANSI_QUOTES'", "SELECT @@sql_mode", "ANSI_QUOTES"),
        ("SET NAMES latin1", "SELECT @@character_set_client", "latin1"),
        ("SET autocommit=0", "SELECT @@autocommit", "0"),
    ] {
        let mut client = proxy.connect(None);
        client.exec_drop(sql, ()).unwrap();
        assert_eq!(value(&mut client, question), expected, "{sql}");
        assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
        assert_eq!(
            value(&mut client, question),
            expected,
            "after another session: {sql}"
        );
    }
}
