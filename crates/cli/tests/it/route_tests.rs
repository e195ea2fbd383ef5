//! `test`: what holds, what does not, and what people see of it.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{self, example, examples};

const TOPOLOGY: &str = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
  bulk: {type: single, servers: {a: {host: c.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
  jobs: {password: {env: JOBS}, cluster: bulk}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      even: {keys: [2, 4], cluster: shop}
      odd: {keys: [1, 3], cluster: bulk}
read_write_policies:
  reads: {applies_to: {clusters: [shop]}, reads: {all: true}, after_write: 500ms, on_unsupported: skip}
";

fn project(engines: &str, tests: &str) -> CommandEnvironment {
    support::project(
        engines,
        &[("topology/shop.yaml", TOPOLOGY), ("tests/routes.yaml", tests)],
    )
}

#[test]
fn what_does_not_hold_is_shown_with_the_rule_that_decided() {
    let environment = project(
        "bundled, proxysql-2.7",
        "\
version: 1
session: {user: app}
route_tests:
  even tenants are in the shop:
    for_each: {n: 1..4}
    query: |
      /* tenant=$(n) */ UPDATE t SET a=1
    expect: {cluster: shop, role: writer}
  reads leave the writer:
    query: |
      /* tenant=2 */ SELECT a FROM t
    expect: {role: reader}
  a read of nobody:
    query: SELECT a FROM t
    expect: {cluster: shop}
",
    );
    let output = environment.run(["test"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    insta::assert_snapshot!(output);
}

#[test]
fn a_script_is_one_session() {
    let environment = project(
        "bundled",
        "\
version: 1
session: {user: app}
route_tests:
  a transaction stays where it was opened:
    script:
      - query: /* tenant=2 */ BEGIN
        expect: {cluster: shop, role: writer}
      - query: /* tenant=4 */ SELECT a FROM t
        expect: {cluster: shop, role: writer}
      - query: /* tenant=1 */ SELECT a FROM t
        expect: {error: SW356}
      - query: COMMIT
        expect: {cluster: shop, role: writer}
      - {query: /* tenant=1 */ SELECT a FROM t, expect: {cluster: bulk}}
  a session reads its own writes for half a second:
    script:
      - {query: /* tenant=2 */ SELECT a FROM t, expect: {role: reader}}
      - {query: /* tenant=2 */ UPDATE t SET a=1, expect: {role: writer}}
      - {query: /* tenant=2 */ SELECT a FROM t, after: 499ms, expect: {role: writer}}
      - {query: /* tenant=2 */ SELECT a FROM t, after: 1ms, expect: {role: reader}}
  autocommit off opens a transaction with the first statement:
    script:
      - query: SET autocommit=0
      - {query: /* tenant=2 */ SELECT a FROM t, expect: {role: writer}}
      - {query: /* tenant=1 */ UPDATE t SET a=1, expect: {error: SW356}}
      - query: SET autocommit=1
      - {query: /* tenant=1 */ UPDATE t SET a=1, expect: {cluster: bulk}}
  another user is another login:
    script:
      - query: /* tenant=2 */ BEGIN
      - {query: SELECT a FROM t, session: {user: jobs}, expect: {cluster: bulk}}
      - {query: /* tenant=2 */ SELECT a FROM t, expect: {role: reader}}
  a statement of which nothing is expected must not be refused:
    script:
      - query: SELECT a FROM t
",
    );
    let output = environment.run(["test", "--format", "json"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let failed: Vec<&str> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        failed,
        ["`a statement of which nothing is expected must not be refused` does not hold on bundled"],
        "{output}"
    );
    assert_eq!(
        answer["engines"],
        serde_json::json!([{"engine": "bundled", "cases": 5, "statements": 18, "failed": 1}])
    );
}

#[test]
fn tests_are_chosen_by_name_and_by_engine() {
    let environment = project(
        "bundled, proxysql-2.7",
        "\
version: 1
route_tests:
  only here: {engines: [bundled], session: {user: jobs}, query: SELECT 1, expect: {cluster: bulk}}
  wrong: {session: {user: jobs}, query: SELECT 1, expect: {cluster: shop}}
",
    );
    let code = |arguments: &[&str]| environment.run(arguments).unwrap().code();
    assert_eq!(code(&["test"]), Some(3));
    assert_eq!(code(&["test", "wrong"]), Some(3));
    assert_eq!(code(&["test", "here"]), Some(0));
    let one = environment
        .run(["test", "--engine", "proxysql-2.7", "here"])
        .unwrap();
    assert_eq!(
        one.stderr,
        "proxysql-2.7: 0 cases with 0 statements, all as expected\n"
    );
    assert_eq!(code(&["test", "--engine", "oracle"]), Some(64));
}

#[test]
fn bad_test_files_end_with_65_and_do_not_stop_other_commands() {
    let environment = project(
        "bundled",
        "\
version: 1
route_tests:
  no such things:
    session: {user: nobody}
    query: SELECT 1
    expect: {cluster: shpo, shard: tenants/t1, rule: shard_maps.tenant, error: x}
  nothing expected: {session: {user: app}, query: SELECT 1}
  both: {session: {user: app}, query: SELECT 1, expect: {role: reader}, script: []}
  whose: {query: SELECT 1, expect: {outcome: rout}}
",
    );
    let output = environment.run(["test"]).unwrap();
    assert_eq!(output.code(), Some(65), "{output}");
    insta::assert_snapshot!(output.stderr);
    assert_eq!(environment.run(["validate"]).unwrap().code(), Some(65));
    for command in ["lint", "compile"] {
        assert_eq!(environment.run([command]).unwrap().code(), Some(0), "{command}");
    }
}

#[test]
fn the_tests_of_an_example_are_found_out_when_a_shard_moves() {
    let environment = example("tenants");
    let tests = std::fs::read(examples().join("tenants/tests/routes.yaml")).unwrap();
    environment.write("tests/routes.yaml", tests).unwrap();
    let _passed = environment.run(["test"]).unwrap().success();
    let topology = environment.read("topology/tenants.yaml").unwrap();
    let moved = topology + "    overrides:\n      t137: {cluster: shard-020, reason: OPS-4411}\n";
    environment.write("topology/tenants.yaml", moved).unwrap();
    let output = environment.run(["test", "every hint"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(
        output.stdout.contains("expected shard-137, got shard-020"),
        "{output}"
    );
    assert!(output.stdout.contains("in instance n=137"), "{output}");
}

/// The names of the cases that fail, by engine: `proxysql-2.7: wrong`.
fn failing(topology: &str, tests: &str) -> Vec<String> {
    let files = [("topology/shop.yaml", topology), ("tests/routes.yaml", tests)];
    let environment = support::project("bundled, proxysql-2.7", &files);
    let output = environment.run(["test", "--format", "json"]).unwrap();
    let json: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let messages = json["findings"].as_array().unwrap_or_else(|| panic!("{json}"));
    let messages = messages.iter().filter_map(|finding| finding["message"].as_str());
    let failing = messages.filter_map(|message| {
        let (name, engine) = message.strip_prefix('`')?.split_once("` does not hold on ")?;
        Some(format!("{engine}: {name}"))
    });
    let mut failing: Vec<String> = failing.collect();
    failing.sort();
    failing
}

#[test]
fn a_shard_is_told_by_its_key_where_shards_share_a_rule() {
    let topology = "\
version: 1
clusters:
  shop: {type: single, servers: {a: {host: a.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
  by_schema: {password: {env: APP}, cluster: shop, schema: acct_1}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards: {t1: {keys: [1], cluster: shop}, t2: {keys: [2], cluster: shop}, t3: {keys: [3..9], cluster: shop}}
  accounts:
    applies_to: {users: [by_schema]}
    key: {name: account, type: integer}
    key_from: [{schema: \"acct_$(key)\"}]
    shards: {a1: {keys: [1], cluster: shop}, a2: {keys: [2], cluster: shop}}
";
    let tests = "\
version: 1
session: {user: app}
route_tests:
  right: {query: '/* tenant=1 */ UPDATE o SET a=1', expect: {shard: tenants/t1}}
  right behind: {query: 'UPDATE o SET a=1 /* tenant=7 */', expect: {shard: tenants/t3}}
  wrong: {query: '/* tenant=1 */ UPDATE o SET a=1', expect: {shard: tenants/t2}}
  wrong range: {query: '/* tenant=7 */ UPDATE o SET a=1', expect: {shard: tenants/t2}}
  right schema:
    session: {user: by_schema, schema: acct_2}
    query: UPDATE o SET a=1
    expect: {shard: accounts/a2}
  wrong schema:
    session: {user: by_schema, schema: acct_2}
    query: UPDATE o SET a=1
    expect: {shard: accounts/a1}
properties:
  wrong for all:
    for_all: {map: tenants}
    expect: {shard: tenants/t1}
";
    let wrong = ["wrong", "wrong for all", "wrong range", "wrong schema"];
    let on = |engine: &str| wrong.map(|name| format!("{engine}: {name}"));
    assert_eq!(
        failing(topology, tests),
        [on("bundled"), on("proxysql-2.7")].concat()
    );
}

#[test]
fn a_rule_is_one_that_does_something_to_the_statement() {
    let topology = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
throttles:
  slow: {applies_to: {statements: [delete]}, delay: 20ms, reason: slow disks}
routes:
  no-ddl: {match: {statements: [ddl]}, refuse: not here}
query_rules:
  ends:
    rules: [{match_digest: '^INSERT', apply: 1}]
";
    let tests = "\
version: 1
session: {user: app}
route_tests:
  right: {query: DELETE FROM t, expect: {rule: throttles.slow}}
  right refusal: {query: DROP TABLE t, expect: {rule: routes.no-ddl}}
  right end: {query: INSERT INTO t VALUES (1), expect: {rule: query_rules.ends}}
  wrong: {query: SELECT a FROM t, expect: {rule: throttles.slow}}
  wrong refusal: {query: SELECT a FROM t, expect: {rule: routes.no-ddl}}
  wrong end: {query: SELECT a FROM t, expect: {rule: query_rules.ends}}
";
    let wrong = ["wrong", "wrong end", "wrong refusal"];
    let on = |engine: &str| wrong.map(|name| format!("{engine}: {name}"));
    assert_eq!(
        failing(topology, tests),
        [on("bundled"), on("proxysql-2.7")].concat()
    );
}
