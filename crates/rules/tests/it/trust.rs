//! What is not believed: keys against the statement, session setup that runs code, schemas in odd places.

use serde_json::{Value, json};
use shardwright_rules::{ComparedValue, HostgroupId, Outcome, SessionView, Statement};

use crate::common::{World, configuration, native};

/// Tenants 1 and 15 in the logical schema `app` on clusters `a` and `b`.
fn world(finders: Value, change: Value) -> World {
    let mut map = json!({"map": "m", "key": "tenant", "kind": "integer", "finders": finders, "conflict": "reject",
        "logical_schema": "app", "unqualified": "session_schema",
        "shards": [{"address": "shard_maps.m.shards.t1", "cluster": "a", "keys": [1]},
                   {"address": "shard_maps.m.shards.t15", "cluster": "b", "keys": [15]}],
        "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"}, "unknown": "reject"});
    for (key, value) in change.as_object().unwrap() {
        map[key] = value.clone();
    }
    World::new(configuration(
        "bundled",
        json!([native(1, json!({}), json!({ "map": map }))]),
    ))
}

fn comment_and_column(conflict: &str) -> World {
    let finders = json!([{"comment": {"word": "tenant", "form": "pairs"}},
        {"column": {"column": "tenant", "in_shards": "present"}}]);
    world(finders, json!({"conflict": conflict}))
}

fn refused(world: &World, sql: &str) -> bool {
    matches!(world.decide(sql).outcome, Outcome::Reject(_))
}

#[test]
fn a_comment_is_not_believed_against_the_statement() {
    let world = comment_and_column("reject");
    for sql in [
        "/* tenant=1 */ SELECT c FROM bal WHERE tenant=15",
        "/* tenant=1 */ SELECT c FROM bal WHERE tenant=15 /*! */",
        "/* tenant=1 */ SELECT /*! SQL_NO_CACHE */ c FROM bal WHERE tenant=15",
        "/* tenant=1 */ SELECT c FROM bal /*! WHERE tenant=15 */",
        "/* tenant=1 */ SELECT c FROM bal WHERE tenant+0=15",
        "/* tenant=1 */ SELECT c FROM bal WHERE -tenant=-15",
        "/* tenant=1 */ SELECT c FROM bal WHERE tenant BETWEEN 15 AND 15",
        "/* tenant=1 */ SELECT c FROM bal WHERE tenant=1 OR tenant=15",
        "/* tenant=1 */ SELECT c FROM bal WHERE (SELECT 15)=tenant",
        "/* tenant=1 */ SELECT a.c FROM bal a JOIN bal b ON a.tenant=b.tenant+14 WHERE b.tenant=1",
        "/* tenant=1 */ SELECT a.c FROM bal a JOIN bal b ON 14+b.tenant=a.tenant WHERE b.tenant=1",
        "/* tenant=1 */ SELECT c FROM (SELECT * FROM bal) d WHERE d.tenant=15",
        "/* tenant=1 */ WITH x(a, b) AS (SELECT * FROM bal) SELECT b FROM x WHERE a=15",
        "/* tenant=1 */ SELECT b FROM (SELECT * FROM bal) AS x(a, b) WHERE a=15",
        "/* tenant=1 */ SELECT b FROM (SELECT 0 AS a, 0 AS b UNION SELECT * FROM bal) x WHERE a=15",
        "/* tenant=1 */ SELECT c FROM (SELECT tenant AS t, c FROM bal) x WHERE t=15",
        "/* tenant=1 */ SELECT tenant AS t, c FROM bal HAVING t=15",
        "/* tenant=1 */ INSERT INTO bal VALUES (15, 3)",
        "/* tenant=1 */ INSERT INTO bal () VALUES ()",
        "/* tenant=1 */ INSERT INTO bal (SELECT * FROM other)",
        "/* tenant=1 */ REPLACE bal SELECT * FROM other",
        "/* tenant=1 */ INSERT INTO bal SET tenant=15, c=3",
        "/* tenant=1 */ INSERT INTO bal (c, tenant) VALUES (3, 10+5)",
        "/* tenant=1 */ UPDATE bal SET tenant=15 WHERE tenant=1",
        "/* tenant=1 */ LOAD DATA INFILE 'x' INTO TABLE bal",
        "/* tenant=1 */ HANDLER bal READ k = (15)",
        "/* tenant=1 */ PREPARE s FROM 'SELECT c FROM bal WHERE tenant=15'",
        "/* tenant=1 */ EXECUTE IMMEDIATE 'INSERT INTO bal VALUES (15, 3)'",
        "/* tenant=1 */ EXECUTE IMMEDIATE CONCAT('DELETE FROM bal WHERE ten', 'ant=15')",
        "/* tenant=1 */ EXPLAIN SELECT c FROM bal WHERE tenant=15",
        "/* tenant=1 */ CREATE TABLE x AS SELECT * FROM bal WHERE tenant=15",
    ] {
        assert!(refused(&world, sql), "{sql}");
    }
}

#[test]
fn a_comment_is_believed_where_nothing_contradicts_it() {
    let world = comment_and_column("reject");
    for sql in [
        "/* tenant=1 */ SELECT c FROM bal WHERE tenant=1",
        "/* tenant=1 */ SELECT tenant, SUM(c) FROM bal GROUP BY tenant",
        "/* tenant=1 */ SELECT f(c) FROM bal",
        "/* tenant=1 */ SELECT a.c FROM bal a JOIN bal b ON a.tenant=b.tenant WHERE a.tenant=1",
        "/* tenant=1 */ SELECT a.c FROM bal a RIGHT JOIN bal b USING (tenant) WHERE b.tenant IN (1)",
        "/* tenant=1 */ WITH x AS (SELECT c FROM bal WHERE tenant=1) SELECT c FROM x",
        "/* tenant=1 */ INSERT INTO bal (tenant, c) VALUES (1, 3)",
        "/* tenant=1 */ INSERT INTO items (c) VALUES (3)",
        "/* tenant=1 */ ALTER TABLE bal ADD INDEX (tenant)",
        "/* tenant=1 */ CALL p()",
        "/* tenant=1 */ EXPLAIN SELECT c FROM bal WHERE tenant=1",
    ] {
        assert_eq!(world.ask(sql), "10 m/t1", "{sql}");
    }
}

#[test]
fn nothing_that_runs_code_goes_without_a_key() {
    let by_column = json!([{"column": {"column": "tenant", "in_shards": "present"}}]);
    let by_comment = json!([{"comment": {"word": "tenant", "form": "pairs"}}]);
    for finders in [by_column, by_comment] {
        let world = world(finders, json!({}));
        for sql in [
            "SET @x=f(15)",
            "SET autocommit=f()",
            "SET sql_mode=(SELECT c FROM bal)",
            "SHOW TABLES WHERE f()",
            "SHOW TABLES WHERE EXISTS(SELECT 1 FROM bal)",
            "SHOW VARIABLES WHERE EXISTS(TABLE bal)",
            "DO f(15)",
            "CALL p(15)",
            "SELECT f(15)",
            "VALUES (f(15))",
            "SELECT 1 UNION TABLE bal",
            "HANDLER bal OPEN",
            "EXPLAIN SELECT f(15)",
            "ANALYZE FORMAT=JSON SELECT f(15)",
            "SIGNAL SQLSTATE '45000'",
            "EXECUTE IMMEDIATE 'SELECT f(15)'",
            "PREPARE s FROM @q",
            "SET STATEMENT max_statement_time=1 FOR SELECT f(15)",
            "SELECT 1 /*! , f(15) */",
            "/*! SET @x=f(15) */",
        ] {
            assert!(refused(&world, sql), "{sql}");
        }
        for sql in [
            "SET NAMES utf8",
            "SET @x=1",
            "SHOW TABLES",
            "SELECT @@version",
            "/*!40101 SET NAMES utf8 */",
        ] {
            assert_eq!(world.ask(sql), "10", "{sql}");
        }
    }
}

#[test]
fn the_schema_of_another_shard_is_seen_wherever_it_stands() {
    let by_schema = json!({"logical_schema": null,
        "finders": [{"schema": {"template": {"prefix": "acct_", "width": 2, "suffix": ""}}}]});
    let mut world = world(json!([]), by_schema);
    world.schema = Some("acct_01");
    for sql in [
        "SELECT c FROM /*! acct_15. */ bal",
        "SELECT c FROM /*M! acct_15 */ . bal",
        "SELECT c FROM ACCT_15.bal",
        "EXECUTE IMMEDIATE 'SELECT c FROM acct_15.bal'",
        "EXECUTE IMMEDIATE CONCAT('SELECT c FROM acct', '_15.bal')",
        "PREPARE s FROM 'SELECT c FROM acct_15.bal'",
        "PREPARE s FROM @q",
        "SHOW TABLES FROM acct_15",
        "SHOW COLUMNS FROM bal FROM acct_15",
        "SHOW INDEX IN bal IN `acct_15`",
        "SHOW CREATE DATABASE acct_15",
        "DESCRIBE acct_15.bal",
        "EXPLAIN SELECT * FROM acct_15.bal",
        "DROP DATABASE acct_15",
        "CALL acct_15.p()",
    ] {
        let answer = world.ask(sql);
        assert!(answer.starts_with("refused: SW355: "), "{sql}: {answer}");
    }
    for sql in [
        "SELECT c FROM acct_01.bal",
        "SHOW TABLES FROM acct_01",
        "SELECT /*!40001 SQL_NO_CACHE */ c FROM bal",
        "EXECUTE IMMEDIATE 'SELECT c FROM bal'",
        "SELECT 'acct_15.bal'",
    ] {
        assert_eq!(world.ask(sql), "10 m/t1", "{sql}");
    }
    world.schema = None;
    assert!(refused(&world, "SHOW TABLES FROM acct_15"));
    assert_eq!(world.ask("SHOW TABLES FROM mysql"), "10");
}

#[test]
fn what_a_key_column_is_believed_of_is_said() {
    let stated = json!({"tables": {"base": ["orders", "sums"], "views": {"v_all": ["bal", "orders"]}}});
    let world = world(
        json!([{"column": {"column": "tenant", "in_shards": "present"}}]),
        stated,
    );
    for (sql, expect) in [
        ("SELECT c FROM bal WHERE tenant=15", "app.bal"),
        // Of a table that is stated, the column is asked for.
        ("SELECT c FROM orders WHERE tenant=15", "(app.orders)"),
        ("SELECT c FROM v_all WHERE tenant=15", "app.bal (app.orders)"),
        (
            "SELECT x.c FROM app.bal x JOIN v_sum y WHERE x.tenant=15 AND y.tenant=15",
            "app.bal app.v_sum",
        ),
        ("INSERT INTO bal (tenant) VALUES (15)", "app.bal"),
        ("SELECT 1", ""),
    ] {
        let Outcome::Route(route) = world.decide(sql).outcome else {
            panic!("{sql}");
        };
        let names = route.assumed.iter().map(|table| {
            let key = table.key.as_ref().unwrap();
            assert_eq!(
                (&*key.column, &key.values[..]),
                ("tenant", &[ComparedValue::Integer(15)][..])
            );
            let name = format!("{}.{}", table.schema, table.table);
            if table.is_stated {
                format!("({name})")
            } else {
                name
            }
        });
        assert_eq!(names.collect::<Vec<_>>().join(" "), expect, "{sql}");
    }
}

#[test]
fn what_a_server_can_call_equal_to_a_key_is_no_unknown_key() {
    let by_column = json!([{"column": {"column": "tenant", "in_shards": "present"}}]);
    let elsewhere = json!({"unknown": {"cluster": "b"}});
    let integers = world(by_column.clone(), elsewhere.clone());
    let mut texts = elsewhere;
    texts["kind"] = json!("text");
    texts["shards"] = json!([{"address": "shard_maps.m.shards.t1", "cluster": "a", "keys": ["1", "eu"]}]);
    let mut listed = texts.clone();
    listed.as_object_mut().unwrap().remove("unknown");
    let listed = world(by_column.clone(), listed);
    let texts = world(by_column, texts);
    for (world, sql, expect) in [
        (&integers, "SELECT c FROM bal WHERE tenant=7", "20"),
        (
            &integers,
            "SELECT c FROM bal WHERE tenant=99999999999999999999",
            "20",
        ),
        (&integers, "SELECT c FROM bal WHERE tenant='01'", "SW365"),
        (&integers, "SELECT c FROM bal WHERE tenant='1 '", "SW365"),
        (&integers, "INSERT INTO bal (tenant) VALUES ('1x')", "SW365"),
        (&texts, "SELECT c FROM bal WHERE tenant='us'", "20"),
        (&texts, "SELECT c FROM bal WHERE tenant=0", "SW365"),
        (&listed, "SELECT c FROM bal WHERE tenant=1", "SW365"),
        (&listed, "SELECT c FROM bal WHERE tenant IN ('eu', 1)", "SW365"),
        (&listed, "SELECT c FROM bal WHERE tenant='us'", "SW352"),
    ] {
        let answer = world.ask(sql);
        assert!(answer == expect || answer.contains(expect), "{sql}: {answer}");
        // Whoever sends it asks for the column, as of other keys.
        if let Outcome::Route(route) = world.decide(sql).outcome {
            assert_eq!(route.assumed.len(), 1, "{sql}");
        }
    }
}

#[test]
fn a_session_that_keeps_state_on_the_writer_reads_there() {
    let role = json!({"role": {"reads": "all", "session_functions_on_readers": true}});
    let world = World::new(configuration("bundled", json!([native(1, json!({}), role)])));
    let hostgroup = |state_on: &[HostgroupId]| {
        let session = SessionView {
            user: "app",
            schema: Some("app"),
            state_on,
            ..SessionView::default()
        };
        let statement = Statement::new(b"SELECT c FROM bal", Default::default());
        World::line(world.evaluator.decide(&session, &statement).outcome)
    };
    assert_eq!(hostgroup(&[]), "11");
    assert_eq!(hostgroup(&[HostgroupId(10)]), "10");
    assert_eq!(hostgroup(&[HostgroupId(20)]), "11");
}

#[test]
fn begin_inside_a_transaction_commits_it_where_it_is_open() {
    let by_column = json!([{"column": {"column": "tenant", "in_shards": "present"}}]);
    let missing = json!({"statements": "reject", "session_setup": "allow", "begin": "first_statement"});
    let mut world = world(by_column, json!({ "missing": missing }));
    assert_eq!(world.ask("BEGIN"), "deferred");
    world.transaction = Some(20);
    assert_eq!(world.ask("BEGIN"), "20");
}
