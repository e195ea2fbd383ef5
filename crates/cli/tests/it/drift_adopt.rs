//! `drift --adopt` on a real ProxySQL: hand edits become lines of the files, and nothing else changes.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::proxysql_targets::Rig;

const TOPOLOGY: &str = r#"version: 1
# What the shop runs.
clusters:
  one: {type: single, servers: {s1: {host: one.db}}}
  two:
    type: single
    servers:
      s1: {host: two.db, weight: 2}   # the big one
users:
  app: {password: {env: APP_PASSWORD}, cluster: one, schema: app, max_connections: 50}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}]
    shards:
      t1: {keys: [1], cluster: one}
      t2: {keys: [2], cluster: two}
query_rules:
  legacy:
    rules:
      - {rule_id: 100, match_digest: "^DROP ", error_msg: "no", apply: 1}
      - {rule_id: 110, match_digest: "^ALTER ", error_msg: "no", apply: 1}
"#;

const BY_HAND: &[&str] = &[
    "UPDATE mysql_servers SET weight = 5, max_connections = 77 WHERE hostname = 'two.db'",
    "UPDATE mysql_users SET max_connections = 60 WHERE username = 'app'",
    "DELETE FROM mysql_query_rules WHERE rule_id = 110",
    "UPDATE mysql_query_rules SET error_msg = 'not here' WHERE rule_id = 100",
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
     SELECT 90, 1, '^SELECT . FROM report', hostgroup_id, 1 FROM mysql_servers WHERE hostname = 'two.db'",
    "LOAD MYSQL SERVERS TO RUNTIME",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL QUERY RULES TO RUNTIME",
];

#[test]
fn hand_edits_become_lines_of_the_files() {
    let Some(rig) = Rig::start("adopting what somebody changed on a real ProxySQL") else {
        return;
    };
    rig.environment.write("topology/shop.yaml", TOPOLOGY).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.proxysql.run(BY_HAND.iter().copied()).unwrap();
    rig.ends(2, &["drift"]);
    let shown = rig.ends(0, &["drift", "--adopt", "--dry-run"]);
    assert_eq!(rig.environment.read("topology/shop.yaml").unwrap(), TOPOLOGY);
    assert_snapshot!(shown);
    let written = rig.ends(0, &["drift", "--adopt"]);
    assert_eq!(written, shown);
    rig.ends(0, &["validate"]);
    // The rule that came has no comment of ours: that is no difference.
    let left = rig.json(&["plan"]);
    assert_eq!(left["effects"], serde_json::json!([]), "{left}");
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.ends(0, &["drift"]);
}

#[test]
fn users_with_a_hash_are_adopted_and_rows_that_would_be_others_are_not() {
    let Some(rig) = Rig::start("adopting users and fast routing of a real ProxySQL") else {
        return;
    };
    rig.environment.write("topology/shop.yaml", TOPOLOGY).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let hash = "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29";
    let hostgroup = "SELECT hostgroup_id FROM mysql_servers WHERE hostname = 'two.db'";
    let guest = format!(
        "INSERT INTO mysql_users (username, password, default_hostgroup, default_schema, max_connections) \
         VALUES ('guest', '{hash}', ({hostgroup}), 'visits', 7)"
    );
    let route = format!(
        "INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) \
         VALUES ('guest', 'archive', 0, ({hostgroup}), '')"
    );
    let loads = ["LOAD MYSQL USERS TO RUNTIME", "LOAD MYSQL QUERY RULES TO RUNTIME"];
    rig.proxysql.run([&*guest, &*route, loads[0], loads[1]]).unwrap();
    rig.ends(2, &["drift"]);
    // Beside a map, a row of the files has the flag at which the map ends; the one that is live is looked up nowhere.
    let output = rig.run(&["drift", "--adopt", "--dry-run"]);
    assert_eq!(output.code(), Some(2), "{output:?}");
    let shown = format!("{}{}", output.stdout, output.stderr);
    for line in [
        "guest: {password: {file: secrets/guest}, cluster: two, schema: visits, max_connections: 7}",
        "not adopted: px1: fast route (guest, archive, 0): the files would say something else again",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(!shown.contains(hash), "{shown}");
    assert!(rig.environment.read("secrets/guest").is_err());
    rig.ends(2, &["drift", "--adopt"]);
    assert_eq!(rig.environment.read("secrets/guest").unwrap(), hash);
    assert_eq!(rig.environment.read("secrets/.gitignore").unwrap(), "*\n");
    let file = rig
        .environment
        .project()
        .join("secrets/guest")
        .metadata()
        .unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    rig.ends(0, &["validate"]);
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.ends(0, &["drift"]);
}

#[test]
fn a_remark_is_no_difference_and_stays() {
    let Some(rig) = Rig::start("remarks on rows of a real ProxySQL") else {
        return;
    };
    rig.environment.write("topology/shop.yaml", TOPOLOGY).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let edited = |sql: &str| {
        rig.proxysql.run([sql, "LOAD MYSQL SERVERS TO RUNTIME"]).unwrap();
    };
    edited("UPDATE mysql_servers SET comment = 'ask Anna' WHERE hostname = 'two.db'");
    rig.ends(0, &["diff"]);
    edited("UPDATE mysql_servers SET weight = 5 WHERE hostname = 'two.db'");
    let drift = rig.ends(2, &["drift"]);
    assert!(drift.contains("live-ahead"), "{drift}");
    assert!(!drift.contains("both"), "{drift}");
    assert!(!drift.contains("comment"), "{drift}");
    let adopted = rig.ends(0, &["drift", "--adopt"]);
    assert!(adopted.contains("weight: 5"), "{adopted}");
    rig.ends(0, &["diff"]);
    rig.ends(0, &["apply", "--auto-approve"]);
    let comment = "SELECT comment FROM mysql_servers WHERE hostname = 'two.db'";
    let rows = rig.proxysql.run([comment]).unwrap();
    assert_eq!(rows, [[Some("ask Anna".to_owned())]]);
}

#[test]
fn what_no_file_can_say_is_left_with_the_reason() {
    let Some(rig) = Rig::start("what cannot be adopted from a real ProxySQL") else {
        return;
    };
    rig.environment.write("topology/shop.yaml", TOPOLOGY).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let tenant = "SELECT rule_id FROM mysql_query_rules WHERE comment LIKE 'shard_maps.tenants.shards.t2%'";
    let rows = rig.proxysql.run([tenant]).unwrap();
    let id = rows[0][0].clone().unwrap();
    rig.proxysql
        .run([
            // A rule of a map; a user whose password nobody knows; a comment; a server of nobody's hostgroup.
            format!("UPDATE mysql_query_rules SET timeout = 7 WHERE rule_id = {id}").as_str(),
            "INSERT INTO mysql_users (username, password) VALUES ('somebody', 'canary-of-somebody')",
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (7, 'seven.db')",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "LOAD MYSQL USERS TO RUNTIME",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ])
        .unwrap();
    let output = rig.run(&["drift", "--adopt"]);
    assert_eq!(output.code(), Some(2), "{output:?}");
    assert_eq!(output.stdout, "");
    assert_eq!(rig.environment.read("topology/shop.yaml").unwrap(), TOPOLOGY);
    let left: Vec<String> = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("not adopted"))
        .map(|line| line.replace(&id, "N"))
        .collect();
    assert_snapshot!(left.join("\n"));
}
