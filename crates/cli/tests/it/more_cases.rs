//! The published cases that are about the program around the rules: A1 objects, A6 schemas, A8 introspection, A9
//! clients that strip comments.

use serde_json::Value;
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, ProxyOptions, ProxyProcess, connect,
};

use crate::generator::{Random, statement};
use crate::support::{PASSWORD, PROGRAM, WorldOnServers, ask, lines};

const A1: &str = r#"version: 1
clusters:
  europe: {type: single, hostgroups: {writer: 10}, servers: {s5: {host: 192.168.1.5, weight: 100}}}
  asia:   {type: single, hostgroups: {writer: 20}, servers: {s6: {host: 192.168.1.6, weight: 100}}}
  africa: {type: single, hostgroups: {writer: 30}, servers: {s7: {host: 192.168.1.7, weight: 100}}}
users:
  user_shardRW: {password: {env: RW_PASSWORD}, cluster: europe, schema: test_shard1}
"#;

#[test]
fn a1_three_hosts_compile_to_exactly_their_rows_twice_the_same() {
    assert!(A1.lines().count() <= 25);
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write("shardwright.yaml", "version: 1\nengines: [proxysql-2.7]\n")
        .unwrap();
    environment.write("topology/world.yaml", A1).unwrap();
    let compile = || {
        environment
            .run(["compile", "--emit", "sql"])
            .unwrap()
            .success()
            .stdout
    };
    let sql = compile();
    assert_eq!(sql, compile());
    insta::assert_snapshot!(sql);
}

/// The published list of schemas, without its gaps and its double entry: hostgroups 1, 2, 3.
const A6: &str = r#"version: 1
clusters:
  one:   {type: single, hostgroups: {writer: 1}, servers: {s: {host: 127.0.0.1, port: $(var.europe_port)}}}
  two:   {type: single, hostgroups: {writer: 2}, servers: {s: {host: 127.0.0.1, port: $(var.asia_port)}}}
  three: {type: single, hostgroups: {writer: 3}, servers: {s: {host: 127.0.0.1, port: $(var.africa_port)}}}
variables:
  europe_port: {type: integer, default: 3306}
  asia_port: {type: integer, default: 3306}
  africa_port: {type: integer, default: 3306}
  admin_port: {type: integer, default: 6032}
users:
  geo: {password: {env: GEO_PASSWORD}, cluster: one}
shard_maps:
  schemas:
    applies_to: {users: [geo]}
    key: {name: shard, type: integer, domain: 0..9}
    key_from: [schema: "shard$(key:02)"]
    shards:
      low:  {keys: [0, 1, 2, 3], cluster: one}
      mid:  {keys: [4, 5, 6], cluster: two}
      high: {keys: [7, 8, 9], cluster: three}
"#;

#[test]
fn a6_the_gaps_and_the_double_entry_of_the_published_list_are_errors() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [bundled, proxysql-2.7]\n",
        )
        .unwrap();
    let published = A6
        .replace("keys: [0, 1, 2, 3]", "keys: [0, 1, 3]")
        .replace("keys: [4, 5, 6]", "keys: [4, 6, 6]");
    environment.write("topology/schemas.yaml", published).unwrap();
    let output = environment.run(["validate"]).unwrap();
    assert_eq!(output.code(), Some(65));
    insta::assert_snapshot!(output.stderr);
}

#[test]
fn a6_a_session_reaches_the_host_of_its_schema_and_no_other_hosts_schema() {
    let world = WorldOnServers::start();
    world.environment.write("topology/world.yaml", A6).unwrap();
    for (server, schemas) in
        world
            .servers
            .iter()
            .zip([&["shard01", "shard03"][..], &["shard05"], &["shard08"]])
    {
        for schema in schemas {
            server.run(format!("CREATE DATABASE {schema}")).unwrap();
            for table in ["tablex", "tabley"] {
                server
                    .run(format!(
                        "CREATE TABLE {schema}.{table} (id INT PRIMARY KEY, name VARCHAR(20))"
                    ))
                    .unwrap();
                server
                    .run(format!("INSERT INTO {schema}.{table} VALUES (1, '{schema}')"))
                    .unwrap();
            }
        }
    }
    let files = world.environment.read("shardwright.yaml").unwrap();
    let files = files.replace("hostgroups: 10-99", "hostgroups: 1-99");
    world.environment.write("shardwright.yaml", files).unwrap();
    world.run(&["apply", "--auto-approve", "--allow", "deletes=another topology"]);
    let mut client = world.client_in("geo", "shard01");
    for schema in ["shard01", "shard05", "shard08", "shard03"] {
        ask(&mut client, &format!("USE {schema}")).unwrap();
        let rows = ask(&mut client, "SELECT name FROM tablex").map(|rows| lines(&rows));
        assert_eq!(rows, Ok(vec![schema.to_owned()]));
    }
    ask(&mut client, "USE shard01").unwrap();
    let refused = ask(&mut client, "SELECT * FROM tablex JOIN shard05.tabley USING (id)").unwrap_err();
    assert!(
        refused.contains("SW355") && refused.contains("shard01") && refused.contains("shard05"),
        "{refused}"
    );
    // So few names cost less as rules; as rows they are what was published.
    let as_rows = A6.replace("    key:", "    rule_layout: fast_routing\n    key:");
    world.environment.write("topology/world.yaml", as_rows).unwrap();
    let compiled = world.run(&["compile", "--emit", "sql", "--engine", "proxysql-2.7"]);
    assert_eq!(
        compiled.matches("INTO mysql_query_rules_fast_routing").count(),
        10,
        "{compiled}"
    );
}

#[test]
fn a8_the_offline_answer_is_the_live_answer_and_counters_survive_a_reload() {
    let world = WorldOnServers::start();
    let mut admin = world.admin();
    let rows = ask(&mut admin, "SHARDWRIGHT OBSERVE").unwrap();
    let configuration = serde_json::from_str(rows[0][2].as_ref().unwrap()).unwrap();
    let evaluator = shardwright_rules::Evaluator::new(std::sync::Arc::new(configuration));
    let mut random = Random::new(8);
    let mut client = world.client("geo");
    let mut compared = 0;
    for id in 0..10_000 {
        let sql = statement(&mut random, id).sharded;
        let session = shardwright_rules::SessionView {
            user: "geo",
            schema: Some("world"),
            ..Default::default()
        };
        let offline = evaluator.decide(
            &session,
            &shardwright_rules::Statement::new(sql.as_bytes(), Default::default()),
        );
        // What would be sent is asked of the live proxy, and refusals are provoked.
        let live = ask(&mut client, &sql);
        match offline.outcome {
            shardwright_rules::Outcome::Reject(rejection) => {
                assert_eq!(
                    live,
                    Err(format!("{}: {}", rejection.code, rejection.message)),
                    "{sql}"
                );
            }
            shardwright_rules::Outcome::Route(_) => {
                assert!(
                    !live.as_ref().is_err_and(|message| message.starts_with("1148")),
                    "{sql}: {live:?}"
                );
            }
            other => panic!("{sql}: {other:?}"),
        }
        compared += 1;
    }
    assert_eq!(compared, 10_000);
    let hits = |admin: &mut mysql::Conn| -> u64 {
        let rows = ask(admin, "SELECT SUM(hits) FROM stats_mysql_query_rules").unwrap();
        rows[0][0].as_ref().unwrap().parse().unwrap()
    };
    let before = hits(&mut admin);
    assert!(before >= 10_000, "{before}");
    let text = world.environment.read("topology/world.yaml").unwrap();
    let more = text.replacen(
        "  both: {",
        "  more: {password: {env: GEO_PASSWORD}, cluster: asia}\n  both: {",
        1,
    );
    world.environment.write("topology/world.yaml", more).unwrap();
    world.run(&["apply", "--auto-approve"]);
    assert!(
        hits(&mut admin) >= before,
        "a reload that changed no rule lost counters"
    );
}

#[test]
fn a9_statements_without_a_hint_are_noted_before_and_counted_after() {
    let environment = crate::support::example("tenants");
    let lint = environment
        .run(["lint", "--format", "json"])
        .unwrap()
        .success()
        .stdout;
    let findings: Value = serde_json::from_str(&lint).unwrap();
    let codes: Vec<&str> = findings["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["SW322", "SW310", "SW334"], "{lint}");
    assert_eq!(findings["summary"]["info"], 3, "{lint}");
    let world = WorldOnServers::start();
    let mut client = world.client("geo");
    for _ in 0..3 {
        ask(&mut client, "SELECT name FROM world.Country").unwrap_err();
    }
    let mut admin = world.admin();
    let sql =
        "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name='Queries_without_required_hint'";
    assert_eq!(
        ask(&mut admin, sql).map(|rows| lines(&rows)),
        Ok(vec!["3".to_owned()])
    );
}

#[test]
fn secrets_appear_in_no_output_lock_plan_or_store() {
    const CANARY: &str = "canary-9f31c7";
    let mut environment = crate::support::example("world");
    environment.set("GEO_PASSWORD", CANARY);
    let proxy = ProxyProcess::start(&environment, ProxyOptions::new(environment.outside("data"))).unwrap();
    let admin = format!("admin_port={}", proxy.admin().port());
    let plan = environment.outside("a.plan");
    let plan = plan.to_str().unwrap();
    let mut said = String::new();
    for arguments in [
        &["plan", "-o", plan][..],
        &["show", plan, "--format", "json"],
        &["apply", plan],
        &["diff"],
        &["compile", "--emit", "json"],
        &["lint", "--format", "json"],
    ] {
        let output = environment
            .run(arguments.iter().copied().chain(["--var", &admin]))
            .unwrap();
        said += &output.stdout;
        said += &output.stderr;
    }
    said += &std::fs::read_to_string(plan).unwrap();
    said += &environment.read("shardwright.lock").unwrap();
    said += &proxy.output();
    for secret in [CANARY, ADMIN_PASSWORD] {
        assert!(!said.contains(secret), "{secret} is shown");
        for file in std::fs::read_dir(environment.outside("data")).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is stored");
        }
    }
    let mut client = connect(
        proxy.listen(),
        ClientOptions {
            user: "geo",
            password: PASSWORD,
            schema: None,
        },
    );
    assert!(client.is_err(), "another password is not taken");
    client = connect(
        proxy.listen(),
        ClientOptions {
            user: "geo",
            password: CANARY,
            schema: None,
        },
    );
    assert!(client.is_ok());
}
