//! Topologies as users write them, decided on both engines.

use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;

use crate::support::*;

const SERVERS: &str = r#"
version: 1
clusters:
  home: {type: single, servers: {a: {host: home.db}}}
  shard-$(n): {for_each: {n: 1..9}, type: single, servers: {a: {host: "s$(n).db"}}}
users:
  app: {password: {env: P}, cluster: home, schema: app}
  batch: {password: {env: P}, cluster: home, annotations: allow}
"#;

/// Decides on both engines; `expected` is one answer, or `BUNDLED | PROXYSQL` where they differ.
fn check(topology: &str, cases: &[(Option<&str>, &str, &str)]) {
    let project = loaded(&format!("{SERVERS}{topology}"));
    for (at, engine) in BOTH.into_iter().enumerate() {
        let decider = Decider::new(&compiled(&project, engine));
        for (schema, statement, expected) in cases {
            let expected = expected
                .split(" | ")
                .cycle()
                .nth(at)
                .expect("a cycle does not end");
            let found = decider.short("app", *schema, statement);
            assert_goes(&found, expected, &format!("{engine}: {statement}"));
        }
    }
}

#[test]
fn a_comment_beside_the_schema() {
    let topology = r#"
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}, {schema: "tenant_$(key:03)"}]
    shards:
      t$(n): {for_each: {n: 1..9}, keys: [$(n)], cluster: "shard-$(n)"}
"#;
    check(
        topology,
        &[
            (
                Some("tenant_004"),
                "/* tenant=4 */ SELECT 1 FROM t",
                "shard-4 writer",
            ),
            (Some("tenant_004"), "SELECT 1 FROM t", "shard-4 writer"),
            (Some("app"), "/* tenant=4 */ SELECT 1 FROM t", "shard-4 writer"),
            (None, "SELECT 1 FROM t", "SW351"),
            (
                Some("tenant_005"),
                "/* tenant=4 */ SELECT 1 FROM t",
                "SW353 | SW355",
            ),
            (Some("app"), "SELECT 1 FROM t", "SW351"),
        ],
    );
}

#[test]
fn a_shard_keeps_the_logical_schema() {
    let topology = r#"
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}]
    logical_schema: w
    shards:
      first: {keys: [1], schema: w, cluster: home}
      second: {keys: [2], schema: w_2, cluster: shard-1}
"#;
    let project = loaded(&format!("{SERVERS}{topology}"));
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        let short = |statement: &str| decider.short("app", None, statement).replace('`', "");
        let second = "shard-1 writer: /* tenant=2 */ SELECT 1 FROM w_2.t";
        assert_eq!(short("/* tenant=2 */ SELECT 1 FROM w.t"), second, "{engine}");
        let first = short("/* tenant=1 */ SELECT 1 FROM w.t");
        assert!(first.starts_with("home writer"), "{engine}: {first}");
    }
}

#[test]
fn one_map_behind_another() {
    let topology = r#"
shard_maps:
  regions:
    applies_to: {users: [app]}
    key: {name: region, type: text}
    key_from: [{comment: {}}]
    shards:
      eu: {keys: [eu, "north eu"], cluster: shard-1}
      us: {keys: [us], cluster: shard-2}
    otherwise: shard_maps.tenants
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}]
    shards:
      t$(n): {for_each: {n: 3..9}, keys: [$(n)], cluster: "shard-$(n)"}
"#;
    check(
        topology,
        &[
            (None, "/* region=us */ SELECT 1 FROM t", "shard-2 writer"),
            (None, "/* region='north eu' */ SELECT 1 FROM t", "shard-1 writer"),
            (None, "/* region=asia */ SELECT 1 FROM t", "SW352"),
            (None, "/* tenant=5 */ SELECT 1 FROM t", "shard-5 writer"),
            (None, "/* tenant=55 */ SELECT 1 FROM t", "SW352"),
            (None, "/* region=us, tenant=5 */ SELECT 1 FROM t", "SW353"),
            (None, "SELECT 1 FROM t", "SW351"),
            (None, "SET NAMES utf8", "home writer"),
        ],
    );
}

#[test]
fn exact_comments_and_ranges() {
    let topology = r#"
shard_maps:
  slots:
    applies_to: {users: [app]}
    key: {name: slot, type: integer}
    key_from: [{comment: {exact: "$(key:03)"}}]
    shards:
      low: {keys: [0..99], cluster: shard-1}
      mid: {keys: [100, 102], cluster: shard-2}
      high: {keys: [200..1999], cluster: shard-3}
"#;
    check(
        topology,
        &[
            (None, "/* 000 */ SELECT 1 FROM t", "shard-1 writer"),
            (None, "/*099*/ SELECT 1 FROM t", "shard-1 writer"),
            (None, "/* 10 */ SELECT 1 FROM t", "SW351"),
            (None, "/* 0010 */ SELECT 1 FROM t", "SW351"),
            (None, "/* 102 */ SELECT 1 FROM t", "shard-2 writer"),
            (None, "/* 101 */ SELECT 1 FROM t", "SW352"),
            (None, "/* 1999 */ SELECT 1 FROM t", "shard-3 writer"),
            (None, "/* 2000 */ SELECT 1 FROM t", "SW352"),
            (None, "/* x */ SELECT 1 FROM t /* 102 */", "shard-2 writer"),
            (None, "SELECT '/* 102 */' FROM t", "SW351"),
        ],
    );
}

#[test]
fn annotations_only_for_those_who_may() {
    let project = loaded(SERVERS);
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        for statement in [
            "/* hostgroup=1 */ SELECT 1",
            "/*x=1;HOSTGROUP = 1*/ SELECT 1",
            "SELECT 1 /* a;max_lag_ms=5 */",
        ] {
            assert_eq!(
                decider.short("app", None, statement),
                "SW357",
                "{engine}: {statement}"
            );
            assert_ne!(
                decider.short("batch", None, statement),
                "SW357",
                "{engine}: {statement}"
            );
        }
        assert_eq!(
            decider.short("app", None, "/* x */ SELECT 1 FROM t WHERE hostgroup = 1"),
            "home writer"
        );
    }
}

#[test]
fn two_maps_that_meet_need_an_order() {
    let topology = r#"
shard_maps:
  a: {key: {name: a, type: text}, key_from: [{comment: {}}], shards: {x: {keys: [x], cluster: home}}}
  b: {key: {name: b, type: text}, key_from: [{comment: {}}], shards: {y: {keys: [y], cluster: home}}}
"#;
    let compiled = compile(
        &loaded(&format!("{SERVERS}{topology}")),
        EngineId::Bundled,
        &Lock::default(),
        &Options::default(),
    );
    insta::assert_snapshot!(problems(&compiled, Severity::Error).join("\n"), @"SW328: both shard_maps.a and shard_maps.b place statements of user app; `otherwise: shard_maps.b` on the first gives them an order");
}

#[test]
fn rules_stand_in_front_of_the_first_section() {
    let topology = r#"
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}]
    shards:
      t$(n): {for_each: {n: 1..9}, keys: [$(n)], cluster: "shard-$(n)"}
query_rules:
  early:
    at: {before: tenants/t4}
    rules: [{match_digest: "^DROP ", error_msg: "RAW: no drops", apply: 1}]
"#;
    check(
        topology,
        &[
            (None, "/* tenant=4 */ DROP TABLE t", "RAW"),
            (None, "/* tenant=4 */ SELECT 1 FROM t", "shard-4 writer"),
        ],
    );
    let behind = topology.replace("before:", "after:");
    let compiled = compile(
        &loaded(&format!("{SERVERS}{behind}")),
        EngineId::Proxysql27,
        &Lock::default(),
        &Options::default(),
    );
    assert!(problems(&compiled, Severity::Error)[0].starts_with("SW326: "));
}
