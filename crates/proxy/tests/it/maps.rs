//! Shard maps through a running proxy: keys, deferred transactions, rewritten statements.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::eventually;

use crate::support::{
    self, PATIENCE, Setup, TestProxy, error, map_alone, server, start, tenants_by_comment, value,
};

/// Tenant 1 is in cluster `a` and schema `SCHEMA_1`, tenant 2 in cluster `b` and schema `SCHEMA_2`.
pub(crate) fn tenants(schema: &'static str) -> TestProxy {
    for tenant in [1, 2] {
        let name = format!("{schema}_{tenant}");
        server()
            .run(format!(
                "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; \
                 CREATE TABLE {name}.t (id INT PRIMARY KEY, who INT); INSERT INTO {name}.t VALUES (1, {tenant})"
            ))
            .unwrap();
    }
    start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(tenants_by_comment(schema));
        }),
        ..Setup::default()
    })
}

#[test]
fn keys_reach_their_shards() {
    let proxy = tenants("maps_keys");
    let mut client = proxy.connect(Some("maps_keys"));
    for (sql, who) in [
        ("SELECT /* tenant=1 */ who FROM t", "1"),
        ("SELECT /* tenant=2 */ who FROM t", "2"),
        ("SELECT /* tenant=2 */ who FROM maps_keys.t", "2"),
        ("/* tenant=1 */ SELECT who FROM t WHERE who <> 'tenant=2'", "1"),
    ] {
        assert_eq!(value(&mut client, sql), who, "{sql}");
    }
    for (sql, code) in [
        ("SELECT who FROM t", "SW351"),
        ("SELECT /* tenant=3 */ who FROM t", "SW352"),
        ("SELECT /* tenant=1 */ /* tenant=2 */ who FROM t", "SW353"),
    ] {
        let (_, message) = error(&mut client, sql);
        assert!(message.starts_with(code), "{sql}: {message}");
    }
    let mut admin = proxy.admin();
    let refused = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = ";
    assert_eq!(value(&mut admin, &format!("{refused}'Refused_SW352'")), "1");
    assert_eq!(
        value(&mut admin, &format!("{refused}'Queries_without_required_hint'")),
        "1"
    );
}

#[test]
fn statements_that_are_alike_follow_their_own_keys() {
    let proxy = tenants("maps_alike");
    let mut client = proxy.connect(Some("maps_alike"));
    // From the third on, its text is known.
    for id in 1..=5 {
        for tenant in [1, 2] {
            let sql = format!("/* tenant={tenant} */ SELECT who FROM t WHERE id=1 OR id={id}0 OR who='{id}'");
            assert_eq!(value(&mut client, &sql), tenant.to_string(), "{sql}");
        }
    }
    for (lead, code) in [
        ("", "SW351"),
        ("/* tenant=3 */ ", "SW352"),
        ("/* tenant=1 *//* tenant=2 */", "SW353"),
    ] {
        let sql = format!("{lead}SELECT who FROM t WHERE id=1 OR id=70 OR who='7'");
        let (_, message) = error(&mut client, &sql);
        assert!(message.starts_with(code), "{sql}: {message}");
    }
    let counted: Vec<(String, u64)> = proxy
        .admin()
        .query("SELECT digest_text, count_star FROM stats_mysql_query_digest WHERE digest_text LIKE '%who=%'")
        .unwrap();
    let text = "SELECT who FROM t WHERE id=? OR id=? OR who=?".to_owned();
    assert_eq!(counted, [(text.clone(), 5), (text, 5)]);
}

#[test]
fn prepared_statements_follow_their_key() {
    let proxy = tenants("maps_prepared");
    let mut client = proxy.connect(Some("maps_prepared"));
    for tenant in [1, 2, 1, 2] {
        let sql = format!("SELECT /* tenant={tenant} */ who FROM t WHERE id = ?");
        assert_eq!(client.exec_first::<i64, _, _>(sql, (1,)).unwrap(), Some(tenant));
    }
}

#[test]
fn a_transaction_opens_where_its_first_statement_goes() {
    let proxy = tenants("maps_deferred");
    let mut client = proxy.connect(Some("maps_deferred"));
    let mut admin = proxy.admin();
    let held = "SELECT SUM(ConnUsed) FROM stats_mysql_connection_pool";
    client.query_drop("BEGIN").unwrap();
    client.query_drop("SAVEPOINT early").unwrap();
    assert_eq!(
        value(&mut client, "SELECT 'asked on the way'"),
        "asked on the way"
    );
    assert_eq!(value(&mut admin, held), "0", "no server knows of it yet");
    client.query_drop("UPDATE /* tenant=2 */ t SET who = 22").unwrap();
    assert_eq!(value(&mut admin, held), "1");
    let (_, message) = error(&mut client, "SELECT /* tenant=1 */ who FROM t");
    assert!(message.starts_with("SW356"), "{message}");
    client.query_drop("ROLLBACK TO early").unwrap();
    assert_eq!(value(&mut client, "SELECT /* tenant=2 */ who FROM t"), "2");
    client.query_drop("UPDATE /* tenant=2 */ t SET who = 23").unwrap();
    client.query_drop("COMMIT").unwrap();
    assert_eq!(value(&mut admin, held), "0");
    assert_eq!(value(&mut client, "SELECT /* tenant=2 */ who FROM t"), "23");

    client.query_drop("BEGIN").unwrap();
    client.query_drop("ROLLBACK").unwrap();
    assert_eq!(value(&mut client, "SELECT /* tenant=1 */ who FROM t"), "1");
    assert_eq!(
        value(&mut admin, held),
        "0",
        "a transaction of nothing leaves nothing"
    );

    client.query_drop("SET completion_type = CHAIN").unwrap();
    client.query_drop("BEGIN").unwrap();
    assert_eq!(error(&mut client, "COMMIT").0, 1105, "another one would begin");
    client.query_drop("UPDATE /* tenant=2 */ t SET who = 24").unwrap();
    client.query_drop("ROLLBACK").unwrap();
    assert_eq!(value(&mut client, "SELECT /* tenant=2 */ who FROM t"), "23");
    assert_eq!(value(&mut admin, held), "1", "the server has begun another");
}

#[test]
fn an_xa_transaction_opens_where_its_first_statement_goes() {
    let proxy = tenants("maps_xa");
    let mut client = proxy.connect(Some("maps_xa"));
    let who = |client: &mut Conn| value(client, "SELECT /* tenant=2 */ who FROM t");
    let all = |client: &mut Conn, texts: &[&str]| {
        for sql in texts {
            client
                .query_drop(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    };
    all(&mut client, &["XA START 'maps'", "SELECT 'asked on the way'"]);
    assert_eq!(error(&mut client, "BEGIN").0, 1399);
    assert_eq!(error(&mut client, "COMMIT").0, 1399);
    client.query_drop("UPDATE /* tenant=2 */ t SET who = 22").unwrap();
    let (_, message) = error(&mut client, "SELECT /* tenant=1 */ who FROM t");
    assert!(message.starts_with("SW356"), "{message}");
    all(
        &mut client,
        &["XA END 'maps'", "XA PREPARE 'maps'", "XA ROLLBACK 'maps'"],
    );
    assert_eq!(who(&mut client), "2");
    let update = "UPDATE /* tenant=2 */ t SET who = 23";
    all(
        &mut client,
        &[
            "XA START 'maps'",
            update,
            "XA END 'maps'",
            "XA COMMIT 'maps' ONE PHASE",
        ],
    );
    assert_eq!(who(&mut client), "23");
    // A branch without a statement.
    all(
        &mut client,
        &[
            "XA BEGIN 'maps'",
            "XA END 'maps'",
            "XA PREPARE 'maps'",
            "XA COMMIT 'maps'",
        ],
    );
    // Another session ends what a session has prepared and left.
    let update = "UPDATE /* tenant=2 */ t SET who = 24";
    all(
        &mut client,
        &[
            "/* tenant=2 */ XA START 'maps'",
            update,
            "XA END 'maps'",
            "XA PREPARE 'maps'",
        ],
    );
    drop(client);
    let mut other = proxy.connect(Some("maps_xa"));
    let commit = "/* tenant=2 */ XA COMMIT 'maps'";
    eventually(PATIENCE, || other.query_drop(commit).is_ok());
    assert_eq!(who(&mut other), "24");
}

/// The statement that opens the transaction tells what fails then, and the session goes on as on a server.
#[test]
fn what_waits_and_fails_does_not_end_the_session() {
    let proxy = tenants("maps_fails");
    let mut client = proxy.connect(Some("maps_fails"));
    let update = "UPDATE /* tenant=2 */ t SET who = who + 1";
    let who = "SELECT /* tenant=2 */ who FROM t";
    let mut owner = proxy.connect(Some("maps_fails"));
    for sql in ["/* tenant=2 */ XA START 'maps_fails'", update] {
        owner.query_drop(sql).unwrap();
    }
    client.query_drop("XA START 'maps_fails'").unwrap();
    assert_eq!(error(&mut client, who).0, 1440);
    assert_eq!(value(&mut client, who), "2");
    client.query_drop("BEGIN").unwrap();
    client.query_drop("ROLLBACK").unwrap();
    for sql in ["XA END 'maps_fails'", "XA ROLLBACK 'maps_fails'"] {
        owner.query_drop(sql).unwrap();
    }

    // A savepoint that is a mistake is none, and the transaction goes on waiting.
    client.query_drop("BEGIN").unwrap();
    assert_eq!(error(&mut client, "SAVEPOINT bad name").0, 1064);
    client.query_drop("SAVEPOINT good").unwrap();
    client.query_drop(update).unwrap();
    client.query_drop("ROLLBACK TO good").unwrap();
    client.query_drop(update).unwrap();
    assert_eq!(value(&mut client, who), "3");
    client.query_drop("ROLLBACK").unwrap();
    assert_eq!(value(&mut client, who), "2");

    client.query_drop("BEGIN").unwrap();
    client.query_drop("SAVEPOINT e").unwrap();
    let (_, message) = error(&mut client, "SAVEPOINT é");
    assert!(message.contains("accents"), "{message}");
    client.query_drop(update).unwrap();
    client.query_drop("SAVEPOINT é").unwrap();
    client.query_drop("ROLLBACK").unwrap();
}

/// Whoever commits so has the connection closed behind the OK, as at a server.
#[test]
fn a_commit_with_release_closes_the_connection() {
    let proxy = tenants("maps_release");
    let update = "UPDATE /* tenant=2 */ t SET who = who + 1";
    for (statements, goes_on) in [
        (&["BEGIN", "COMMIT RELEASE"][..], false),
        (&["BEGIN", update, "COMMIT RELEASE"], false),
        (&["BEGIN", update, "ROLLBACK AND NO CHAIN RELEASE"], false),
        (&["BEGIN", update, "COMMIT NO RELEASE"], true),
        (
            &["SET completion_type=2", "/* tenant=2 */ BEGIN", update, "COMMIT"],
            false,
        ),
    ] {
        let mut client = proxy.connect(Some("maps_release"));
        for sql in statements {
            client
                .query_drop(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        assert_eq!(client.query_drop("SELECT 1").is_ok(), goes_on, "{statements:?}");
        // The server's connection is nobody's.
        let mut other = proxy.connect(Some("maps_release"));
        for _ in 0..5 {
            value(&mut other, "SELECT /* tenant=2 */ who FROM t");
        }
    }
}

#[test]
fn the_schema_that_a_session_is_in_is_the_logical_one() {
    let proxy = tenants("maps_database");
    let mut client = proxy.connect(Some("maps_database"));
    for (sql, column) in [
        ("SELECT DATABASE()", "DATABASE()"),
        ("/* which */ select schema( ) ;", "schema( )"),
    ] {
        let result = client.query_iter(sql).unwrap();
        assert_eq!(result.columns().as_ref()[0].name_str(), column);
        drop(result);
        assert_eq!(value(&mut client, sql), "maps_database", "{sql}");
        let prepared: Option<String> = client.exec_first(sql, ()).unwrap();
        assert_eq!(prepared.as_deref(), Some("maps_database"), "{sql}");
    }
    client.query_drop("BEGIN").unwrap();
    client.query_drop("UPDATE /* tenant=2 */ t SET who = 3").unwrap();
    assert_eq!(
        value(&mut client, "SELECT DATABASE()"),
        "maps_database",
        "the schema of the shard is not shown"
    );
    client.query_drop("ROLLBACK").unwrap();
    let question = client.prep("SELECT DATABASE()").unwrap();
    client.query_drop("USE maps_database_1").unwrap();
    assert_eq!(value(&mut client, "SELECT DATABASE()"), "maps_database_1");
    let prepared: Option<String> = client.exec_first(&question, ()).unwrap();
    assert_eq!(prepared.as_deref(), Some("maps_database_1"));
}

#[test]
fn a_schema_is_logical_only_to_whom_the_map_applies() {
    let proxy = tenants("maps_apply");
    server()
        .run("CREATE OR REPLACE DATABASE maps_apply; CREATE TABLE maps_apply.t AS SELECT 'real' AS who")
        .unwrap();
    let mut other = proxy
        .try_connect("other", support::PASSWORD, Some("maps_apply"))
        .unwrap();
    assert_eq!(value(&mut other, "SELECT who FROM t"), "real");
    assert_eq!(value(&mut other, "SELECT DATABASE()"), "maps_apply");
    let mut client = proxy.connect(Some("maps_apply"));
    assert_eq!(value(&mut client, "SELECT /* tenant=1 */ who FROM t"), "1");
}

/// A session in the schema of one shard, with keys of another on the same server.
#[test]
fn names_without_a_schema_are_of_the_shard_or_refused() {
    let proxy = tenants("maps_own");
    for shard in [1, 2] {
        let function = format!("CREATE FUNCTION maps_own_{shard}.who() RETURNS INT RETURN {shard}");
        server().run(function).unwrap();
    }
    let mut client = proxy.connect(Some("maps_own_2"));
    for sql in [
        "SELECT /* tenant=1 */ who FROM t",
        "SELECT /* tenant=1 */ a.who FROM maps_own.t a JOIN t b USING (id)",
        "SELECT /* tenant=1 */ 1 WHERE EXISTS (SELECT 1 FROM t)",
        "WITH c AS (SELECT * FROM t) SELECT /* tenant=1 */ who FROM c",
        "UPDATE /* tenant=1 */ t SET who = 9",
        "INSERT /* tenant=1 */ INTO t VALUES (9, 9)",
        "DELETE /* tenant=1 */ FROM t",
        "SELECT /* tenant=1 */ who()",
        "CALL /* tenant=1 */ p()",
        "TRUNCATE /* tenant=1 */ t",
    ] {
        let (_, message) = error(&mut client, sql);
        assert!(message.starts_with("SW355: "), "{sql}: {message}");
        assert!(
            message.contains("(maps_own_1)") && message.contains("maps_own_2"),
            "{sql}: {message}"
        );
        let prepared = client.prep(sql);
        assert!(prepared.is_err(), "{sql}");
    }
    for (sql, who) in [
        ("SELECT /* tenant=2 */ who FROM t", "2"),
        ("SELECT /* tenant=1 */ who FROM maps_own.t", "1"),
        ("SELECT /* tenant=1 */ 5", "5"),
        ("SELECT /* tenant=2 */ who()", "2"),
    ] {
        assert_eq!(value(&mut client, sql), who, "{sql}");
    }
}
