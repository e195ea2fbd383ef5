//! What `validate` and `lint` say of several engines and instances: once each, where and in the form that was asked for.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

fn project(topology: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [bundled, proxysql-2.7]\n",
        )
        .unwrap();
    environment
        .write("topology/t.yaml", format!("version: 1\n{topology}"))
        .unwrap();
    environment
}

const CLUSTERS: &str = r#"
clusters:
  c$(n): {for_each: {n: 1..5}, type: replication, servers: {a: {host: "a$(n)"}, b: {host: "b$(n)"}}}
users:
  app: {password: {env: P}, cluster: c1}
"#;

#[test]
fn what_every_instance_has_is_said_once() {
    let output = project(CLUSTERS).run(["validate", "--notes"]).unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert_eq!(
        output.stderr.matches("info[SW322]").count(),
        1,
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("in instance n=1 and 4 more"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_finding_names_its_engine_only_where_another_has_it_not() {
    let rules = |iterations: u32| {
        let environment = project(&format!(
            "{CLUSTERS}query_rules:\n  raw:\n    at: before_all\n    rules:\n      \
             - {{rule_id: 100100, match_digest: \"^SELECT\", cluster: c1, apply: 1}}\n      \
             - {{rule_id: 100101, match_digest: \"^SELECT a\", cluster: c2, apply: 1}}\n      \
             - {{rule_id: 100102, match_digest: \"^UPDATE\", flagOUT: 0}}\n"
        ));
        let engines =
            format!("version: 1\nengines: [bundled, {{engine: proxysql-2.7, iterations: {iterations}}}]\n");
        environment.write("shardwright.yaml", engines).unwrap();
        let output = environment.run(["lint", "--select", "SW201,SW211"]).unwrap();
        assert_eq!(output.code(), Some(3), "{}", output.stderr);
        output.stdout
    };
    let text = rules(2);
    let (_, shadowed) = text.split_once("[SW201]").unwrap();
    let (shadowed, looping) = shadowed.split_once("[SW211]").unwrap();
    assert!(!shadowed.contains(" on proxysql-2.7\n"), "{shadowed}");
    assert!(looping.contains(" on proxysql-2.7\n"), "{looping}");
}

#[test]
fn json_is_on_standard_output_also_when_nothing_can_be_compiled() {
    for command in ["validate", "lint"] {
        for topology in [
            "clustres: {}\n".to_owned(),
            format!(
                "{CLUSTERS}shard_maps:\n  m:\n    key: {{name: k, type: integer, modulo: 2}}\n    key_from: [comment: {{}}]\n    \
                 shards: {{a: {{remainders: [0], cluster: c1}}, b: {{remainders: [1], cluster: c2}}}}\n"
            ),
        ] {
            let output = project(&topology).run([command, "--format", "json"]).unwrap();
            assert_eq!(output.code(), Some(65), "{}", output.stderr);
            let found: Value = serde_json::from_str(&output.stdout).unwrap();
            assert_eq!(found["summary"]["error"], 1, "{found:#}");
        }
    }
}
