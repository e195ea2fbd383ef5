//! `test` with `properties`: what people see of each answer.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{self, example};

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
      t$(n): {for_each: {n: 1..2}, keys: [$(n)], cluster: shop}
      rest: {keys: [3, 4], cluster: bulk}
read_write_policies:
  reads: {applies_to: {clusters: [shop]}, reads: {all: true}}
";

fn project(engines: &str, topology: &str, tests: &str) -> CommandEnvironment {
    support::project(
        engines,
        &[("topology/shop.yaml", topology), ("tests/properties.yaml", tests)],
    )
}

const PROPERTIES: &str = "\
version: 1
properties:
  writes never reach readers:
    for_all: {statements: [insert, update, delete, replace]}
    expect: {role: writer}
  tenants are kept apart:
    for_all_pairs: {map: tenants}
    expect: disjoint
  reads of tenants are read by readers:
    for_all: {map: tenants, statements: select}
    expect: {role: reader}
";

#[test]
fn what_is_refuted_is_shown_with_the_statements() {
    let environment = project("bundled, proxysql-2.7", TOPOLOGY, PROPERTIES);
    let output = environment.run(["test"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    insta::assert_snapshot!(output);
}

#[test]
fn a_proof_is_one_for_each_engine() {
    let topology = TOPOLOGY.to_owned()
        + "\
query_rules:
  legacy:
    at: before_all
    rules:
      - {digest: \"0x4D7DCFF87DD1A927\", cluster: shop, role: reader, apply: 1}
";
    let tests = "\
version: 1
properties:
  writes of tenants stay:
    for_all: {map: tenants, statements: [insert, update]}
    expect: {role: writer}
  writes stay:
    for_all: {statements: [insert, update]}
    expect: {role: writer}
";
    let environment = project("bundled, proxysql-2.7", &topology, tests);
    let output = environment.run(["test", "--format", "json"]).unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let counts: Vec<&Value> = answer["engines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|count| &count["properties"])
        .collect();
    let expected = serde_json::json!({"proved": 1, "refuted": 0, "undecided": 1});
    assert_eq!(counts, [&expected, &expected], "{output}");
    let finding = &answer["findings"][0];
    assert_eq!(finding["code"], "SW803", "{output}");
    assert_eq!(finding["proof"], "possible", "{output}");
}

#[test]
fn properties_are_chosen_by_name_and_are_cases_of_reports() {
    let environment = project("bundled", TOPOLOGY, PROPERTIES);
    let output = environment
        .run(["test", "writes", "--report", "junit=report.xml"])
        .unwrap()
        .success();
    assert!(
        output.stderr.contains("1 proved, 0 refuted, 0 undecided"),
        "{output}"
    );
    let report = environment.read("report.xml").unwrap();
    assert!(
        report.contains("writes never reach readers (bundled)"),
        "{report}"
    );
}

#[test]
fn bad_properties_are_told() {
    let tests = "\
version: 1
properties:
  of nobody: {for_all: {users: [nobody]}, expect: {role: writer}}
  of no map: {for_all: {map: tenant}, expect: {role: writer}}
  without a domain: {expect: {role: writer}}
  without a claim: {for_all: {}}
  pairs of nothing: {for_all_pairs: {users: [app]}, expect: disjoint}
  one is apart from what: {for_all: {}, expect: disjoint}
  a text of all: {for_all: {}, expect: {query: SELECT 1}}
  no such kind: {for_all: {statements: [merge]}, expect: {role: writer}}
";
    let environment = project("bundled", TOPOLOGY, tests);
    let output = environment.run(["test"]).unwrap();
    assert_eq!(output.code(), Some(65), "{output}");
    insta::assert_snapshot!(output.stderr);
}

#[test]
fn schemas_of_an_example_are_kept_apart_by_fast_routing_too() {
    let environment = example("schema-per-shard");
    let tests = "version: 1\nproperties:\n  accounts are kept apart:\n    for_all_pairs: {map: accounts}\n    expect: disjoint\n";
    environment.write("tests/apart.yaml", tests).unwrap();
    let output = environment.run(["test", "kept apart"]).unwrap();
    assert_eq!(
        output.stderr.matches("1 proved, 0 refuted").count(),
        2,
        "{output}"
    );
}
