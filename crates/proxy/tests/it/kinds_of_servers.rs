//! What MySQL and MariaDB read otherwise: each text means what it means to the server that runs it.

use mysql::prelude::Queryable;
use shardwright_rules::{Finder, InShards, MapStep};
use shardwright_testkit::Flavour;

use crate::support::{Setup, TestProxy, error, map_alone, server, start, tenants_by_comment, value};

/// Tenants 1 and 2 in schemas of their own with a table `t`, and functions that read it.
fn tenants(schema: &'static str, finders: &[Finder]) -> TestProxy {
    for tenant in [1, 2] {
        let name = format!("{schema}_{tenant}");
        let functions: String = FUNCTIONS
            .iter()
            .map(|(name, ..)| {
                let name = name.split('(').next().unwrap_or(name).trim_end();
                format!(
                    "CREATE FUNCTION `{name}`() RETURNS INT READS SQL DATA RETURN (SELECT SUM(a) FROM t); "
                )
            })
            .collect();
        server()
            .run(format!(
                "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; \
                 CREATE TABLE t (tenant BIGINT, a INT); INSERT INTO t VALUES ({tenant}, 7); {functions}"
            ))
            .unwrap();
    }
    let map = MapStep {
        finders: finders.to_vec(),
        ..tenants_by_comment(schema)
    };
    start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(map.clone());
        }),
        ..Setup::default()
    })
}

/// A call, and whether MariaDB and MySQL have the function themselves.
const FUNCTIONS: [(&str, bool, bool); 9] = [
    ("any_value(a)", false, true),
    ("regexp_like('a', 'b')", false, true),
    ("is_uuid('a')", false, true),
    ("nvl(a, 0)", true, false),
    ("md5(a)", true, false),
    ("sysdate ()", true, false),
    ("rank () OVER (ORDER BY a)", false, true),
    ("sum (a)", false, false),
    ("coalesce (a)", true, true),
];

#[test]
fn a_stored_function_that_has_a_name_of_another_servers_own_is_refused() {
    let column = Finder::Column {
        column: "tenant".into(),
        in_shards: InShards::Present,
    };
    let proxy = tenants("kinds_functions", &[column]);
    let is_mysql = Flavour::default().is_mysql();
    let mut client = proxy.connect(Some("kinds_functions"));
    for (call, on_mariadb, on_mysql) in FUNCTIONS {
        let sql = format!("SELECT {call} FROM t WHERE tenant = 1");
        if (is_mysql && on_mysql) || (!is_mysql && on_mariadb) {
            client.query_drop(&sql).unwrap();
        } else {
            let (code, message) = error(&mut client, &sql);
            assert_eq!(code, 1148, "{sql}: {message}");
            assert!(message.contains("is not built in"), "{sql}: {message}");
        }
    }
}

#[test]
fn text_in_dollars_is_no_key_to_mysql_and_a_comment_to_mariadb() {
    let comment = tenants_by_comment("").finders;
    let proxy = tenants("kinds_dollars", &comment);
    let is_mysql = Flavour::default().is_mysql();
    // MySQL makes a library in the schema that the statement names.
    let mut client = proxy.connect((!is_mysql).then_some("kinds_dollars"));
    if is_mysql {
        let create = "CREATE LIBRARY kinds_dollars.l LANGUAGE JAVASCRIPT AS $$ /* tenant=2 */ $$";
        let (_, message) = error(&mut client, create);
        assert!(message.starts_with("SW351"), "{message}");
        let with_key = format!("/* tenant=1 */ {create}");
        client.query_drop(with_key).unwrap();
        let places =
            "SELECT GROUP_CONCAT(library_schema) FROM information_schema.libraries WHERE library_name = 'l'";
        assert_eq!(
            server().run(places).unwrap()[0][0].as_deref(),
            Some("kinds_dollars_1")
        );
    } else {
        let sql = "SELECT tenant, $$ /* tenant=2 */ FROM (SELECT tenant, 1 $$ FROM t) x";
        assert_eq!(value(&mut client, sql), "2");
    }
}

#[test]
fn a_modifier_is_no_table() {
    let column = Finder::Column {
        column: "tenant".into(),
        in_shards: InShards::Present,
    };
    let proxy = tenants("kinds_modifiers", &[column]);
    let mut client = proxy.connect(Some("kinds_modifiers"));
    for (modifiers, a) in [
        ("", 1),
        ("IGNORE", 2),
        ("LOW_PRIORITY", 3),
        ("LOW_PRIORITY IGNORE", 4),
    ] {
        client
            .query_drop(format!("UPDATE {modifiers} t SET a = {a} WHERE tenant = 2"))
            .unwrap();
        assert_eq!(client.affected_rows(), 1, "{modifiers}");
        assert_eq!(
            value(&mut client, "SELECT a FROM t WHERE tenant = 2"),
            a.to_string()
        );
        assert_eq!(
            value(&mut client, "SELECT SQL_NO_CACHE a FROM t WHERE tenant = 1"),
            "7"
        );
    }
    for modifiers in ["LOW_PRIORITY", "QUICK", "IGNORE", "LOW_PRIORITY QUICK IGNORE"] {
        client
            .query_drop("INSERT LOW_PRIORITY t (tenant, a) VALUES (1, 8)")
            .unwrap();
        client
            .query_drop(format!("DELETE {modifiers} FROM t WHERE tenant = 1 AND a = 8"))
            .unwrap();
        assert_eq!(client.affected_rows(), 1, "{modifiers}");
    }
}
