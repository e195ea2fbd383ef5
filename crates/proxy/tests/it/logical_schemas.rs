//! Sessions in a logical schema: what `DATABASE()` is, where statements without a key run, and the way back by USE. The server has a
//! schema of the logical name, too, so a session without a proxy is the measure.

use mysql::prelude::{Protocol, Queryable};
use mysql::{Column, Conn, Value};
use shardwright_rules::{Finder, InShards, KeyTemplate, MapStep, UnknownKey, Unqualified};
use shardwright_testkit::{ClientOptions, MariaDb, Options, text_rows};
use shardwright_wire::CapabilityFlags;

use crate::raw::RawClient;
use crate::support::{
    PASSWORD, Setup, TestProxy, USER, create_users, error, map_alone, member, server, start,
    tenants_by_comment, value,
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

fn direct(name: &str) -> Conn {
    let login = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(name),
    };
    server().connect(login).unwrap()
}

/// Columns without the schemas and tables that they are read from.
fn column(column: &Column) -> String {
    format!(
        "{} {:?} {} {:?} {} {}\n",
        column.name_str(),
        column.column_type(),
        column.column_length(),
        column.flags(),
        column.character_set(),
        column.decimals()
    )
}

/// What a client sees: columns, then rows, or an error.
fn seen<T: Protocol>(result: mysql::Result<mysql::QueryResult<'_, '_, '_, T>>) -> String {
    let mut result = match result {
        Ok(result) => result,
        Err(error) => return format!("{error}"),
    };
    let mut seen = String::new();
    while let Some(set) = result.iter() {
        seen.extend(set.columns().as_ref().iter().map(column));
        for row in set {
            let values: Vec<Value> = row.unwrap().unwrap();
            seen += &format!("{values:?}\n");
        }
    }
    seen
}

fn prepared(client: &mut Conn, sql: &str) -> String {
    match client.prep(sql) {
        Ok(statement) => {
            let columns: String = statement.columns().iter().map(column).collect();
            columns + &seen(client.exec_iter(&statement, ()))
        }
        Err(error) => format!("{error}"),
    }
}

fn compare(both: &mut [Conn; 2], sql: &str) {
    let [expected, found] = both.each_mut().map(|client| seen(client.query_iter(sql)));
    assert_eq!(found, expected, "{sql}");
    let [expected, found] = both.each_mut().map(|client| prepared(client, sql));
    assert_eq!(found, expected, "{sql}, prepared");
}

const QUERIES: [&str; 27] = [
    "SELECT id FROM t WHERE db = DATABASE()",
    "SELECT DATABASE(), schema ( ) AS s, id FROM t ORDER BY id",
    "SELECT DATABASE() FROM t",
    "SELECT DATABASE() = 'x', DATABASE() IS NULL, NOT DATABASE() FROM t",
    "SELECT COERCIBILITY(DATABASE()), CHARSET(DATABASE()), COLLATION(DATABASE()) FROM t",
    "SELECT id FROM t WHERE l = DATABASE() ORDER BY id",
    "SELECT id FROM t WHERE c = DATABASE() ORDER BY id",
    "SELECT id FROM t WHERE b = DATABASE() ORDER BY id",
    "SELECT id FROM t WHERE b = UPPER(DATABASE()) OR c = UPPER(DATABASE()) OR db = UPPER(DATABASE()) ORDER BY id",
    "SELECT CONCAT(DATABASE(), 'x'), CONCAT(b, DATABASE()) FROM t",
    "SELECT CONCAT(l, DATABASE()) = 'x', LENGTH(CONCAT(c, DATABASE())), CONCAT(db, DATABASE()) = db FROM t",
    "SELECT COLLATION(CONCAT(l, DATABASE())), COLLATION(CONCAT(DATABASE(), 'x')) FROM t",
    "SELECT IFNULL(DATABASE(), 'x'), COALESCE(db, DATABASE()), NULLIF(DATABASE(), db) FROM t",
    "SELECT HEX(DATABASE()), LENGTH(DATABASE()), DATABASE() COLLATE utf8mb3_bin FROM t",
    "SELECT DATABASE() UNION SELECT 'x'",
    "SELECT id FROM t WHERE DATABASE() IN (db, l) ORDER BY id",
    "SELECT * FROM (SELECT DATABASE(), id FROM t) d ORDER BY 2",
    "SELECT (SELECT DATABASE()), EXISTS(SELECT 1 FROM t WHERE db = DATABASE())",
    "WITH x AS (SELECT DATABASE() AS n) SELECT n, COUNT(*) FROM x JOIN t ON t.db = n GROUP BY n",
    "SELECT DATABASE(), COUNT(*) FROM t GROUP BY DATABASE()",
    "SELECT MIN(DATABASE()), GROUP_CONCAT(DATABASE(), id ORDER BY id) FROM t",
    "SELECT id FROM t ORDER BY db = DATABASE(), id",
    "SELECT CASE DATABASE() WHEN db THEN 1 ELSE 0 END FROM t ORDER BY id",
    "SELECT id FROM t WHERE db LIKE CONCAT(DATABASE(), '%') ORDER BY id",
    "SELECT CAST(DATABASE() AS CHAR(3)), SUBSTR(DATABASE(), 2, 3), DATABASE() + 0 FROM t",
    "SELECT DATABASE(), 1",
    "SELECT CONCAT('a', DATABASE()), @@autocommit",
];

#[test]
fn database_has_the_type_and_the_value_of_one_server() {
    queries_are_alike("logical_queries");
}

/// With letters beyond ASCII, which are other bytes in other character sets, and a quote.
#[test]
fn every_name_is_put_in() {
    queries_are_alike("logical läden o'b");
}

fn queries_are_alike(name: &'static str) {
    schemas(name, true);
    let proxy = proxy(move || map(name));
    let sessions = || [direct(name), proxy.connect(Some(name))];
    for names in ["utf8mb4", "latin1", "utf8mb4 COLLATE utf8mb4_bin", "binary"] {
        // A statement that a driver keeps is of the character set that it was prepared in.
        let mut both = sessions();
        for client in &mut both {
            client.query_drop(format!("SET NAMES {names}")).unwrap();
        }
        for sql in QUERIES {
            compare(&mut both, &format!("/* tenant=1 */ {sql}"));
        }
        for sql in &QUERIES[25..] {
            compare(&mut both, sql);
        }
    }
    let mut both = sessions();
    for client in &mut both {
        client.query_drop("/* tenant=1 */ SET @a = DATABASE()").unwrap();
    }
    compare(&mut both, "SELECT @a, CHARSET(@a), COLLATION(@a)");
    // A question about an earlier statement goes where that ran.
    for sql in [
        "/* tenant=1 */ INSERT INTO notes VALUES ('a')",
        "/* tenant=1 */ SELECT DATABASE(), ROW_COUNT()",
    ] {
        let [expected, found] = both.each_mut().map(|client| seen(client.query_iter(sql)));
        assert_eq!(found, expected, "{sql}");
    }
}

/// The key is read from the text, and the tables are qualified.
#[test]
fn a_key_in_a_column_is_found_beside_the_call() {
    let name = "logical_columns";
    schemas(name, true);
    let proxy = proxy(move || {
        let map = tenants_by_comment(name);
        let column = Finder::Column {
            column: "id".into(),
            in_shards: InShards::Present,
        };
        MapStep {
            finders: map.finders.iter().cloned().chain([column]).collect(),
            ..map
        }
    });
    let mut both = [direct(name), proxy.connect(Some(name))];
    for sql in [
        "SELECT DATABASE(), id FROM t WHERE id = 1 AND db = DATABASE()",
        "SELECT id FROM logical_columns.t WHERE id = 2 AND db = SCHEMA()",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('t', 'notes')",
    ] {
        compare(&mut both, sql);
    }
}

const WRITES: [&str; 14] = [
    "DELETE FROM t WHERE db = DATABASE()",
    "DELETE t FROM t JOIN t u ON t.id = u.id WHERE u.db = SCHEMA()",
    "UPDATE t SET l = DATABASE(), b = CONCAT(DATABASE(), 'x') WHERE id = 3",
    "UPDATE t SET c = 'x' WHERE c = DATABASE()",
    "INSERT INTO t (id, db, l, c, b) VALUES (9, DATABASE(), DATABASE(), DATABASE(), DATABASE())",
    "INSERT INTO t SET id = 9, db = DATABASE()",
    "INSERT INTO t (id, db) SELECT id + 10, DATABASE() FROM t",
    "INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE db = CONCAT(db, DATABASE())",
    "REPLACE INTO t (id, db) VALUES (1, database())",
    "CALL note(DATABASE())",
    "DO SLEEP(DATABASE() = 'x')",
    "INSERT INTO notes SELECT * FROM (SELECT DATABASE() FROM t) d",
    "INSERT INTO notes SELECT DATABASE() UNION ALL SELECT n FROM notes",
    "DELETE FROM notes WHERE n <> DATABASE() ORDER BY n LIMIT 1",
];

fn stored(schema: &str) -> String {
    let mut root = server().root().unwrap();
    let sql = format!("SELECT * FROM {schema}.t ORDER BY id; SELECT n FROM {schema}.notes ORDER BY n");
    format!("{:?}", text_rows(&mut root, sql).unwrap())
}

#[test]
fn what_is_written_is_the_logical_schema() {
    let name = "logical_writes";
    let proxy = proxy(move || map(name));
    for sql in WRITES {
        for is_prepared in [false, true] {
            schemas(name, true);
            let sql = format!("/* tenant=1 */ {sql}");
            for mut client in [direct(name), proxy.connect(Some(name))] {
                if is_prepared {
                    client.exec_drop(&sql, ()).unwrap();
                } else {
                    client.query_drop(&sql).unwrap();
                }
            }
            assert_eq!(
                stored("logical_writes_1"),
                stored(name),
                "{sql}, prepared: {is_prepared}"
            );
        }
    }
}

/// A text in which the call stays says why.
#[test]
fn a_call_that_cannot_be_replaced_is_refused() {
    let name = "logical_refused";
    schemas(name, true);
    let proxy = proxy(move || map(name));
    let mut client = proxy.connect(Some(name));
    for sql in [
        "SELECT id FROM t, information_schema.tables i WHERE i.table_schema = DATABASE()",
        "INSERT INTO notes SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
        "CREATE TABLE x SELECT DATABASE() AS a",
        "ALTER TABLE t ADD d VARCHAR(64) DEFAULT 'a', ADD CHECK (db <> DATABASE())",
        "PREPARE s FROM 'INSERT INTO notes VALUES (DATABASE())'",
    ] {
        let sql = format!("/* tenant=1 */ {sql}");
        let (code, message) = error(&mut client, &sql);
        assert_eq!(code, 1235, "{sql}: {message}");
        assert!(message.contains("the proxy"), "{sql}: {message}");
    }
    // What a shard's server has is asked for by the names that it has there.
    let sql = "/* tenant=1 */ SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()";
    assert_eq!(value(&mut client, sql), "2");
    client
        .query_drop("/* tenant=1 */ CREATE VIEW v AS SELECT DATABASE() AS n")
        .unwrap();
    assert_eq!(
        value(&mut client, "/* tenant=1 */ SELECT n FROM v"),
        "logical_refused_1"
    );
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
        assert_eq!(value(&mut client, "SELECT CONCAT(DATABASE())"), name);
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
