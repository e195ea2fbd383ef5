//! Rule graphs of many chains with known findings: trees, and jumps in a circle.

use shardwright_analysis::analyse;

use crate::common::{check, lines};
use shardwright_testkit::configuration;

/// A balanced tree of chains over `tenant=N` comments, its keys anchored on both sides and each chain ended.
fn tree(keys: u32, fan_out: u32) -> String {
    let mut rows = vec![
        r#"{rule_id: 1, match_pattern: "\\btenant\\b(?s:.*)\\btenant\\b", error_msg: "two keys", apply: 1}"#
            .to_owned(),
        r#"{rule_id: 2, match_pattern: "\\btenant=[0-9]+ ", flagOUT: 1}"#.to_owned(),
        r#"{rule_id: 3, error_msg: "no key", apply: 1}"#.to_owned(),
    ];
    let (mut next_id, mut next_flag) = (10, 2);
    let mut open = std::collections::VecDeque::from([(1, 1, keys)]);
    while let Some((flag, first, last)) = open.pop_front() {
        let size = (last - first + 1).div_ceil(fan_out);
        let mut from = first;
        while from <= last {
            let to = (from + size - 1).min(last);
            let alternatives: Vec<String> = (from..=to).map(|key| key.to_string()).collect();
            let pattern = format!(r"\\btenant=0*(?:{})(?: |\\*/)", alternatives.join("|"));
            let action = if from == to {
                format!(
                    "destination_hostgroup: {}, apply: 1",
                    [10, 20, 30][from as usize % 3]
                )
            } else {
                open.push_back((next_flag, from, to));
                next_flag += 1;
                format!("flagOUT: {}", next_flag - 1)
            };
            rows.push(format!(
                r#"{{rule_id: {next_id}, flagIN: {flag}, match_pattern: "{pattern}", {action}}}"#
            ));
            next_id += 1;
            from = to + 1;
        }
        rows.push(format!(
            r#"{{rule_id: {next_id}, flagIN: {flag}, error_msg: "unknown key", apply: 1}}"#
        ));
        next_id += 1;
    }
    format!(
        "rules:\n{}",
        rows.iter().map(|row| format!("  - {row}\n")).collect::<String>()
    )
}

#[test]
fn a_tree_of_200_shards_has_no_findings() {
    check("tree of 200", &tree(200, 4), &["SW243 info possible 1,3,14"]);
}

#[test]
fn a_shard_that_is_written_twice_in_a_tree_is_found() {
    let twice = tree(200, 4).replace("(?:137)", "(?:136)");
    let findings = analyse(&configuration(&twice));
    let found: Vec<String> = lines(&findings);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("SW201 error proved"), "{found:?}");
}

/// Every jump can be taken, and no statement takes two in a row.
#[test]
fn a_circle_that_no_statement_goes_around_is_no_finding() {
    let circle = |second: &str| {
        let rules = format!(
            r#"iterations: 3
rules:
  - {{rule_id: 5, match_digest: "^BEGIN", next_query_flagIN: 9, destination_hostgroup: 10, apply: 1}}
  - {{rule_id: 10, match_digest: "^SELECT", flagOUT: 5}}
  - {{rule_id: 20, flagIN: 5, match_digest: "^SELECT", flagOUT: 6}}
  - {{rule_id: 30, flagIN: 6, match_digest: "{second}", flagOUT: 0}}
  - {{rule_id: 40, flagIN: 9, match_digest: "^UPDATE", flagOUT: 6}}"#
        );
        let findings = analyse(&configuration(&rules));
        let found = findings.iter().find(|finding| finding.code.as_str() == "SW210");
        found.map(|finding| finding.message.clone())
    };
    assert_eq!(circle("^UPDATE"), None);
    assert_eq!(
        circle("^(SELECT|UPDATE)").as_deref(),
        Some(
            "flags 0, 5, 6 jump to each other in a circle: a statement in it restarts 3 times, up to 20 rules are \
             evaluated, and then the next rule that matches decides"
        )
    );
}

/// A last rule without a condition is no net where a rule before it takes every statement.
#[test]
fn what_stands_behind_a_catch_all_is_dead() {
    for (name, yaml, expected) in [
        (
            "a default behind a default",
            r#"rules:
  - {rule_id: 10, match_digest: "^CALL", destination_hostgroup: 20, apply: 1}
  - {rule_id: 60, destination_hostgroup: 10, apply: 1}
  - {rule_id: 70, destination_hostgroup: 20, apply: 1}"#,
            &["SW205 error proved 60,70"][..],
        ),
        (
            "a refusal behind a default",
            r#"rules:
  - {rule_id: 60, destination_hostgroup: 10, apply: 1}
  - {rule_id: 70, error_msg: "no", apply: 1}"#,
            &["SW205 error proved 60,70"],
        ),
        (
            "a default behind a pattern that matches every text",
            r#"rules:
  - {rule_id: 60, match_digest: ".*", destination_hostgroup: 10, apply: 1}
  - {rule_id: 70, destination_hostgroup: 20, apply: 1}"#,
            &["SW201 error proved 70"],
        ),
        (
            "a net behind rules that leave nothing together",
            r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT", negate_match_pattern: 1, destination_hostgroup: 20, apply: 1}
  - {rule_id: 70, error_msg: "no", apply: 1}"#,
            &[],
        ),
        (
            "a default that a second list of another flag has",
            r#"rules:
  - {rule_id: 10, username: app, flagOUT: 5}
  - {rule_id: 20, destination_hostgroup: 10, apply: 1}
  - {rule_id: 30, flagIN: 5, destination_hostgroup: 20, apply: 1}
  - {rule_id: 40, flagIN: 5, error_msg: "no", apply: 1}"#,
            &["SW205 error proved 30,40"],
        ),
    ] {
        check(name, yaml, expected);
    }
}
