//! What a plan changes beside the rules is named: each value of a configuration that no comparison of rules looks at.

use serde_json::{Value, json};
use shardwright_plan::{beside, diff};
use shardwright_rules::*;

use crate::fixtures::*;

/// Values of a user that comparisons of rules look at.
const COMPARED_OF_USERS: [&str; 6] = [
    "name",
    "default_hostgroup",
    "default_schema",
    "transaction_persistent",
    "annotations_allowed",
    "reads_only",
];

/// Names by which files call a thing, and nothing else.
const NAMES: [&str; 2] = ["/clusters/0/name", "/users/0/address"];

/// The bundled fixture with everything that it leaves out.
fn everything() -> Configuration {
    let mut configuration = bundled();
    configuration.monitor = Some(Monitor {
        address: "monitor".into(),
        user: "monitor".into(),
        password: Some(SecretReference::Env("MONITOR_PASSWORD".into())),
        heartbeat: Some("meta.heartbeat".into()),
    });
    configuration.listeners = vec![Listener::on_port(
        "main",
        "listeners.main".into(),
        "127.0.0.1",
        6033,
    )];
    configuration
}

/// The places of all values below a part of a configuration, as JSON pointers.
fn leaves(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                leaves(&format!("{at}/{key}"), value, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(&format!("{at}/{index}"), item, found);
            }
        }
        _ => found.push(at.to_owned()),
    }
}

/// Other values for the one at a place, one of which a configuration can hold.
fn others(value: &Value, refusal: impl Fn(&Value) -> Option<String>) -> Vec<Value> {
    match value {
        Value::Bool(value) => vec![json!(!value)],
        Value::Number(number) => vec![json!(number.as_i64().unwrap_or_default() + 1)],
        Value::String(text) => {
            // An enumeration says its words when it refuses another one.
            let words = refusal(&json!("no such word")).unwrap_or_default();
            let words = words.split('`').skip(1).step_by(2).skip(1);
            let words = words.filter(|word| word != text).map(|word| json!(word));
            [json!(format!("{text}-other"))]
                .into_iter()
                .chain(words)
                .collect()
        }
        _ => vec![json!(7), json!("other"), json!(true)],
    }
}

#[test]
fn every_value_that_comparisons_of_rules_do_not_look_at_is_named() {
    let before = everything();
    let json = serde_json::to_value(&before).unwrap();
    let with = |at: &str, value: &Value| {
        let mut changed = json.clone();
        *changed.pointer_mut(at).unwrap() = value.clone();
        serde_json::from_value::<Configuration>(changed)
    };
    let mut places = Vec::new();
    for part in [
        "settings",
        "clusters",
        "hostgroups",
        "users",
        "monitor",
        "listeners",
    ] {
        let value = &json[part];
        assert!(!value.is_null(), "the fixture has {part}");
        leaves(&format!("/{part}"), value, &mut places);
    }
    assert!(places.len() > 60, "{places:?}");
    let mut unnamed = Vec::new();
    for place in &places {
        let value = json.pointer(place).unwrap();
        let refusal = |other: &Value| with(place, other).err().map(|error| error.to_string());
        let changed = others(value, refusal)
            .iter()
            .find_map(|other| with(place, other).ok());
        let after = changed.unwrap_or_else(|| panic!("{place}: no other value than {value} is read"));
        let effects = diff(&before, &after);
        assert!(!effects.is_empty(), "{place}: a plan does not show it");
        if beside(&effects, |_| false).is_empty() {
            unnamed.push(place.as_str());
        }
    }
    let is_compared = |place: &&str| {
        let of_user = place.strip_prefix("/users/0/");
        NAMES.contains(place) || of_user.is_some_and(|field| COMPARED_OF_USERS.contains(&field))
    };
    let (compared, missed): (Vec<&str>, Vec<&str>) = unnamed.into_iter().partition(is_compared);
    assert_eq!(missed, Vec::<&str>::new());
    assert!(compared.len() >= 4, "{compared:?}");
}

#[test]
fn what_changes_is_told_by_subject_and_counted() {
    let before = everything();
    let mut after = before.clone();
    after.hostgroups[1].members[0].weight = 0;
    after.hostgroups[2].members[0].host = "another.db".into();
    after.users[0].max_connections = 7;
    after.users[0].statement_timeout_ms = Some(1000);
    after.listeners[0].port = 7033;
    after.settings.query_processor_iterations += 1;
    let effects = diff(&before, &after);
    assert_eq!(
        beside(&effects, |setting| setting == "query_processor_iterations"),
        [
            "which server answers (2 servers)",
            "where clients connect (1 listener)",
            "who may log in, how, and how often (1 user)",
            "how long a statement may take (1 user)",
        ]
    );
    let mut rules = before.clone();
    rules.graph.rules.pop();
    map_of(&mut rules).shards[1].cluster = Some("shop-20".into());
    assert_eq!(beside(&diff(&before, &rules), |_| false), Vec::<String>::new());
}
