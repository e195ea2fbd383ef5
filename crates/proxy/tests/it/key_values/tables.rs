//! What a table must be like for its key column to be believed, one case each.

use mysql::prelude::Queryable;
use shardwright_rules::{Finder, InShards, KeyKind, KeyValue, MapStep, UnknownKey};
use shardwright_testkit::{MariaDb, Options};

use crate::support::{
    PASSWORD, Setup, TestProxy, USER, error, map_alone, server, start, tenants_by_comment, value,
};

/// Tenants 1 and 2 in columns of the tables that `tables` makes, in the schemas `NAME_1` and `NAME_2`.
fn proxy(name: &'static str, tables: &str, change: impl Fn(&mut MapStep)) -> TestProxy {
    proxy_of(server(), name, tables, change)
}

pub(super) fn proxy_of(
    server: &MariaDb,
    name: &'static str,
    tables: &str,
    change: impl Fn(&mut MapStep),
) -> TestProxy {
    for end in ["1", "2", "all"] {
        let schema = format!("{name}_{end}");
        server
            .run(format!(
                "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; {tables}"
            ))
            .unwrap();
    }
    let mut map = MapStep {
        finders: vec![Finder::Column {
            column: "tenant".into(),
            in_shards: InShards::Present,
        }],
        ..tenants_by_comment(name)
    };
    change(&mut map);
    start(&Setup {
        configuration: Box::new(move |configuration| configuration.graph.rules = map_alone(map.clone())),
        port: server.port(),
        ..Setup::default()
    })
}

#[test]
fn a_table_without_the_column_and_what_changes_the_key_are_refused() {
    let proxy = proxy(
        "key_tables",
        "CREATE TABLE plain (tenant INT, c INT); CREATE TABLE lacks (c INT); \
         CREATE TABLE hidden (tenant INT INVISIBLE, c INT); \
         CREATE TABLE numbered (tenant INT AUTO_INCREMENT PRIMARY KEY, c INT); \
         CREATE TABLE computed (base INT, tenant INT AS (base + 1) STORED, c INT); \
         CREATE TABLE triggered (tenant INT, c INT); \
         CREATE TRIGGER sets BEFORE UPDATE ON triggered FOR EACH ROW SET NEW.tenant = 2; \
         CREATE TABLE watched (tenant INT, c INT); \
         CREATE TRIGGER copies BEFORE INSERT ON watched FOR EACH ROW SET NEW.c = NEW.tenant; \
         CREATE TABLE texts (tenant VARCHAR(20), c INT)",
        |_| (),
    );
    let mut client = proxy.connect(Some("key_tables"));
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM plain WHERE tenant = 1", ""),
        ("INSERT INTO plain (tenant, c) VALUES (1, 1)", ""),
        ("SELECT COUNT(*) FROM plain WHERE tenant = '01'", "SW352"),
        ("SELECT c FROM lacks WHERE tenant = 1", "has no column tenant"),
        (
            "SELECT COUNT(*) FROM plain WHERE tenant = 1 AND EXISTS (SELECT 1 FROM lacks WHERE tenant = 1)",
            // The inner name is the outer table's column.
            "has no column tenant",
        ),
        ("SELECT COUNT(*) FROM hidden WHERE tenant = 1", ""),
        (
            "SELECT COUNT(*) FROM plain a NATURAL JOIN hidden b WHERE a.tenant = 1",
            "INVISIBLE",
        ),
        (
            "SELECT COUNT(*) FROM plain a JOIN hidden b USING (tenant) WHERE a.tenant = 1",
            "",
        ),
        ("INSERT INTO numbered (tenant, c) VALUES (2, 1)", ""),
        ("INSERT INTO computed (tenant, c) VALUES (1, 1)", "computes it"),
        ("UPDATE computed SET base = 7 WHERE tenant = 1", "computes it"),
        ("SELECT COUNT(*) FROM computed WHERE tenant = 1", ""),
        ("UPDATE triggered SET c = 1 WHERE tenant = 1", "BEFORE trigger"),
        ("SELECT COUNT(*) FROM triggered WHERE tenant = 1", ""),
        ("DELETE FROM triggered WHERE tenant = 1", ""),
        ("INSERT INTO watched (tenant, c) VALUES (1, 9)", ""),
        (
            "SELECT COUNT(*) FROM plain a JOIN texts b USING (tenant) WHERE a.tenant = 1",
            "compares otherwise in one table",
        ),
    ] {
        if expected.is_empty() {
            client
                .query_drop(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        } else {
            let (code, message) = error(&mut client, sql);
            assert!(code == 1148 && message.contains(expected), "{sql}: {message}");
        }
    }
    // A change of the table is noticed.
    client.query_drop("SELECT c FROM plain WHERE tenant = 1").unwrap();
    let mut other = proxy
        .try_connect("other", crate::support::PASSWORD, None)
        .unwrap();
    other
        .query_drop("DELETE FROM key_tables_1.plain WHERE 1")
        .unwrap();
    other
        .query_drop("ALTER TABLE key_tables_1.plain MODIFY tenant DATE")
        .unwrap();
    let (_, message) = error(&mut client, "SELECT c FROM plain WHERE tenant = 1");
    assert!(message.starts_with("SW365: "), "{message}");
}

#[test]
fn a_key_that_equals_another_belongs_to_no_cluster_of_unknown_keys() {
    let proxy = proxy("key_unknown", "CREATE TABLE t (tenant INT, c INT)", |map| {
        map.unknown = UnknownKey::Cluster("b".into())
    });
    let mut client = proxy.connect(Some("key_unknown"));
    for sql in [
        "SELECT c FROM t WHERE tenant = '01'",
        "SELECT c FROM t WHERE tenant = '1 '",
        "INSERT INTO t (tenant) VALUES ('2x')",
    ] {
        let (_, message) = error(&mut client, sql);
        assert!(message.starts_with("SW365: "), "{sql}: {message}");
    }
}

/// Two columns of different character sets compare in the collation of one of them.
#[test]
fn columns_that_compare_otherwise_are_not_joined_where_any_text_is_a_key() {
    let proxy = proxy(
        "key_joined",
        "CREATE TABLE cased (tenant VARCHAR(8) CHARACTER SET latin1 COLLATE latin1_bin, c INT);
         CREATE TABLE folded (tenant VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, c INT)",
        |map| {
            map.kind = KeyKind::Text;
            map.unknown = UnknownKey::Cluster("b".into());
            for (shard, key) in map.shards.iter_mut().zip(["eu", "us"]) {
                shard.keys = vec![KeyValue::Text(key.into())];
            }
        },
    );
    let mut client = proxy.connect(Some("key_joined"));
    for table in ["cased", "folded"] {
        let alone = format!("SELECT c FROM {table} WHERE tenant = 'eu'");
        client.query_drop(&alone).unwrap();
    }
    for join in ["ON a.tenant = b.tenant", "USING (tenant)"] {
        let sql = format!("SELECT a.c FROM folded a JOIN cased b {join} WHERE a.tenant = 'eu'");
        let (_, message) = error(&mut client, &sql);
        assert!(
            message.starts_with("SW365: ") && message.contains("compares otherwise"),
            "{sql}: {message}"
        );
    }
    let itself = "SELECT a.c FROM folded a JOIN folded b USING (tenant) WHERE a.tenant = 'eu'";
    client.query_drop(itself).unwrap();
}

/// Texts that are read under each way of setting a character set; `é` is a key of another shard in other bytes.
#[test]
fn a_key_beyond_ascii_is_read_in_utf8_only() {
    let proxy = proxy(
        "key_charsets",
        "CREATE TABLE t (tenant VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, c INT)",
        |map| {
            map.kind = KeyKind::Text;
            for (shard, key) in map.shards.iter_mut().zip(["é", "Ã©"]) {
                shard.keys = vec![
                    KeyValue::Text(key.into()),
                    KeyValue::Text(key.chars().count().to_string().into()),
                ];
            }
        },
    );
    let ascii = "INSERT INTO t (tenant, c) VALUES ('1', 1)";
    let beyond = "INSERT INTO t (tenant, c) VALUES ('é', 1)";
    for (sets, reads) in [
        (&[][..], true),
        (&["SET NAMES utf8mb4"], true),
        (&["SET NAMES utf8"], true),
        (&["SET NAMES latin1"], false),
        (&["SET NAMES latin1", "SET NAMES utf8mb4"], true),
        (&["SET NAMES cp1250"], false),
        (&["SET NAMES koi8r"], false),
        (&["SET NAMES binary"], false),
        (&["SET CHARACTER SET utf8mb4"], false),
        (&["SET character_set_client = latin1"], false),
        (&["SET @@session.character_set_client = 'latin1'"], false),
        (&["SET @v = 'latin1'", "SET @@character_set_client = @v"], false),
        (&["SET collation_connection = latin1_swedish_ci"], false),
        (&["SET character_set_connection = ascii"], false),
        (&["SET character_set_results = latin1"], true),
        (&["/*!40101 SET NAMES latin1 */"], false),
        (&["/*!40101 SET NAMES utf8mb4 */"], true),
    ] {
        let mut client = proxy.connect(Some("key_charsets"));
        for set in sets {
            client
                .query_drop(set)
                .unwrap_or_else(|error| panic!("{set}: {error}"));
        }
        client
            .query_drop(ascii)
            .unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        let sent = [
            client.query_drop(beyond),
            client.exec_drop("INSERT INTO t (tenant, c) VALUES (?, 1)", ("é",)),
        ];
        for sent in sent {
            let message = sent.err().map(|error| error.to_string());
            let is_refused = message
                .as_deref()
                .is_some_and(|message| message.contains("SW365: "));
            assert_eq!(is_refused, !reads, "{sets:?}: {message:?}");
        }
    }
    for charset in ["gbk", "big5", "sjis", "cp932", "swe7", "ucs2", "utf16", "utf32"] {
        let mut client = proxy.connect(Some("key_charsets"));
        for set in [
            format!("SET NAMES {charset}"),
            format!("SET character_set_client = {charset}"),
            format!("SET CHARACTER SET {charset}"),
            format!("SET @v = '{charset}', @@character_set_client = @v"),
        ] {
            assert!(client.query_drop(&set).is_err(), "{set}");
        }
        client
            .query_drop(beyond)
            .unwrap_or_else(|error| panic!("{charset}: {error}"));
    }
    let mut whole = proxy
        .try_connect("other", crate::support::PASSWORD, None)
        .unwrap();
    let misplaced = "SELECT (SELECT COUNT(*) FROM key_charsets_1.t WHERE tenant NOT IN ('é', '1')) + \
                     (SELECT COUNT(*) FROM key_charsets_2.t)";
    assert_eq!(value(&mut whole, misplaced), "0");
}

/// Servers convert literals to `character_set_connection`: in a column of bytes, `'A'` of a session with ucs2 there is `'\0A'`.
#[test]
fn a_text_key_is_not_read_where_the_server_converts_ascii() {
    let proxy = proxy(
        "key_converted",
        "CREATE TABLE t (tenant VARBINARY(20), c INT)",
        |map| {
            map.kind = KeyKind::Text;
            for (shard, key) in map.shards.iter_mut().zip(["A", "B"]) {
                shard.keys = vec![KeyValue::Text(key.into())];
            }
        },
    );
    let charsets = [
        "big5", "cp932", "gbk", "sjis", "swe7", "ucs2", "utf16", "utf16le", "utf32",
    ];
    for charset in charsets {
        for set in [
            format!("SET character_set_connection = {charset}"),
            format!("SET @@collation_connection = '{charset}_bin'"),
            format!("SET NAMES utf8mb4, character_set_connection = {charset}"),
        ] {
            let mut client = proxy.connect(Some("key_converted"));
            client
                .query_drop(&set)
                .unwrap_or_else(|error| panic!("{set}: {error}"));
            let sent = [
                client.query_drop("INSERT INTO t (tenant, c) VALUES ('A', 1)"),
                client.query_drop("DELETE FROM t WHERE tenant IN ('A')"),
                client.exec_drop("SELECT c FROM t WHERE tenant = ?", ("A",)),
                client.exec_drop("UPDATE t SET c = 2 WHERE tenant = ?", (b"A".to_vec(),)),
            ];
            for sent in sent {
                let message = sent.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(message.contains("SW365: "), "{set}: {message}");
            }
            let connection = value(&mut client, "SELECT @@character_set_connection");
            assert_eq!(connection, charset, "{set}");
            client.query_drop("SET NAMES utf8mb4").unwrap();
            client
                .query_drop("INSERT INTO t (tenant, c) VALUES ('A', 1)")
                .unwrap();
        }
    }
    let mut client = proxy.connect(Some("key_converted"));
    assert_eq!(value(&mut client, "SELECT @@character_set_connection"), "utf8mb4");
}

/// `init_connect` changes the character set of every connection, and nothing tells of it.
#[test]
fn a_connection_in_another_character_set_takes_no_key_beyond_ascii() {
    let options = Options::default().arg("--init-connect=SET NAMES latin1");
    let server = MariaDb::start(options).unwrap();
    // A user with every privilege would be spared.
    server.create_user(USER, PASSWORD, Some("SELECT ON *.*")).unwrap();
    server.create_user("other", PASSWORD, None).unwrap();
    let proxy = proxy_of(
        &server,
        "key_init",
        "CREATE TABLE t (tenant VARCHAR(20) COLLATE utf8mb4_bin, c INT)",
        |map| {
            map.kind = KeyKind::Text;
            for (shard, key) in map.shards.iter_mut().zip(["é", "a"]) {
                shard.keys = vec![KeyValue::Text(key.into())];
            }
        },
    );
    let mut client = proxy.connect(Some("key_init"));
    client.query_drop("SELECT c FROM t WHERE tenant = 'a'").unwrap();
    let (_, message) = error(&mut client, "SELECT c FROM t WHERE tenant = 'é'");
    assert!(
        message.contains("reads this session's statements in another character set"),
        "{message}"
    );
    client.query_drop("SET NAMES utf8mb4").unwrap();
    client.query_drop("SELECT c FROM t WHERE tenant = 'é'").unwrap();
}
