//! Sessions in a logical schema, and in the schemas of shards.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{Finder, KeyTemplate, MapStep, UnknownKey, Unqualified};
use shardwright_testkit::{MariaDb, Options};
use shardwright_wire::CapabilityFlags;

use crate::raw::RawClient;
use crate::support::{
    Setup, TestProxy, create_users, error, map_alone, member, server, start, tenants_by_comment, value,
};

const TABLES: &str = "CREATE TABLE t (id INT PRIMARY KEY, db VARCHAR(64), l VARCHAR(64) CHARACTER SET latin1, \
     c VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, b VARBINARY(64)); \
     CREATE TABLE notes (n VARCHAR(64)); \
     CREATE PROCEDURE note(IN i VARCHAR(64)) INSERT INTO notes VALUES (i)";

/// Two tenants' schemas with the same tables, and one of the logical name where a statement may run without a key.
fn schemas(name: &str, has_logical: bool) {
    let shards = [1, 2].map(|tenant| format!("{name}_{tenant}"));
    let all = [name.to_owned()]
        .into_iter()
        .filter(|_| has_logical)
        .chain(shards);
    server().run(format!("DROP DATABASE IF EXISTS `{name}`")).unwrap();
    for schema in all {
        server()
            .run(format!(
                "DROP DATABASE IF EXISTS `{schema}`; CREATE DATABASE `{schema}`; USE `{schema}`; {TABLES}; \
                 INSERT INTO t VALUES (1, \"{name}\", \"{name}\", \"{name}\", \"{name}\"), \
                 (2, \"{name}_1\", \"{name}_1\", \"{name}_1\", \"{name}_1\"), (3, NULL, NULL, NULL, NULL)"
            ))
            .unwrap();
    }
}

fn map(name: &str) -> MapStep {
    MapStep {
        unqualified: Unqualified::SessionSchema,
        ..tenants_by_comment(name)
    }
}

fn proxy(map: impl Fn() -> MapStep + 'static) -> TestProxy {
    start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(map());
        }),
        ..Setup::default()
    })
}

fn tables(client: &mut Conn) -> Result<Vec<String>, u16> {
    match client.query::<String, _>("SHOW TABLES") {
        Ok(tables) => Ok(tables),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(error) => panic!("{error}"),
    }
}

/// Outside and inside a transaction of a shard on the same server.
#[test]
fn without_a_key_a_statement_runs_in_the_logical_schema_or_in_none() {
    for (name, has_logical) in [("logical_keyless", true), ("logical_absent", false)] {
        schemas(name, has_logical);
        if has_logical {
            server().run(format!("CREATE TABLE {name}.own (a INT)")).unwrap();
        }
        let expected = if has_logical {
            Ok(["notes", "own", "t"].map(str::to_owned).to_vec())
        } else {
            Err(1046)
        };
        let proxy = proxy(move || map(name));
        let mut client = proxy.connect(Some(name));
        assert_eq!(tables(&mut client), expected);
        client.query_drop("BEGIN").unwrap();
        client.query_drop("/* tenant=1 */ UPDATE t SET db = 'x'").unwrap();
        assert_eq!(tables(&mut client), expected, "{name}, in a transaction");
        let columns = client
            .query::<mysql::Row, _>("SHOW COLUMNS FROM t")
            .map(|rows| rows.len());
        assert_eq!(columns.ok(), has_logical.then_some(5));
        // No name means the schema.
        for sql in ["SELECT 5", "SET @a = 5", "SHOW VARIABLES LIKE 'autocommit'"] {
            client.query_drop(sql).unwrap();
        }
        let listed: Vec<String> = client.query("SHOW TABLES FROM mysql LIKE 'db'").unwrap();
        assert_eq!(listed, ["db"]);
        assert_eq!(value(&mut client, "/* tenant=1 */ SELECT db FROM t LIMIT 1"), "x");
        client.query_drop("ROLLBACK").unwrap();
        assert_eq!(tables(&mut client), expected);
        let address = proxy.running().listen_address();
        let mut raw = RawClient::log_in_to(address, CapabilityFlags::CLIENT_CONNECT_WITH_DB, Some(name)).0;
        for command in ["\x03BEGIN", "\x03/* tenant=1 */ UPDATE t SET db = 'x'"] {
            assert_eq!(raw.code(command.as_bytes()), Some(0), "{command}");
        }
        let expected = if has_logical { 0 } else { 1046 };
        assert_eq!(raw.code(b"\x04t\0"), Some(expected), "COM_FIELD_LIST");
    }
}

#[test]
fn a_tenant_of_no_shard_never_reads_the_shard_of_the_transaction() {
    for (name, has_logical) in [("logical_unsplit", true), ("logical_unsplit_none", false)] {
        schemas(name, has_logical);
        server()
            .run(format!("UPDATE {name}_1.t SET db = 'of tenant 1'"))
            .unwrap();
        let proxy = proxy(move || MapStep {
            unknown: UnknownKey::Cluster("a".into()),
            ..map(name)
        });
        let mut client = proxy.connect(Some(name));
        let sql = "/* tenant=9 */ SELECT db FROM t WHERE id = 1";
        for begin in ["SELECT 1", "BEGIN"] {
            client.query_drop(begin).unwrap();
            client.query_drop("/* tenant=1 */ SELECT * FROM t").unwrap();
            for _ in 0..2 {
                if has_logical {
                    assert_eq!(value(&mut client, sql), name);
                    let prepared: Option<String> = client.exec_first(sql, ()).unwrap();
                    assert_eq!(prepared.as_deref(), Some(name));
                } else {
                    assert_eq!(error(&mut client, sql).0, 1046);
                    assert!(client.prep(sql).is_err());
                }
            }
            assert_eq!(
                value(&mut client, "/* tenant=1 */ SELECT db FROM t LIMIT 1"),
                "of tenant 1"
            );
        }
    }
}

/// A map by the session's schema as well as by a comment.
fn by_schema(name: &str) -> MapStep {
    let template = KeyTemplate {
        prefix: format!("{name}_").into(),
        width: None,
        suffix: "".into(),
    };
    let map = map(name);
    let by_schema = Finder::Schema { template };
    MapStep {
        finders: map.finders.iter().cloned().chain([by_schema]).collect(),
        ..map
    }
}

#[test]
fn use_is_decided_for_the_schema_that_it_goes_to() {
    let name = "logical_use";
    schemas(name, true);
    let proxy = proxy(move || by_schema(name));
    let mut client = proxy.connect(Some(name));
    for back in [format!("USE {name}"), format!("/* tenant=2 */ USE `{name}`")] {
        client.query_drop("USE logical_use_1").unwrap();
        assert_eq!(value(&mut client, "SELECT db FROM t WHERE id = 1"), name);
        assert_eq!(value(&mut client, "SELECT DATABASE(), 1"), "logical_use_1");
        client.query_drop(&back).unwrap();
        assert_eq!(value(&mut client, "SELECT DATABASE()"), name);
    }
    for schema in ["logical_use_2", name] {
        assert!(client.select_db(schema).is_ok(), "{schema}");
        assert_eq!(value(&mut client, "SELECT DATABASE()"), schema);
    }
    // Nothing of a transaction changes with it.
    client.query_drop("BEGIN").unwrap();
    client.query_drop("/* tenant=1 */ UPDATE t SET db = 'x'").unwrap();
    client.query_drop("USE logical_use_2").unwrap();
    client.query_drop("USE logical_use_1").unwrap();
    assert_eq!(value(&mut client, "SELECT db FROM t WHERE id = 1"), "x");
    client.query_drop("ROLLBACK").unwrap();
    client.query_drop(format!("USE {name}")).unwrap();
}

/// It goes to the server of the earlier statement, where the session's schema is not, and the connection that ran that has gone to
/// another session.
#[test]
fn a_question_needs_no_schema() {
    let name = "logical_questions";
    schemas(name, false);
    let other = MariaDb::start(Options::default()).unwrap();
    create_users(&other);
    other.run(format!("CREATE DATABASE {name}_2")).unwrap();
    server()
        .run(format!(
            "DROP DATABASE {name}_2; CREATE TABLE {name}_1.numbered (id INT AUTO_INCREMENT PRIMARY KEY, a INT)"
        ))
        .unwrap();
    let port = other.port();
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(by_schema(name));
            configuration.hostgroups[1].members = vec![member("b", port, 20)];
        }),
        ..Setup::default()
    });
    let mut holders = [
        Some("logical_questions_1"),
        None,
        Some("logical_questions_1"),
        None,
    ]
    .map(|schema| proxy.connect(schema));
    for (at, sql) in ["SELECT @@identity", "SELECT LAST_INSERT_ID()"]
        .into_iter()
        .enumerate()
    {
        let mut client = proxy.connect(Some("logical_questions_1"));
        client
            .query_drop("INSERT INTO numbered VALUES (NULL, 1)")
            .unwrap();
        for holder in &mut holders {
            holder.query_drop("BEGIN").unwrap();
            holder
                .query_drop("/* tenant=1 */ SELECT id FROM logical_questions_1.t")
                .unwrap();
        }
        client.query_drop("USE logical_questions_2").unwrap();
        assert_eq!(value(&mut client, sql), (at + 1).to_string(), "{sql}");
        let sql = "SELECT LAST_INSERT_ID() > 0, DATABASE()";
        let found: Option<(i64, String)> = client.query_first(sql).unwrap();
        assert_eq!(found, Some((1, "logical_questions_2".to_owned())));
        for holder in &mut holders {
            holder.query_drop("ROLLBACK").unwrap();
        }
    }
}
