//! Whatever is live, applying a plan makes exactly what was planned live.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use shardwright_plan::Outcome;
use shardwright_rules::Configuration;
use shardwright_testkit::configuration;

use super::faults::state;
use super::rig::{Rig, effects, plan};

/// A small configuration: users, weights, rules and rows of fast routing, with texts that need quoting.
fn any_configuration() -> impl Strategy<Value = Configuration> {
    let text = prop::sample::select(vec!["^SELECT", "it's", r"\d+\\", "\"q\"", "ü", "a;b -- c"]);
    let hostgroup = prop::sample::select(vec![10, 11, 20, 21, 30]);
    let rule = (100_u32..106, text.clone(), hostgroup.clone(), any::<bool>()).prop_map(|(id, text, to, applies)| {
        json!({"rule_id": id, "match_pattern": text, "destination_hostgroup": to, "apply": u8::from(applies)})
    });
    let fast = (0_u32..3, hostgroup).prop_map(|(schema, to)| {
        json!({"username": "app", "schemaname": format!("s{schema}"), "flagIN": 0, "destination_hostgroup": to})
    });
    let users = prop::sample::subsequence(vec!["app", "geo", "web", "o'brien"], 1..=4);
    let weights = prop::collection::vec(1_u32..4, 5);
    let rules = prop::collection::vec(rule, 0..5);
    let fast = prop::collection::vec(fast, 0..3);
    (users, weights, rules, fast).prop_map(|(users, weights, rules, fast)| {
        let hostgroups: serde_json::Map<String, Value> = ["10", "11", "20", "21", "30"]
            .into_iter()
            .zip(weights)
            .map(|(id, weight)| (id.to_owned(), json!({ "weight": weight })))
            .collect();
        let page = json!({
            "users": users, "hostgroups": hostgroups,
            "rules": by_key(rules, "rule_id"), "fast_routing": by_key(fast, "schemaname"),
        });
        configuration(&page.to_string())
    })
}

/// The rows with different keys, in their order.
fn by_key(rows: Vec<Value>, key: &str) -> Vec<Value> {
    let mut by_key = std::collections::BTreeMap::new();
    for row in rows {
        by_key.insert(row[key].to_string(), row);
    }
    by_key.into_values().collect()
}

/// Applies one configuration after the other. Each time what was planned is live, what was there before is live again once
/// the run is taken back, and the plan for that is as it was.
fn from_any_configuration_to_any_other(rig: &Rig, cases: u32) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    // The first apply also plans to mark the target as ours, and its mark stays.
    let is_marked = std::cell::Cell::new(false);
    TestRunner::new(config)
        .run(&any_configuration(), |desired| {
            let before = state(rig);
            let planned = effects(&plan(&mut rig.target(), &desired, Some("shop")));
            let report = rig.applied(&desired);
            let again = plan(&mut rig.target(), &desired, Some("shop"));
            prop_assert!(!again.has_changes(), "{:#?}", again.targets[0].effects);
            if report.outcome == Outcome::Unchanged {
                return Ok(());
            }
            let run = rig
                .journal()
                .runs()
                .unwrap()
                .pop()
                .unwrap()
                .record
                .identity
                .run
                .clone();
            let back = rig.target().take_back(&run);
            prop_assert_eq!(back.outcome, Outcome::Applied, "{:#?}", back);
            prop_assert_eq!(state(rig), before);
            let replanned = effects(&plan(&mut rig.target(), &desired, Some("shop")));
            prop_assert!(
                replanned == planned || !is_marked.get(),
                "{}\n{}",
                planned,
                replanned
            );
            is_marked.set(true);
            rig.applied(&desired);
            Ok(())
        })
        .unwrap();
}

#[test]
fn on_a_real_proxysql_what_was_planned_is_live_and_what_was_there_comes_back() {
    let Some(rig) = Rig::start_real("random configurations on a real ProxySQL") else {
        return;
    };
    from_any_configuration_to_any_other(&rig, 12);
}

#[test]
fn on_the_stand_in_what_was_planned_is_live_and_what_was_there_comes_back() {
    from_any_configuration_to_any_other(&Rig::stand_in(), 60);
}
