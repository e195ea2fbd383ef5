//! Whose the rows are: projects side by side, rows of nobody, and what goes when it is no longer written.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_snapshot;
use shardwright_plan::{Outcome, Severity, Target, apply};
use shardwright_targets::emit::{Numbers, Ownership};
use shardwright_testkit::configuration;

use super::rig::{Rig, plan};

fn owns(users: &[&str], numbers: std::ops::RangeInclusive<u32>) -> Ownership {
    let numbers = || Some(Numbers::new([numbers.clone()], &BTreeSet::new()));
    Ownership {
        users: Some(users.iter().map(|&user| user.to_owned()).collect()),
        rules: numbers(),
        hostgroups: numbers(),
        ..Ownership::default()
    }
}

const SHOP: &str = r"
users: [app]
rules:
  - {rule_id: 15, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}
";

const PAY: &str = r"
users: [geo]
rules:
  - {rule_id: 25, match_digest: '^SELECT', destination_hostgroup: 21, apply: 1}
";

#[test]
fn projects_with_parts_of_their_own_leave_each_other_alone() {
    let Some(rig) = Rig::start("two projects on a real ProxySQL") else {
        return;
    };
    rig.run(&[
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, comment) VALUES (500, 1, 'x', 'by hand')",
        "INSERT INTO mysql_users (username, password) VALUES ('somebody', 'pw')",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        "LOAD MYSQL USERS TO RUNTIME",
    ]);
    let (shop, pay) = (configuration(SHOP), configuration(PAY));
    let mut of_shop = rig.target_of(Some("shop"), owns(&["app"], 10..=19));
    let mut of_pay = rig.target_of(Some("pay"), owns(&["geo"], 20..=29));
    let planned = plan(&mut of_shop, &shop, Some("shop"));
    assert_eq!(apply(&planned, &mut of_shop).outcome, Outcome::Applied);
    let planned = plan(&mut of_pay, &pay, Some("pay"));
    assert_eq!(apply(&planned, &mut of_pay).outcome, Outcome::Applied);
    assert!(!plan(&mut of_shop, &shop, Some("shop")).has_changes());
    assert!(!plan(&mut of_pay, &pay, Some("pay")).has_changes());
    let rules = "SELECT rule_id FROM runtime_mysql_query_rules ORDER BY rule_id";
    assert_eq!(rig.lines(rules), ["-11", "-10", "15", "25", "500"]);
    let users = "SELECT username FROM runtime_mysql_users WHERE frontend = 1 ORDER BY username";
    assert_eq!(rig.lines(users), ["app", "geo", "somebody"]);
}

#[test]
fn what_belongs_to_another_project_is_told_and_not_changed() {
    let Some(rig) = Rig::start("a real ProxySQL of another project") else {
        return;
    };
    rig.applied(&configuration(SHOP));
    let mut of_pay = rig.target_of(Some("pay"), Ownership::default());
    assert_eq!(of_pay.observe().unwrap().project.as_deref(), Some("shop"));
    // A plan that does not show the change of owner is not one that may take it.
    let mut planned = plan(&mut of_pay, &configuration(PAY), Some("pay"));
    planned.targets[0].base.project = Some("pay".into());
    let report = apply(&planned, &mut of_pay);
    assert_ne!(report.outcome.exit_code(), 0, "{report:#?}");
    assert_eq!(
        rig.lines("SELECT rule_id FROM mysql_query_rules WHERE rule_id > 0"),
        ["15"]
    );
    // One that shows it is.
    let planned = plan(&mut of_pay, &configuration(PAY), Some("pay"));
    assert_eq!(apply(&planned, &mut of_pay).outcome, Outcome::Applied);
    assert_eq!(of_pay.observe().unwrap().project.as_deref(), Some("pay"));
    assert_eq!(
        rig.lines("SELECT count(*) FROM mysql_query_rules WHERE rule_id < 0"),
        ["1"]
    );
}

#[test]
fn what_is_no_longer_written_goes_back_to_what_the_engine_has() {
    let Some(rig) = Rig::start("a setting that is taken back on a real ProxySQL") else {
        return;
    };
    let value =
        "SELECT variable_value FROM runtime_global_variables WHERE variable_name = 'mysql-max_connections'";
    rig.applied(&configuration("variables: {mysql-max_connections: '777'}"));
    assert_eq!(rig.lines(value), ["777"]);
    let remembered = Ownership {
        resets: BTreeMap::from([("mysql-max_connections".to_owned(), "2048".to_owned())]),
        ..Ownership::default()
    };
    let mut target = rig.target_of(Some("shop"), remembered);
    let planned = plan(&mut target, &configuration("users: [app]"), Some("shop"));
    assert_eq!(apply(&planned, &mut target).outcome, Outcome::Applied);
    assert_eq!(rig.lines(value), ["2048"]);
    assert!(!plan(&mut target, &configuration("users: [app]"), Some("shop")).has_changes());
}

#[test]
fn a_variable_that_waits_for_the_next_start_goes_on_waiting() {
    let Some(rig) = Rig::start("a setting for the next start of a real ProxySQL") else {
        return;
    };
    let report = rig.applied(&configuration("variables: {mysql-threads: '3'}"));
    assert_eq!(report.after.unwrap().generation, 1);
    let saved = "SELECT variable_value FROM disk.global_variables WHERE variable_name = 'mysql-threads'";
    assert_eq!(rig.lines(saved), ["3"]);
    let both = configuration("variables: {mysql-threads: '3', mysql-max_connections: '777'}");
    rig.applied(&both);
    assert_eq!(rig.lines(saved), ["3"]);
    assert!(!plan(&mut rig.target(), &both, Some("shop")).has_changes());
    let status = rig.target().status().unwrap();
    assert_eq!(status.waits_for_start, ["mysql-threads"]);
    assert!(status.is_well(), "{status:#?}");
}

#[test]
fn what_the_engine_would_break_or_drop_is_refused_before_anything_is_loaded() {
    let Some(rig) = Rig::start("configurations that a real ProxySQL cannot hold") else {
        return;
    };
    rig.applied(&configuration(SHOP));
    rig.run(&[
        "INSERT INTO mysql_replication_hostgroups VALUES (5, 6, 'read_only', 'by hand')",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ]);
    let replication =
        "clusters: {a: {kind: {type: replication, read_only_check: read_only}, writer: 10, reader: 6}}";
    let mut shown = Vec::new();
    for (yaml, ownership) in [
        ("users: [admin]", Ownership::default()),
        ("variables: {mysql-of_another_version: '1'}", Ownership::default()),
        (replication, owns(&["app"], 10..=39)),
    ] {
        let mut target = rig.target_of(Some("shop"), ownership);
        let planned = plan(&mut target, &configuration(yaml), Some("shop"));
        let grave = planned.targets[0]
            .hazards
            .iter()
            .filter(|hazard| hazard.severity == Severity::Error);
        shown.extend(grave.map(|hazard| format!("{}: {}", hazard.code, hazard.message)));
        let report = apply(&planned, &mut target);
        assert_eq!(report.outcome, Outcome::Refused, "{yaml}: {report:#?}");
        assert!(rig.proxysql.admin().is_ok());
    }
    assert_snapshot!(shown.join("\n"));
    assert!(rig.journal().runs().unwrap().iter().all(|run| !run.is_open()));
}

#[test]
fn a_run_that_was_applied_is_taken_back_unless_its_rows_have_changed() {
    let Some(rig) = Rig::start("a rollback on a real ProxySQL") else {
        return;
    };
    rig.applied(&configuration(SHOP));
    rig.applied(&configuration(PAY));
    let runs = rig.journal().runs().unwrap();
    let [first, second] = [&runs[0], &runs[1]].map(|run| run.record.identity.run.clone());
    let rules = "SELECT rule_id FROM runtime_mysql_query_rules WHERE rule_id > 0";
    assert_eq!(rig.lines(rules), ["25"]);
    let report = rig.target().take_back(&first);
    assert_eq!(report.outcome, Outcome::Stale, "{report:#?}");
    let report = rig.target().take_back(&second);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    assert_eq!(rig.lines(rules), ["15"]);
    assert_eq!(rig.lines("SELECT username FROM disk.mysql_users"), ["app"]);
    assert!(!plan(&mut rig.target(), &configuration(SHOP), Some("shop")).has_changes());
    assert_eq!(report.after.unwrap().generation, 3);
}

/// An address of one node is not another node's, whatever the project says.
#[test]
fn variables_of_the_node_are_named_and_left_alone() {
    let Some(rig) = Rig::start("variables of one node on a real ProxySQL") else {
        return;
    };
    let written = configuration(
        "variables: {admin-mysql_ifaces: '10.1.1.1:6032', admin-web_port: '6099', mysql-max_connections: '4000'}",
    );
    let value = |name: &str| {
        rig.lines(&format!(
            "SELECT variable_value FROM runtime_global_variables WHERE variable_name = '{name}'"
        ))
    };
    let before = ["admin-mysql_ifaces", "admin-web_port"].map(value);
    let mut target = rig.target();
    let planned = plan(&mut target, &written, Some("shop"));
    let told: Vec<&str> = planned.targets[0]
        .hazards
        .iter()
        .map(|hazard| hazard.message.as_str())
        .filter(|message| message.contains("belongs to the node"))
        .collect();
    assert_eq!(
        told,
        [
            "admin-mysql_ifaces stays as it is: it belongs to the node.",
            "admin-web_port stays as it is: it belongs to the node."
        ]
    );
    assert_eq!(apply(&planned, &mut target).outcome, Outcome::Applied);
    assert_eq!(["admin-mysql_ifaces", "admin-web_port"].map(value), before);
    assert_eq!(value("mysql-max_connections"), ["4000"]);
    // What an earlier project has written of them is not set back either.
    let resets = [("admin-web_port".to_owned(), "6080".to_owned())];
    let ownership = Ownership {
        resets: BTreeMap::from(resets),
        ..Ownership::default()
    };
    let mut target = rig.target_of(Some("shop"), ownership);
    let planned = plan(&mut target, &written, Some("shop"));
    assert!(!planned.has_changes(), "{planned:#?}");
}
