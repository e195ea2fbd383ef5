//! `prove refines`: three answers, what is refused by class, and how sides are named.

use serde_json::{Value, json};
use shardwright_testkit::CommandEnvironment;

use crate::rule_sets::{committed, with_rules};
use crate::support::{example, examples};

#[test]
fn what_one_side_refuses_is_listed_by_class() {
    let environment = with_rules();
    let rules = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_query_rules (rule_id, active, match_digest, error_msg) \
           VALUES (1, 1, '^(DROP|TRUNCATE)', 'not here'), (2, 1, '^DELETE FROM [a-z]+$', 'WHERE is missing');\n";
    environment.write("strict.sql", rules).unwrap();
    let output = environment
        .run(["prove", "refines", "strict.sql", "--of", "rules.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    proved: strict.sql places no statement where rules.sql does not
    strict.sql refuses what rules.sql serves: 2 classes
      user=app schema=shop  DELETE FROM t
        strict.sql  error 1148: WHERE is missing, by mysql_query_rules.2 (strict.sql:8)
        rules.sql   shop writer (hostgroup 1)
      user=app schema=shop  DROP TABLE t
        strict.sql  error 1148: not here, by mysql_query_rules.1 (strict.sql:8)
        rules.sql   shop writer (hostgroup 1)
    assumed
      no transaction is open, and autocommit is on
      no comment holds an annotation of the engine (`/* hostgroup=5 */`)
      earlier statements left both sides in the same state
      statements come as texts (COM_QUERY)
    ");
    let output = environment
        .run([
            "prove",
            "refines",
            "strict.sql",
            "--of",
            "rules.sql",
            "--format",
            "json",
        ])
        .unwrap();
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(json["answer"], "proved");
    assert_eq!(json["refused"][0]["reason"], "WHERE is missing");
    assert_eq!(json["refused"][0]["served_by"][0], "shop writer");
    assert_eq!(json["refused"][0]["witness"]["b"]["hostgroup"], 1);
    assert_eq!(json["assumed"][0], "no transaction is open, and autocommit is on");
}

#[test]
fn what_is_placed_elsewhere_refutes() {
    let environment = with_rules();
    // Reads for update go to readers on one side only.
    let output = environment
        .run(["prove", "refines", "rules.sql", "--of", "fixed.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(3), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout, @r"
    refuted: 1 statement that rules.sql places where fixed.sql does not
      user=app schema=shop  SELECT a FROM t WHERE id=1 FOR UPDATE
        rules.sql  shop reader (hostgroup 2), by mysql_query_rules.10 (rules.sql:5)
        fixed.sql  shop writer (hostgroup 1), by mysql_query_rules.20 (fixed.sql:6)
    assumed
      no transaction is open, and autocommit is on
      no comment holds an annotation of the engine (`/* hostgroup=5 */`)
      earlier statements left both sides in the same state
      statements come as texts (COM_QUERY)
    ");
    // The writer has what its readers have.
    let output = environment
        .run(["prove", "refines", "fixed.sql", "--of", "rules.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
}

#[test]
fn what_is_not_modelled_is_undecided() {
    let environment = with_rules();
    let rules = environment.read("rules.sql").unwrap()
        + "INSERT INTO mysql_users (username, default_hostgroup, fast_forward) VALUES ('bench', 1, 1);\nload mysql users to runtime;\n";
    environment.write("off.sql", rules).unwrap();
    let output = environment
        .run(["prove", "refines", "off.sql", "--of", "off.sql"])
        .unwrap();
    assert_eq!(output.code(), Some(8), "{}{}", output.stdout, output.stderr);
}

#[test]
fn a_revision_an_engine_or_an_environment_can_be_the_other_side() {
    let environment = example("tenants");
    committed(&environment);
    let refines = |environment: &CommandEnvironment, a: &str, of: &str| {
        let engine = ["--engine", "proxysql-2.7"];
        environment
            .run([&["prove", "refines", a, "--of", of][..], &engine].concat())
            .unwrap()
    };
    for of in ["git:HEAD", "proxysql-3.0"] {
        let output = refines(&environment, ".", of);
        assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    }
    // One tenant less: the tree over the keys is another one.
    let topology = environment.read("topology/tenants.yaml").unwrap();
    let fewer = topology
        .replace("for_each: {n: 1..200}, keys", "for_each: {n: 1..199}, keys")
        .replace("domain: 1..200", "domain: 1..199");
    assert_ne!(topology, fewer);
    environment.write("topology/tenants.yaml", fewer).unwrap();
    let output = refines(&environment, ".", "git:HEAD");
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("SW352"), "{}", output.stdout);
    let output = refines(&environment, "git:HEAD", ".");
    assert_eq!(output.code(), Some(3), "{}{}", output.stdout, output.stderr);
    // Production has more customers, and other numbers of hostgroups.
    let environment = example("environments");
    let output = refines(&environment, "env:staging", "env:prod");
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("SW352"), "{}", output.stdout);
    let output = refines(&environment, "env:prod", "env:staging");
    assert_eq!(output.code(), Some(3), "{}{}", output.stdout, output.stderr);
    // Development has no readers: its writers take the reads.
    let output = refines(&environment, "env:dev", "env:prod");
    assert_eq!(output.code(), Some(0), "{}{}", output.stdout, output.stderr);
    let output = refines(&environment, "env:nowhere", "env:prod");
    assert_eq!(output.code(), Some(64), "{}{}", output.stdout, output.stderr);
}

/// The examples, compiled for both engines.
#[test]
fn proxysql_held_against_the_bundled_engine() {
    let across = |environment: &CommandEnvironment| -> Value {
        let arguments = [
            "prove",
            "refines",
            ".",
            "--engine",
            "proxysql-2.7",
            "--of",
            "bundled",
            "--format",
            "json",
        ];
        let output = environment.run(arguments).unwrap();
        assert_eq!(output.code(), Some(8), "{}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    };
    let json = across(&example("from-csv"));
    let parts = [json!({"about": "shard map `tenants`: statements with a key", "hostgroups": 3})];
    assert_eq!(json["proved_parts"], json!(parts));
    let natures = json["engine_differences"].as_array().unwrap();
    let several = natures
        .iter()
        .find(|nature| nature["what"].as_str().unwrap().starts_with("several statements"));
    let witness = &several.unwrap()["witness"];
    assert_eq!(
        (
            &witness["query"],
            &witness["a"]["outcome"],
            &witness["b"]["outcome"]
        ),
        (
            &json!("/* tenant=17 */ SELECT 1; SELECT 2"),
            &json!("route"),
            &json!("reject")
        )
    );
    // ProxySQL looks at the session's schema, and not at the schemas that a statement names: told once.
    let json = across(&example("schema-per-shard"));
    let natures = json["engine_differences"].as_array().unwrap();
    let named = natures.iter().find(|nature| {
        nature["what"]
            .as_str()
            .unwrap()
            .starts_with("schemas of other shards")
    });
    let refusal = &named.unwrap()["witness"]["b"]["error"]["message"];
    assert!(refusal.as_str().unwrap().starts_with("SW355"), "{json}");
}

/// The table of `docs/prove.md`: what is proved of each example, both ways.
#[test]
fn the_table_of_examples_is_true() {
    let page = std::fs::read_to_string(examples().join("../docs/prove.md")).unwrap();
    let mut shown = 0;
    for row in page.lines().filter(|line| line.starts_with("| `examples/")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').trim_start_matches("examples/");
        let environment = example(name);
        for (engines, expected) in [
            (["proxysql-2.7", "bundled"], cells[1]),
            (["bundled", "proxysql-2.7"], cells[2]),
        ] {
            let [engine, of] = engines;
            let output = environment
                .run(["prove", "refines", ".", "--engine", engine, "--of", of])
                .unwrap();
            let answer = match output.code() {
                Some(0) => "proved",
                Some(3) => "refuted",
                Some(8) => "undecided",
                _ => "does not compile",
            };
            assert_eq!(
                answer, expected,
                "{name}: {engine} of {of}\n{}{}",
                output.stdout, output.stderr
            );
        }
        shown += 1;
    }
    let examples = std::fs::read_dir(examples()).unwrap().count();
    assert_eq!(shown, examples);
}
