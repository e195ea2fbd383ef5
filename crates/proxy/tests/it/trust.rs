//! What the proxy does not take for granted: views, temporary tables, stored code, questions that run code.

use mysql::prelude::Queryable;
use shardwright_rules::{
    Body, Finder, Hostgroup, HostgroupId, InShards, MapStep, NativeStep, ReadSelection, Role, RoleStep, Rule,
    Scope, StatedTables, Unqualified,
};

use crate::support::{
    self, Setup, TestProxy, error, map_alone, member, server, start, tenants_by_comment, value,
};

/// Tenant 1 is in cluster `a`, tenant 2 in cluster `b`, both on one server; the key stands in a column.
fn by_column(schema: &'static str, tables: StatedTables) -> TestProxy {
    server()
        .run(format!(
            "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; \
             CREATE TABLE bal (tenant INT, c INT); INSERT INTO bal VALUES (1, 10), (2, 20); \
             CREATE VIEW v_sum AS SELECT MIN(tenant) AS tenant, SUM(c) AS c FROM bal; \
             CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT SUM(c) FROM bal)"
        ))
        .unwrap();
    start(&Setup {
        configuration: Box::new(move |configuration| {
            let mut map = MapStep {
                finders: vec![Finder::Column {
                    column: "tenant".into(),
                    in_shards: InShards::Present,
                }],
                unqualified: Unqualified::SessionSchema,
                tables: tables.clone(),
                ..tenants_by_comment(schema)
            };
            for shard in &mut map.shards {
                shard.schema = None;
            }
            configuration.graph.rules = map_alone(map);
        }),
        ..Setup::default()
    })
}

#[test]
fn a_view_is_refused_whenever_it_becomes_one() {
    let proxy = by_column("trust_views", StatedTables::default());
    let mut client = proxy.connect(Some("trust_views"));
    let read = "SELECT c FROM bal WHERE tenant=2";
    assert_eq!(value(&mut client, read), "20");
    client.query_drop("SET sql_select_limit=1").unwrap();
    let (code, message) = error(&mut client, "SELECT c FROM v_sum WHERE tenant=1");
    assert!(
        code == 1148 && message.starts_with("SW360: trust_views.v_sum "),
        "{message}"
    );
    assert_eq!(error(&mut client, "SELECT c FROM nothing WHERE tenant=1").0, 1146);
    let prepared = client.prep(read).unwrap();
    assert_eq!(client.exec_first(&prepared, ()).unwrap(), Some(20));

    // Another user's statement, which no map looks at, makes a view of the table.
    let mut other = proxy
        .try_connect("other", support::PASSWORD, Some("trust_views"))
        .unwrap();
    other.query_drop("RENAME TABLE bal TO rows_of_bal").unwrap();
    let view = "CREATE VIEW bal AS SELECT MAX(tenant) AS tenant, SUM(c) AS c FROM rows_of_bal";
    other.query_drop(view).unwrap();
    let (_, message) = error(&mut client, read);
    assert!(message.starts_with("SW360: "), "{message}");
    let executed: mysql::Result<Option<i64>> = client.exec_first(&prepared, ());
    assert!(executed.unwrap_err().to_string().contains("SW360: "));
}

#[test]
fn a_stated_view_stands_for_its_tables() {
    let views = [("v_sum".into(), vec!["bal".into()])].into();
    let stated = StatedTables {
        base: [].into(),
        views,
    };
    let proxy = by_column("trust_stated", stated);
    let mut client = proxy.connect(Some("trust_stated"));
    assert_eq!(value(&mut client, "SELECT c FROM v_sum WHERE tenant=1"), "30");
}

#[test]
fn questions_about_earlier_statements_run_no_code() {
    let proxy = by_column("trust_questions", StatedTables::default());
    let mut client = proxy.connect(Some("trust_questions"));
    assert_eq!(value(&mut client, "SELECT c FROM bal WHERE tenant=2"), "20");
    assert_eq!(value(&mut client, "SELECT FOUND_ROWS()"), "1");
    for sql in [
        "SELECT FOUND_ROWS(), f()",
        "SELECT ROW_COUNT(), (SELECT SUM(c) FROM bal)",
        "SET @x=f()",
        "SHOW TABLES WHERE f()",
        "SHOW WARNINGS WHERE f()",
        "DO f()",
    ] {
        assert_eq!(error(&mut client, sql).0, 1148, "{sql}");
    }
}

/// Cluster `a` with readers that are the same server, and a policy that sends them every read.
fn with_readers() -> Setup {
    Setup {
        configuration: Box::new(|configuration| {
            configuration.clusters[0].reader = Some(HostgroupId(11));
            let readers = Hostgroup {
                id: HostgroupId(11),
                cluster: "clusters.a".into(),
                role: Role::Reader,
                members: vec![member("r", server().port(), 20)],
            };
            configuration.hostgroups.insert(1, readers);
            let policy = RoleStep {
                reads: ReadSelection::All,
                writer_hint: None,
                after_write_ms: 0,
                causal: false,
                session_functions_on_readers: true,
            };
            configuration.graph.rules.push(Rule {
                id: 200,
                address: "read_write_policies.rw".into(),
                shards: Vec::new(),
                summary: None,
                flag_in: 0,
                body: Body::Native {
                    scope: Box::new(Scope::default()),
                    step: NativeStep::Role(Box::new(policy)),
                },
            });
        }),
        ..Setup::default()
    }
}

#[test]
fn reads_stay_where_the_session_keeps_its_tables_and_variables() {
    let proxy = start(&with_readers());
    let name = support::schema("trust_temporary");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a INT); INSERT INTO {name}.t VALUES (1); \
             CREATE PROCEDURE {name}.p() CREATE TEMPORARY TABLE t SELECT 3 AS a"
        ))
        .unwrap();
    let connect = || proxy.connect(Some(&name));
    let read = "SELECT a FROM t";
    let mut client = connect();
    let on_writer = value(&mut client, "SELECT @@pseudo_thread_id FROM t FOR UPDATE");
    assert_ne!(value(&mut client, "SELECT @@pseudo_thread_id FROM t"), on_writer);

    for (makes, expect) in [
        ("CREATE TEMPORARY TABLE t SELECT 2 AS a", "2"),
        ("CALL p()", "3"),
        ("EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE t SELECT 4 AS a'", "4"),
        ("CREATE /*! TEMPORARY */ TABLE t SELECT 5 AS a", "5"),
    ] {
        let mut client = connect();
        assert_eq!(value(&mut client, read), "1");
        let prepared = client.prep(read).unwrap();
        assert_eq!(client.exec_first(&prepared, ()).unwrap(), Some(1));
        client.query_drop(makes).unwrap();
        assert_eq!(value(&mut client, read), expect, "{makes}");
        let expect: i64 = expect.parse().unwrap();
        assert_eq!(client.exec_first(&prepared, ()).unwrap(), Some(expect), "{makes}");
        // Hostgroup 20 has no such table, and the session would not notice.
        let (code, message) = error(&mut client, &format!("/* b */ {read}"));
        assert_eq!(code, 9006, "{makes}: {message}");
        assert_eq!(value(&mut client, "/* b */ SELECT 1"), "1");
    }

    let mut client = connect();
    client.query_drop("SET @x=7").unwrap();
    assert_eq!(value(&mut client, "SELECT @x+a FROM t"), "8");
}
