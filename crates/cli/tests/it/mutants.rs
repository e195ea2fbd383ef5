//! `test --coverage` and `test --mutants`: what no test reaches, and what none notices.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support;

const TOPOLOGY: &str = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
  bulk: {type: single, servers: {a: {host: c.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      one: {keys: [1], cluster: shop}
      two: {keys: [2], cluster: bulk}
read_write_policies:
  reads: {applies_to: {clusters: [shop]}, reads: {all: true}}
";

const TESTS: &str = "\
version: 1
route_tests:
  the first tenant is in the shop:
    query: /* tenant=1 */ UPDATE t SET a=1
    expect: {cluster: shop, role: writer}
  its reads leave the writer:
    query: /* tenant=1 */ SELECT a FROM t
    expect: {role: reader}
";

fn project(engine: &str, tests: &str) -> CommandEnvironment {
    support::project(
        engine,
        &[("topology/shop.yaml", TOPOLOGY), ("tests/routes.yaml", tests)],
    )
}

#[test]
fn what_no_test_comes_to_is_listed_with_its_line() {
    let environment = project("bundled", TESTS);
    let output = environment.run(["test", "--coverage"]).unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
    insta::assert_snapshot!(output);
}

#[test]
fn too_little_coverage_exits_3_and_is_in_every_report() {
    let environment = project("bundled", TESTS);
    let reports = ["--report", "junit=r.xml", "--report", "markdown=r.md"];
    let output = environment
        .run(
            [
                &["test", "--coverage", "--fail-under", "90", "--format", "json"][..],
                &reports,
            ]
            .concat(),
        )
        .unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let coverage = &answer["engines"][0]["coverage"];
    assert_eq!(
        coverage["shards"],
        serde_json::json!({"covered": 1, "total": 2, "percent": 50.0}),
        "{output}"
    );
    let codes: Vec<&str> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"SW804") && codes.contains(&"SW805"), "{codes:?}");
    for file in ["r.xml", "r.md"] {
        let report = environment.read(file).unwrap();
        assert!(
            report.contains("no test sends a statement to this shard"),
            "{file}: {report}"
        );
    }
    let enough = environment
        .run(["test", "--coverage", "--fail-under", "10"])
        .unwrap();
    assert_eq!(enough.code(), Some(0), "{enough}");
    let bad = environment
        .run(["test", "--coverage", "--fail-under", "101"])
        .unwrap();
    assert_eq!(bad.code(), Some(64), "{bad}");
}

#[test]
fn every_branch_that_a_test_takes_is_covered() {
    let tests = TESTS.to_owned()
        + "  the second tenant: {query: /* tenant=2 */ UPDATE t SET a=1, expect: {cluster: bulk}}
  no tenant: {query: UPDATE t SET a=1, expect: {error: SW351}}
  no such tenant: {query: /* tenant=3 */ UPDATE t SET a=1, expect: {error: SW352}}
  nowhere to begin: {query: BEGIN, expect: {error: SW359}}
  inside:
    script:
      - query: /* tenant=1 */ BEGIN
      - {query: /* tenant=1 */ SELECT a FROM t, expect: {role: writer}}
";
    let environment = project("bundled", &tests);
    let output = environment
        .run(["test", "--coverage", "--fail-under", "100"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
}

#[test]
fn what_no_test_notices_is_shown_with_a_statement_that_would() {
    let environment = project("bundled", TESTS);
    let output = environment.run(["test", "--mutants"]).unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
    insta::assert_snapshot!(output);
    let again = environment.run(["test", "--mutants"]).unwrap();
    assert_eq!(again.stdout, output.stdout, "the same each time");
}

#[test]
fn a_test_for_it_raises_the_score() {
    let score = |tests: &str| -> (f64, u64) {
        let environment = project("bundled", tests);
        let output = environment
            .run(["test", "--mutants", "--format", "json"])
            .unwrap();
        let answer: Value = serde_json::from_str(&output.stdout).unwrap();
        let mutants = &answer["engines"][0]["mutants"];
        (
            mutants["score"].as_f64().unwrap(),
            mutants["tried"].as_u64().unwrap(),
        )
    };
    let more = TESTS.to_owned()
        + "  the second tenant: {query: /* tenant=2 */ UPDATE t SET a=1, expect: {cluster: bulk}}
  no tenant: {query: UPDATE t SET a=1, expect: {error: SW351}}
";
    let (few, tried) = score(TESTS);
    let (many, tried_again) = score(&more);
    assert_eq!(tried, tried_again);
    assert!(few < many, "{few} and {many}");
}

#[test]
fn engine_rules_are_broken_too() {
    let environment = project("proxysql-2.7", TESTS);
    let output = environment
        .run(["test", "--mutants", "--most", "6", "--format", "json"])
        .unwrap();
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let mutants = &answer["engines"][0]["mutants"];
    assert_eq!(mutants["tried"], 6, "{output}");
    let count = |name: &str| mutants[name].as_u64().unwrap();
    let sum = count("noticed") + count("survived") + count("unknown") + count("equivalent");
    assert_eq!(sum, 6, "{output}");
}

#[test]
fn mutants_are_limited_and_need_tests_that_hold() {
    let environment = project("bundled", TESTS);
    let output = environment
        .run(["test", "--mutants", "--most", "3", "--fail-under", "99.9"])
        .unwrap();
    assert!(output.stderr.contains("3 mutants: "), "{output}");
    let wrong = TESTS.replace("role: reader", "role: writer");
    environment.write("tests/routes.yaml", wrong).unwrap();
    let output = environment.run(["test", "--mutants"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(output.stderr.contains("no mutants are tried"), "{output}");
    let output = environment.run(["test", "--most", "3"]).unwrap();
    assert_eq!(output.code(), Some(64), "{output}");
}
