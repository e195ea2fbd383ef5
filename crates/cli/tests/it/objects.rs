//! What stands around the rules: the Galera example, states that have expired, moves.

use shardwright_testkit::{CommandEnvironment, ProxyOptions, ProxyProcess};

use crate::support::{PROGRAM, example};

/// The cases F1 to F5 in one project.
#[test]
fn galera_compiles_to_the_rows_of_its_hostgroups() {
    let environment = example("galera");
    let compile = || {
        let output = environment.run(["compile", "--emit", "sql"]).unwrap();
        output.success().stdout
    };
    let sql = compile();
    assert_eq!(sql, compile());
    let about_servers = ["mysql_servers", "hostgroups", "SET ", "LOAD ", "SAVE ", "-- Set "];
    let lines = sql
        .lines()
        .filter(|line| about_servers.iter().any(|part| line.contains(part)));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_read_goes_to_the_readers_for_those_who_only_read() {
    let environment = example("galera");
    let place = |user: &str| {
        let output = environment
            .run(["route", "--user", user, "SELECT a FROM t"])
            .unwrap();
        output.success().stdout
    };
    assert!(place("app").contains("hostgroup 100"), "{}", place("app"));
    assert!(place("reports").contains("hostgroup 101"), "{}", place("reports"));
}

#[test]
fn a_state_that_has_expired_is_a_finding_of_today() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write("shardwright.yaml", "version: 1\nengines: [proxysql-2.7]\n")
        .unwrap();
    let topology = |year: u16| {
        format!(
            "version: 1\nclusters:\n  shop:\n    type: replication\n    servers:\n      a: {{host: a.db}}\n      \
             b: {{host: b.db, state: draining, until: {year}-01-01T00:00:00Z, reason: CHG-1}}\n"
        )
    };
    let told = |year| {
        environment.write("topology/t.yaml", topology(year)).unwrap();
        environment.run(["validate"]).unwrap().success().stderr
    };
    assert!(told(2020).contains("SW316"), "{}", told(2020));
    assert!(!told(2999).contains("SW316"), "{}", told(2999));
}

#[test]
fn a_move_is_planned_and_not_applied() {
    let mut environment = example("tenants");
    environment.set("APP_PASSWORD", "app-password");
    let moves =
        "moves:\n  tenants/t137: {from: shard-137, to: shard-020, ready: {command: [./caught-up, t137]}}\n";
    environment.write("topology/moves.yaml", moves).unwrap();
    let proxy = ProxyProcess::start(&environment, ProxyOptions::new(environment.outside("data"))).unwrap();
    let admin = format!("admin_port={}", proxy.admin().port());
    let plan = environment
        .run(["plan", "--var", &admin])
        .unwrap()
        .success()
        .stdout;
    assert!(
        plan.contains("> tenants/t137  moves from shard-137 to shard-020: writes fenced for 10s at most")
            && plan.contains("topology/moves.yaml:2"),
        "{plan}"
    );
    let json = environment
        .run(["plan", "--format", "json", "--var", &admin])
        .unwrap()
        .success()
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["moves"][0]["shard"], "shard_maps.tenants.shards.t137");
    assert_eq!(json["moves"][0]["max_fence_ms"], 10_000);
    let applied = environment
        .run(["apply", "--auto-approve", "--var", &admin])
        .unwrap();
    assert_eq!(applied.code(), Some(4), "{}", applied.stderr);
    assert!(
        applied
            .stderr
            .contains("moves tenants/t137, and moves cannot be carried out yet"),
        "{}",
        applied.stderr
    );
}
