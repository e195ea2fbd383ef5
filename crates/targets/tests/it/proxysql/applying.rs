//! Applies that go well: what is live afterwards is what was planned, and nothing of others is touched.

use insta::assert_snapshot;
use shardwright_plan::{Outcome, apply};
use shardwright_testkit::configuration;

use super::rig::{Rig, effects, plan};

const FIRST: &str = r"
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}
  - {rule_id: 101, username: geo, digest: '0x1C46AE529DD5A40E', destination_hostgroup: 20, apply: 1}
fast_routing:
  - {username: app, schemaname: s1, flagIN: 0, destination_hostgroup: 20}
";

const SECOND: &str = r"
users: [app]
hostgroups: {30: {weight: 7}}
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 21, apply: 1}
  - {rule_id: 102, match_digest: '^INSERT', destination_hostgroup: 10, apply: 1}
";

#[test]
fn what_was_planned_is_live_saved_and_no_difference() {
    let Some(rig) = Rig::start("an apply to a real ProxySQL") else {
        return;
    };
    let first = configuration(FIRST);
    let mut target = rig.target();
    assert_snapshot!(effects(&plan(&mut target, &first, Some("shop"))));
    let report = rig.applied(&first);
    assert_eq!(report.after.unwrap().generation, 1);
    assert!(!plan(&mut target, &first, Some("shop")).has_changes());
    for table in [
        "mysql_query_rules",
        "runtime_mysql_query_rules",
        "disk.mysql_query_rules",
    ] {
        let query =
            format!("SELECT rule_id, destination_hostgroup FROM {table} WHERE rule_id > 0 ORDER BY rule_id");
        assert_eq!(rig.lines(&query), ["100 11", "101 20"], "{table}");
    }
    let second = configuration(SECOND);
    assert_snapshot!(effects(&plan(&mut target, &second, Some("shop"))));
    rig.applied(&second);
    assert!(!plan(&mut target, &second, Some("shop")).has_changes());
    assert_eq!(
        rig.lines("SELECT username FROM runtime_mysql_users WHERE frontend = 1"),
        ["app"]
    );
    assert_eq!(
        rig.lines("SELECT rule_id FROM mysql_query_rules WHERE rule_id = -1"),
        [""; 0]
    );
}

#[test]
fn a_plan_that_is_no_longer_right_changes_nothing() {
    let Some(rig) = Rig::start("a stale plan for a real ProxySQL") else {
        return;
    };
    rig.applied(&configuration(FIRST));
    let mut target = rig.target();
    let saved = plan(&mut target, &configuration(SECOND), Some("shop"));
    rig.run(&[
        "UPDATE mysql_query_rules SET destination_hostgroup = 30 WHERE rule_id = 100",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
    ]);
    let report = apply(&saved, &mut target);
    assert_eq!(report.outcome, Outcome::Stale, "{report:#?}");
    let now = plan(&mut target, &configuration(FIRST), Some("shop"));
    assert_snapshot!(effects(&now));
    assert_eq!(apply(&now, &mut target).outcome, Outcome::Applied);
}

#[test]
fn what_others_have_staged_does_not_ride_along() {
    let Some(rig) = Rig::start("rows that others have staged on a real ProxySQL") else {
        return;
    };
    rig.applied(&configuration(FIRST));
    rig.run(&["UPDATE mysql_servers SET weight = 9 WHERE hostgroup_id = 10"]);
    let mut target = rig.target_of(
        Some("shop"),
        shardwright_targets::emit::Ownership {
            hostgroups: Some(shardwright_targets::emit::Numbers::new(
                [30..=30],
                &Default::default(),
            )),
            ..Default::default()
        },
    );
    let planned = plan(&mut target, &configuration(SECOND), Some("shop"));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Contended, "{report:#?}");
    assert_snapshot!(report.message);
    assert_eq!(
        rig.lines("SELECT username FROM runtime_mysql_users WHERE frontend = 1"),
        ["app", "geo"]
    );
}

#[test]
fn a_row_that_the_engine_refuses_is_named_among_many() {
    let Some(rig) = Rig::start("a row that a real ProxySQL refuses") else {
        return;
    };
    rig.applied(&configuration(FIRST));
    rig.run(&[
        "CREATE TRIGGER no BEFORE INSERT ON mysql_query_rules WHEN NEW.rule_id = 257 BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    ]);
    let rules: String = (200..300)
        .map(|id| {
            format!("  - {{rule_id: {id}, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}}\n")
        })
        .collect();
    let mut target = rig.target();
    let planned = plan(
        &mut target,
        &configuration(&format!("rules:\n{rules}")),
        Some("shop"),
    );
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    let named = "writing mysql_query_rules (257): not this one";
    assert!(report.message.starts_with(named), "{report:#?}");
    let rules = "SELECT rule_id FROM mysql_query_rules WHERE rule_id > 0 ORDER BY rule_id";
    assert_eq!(rig.lines(rules), ["100", "101"]);
}
