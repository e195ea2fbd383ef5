//! What a throttle is about, on a real server: users, kinds of statement, and the clusters of a map's shards.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{Body, Names, Rule, Scope, StatementKind, Throttle, Words as _};

use crate::support::{PASSWORD, Setup, USER, map_alone, schema, server, start, tenants_by_comment};
use crate::throttles::{throttle, throttle_rule};

fn slow(id: u32, name: &str, scope: Scope) -> Rule {
    let one_ms = Throttle {
        from_ms: 1,
        to_ms: 1,
        // A limit makes it a gate, whose statements are counted.
        max_concurrent: Some(100),
        ..throttle()
    };
    let mut rule = throttle_rule(id, name, &[], one_ms);
    if let Body::Native { scope: of_rule, .. } = &mut rule.body {
        **of_rule = scope;
    }
    rule
}

fn only(name: &str) -> Names {
    Names {
        any_of: vec![name.into()],
        ..Names::default()
    }
}

/// How many statements each throttle has delayed, as `throttle cluster count`; those without are left out.
fn delayed(admin: &mut Conn) -> Vec<String> {
    let rows: Vec<(String, String, u64)> = admin
        .query(
            "SELECT throttle, cluster, delayed FROM stats_shardwright_throttles WHERE delayed > 0 ORDER BY 1, 2",
        )
        .unwrap();
    let short = |(throttle, cluster, count): (String, String, u64)| {
        let (throttle, cluster) = (
            throttle.replace("throttles.", ""),
            cluster.replace("clusters.", ""),
        );
        format!("{throttle} {cluster} {count}")
    };
    rows.into_iter().map(short).collect()
}

/// A setup with rules in front of its own, or behind them.
fn with(rules: Vec<Rule>, are_first: bool) -> Setup {
    Setup {
        configuration: Box::new(move |configuration| {
            let at = if are_first {
                0
            } else {
                configuration.graph.rules.len()
            };
            configuration.graph.rules.splice(at..at, rules.clone());
        }),
        ..Setup::default()
    }
}

#[test]
fn a_throttle_is_about_a_user() {
    let scope = Scope {
        users: only("other"),
        ..Scope::default()
    };
    let proxy = start(&with(vec![slow(1, "user", scope)], true));
    let mut admin = proxy.admin();
    proxy.connect(None).query_drop("DO 1").unwrap();
    assert!(delayed(&mut admin).is_empty());
    let mut other = proxy.try_connect("other", PASSWORD, None).unwrap();
    for _ in 0..3 {
        other.query_drop("DO 1").unwrap();
    }
    assert_eq!(delayed(&mut admin), ["user a 3"]);
}

#[test]
fn a_throttle_is_about_kinds_of_statements() {
    let schema = schema("throttle_kinds");
    let kinds = [
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
        StatementKind::Replace,
    ];
    let rules: Vec<Rule> = (1..)
        .zip(kinds)
        .map(|(id, kind)| {
            let scope = Scope {
                statements: vec![kind],
                ..Scope::default()
            };
            slow(id, kind.word(), scope)
        })
        .collect();
    let proxy = start(&with(rules, true));
    let mut client = proxy.connect(Some(&schema));
    client
        .query_drop("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
        .unwrap();
    for sql in [
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "UPDATE t SET a = 3",
        "/* a purge */ DELETE FROM t WHERE id = 1",
        "REPLACE INTO t VALUES (2, 5)",
        "SELECT a FROM t",
        "(SELECT 'DELETE FROM t')",
        "SHOW TABLES",
    ] {
        client.query_drop(sql).unwrap();
    }
    client.exec_drop("DELETE FROM t WHERE id = ?", (7,)).unwrap();
    assert_eq!(
        delayed(&mut proxy.admin()),
        ["delete a 2", "insert a 1", "replace a 1", "update a 1"]
    );
}

#[test]
fn a_throttle_is_about_the_clusters_of_a_maps_shards() {
    let schema = schema("throttle_shards");
    for tenant in [1, 2] {
        server()
            .run(format!(
                "CREATE DATABASE IF NOT EXISTS {schema}_{tenant}; CREATE OR REPLACE TABLE {schema}_{tenant}.t (a INT)"
            ))
            .unwrap();
    }
    let mut rules = map_alone(tenants_by_comment(&schema));
    let of_shard = Scope {
        clusters: only("b"),
        ..Scope::default()
    };
    let of_map = Scope {
        users: only(USER),
        statements: vec![StatementKind::Insert],
        ..Scope::default()
    };
    rules.extend([slow(2001, "map", of_map), slow(2002, "shard", of_shard)]);
    let proxy = start(&with(rules, false));
    let mut client = proxy.connect(Some(&schema));
    let mut admin = proxy.admin();
    for _ in 0..2 {
        client.query_drop("/* tenant=1 */ SELECT a FROM t").unwrap();
    }
    assert!(delayed(&mut admin).is_empty());
    client.query_drop("/* tenant=2 */ SELECT a FROM t").unwrap();
    assert_eq!(delayed(&mut admin), ["shard b 1"]);
    for tenant in [1, 2, 2] {
        client
            .query_drop(format!("/* tenant={tenant} */ INSERT INTO t VALUES (1)"))
            .unwrap();
    }
    assert_eq!(delayed(&mut admin), ["map a 1", "map b 2", "shard b 3"]);
}
