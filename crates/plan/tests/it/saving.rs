//! Plans as files.

use insta::assert_snapshot;
use serde_json::Value;
use shardwright_plan::{Plan, Timestamp};

use crate::fixtures::*;

fn plan() -> Plan {
    let mut desired = bundled();
    map_of(&mut desired).shards[1].cluster = Some("shop-20".into());
    plan_for(&["px-a1", "px-a2"], &running(12, &bundled()), &desired)
}

/// Why the plan is refused after an edit of its JSON.
fn refusal(edit: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&plan().to_json()).unwrap();
    edit(&mut value);
    let error = Plan::load(value.to_string().as_bytes(), noon()).unwrap_err();
    error.to_string()
}

#[test]
fn a_saved_plan_is_the_plan() {
    let saved = plan().to_json();
    let loaded = Plan::load(saved.as_bytes(), noon()).unwrap();
    assert_eq!(loaded, plan());
    assert_eq!(loaded.to_json(), saved);
    let change = loaded.change("px-a2").unwrap();
    assert_eq!(change.desired.fingerprint(), change.plan.desired);
    assert!(loaded.change("px-a3").is_none());
}

#[test]
fn targets_that_get_the_same_share_one_configuration() {
    assert_eq!(plan().configurations.len(), 1);
    assert_eq!(plan().targets.len(), 2);
}

#[test]
fn whoever_edits_a_plan_has_to_make_a_new_one() {
    let same_id = refusal(|plan| plan["targets"][0]["base"]["generation"] = 13.into());
    assert_snapshot!(same_id, @"the plan was changed after it was made: its content does not have its id; make a new plan");
    let longer = refusal(|plan| plan["expires_at"] = "2027-03-01T12:00:00Z".into());
    assert_snapshot!(longer, @"the plan was changed after it was made: its content does not have its id; make a new plan");
    let unknown_field = refusal(|plan| plan["comment"] = "approved".into());
    assert_snapshot!(unknown_field, @"the file is not a plan: unknown field `comment`, expected one of `schema_version`, `id`, `created_at`, `expires_at`, `environment`, `effect_digest`, `meaning`, `moves`, `targets`, `unreachable`, `configurations` at line 1 column 5071");
    let other_id = refusal(|plan| plan["id"] = "0".repeat(64).into());
    assert_snapshot!(other_id, @"the plan was changed after it was made: its content does not have its id; make a new plan");
}

#[test]
fn plans_of_other_versions() {
    assert_snapshot!(refusal(|plan| plan["schema_version"] = 2.into()), @"the plan has schema_version 2, this program reads 1");
    assert_snapshot!(refusal(|plan| plan["schema_version"] = "1".into()), @r#"the file is not a plan: invalid type: string "1", expected u64 at line 1 column 21"#);
}

#[test]
fn files_that_are_no_plans() {
    for (bytes, expected) in [
        (&b""[..], "EOF while parsing a value at line 1 column 0"),
        (b"plan 7f3a", "expected value at line 1 column 1"),
        (b"{}", "missing field `schema_version`"),
        (b"\xff\xfe", "expected value at line 1 column 1"),
    ] {
        let error = Plan::read(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let deep = "[".repeat(100_000);
    assert!(
        Plan::read(deep.as_bytes())
            .unwrap_err()
            .to_string()
            .starts_with("the file is not a plan")
    );
}

#[test]
fn an_expired_plan_can_be_read_but_not_loaded() {
    let saved = plan().to_json();
    let at = |time: &str| Plan::load(saved.as_bytes(), time.parse::<Timestamp>().unwrap());
    assert!(at("2026-03-01T17:59:59Z").is_ok());
    assert_snapshot!(at("2026-03-01T18:00:00Z").unwrap_err(), @"the plan expired at 2026-03-01T18:00:00Z, it is 2026-03-01T18:00:00Z; make a new plan");
    assert_eq!(Plan::read(saved.as_bytes()).unwrap(), plan());
}

#[test]
fn an_approval_is_bound_to_what_will_be_true() {
    let moved_to = |cluster: &str, generation: u64| {
        let mut desired = bundled();
        map_of(&mut desired).shards[1].cluster = Some(cluster.into());
        plan_for(&["px-a1"], &running(generation, &bundled()), &desired)
    };
    let approved = moved_to("shop-20", 12);
    let later = moved_to("shop-20", 15);
    assert_ne!(approved.id, later.id);
    assert_eq!(approved.effect_digest, later.effect_digest);
    assert_ne!(approved.effect_digest, moved_to("shop-21", 12).effect_digest);
    let mut with_reason = approved.targets[0].clone();
    with_reason.effects[0].reason = Some("OPS-4411".into());
    assert_eq!(with_reason.effect_digest, approved.targets[0].effect_digest);
}

#[test]
fn secrets_are_not_in_plans() {
    let saved = plan().to_json();
    assert!(saved.contains("APP_PASSWORD"));
    assert!(!saved.contains("\"password\":\""));
}
