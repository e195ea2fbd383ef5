//! Whatever is live, applying a plan makes exactly what was planned live.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use shardwright_rules::Configuration;
use shardwright_testkit::configuration;

use super::rig::{Rig, plan};

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

#[test]
fn from_any_configuration_to_any_other() {
    let Some(rig) = Rig::start("random configurations on a real ProxySQL") else {
        return;
    };
    let config = Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&any_configuration(), |desired| {
            rig.applied(&desired);
            let again = plan(&mut rig.target(), &desired, Some("shop"));
            prop_assert!(!again.has_changes(), "{:#?}", again.targets[0].effects);
            Ok(())
        })
        .unwrap();
}
