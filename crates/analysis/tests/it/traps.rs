//! The traps of published examples, each as what happens and as what is found.

use std::sync::Arc;

use shardwright_analysis::analyse;
use shardwright_rules::{Decision, Evaluator, Outcome, SessionView, Statement};

use crate::common::lines;
use shardwright_testkit::configuration;

fn decide(yaml: &str, schema: &str, text: &str) -> Decision {
    let evaluator = Evaluator::new(Arc::new(configuration(yaml)));
    let session = SessionView {
        user: "app",
        schema: Some(schema),
        client_addr: Some("10.0.0.7"),
        listener: Some(("0.0.0.0", 6033)),
        ..SessionView::default()
    };
    evaluator.decide(&session, &Statement::new(text.as_bytes(), Default::default()))
}

/// The hostgroup, and the text that is sent if it is another.
fn sent(yaml: &str, text: &str) -> (u32, Option<String>) {
    match decide(yaml, "shop", text).outcome {
        Outcome::Route(route) => (
            route.hostgroup.0,
            route
                .rewritten
                .map(|text| String::from_utf8_lossy(&text).into_owned()),
        ),
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn finds(yaml: &str, codes: &[&str]) {
    let found = lines(&analyse(&configuration(yaml)));
    for code in codes {
        assert!(
            found.iter().any(|line| line.starts_with(code)),
            "{code} is not in {found:#?}"
        );
    }
}

#[test]
fn e1_e15_e18_the_figures() {
    let percent = |from: f64, to: f64| ((to / from - 1.0) * 100.0).round();
    assert_eq!(percent(36_000.0, 61_000.0), 69.0);
    let writes = [
        ("UPDATE", 43_561_905_u64 + 1),
        ("INSERT", 43_561_905),
        ("DELETE", 43_562_935),
    ];
    let least = writes.iter().min_by_key(|(_, hits)| *hits).map(|(verb, _)| *verb);
    assert_eq!(least, Some("INSERT"));
    assert_eq!(((1.0 - 1.0 / 22.0) * 1000.0_f64).round(), 955.0);
}

const RULE_31: &str = r#"rules:
  - rule_id: 31
    match_pattern: "^SELECT\\s*(.*)\\s*from\\s*world.(\\S*)\\s(.*).*Continent='(\\S*)'\\s*(\\s*.*)$"
    replace_pattern: "SELECT \\1 from \\4.\\2 WHERE 1=1 \\5"
    apply: 1"#;

#[test]
fn e3_e4_e5_e6_rule_31() {
    let europe = "SELECT name from world.City WHERE CountryCode='ITA' AND Continent='Europe' ORDER BY 1";
    let (_, rewritten) = sent(RULE_31, europe);
    let rewritten = rewritten.expect("the rule rewrites");
    assert!(
        rewritten.contains("Europe.City") && !rewritten.contains("ITA"),
        "{rewritten}"
    );
    let blank = "SELECT name from world.City WHERE Continent='North America'";
    assert_eq!(sent(RULE_31, blank).1, None);
    let either = "SELECT name from world.City WHERE Continent='Asia' OR Continent='Europe'";
    assert!(
        !sent(RULE_31, either)
            .1
            .expect("the rule rewrites")
            .contains("Asia")
    );
    for other in [
        "UPDATE world.City SET a=1 WHERE Continent='Asia'",
        "SELECT name from world.City WHERE Continent = 'Asia'",
        "SELECT name from world.City WHERE Continent IN ('Asia')",
    ] {
        assert_eq!(sent(RULE_31, other).1, None, "{other}");
    }
    finds(RULE_31, &["SW503 error", "SW501 warning"]);
}

const HINTS: &str = r#"rules:
  - {rule_id: 10, match_pattern: "\\/\\*\\s*shard_host_HG=.*Asia\\s*\\*.", destination_hostgroup: 20, apply: 1}
  - {rule_id: 11, match_pattern: "\\/\\*\\s*shard_host_HG=.*Africa\\s*\\*.", destination_hostgroup: 30, apply: 1}"#;

#[test]
fn e7_hints_are_spoofed() {
    assert_eq!(sent(HINTS, "SELECT '/* shard_host_HG=Africa */'").0, 30);
    assert_eq!(sent(HINTS, "/* shard_host_HG=EurAsia */ SELECT 1").0, 20);
    assert_eq!(sent(HINTS, "/* shard_host_HG=Oceania */ SELECT 1").0, 10);
    finds(
        HINTS,
        &[
            "SW311 warning witnessed 10",
            "SW311 warning witnessed 11",
            "SW204 info",
        ],
    );
}

const RECURSIVE: &str = r#"rules:
  - {rule_id: 32, match_pattern: "world.", replace_pattern: "Asia.", flagOUT: 0}"#;

#[test]
fn e8_literals_are_rewritten() {
    let (_, rewritten) = sent(RECURSIVE, "SELECT 'hello world!' FROM world.City");
    assert_eq!(rewritten.as_deref(), Some("SELECT 'hello Asia.' FROM world.City"));
    finds(
        RECURSIVE,
        &["SW214 error proved 32", "SW502 warning witnessed 32"],
    );
}

#[test]
fn e9_the_sentinel_brings_fast_routing_back() {
    let skipped = r#"fast_routing: [{username: app, schemaname: shard01, flagIN: 0, destination_hostgroup: 20}]
rules: [{rule_id: 10, match_digest: "^never", destination_hostgroup: 30, apply: 1}]"#;
    let with_sentinel = skipped.replace("apply: 1}]", "apply: 1}, {rule_id: 11, match_digest: '^never'}]");
    let hostgroup = |yaml: &str| match decide(yaml, "shard01", "SELECT 1").outcome {
        Outcome::Route(route) => route.hostgroup.0,
        other => panic!("{other:?}"),
    };
    assert_eq!((hostgroup(skipped), hostgroup(&with_sentinel)), (10, 20));
    finds(skipped, &["SW221 error"]);
}

#[test]
fn e10_annotations_override() {
    let rules = r#"rules:
  - {rule_id: 10, username: app, destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, username: geo, destination_hostgroup: 20, apply: 1}"#;
    assert_eq!(sent(rules, "/* hostgroup=66 */ SELECT 1").0, 66);
    finds(rules, &["SW228 info"]);
}

#[test]
fn e11_silent_mistakes() {
    let negated = r#"rules: [{rule_id: 10, match_pattern: "(abc", negate_match_pattern: 1, destination_hostgroup: 77, apply: 1}]"#;
    assert_eq!(sent(negated, "SELECT 1").0, 77);
    finds(negated, &["SW220 error", "SW701 error"]);
    let backward = r#"rules:
  - {rule_id: 5, flagIN: 5, destination_hostgroup: 20, apply: 1}
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 5}"#;
    assert_eq!(sent(backward, "SELECT 1").0, 10);
    finds(backward, &["SW213 error"]);
}

#[test]
fn e12_multiplex_2_leaks() {
    finds(
        r#"rules: [{rule_id: 10, match_digest: "@", multiplex: 2}]"#,
        &["SW604 error witnessed 10"],
    );
}

#[test]
fn e13_keys_have_no_end() {
    let tree = r#"rules:
  - {rule_id: 1, match_pattern: "\\/\\* [0-1]", flagOUT: 1}
  - {rule_id: 2, flagIN: 1, match_pattern: "\\/\\* 0", destination_hostgroup: 20, apply: 1}
  - {rule_id: 3, flagIN: 1, match_pattern: "\\/\\* 1", destination_hostgroup: 30, apply: 1}"#;
    assert_eq!(sent(tree, "/* 19 */ SELECT 1").0, 30);
    finds(tree, &["SW330 warning witnessed 3", "SW311 warning witnessed 3"]);
}

#[test]
fn e14_stopped_replication_is_below_the_limit() {
    finds(
        "hostgroups: {11: {max_replication_lag_s: 300}}",
        &["SW405 warning"],
    );
}

#[test]
fn e17_a_rule_of_nulls_takes_everything() {
    finds(
        r#"rules:
  - {rule_id: 13, apply: 1}
  - {rule_id: 40, match_pattern: "Asia", destination_hostgroup: 20, apply: 1}"#,
        &["SW205 error"],
    );
}
