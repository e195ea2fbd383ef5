//! `explain`: whatever stands on the screen, and what it says of the unknown.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{PROGRAM, example};

/// Two shards on clusters with replicas, a policy, and a rule about one digest; for both engines.
fn project() -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [bundled, proxysql-2.7]\n",
        )
        .unwrap();
    environment
        .write(
            "topology/shop.yaml",
            r#"version: 1
clusters:
  shop-$(n):
    for_each: {n: 1..2}
    type: replication
    hostgroups: {writer: $(n * 10), reader: $(n * 10 + 1)}
    servers:
      a: {host: "shop$(n)a"}
      b: {host: "shop$(n)b", port: 3307}
users:
  app: {password: {env: APP_PASSWORD}, cluster: shop-1, schema: shop}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n): {for_each: {n: 1..2}, keys: [$(n)], cluster: "shop-$(n)"}
query_rules:
  blocked:
    rules:
      - {rule_id: 100, digest: "0x4D7DCFF87DD1A927", error_msg: "not now", apply: 1}
listeners: {main: {port: 6033, address: 0.0.0.0}}
"#,
        )
        .unwrap();
    environment
}

fn explain(environment: &CommandEnvironment, what: &str) -> String {
    let output = environment.run(["explain", what]).unwrap();
    assert_eq!(output.code(), Some(0), "{what}\n{}", output.stderr);
    output.stdout
}

#[test]
fn hostgroups() {
    let project = project();
    insta::assert_snapshot!(format!(
        "{}\n{}",
        explain(&project, "hostgroup:10"),
        explain(&project, "hostgroup:21")
    ));
}

#[test]
fn maps_whose_reads_go_elsewhere_show_where_the_split_could_stand() {
    let project = project();
    let map = ["explain", "shard_maps.tenants", "--engine", "proxysql-2.7"];
    let told = |arguments: &[&str]| project.run(arguments).unwrap().success().stdout;
    assert!(!told(&map).contains("split at"));
    let policy = "version: 1\nread_write_policies: {default: {reads: {all: true}}}\n";
    project.write("topology/reads.yaml", policy).unwrap();
    let text = told(&map);
    let (_, splits) = text.split_once("split at the root: ").unwrap();
    insta::assert_snapshot!(splits);
    let json: Value = serde_json::from_str(&told(&[&map[..], &["--format", "json"]].concat())).unwrap();
    assert_eq!(json["splits"]["candidates"][1]["name"], "split at the leaves");
}

#[test]
fn layouts_are_compared_without_what_stands_in_front_of_each() {
    let environment = example("tenants");
    let engine = ["--engine", "proxysql-2.7"];
    let run = |command: &[&str]| {
        let output = environment.run([command, &engine].concat()).unwrap();
        assert_eq!(output.code(), Some(0), "{command:?}\n{}", output.stderr);
        output.stdout
    };
    let stats: Value = serde_json::from_str(&run(&["compile", "--stats", "--format", "json"])).unwrap();
    let map = &stats["shard_maps"]["tenants"];
    let figure = |name: &str| map[name].as_f64().unwrap();
    let line = format!(
        "including the rules before it, which every layout has: {:.2} evaluations, {:.2} visits, {:.0} ns; costs are for texts of {} bytes\n",
        figure("mean_evaluations"),
        figure("mean_visits"),
        figure("mean_cost_ns"),
        stats["text_bytes"]
    );
    let told = run(&["explain", "shard_maps.tenants"]);
    assert!(told.contains(&line), "{told}");
}

#[test]
fn rules_are_sought_on_every_engine_of_the_project() {
    let project = project();
    insta::assert_snapshot!(explain(&project, "rule:100"));
    let output = project
        .run(["compile", "--engine", "proxysql-2.7", "--emit", "tree"])
        .unwrap()
        .success()
        .stdout;
    let placing = output.lines().find(|line| line.contains("tenants/t2")).unwrap();
    let number = placing.split_whitespace().next().unwrap();
    let told = explain(&project, &format!("rule:{number}"));
    assert!(
        told.contains("(proxysql-2.7)") && told.contains("topology/shop.yaml:18, instance n=2"),
        "{told}"
    );
    assert!(told.contains("20 (shop-2 writer)"), "{told}");
}

#[test]
fn servers_by_host_name_and_address() {
    let project = project();
    insta::assert_snapshot!(explain(&project, "server:shop2b:3307"));
    for name in ["shop2b", "clusters.shop-2.servers.b"] {
        assert!(
            explain(&project, &format!("server:{name}")).contains("hostgroup 21 (reader)"),
            "{name}"
        );
    }
    assert!(explain(&project, "server:a").contains("2 servers of 2 clusters"));
    assert!(explain(&project, "clusters.shop-2.servers.b").contains("hostgroup 21 (reader)"));
}

#[test]
fn users() {
    insta::assert_snapshot!(explain(&project(), "users.app"));
}

#[test]
fn digests() {
    let project = project();
    insta::assert_snapshot!(explain(&project, "digest:0x4d7dcff87dd1a927"));
    assert!(explain(&project, "digest:1").contains("none; rules with patterns may match it"));
}

#[test]
fn errors_and_the_codes_in_their_messages() {
    let anywhere = CommandEnvironment::new(PROGRAM).unwrap();
    insta::assert_snapshot!(explain(&anywhere, "error:9001"));
    assert!(explain(&anywhere, "error:1148").contains("SW351"));
    assert!(explain(&anywhere, "error:SW351").contains("missing_key"));
}

#[test]
fn the_unknown_is_told_with_what_is_known() {
    let project = project();
    for (what, said) in [
        ("hostgroup:12", "did you mean 10?"),
        ("hostgroup:many", "hostgroups: 10, 11, 20, 21"),
        ("rule:101", "did you mean 100?"),
        ("server:shop2c:3307", "did you mean shop2b:3307?"),
        ("server:nothing.like.it", "servers: shop1a:3306"),
        ("digest:xyz", "hexadecimal"),
        ("error:9002", "did you mean 9001?"),
        ("error:1", "pass through unchanged"),
        ("hostgruop:10", "did you mean hostgroup:?"),
        ("thing:10", "kinds: hostgroup:, rule:, server:, digest:, error:"),
        ("users.ap", "did you mean users.app?"),
        ("listeners.main", "validate --show resolved listeners.main"),
        ("SW999", "there is no code SW999"),
    ] {
        let output = project.run(["explain", what]).unwrap();
        assert_eq!(
            output.code(),
            Some(64),
            "{what}\n{}{}",
            output.stdout,
            output.stderr
        );
        assert!(output.stderr.contains(said), "{what}\n{}", output.stderr);
    }
}

#[test]
fn json_has_every_line_with_its_place() {
    let environment = example("tenants");
    let json = environment
        .run(["explain", "server:db", "--format", "json"])
        .unwrap()
        .success()
        .stdout;
    let told: Value = serde_json::from_str(&json).unwrap();
    let lines = told["groups"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 200);
    let line = lines
        .iter()
        .find(|line| line["address"] == "clusters.shard-137.servers.db")
        .unwrap();
    assert_eq!(line["file"], "topology/tenants.yaml");
    assert_eq!(line["instance"], "n=137");
    let text = explain(&environment, "server:db");
    assert!(text.contains("and 188 more"), "{text}");
}

#[test]
fn secrets_are_told_by_where_they_are() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write("shardwright.yaml", "version: 1\nengines: [bundled]\n")
        .unwrap();
    environment
        .write(
            "topology/t.yaml",
            "version: 1\nclusters: {c: {type: single, servers: {s: {host: h}}}}\n\
             users:\n  a: {password: {command: [vault, canary-of-an-argument]}, cluster: c}\n",
        )
        .unwrap();
    let told = explain(&environment, "users.a");
    assert!(told.contains("the command vault"), "{told}");
    assert!(!told.contains("canary"), "{told}");
}
