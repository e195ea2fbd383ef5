//! `status` and `drift` see what is older, behind, unusable, unreadable, or changed beside the project; and name what they do not see.

use std::fs;
use std::time::{Duration, Instant};

use crate::fleets::Fleet;

const TABLES: [(&str, &str); 3] = [
    ("mysql_servers", "MYSQL SERVERS"),
    ("mysql_users", "MYSQL USERS"),
    ("mysql_query_rules", "MYSQL QUERY RULES"),
];

impl Fleet {
    fn on(&self, node: usize, statements: &[&str]) {
        self.nodes[node]
            .stand_in()
            .run(statements.iter().copied())
            .unwrap();
    }

    /// Keeps what a node holds, as a backup of its database does.
    fn back_up(&self, node: usize) {
        for (table, _) in TABLES {
            self.on(
                node,
                &[&format!("CREATE TABLE copy_of_{table} AS SELECT * FROM {table}")],
            );
        }
    }

    fn restore(&self, node: usize) {
        for (table, module) in TABLES {
            self.on(
                node,
                &[
                    &format!("DELETE FROM {table}"),
                    &format!("INSERT INTO {table} SELECT * FROM copy_of_{table}"),
                    &format!("LOAD {module} TO RUNTIME"),
                    &format!("SAVE {module} TO DISK"),
                ],
            );
        }
    }
}

#[test]
fn a_node_that_was_restored_is_older_by_the_history_and_by_its_sisters() {
    let fleet = Fleet::start("proxysql-2.7", 2);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.back_up(1);
    fleet.topology(2, "");
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.ends(0, &["status", "--detailed-exitcode"]);
    fleet.restore(1);
    let status = fleet.ends(2, &["status", "--detailed-exitcode"]);
    assert!(
        status.contains("older than what was applied: generation 1 is here, and run"),
        "{status}"
    );
    let json = fleet.json(0, &["status"]);
    assert_eq!(json["targets"][0]["behind"], serde_json::json!([]), "{json}");
    let drift = fleet.json(2, &["drift"]);
    let target = &drift["targets"][1];
    assert!(
        target["older"].as_str().unwrap().contains("left generation 2"),
        "{target}"
    );
    assert_eq!(target["differences"][0]["side"], "live_ahead", "{target}");
    assert_eq!(target["differences"][0]["cause"]["kind"], "restored", "{target}");
    assert_eq!(drift["targets"][0]["drift"], false, "{drift}");
    // On a machine without the history, the sister tells.
    fs::remove_dir_all(fleet.environment.project().join(".shardwright")).unwrap();
    let status = fleet.ends(2, &["status", "--detailed-exitcode"]);
    assert!(
        status.contains("p1 runs what was applied later, by run"),
        "{status}"
    );
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.ends(0, &["status", "--detailed-exitcode"]);
}

#[test]
fn a_node_that_was_emptied_is_told() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    fleet.back_up(0);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.restore(0);
    let status = fleet.ends(2, &["status", "--detailed-exitcode"]);
    assert!(
        status.contains("nothing of this project is here, and run"),
        "{status}"
    );
    let drift = fleet.ends(2, &["drift"]);
    assert!(
        drift.contains("restored to a former state, or emptied"),
        "{drift}"
    );
}

/// The history is given a later generation, which is the same to a proxy as having lost one.
#[test]
fn a_bundled_proxy_that_was_restored_is_older_by_the_history() {
    let fleet = Fleet::start("bundled", 1);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.ends(0, &["status", "--detailed-exitcode"]);
    let history = fleet.json(0, &["history"]);
    let run = history["runs"][0]["run"].as_str().unwrap();
    let record = format!(".shardwright/runs/{run}/run.json");
    let text = fleet.environment.read(&record).unwrap();
    let later = text.replacen("\"generation\":1,", "\"generation\":5,", 1);
    let later = later.replacen("\"generation\":1}", "\"generation\":5}", 1);
    assert_ne!(later, text);
    fleet.environment.write(&record, later).unwrap();
    let status = fleet.ends(2, &["status", "--detailed-exitcode"]);
    assert!(
        status.contains("older than what was applied: generation 1 is here")
            && status.contains("left generation 5"),
        "{status}"
    );
    let drift = fleet.ends(2, &["drift"]);
    assert!(
        drift.contains("older than what was applied") && drift.contains("drift on 1 of 1 target"),
        "{drift}"
    );
}

/// What a node of a ProxySQL Cluster gets from a peer is what that runs: no rules that are not active, and no NULL.
#[test]
fn what_a_peer_hands_on_is_as_it_was_applied() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    let parked = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, comment) VALUES (77, 0, '^X', 'for later')";
    fleet.on(0, &[parked]);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.on(
        0,
        &[
            "DELETE FROM mysql_query_rules WHERE rule_id = 77",
            "UPDATE mysql_users SET default_schema = ''",
            "LOAD MYSQL USERS TO RUNTIME",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "SAVE MYSQL USERS TO DISK",
            "SAVE MYSQL QUERY RULES TO DISK",
        ],
    );
    for command in [&["status", "--detailed-exitcode"][..], &["drift"], &["diff"]] {
        let said = fleet.ends(0, command);
        assert!(!said.contains("have changed"), "{said}");
    }
    fleet.on(
        0,
        &[
            "UPDATE mysql_users SET default_schema = 'theirs'",
            "LOAD MYSQL USERS TO RUNTIME",
        ],
    );
    for command in [&["status", "--detailed-exitcode"][..], &["drift"], &["diff"]] {
        fleet.ends(2, command);
    }
}

#[test]
fn what_changes_beside_the_project_is_drift() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    fleet.ends(0, &["apply", "--auto-approve"]);
    let none = fleet.ends(0, &["drift"]);
    assert!(
        none.contains("no drift; not looked at: rows of others") && none.contains("mysql_collations"),
        "{none}"
    );
    let changes = [
        (
            "INSERT INTO mysql_hostgroup_attributes (hostgroup_id, max_num_online_servers) VALUES (10, 1)",
            "DELETE FROM mysql_hostgroup_attributes",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "mysql_hostgroup_attributes: 1 row, and no row at the last apply",
        ),
        (
            "INSERT INTO mysql_aws_aurora_hostgroups (writer_hostgroup, reader_hostgroup, domain_name, comment) VALUES (90, 91, '.rds', '')",
            "DELETE FROM mysql_aws_aurora_hostgroups",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "mysql_aws_aurora_hostgroups: 1 row, and no row at the last apply",
        ),
        (
            "UPDATE global_variables SET variable_value = 'true' WHERE variable_name = 'mysql-firewall_whitelist_enabled'",
            "UPDATE global_variables SET variable_value = 'false' WHERE variable_name = 'mysql-firewall_whitelist_enabled'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
            "mysql-firewall_whitelist_enabled: true, and false at the last apply",
        ),
        (
            "INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES (1, 'app', '', 'PROTECTING', '')",
            "DELETE FROM mysql_firewall_whitelist_users",
            "LOAD MYSQL FIREWALL TO RUNTIME",
            "mysql_firewall_whitelist_users: 1 row, and no row at the last apply",
        ),
    ];
    for (change, back, load, expected) in changes {
        fleet.on(0, &[change, load]);
        let drift = fleet.json(2, &["drift"]);
        assert_eq!(
            drift["targets"][0]["beside"],
            serde_json::json!([expected]),
            "{drift}"
        );
        let said = fleet.ends(2, &["drift"]);
        assert!(
            said.contains(expected) && said.contains("1 difference on 1 of 1 target"),
            "{said}"
        );
        fleet.on(0, &[back, load]);
        fleet.ends(0, &["drift"]);
    }
}

/// What no project can say stays as it is, and is told once it has become another.
#[test]
fn what_no_project_can_say_is_drift_once_it_changes() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    let load = ["LOAD MYSQL USERS TO RUNTIME", "SAVE MYSQL USERS TO DISK"];
    let ghost = "INSERT INTO mysql_users (username, active, default_hostgroup) VALUES ('ghost', 0, 1)";
    fleet.on(0, &[ghost]);
    fleet.on(0, &load);
    fleet.ends(0, &["apply", "--auto-approve", "--take-over"]);
    fleet.ends(0, &["drift"]);
    fleet.on(
        0,
        &["UPDATE mysql_users SET fast_forward = 1 WHERE username = 'app'"],
    );
    fleet.on(
        0,
        &["UPDATE mysql_users SET default_hostgroup = 7 WHERE username = 'ghost'"],
    );
    fleet.on(0, &load);
    let drift = fleet.ends(2, &["drift"]);
    assert!(
        drift.contains("mysql_users (app, 1): fast_forward not as at the last apply"),
        "{drift}"
    );
    assert!(
        drift.contains("mysql_users (ghost, 1): another row than at the last apply"),
        "{drift}"
    );
    // An apply takes what it finds as given.
    fleet.topology(2, "");
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.ends(0, &["drift"]);
}

/// A rule with a number below 1 is evaluated before all others, and decides where statements go.
#[test]
fn a_rule_before_the_first_is_never_left_without_a_word() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    fleet.ends(0, &["apply", "--auto-approve"]);
    let columns = "rule_id, active, match_digest, destination_hostgroup, apply";
    let rule = format!("INSERT INTO mysql_query_rules ({columns}) VALUES (-5, 1, '^SELECT', 30, 1)");
    fleet.on(
        0,
        &[
            &rule,
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "SAVE MYSQL QUERY RULES TO DISK",
        ],
    );
    fleet.ends(2, &["drift"]);
    let plan = fleet.ends(2, &["plan", "--detailed-exitcode"]);
    assert!(
        !plan.contains("routes differently") && !plan.contains("no rule"),
        "{plan}"
    );
    fleet.ends(8, &["prove", "equivalent", "live:p1", "."]);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.ends(0, &["drift"]);
    fleet.ends(0, &["prove", "equivalent", "live:p1", "."]);
}

#[test]
fn secrets_that_are_not_at_hand_are_named_and_all_else_is_compared() {
    let mut fleet = Fleet::start("proxysql-2.7", 2);
    fleet
        .environment
        .write("secrets/app", "of-the-application\n")
        .unwrap();
    let topology = |weight: u32| {
        format!(
            "version: 1\nclusters:\n  a: {{type: single, servers: {{s: {{host: s.db, weight: {weight}}}}}}}\n\
             users:\n  app: {{password: {{file: secrets/app}}, cluster: a}}\n"
        )
    };
    fleet
        .environment
        .write("topology/shop.yaml", topology(1))
        .unwrap();
    fleet.ends(0, &["apply", "--auto-approve"]);
    fs::remove_file(fleet.environment.project().join("secrets/app")).unwrap();
    let status = fleet.ends(2, &["status", "--detailed-exitcode"]);
    assert!(
        status.contains("users.app: the password cannot be found"),
        "{status}"
    );
    let drift = fleet.ends(0, &["drift"]);
    assert!(drift.contains("no drift in what was compared"), "{drift}");
    assert!(
        drift.contains("not compared: the password of users.app"),
        "{drift}"
    );
    let plan = fleet.ends(0, &["plan", "--detailed-exitcode"]);
    assert!(
        plan.contains("secrets/app") && plan.contains("it is not compared"),
        "{plan}"
    );
    fleet
        .environment
        .write("topology/shop.yaml", topology(2))
        .unwrap();
    fleet.ends(2, &["plan", "--detailed-exitcode"]);
    let drift = fleet.json(2, &["drift"]);
    assert_eq!(
        drift["targets"][0]["differences"][0]["side"], "repo_ahead",
        "{drift}"
    );
    // A target whose own password is not at hand does not hide the others.
    fleet
        .environment
        .write("topology/shop.yaml", topology(1))
        .unwrap();
    let addresses = fleet.addresses();
    let target = |name: &str, at: usize, password: &str| {
        format!(
            "  {name}: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: {password}}}}}\n",
            addresses[at]
        )
    };
    let project = format!(
        "version: 1\nproject: shop\nengines: [proxysql-2.7]\ntargets:\n{}{}",
        target("p1", 0, "PX_ADMIN"),
        target("p2", 1, "PX_OTHER")
    );
    fleet.environment.write("shardwright.yaml", project).unwrap();
    for command in [&["status"][..], &["drift"]] {
        let said = fleet.ends(1, command);
        assert!(
            said.contains("p1  ProxySQL") && said.contains("p2  cannot be read"),
            "{said}"
        );
        assert!(said.contains("PX_OTHER"), "{said}");
    }
    let drift = fleet.json(1, &["drift"]);
    assert_eq!(drift["drift"], serde_json::Value::Null, "{drift}");
    assert_eq!(drift["unread"], serde_json::json!(["p2"]), "{drift}");
    assert_eq!(drift["targets"][1]["drift"], serde_json::Value::Null, "{drift}");
    fleet.environment.set("PX_OTHER", "admin");
    fleet.ends(0, &["drift"]);
}

/// A runner of CI has the passwords of targets and no others: it reviews what a machine that has them will apply.
#[test]
fn a_plan_that_adds_a_user_is_made_without_the_password_and_applied_with_it() {
    let fleet = Fleet::start("proxysql-2.7", 2);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(1, "  new: {password: {file: secrets/new}, cluster: a}\n");
    let plan = fleet.ends(2, &["plan", "--detailed-exitcode", "-o", "a.plan"]);
    assert!(
        plan.contains("SW833") && plan.contains("added by an apply that finds it"),
        "{plan}"
    );
    let refused = fleet.ends(4, &["apply", "a.plan", "--auto-approve"]);
    assert!(
        refused.contains("the user cannot be added without it"),
        "{refused}"
    );
    assert!(refused.contains("nothing was changed"), "{refused}");
    fleet.ends(4, &["apply", "--auto-approve", "--target", "p1"]);
    assert_eq!(fleet.generations(), [Some(1); 2]);
    fleet
        .environment
        .write("secrets/new", "of-the-new-one\n")
        .unwrap();
    fleet.ends(0, &["apply", "a.plan", "--auto-approve"]);
    fleet.ends(0, &["drift"]);
}

/// The history stands in a store whose password is not at hand: what is live is compared with the files, and that is said.
#[test]
fn without_the_history_all_else_is_compared() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.project(
        "state: {mysql: \"127.0.0.1:1/state\", user: s, password: {env: STATE_PASSWORD}, key: {env: STATE_KEY}}\n",
    );
    let drift = fleet.ends(0, &["drift"]);
    assert!(
        drift.contains("not compared: the history of runs: state: password"),
        "{drift}"
    );
    let status = fleet.ends(2, &["status", "--detailed-exitcode"]);
    assert!(
        status.contains("p1  ProxySQL") && status.contains("the history of runs cannot be read"),
        "{status}"
    );
    fleet.topology(2, "");
    fleet.ends(2, &["drift"]);
}

/// Two proxies that are stopped take connections, and never answer: together they cost one deadline, not two.
#[test]
fn hung_targets_cost_their_deadline_once() {
    let fleet = Fleet::start("bundled", 3);
    fleet.ends(0, &["apply", "--auto-approve"]);
    let stop = |signal| {
        for node in &fleet.nodes[1..] {
            node.process().signal(signal).unwrap();
        }
    };
    stop(nix::sys::signal::Signal::SIGSTOP);
    let begun = Instant::now();
    let said = fleet.ends(1, &["drift"]);
    let took = begun.elapsed();
    stop(nix::sys::signal::Signal::SIGCONT);
    assert!(
        said.contains("no drift on 1 of 3 targets; p2, p3 cannot be read"),
        "{said}"
    );
    assert!(said.contains("it does not answer within 10 s"), "{said}");
    assert!(took < Duration::from_secs(18), "{took:?}");
}
