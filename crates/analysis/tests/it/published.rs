//! Rule sets as they are published again and again, with what is found in them.

use shardwright_analysis::analyse;

use crate::common::lines;
use shardwright_testkit::configuration;

const PUBLISHED: &[(&str, &str, &[&str])] = &[
    (
        "the read/write split of every tutorial",
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 10, apply: 1}
  - {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW244 warning witnessed 2",
            "SW401 warning witnessed 2",
            "SW406 info witnessed 2",
        ],
    ),
    (
        "the same in the wrong order",
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}
  - {rule_id: 2, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 10, apply: 1}"#,
        &[
            "SW201 error proved 2",
            "SW244 warning witnessed 1",
            "SW401 error witnessed 1",
            "SW406 info witnessed 1",
        ],
    ),
    (
        "the same over the statement",
        r#"rules:
  - {rule_id: 1, match_pattern: "^SELECT .* FOR UPDATE", destination_hostgroup: 10, apply: 1}
  - {rule_id: 2, match_pattern: "^SELECT .*", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW229 warning witnessed 2",
            "SW244 warning witnessed 2",
            "SW401 error witnessed 2",
            "SW406 info witnessed 2",
        ],
    ),
    (
        "reads by name",
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT name FROM countries WHERE id=\\?$", destination_hostgroup: 11, apply: 1}"#,
        &[],
    ),
    (
        "six kinds of statement for delays",
        r#"rules:
  - {rule_id: 1, match_pattern: "^SELECT .* FOR UPDATE", destination_hostgroup: 10, apply: 1}
  - {rule_id: 2, match_pattern: "^SELECT .*", destination_hostgroup: 10, apply: 1}
  - {rule_id: 3, match_pattern: "^UPDATE .*", destination_hostgroup: 10, apply: 1}
  - {rule_id: 4, match_pattern: "^INSERT .*", destination_hostgroup: 10, apply: 1}
  - {rule_id: 5, match_pattern: "^DELETE .*", destination_hostgroup: 10, delay_ms: 1, apply: 1}
  - {rule_id: 6, match_pattern: "^REPLACE .*", destination_hostgroup: 10, apply: 1}"#,
        &["SW603 warning witnessed 5", "SW606 info proved 5"],
    ),
    (
        "hosts by a hint",
        r#"rules:
  - {rule_id: 10, match_pattern: "\\/\\*\\s*shard_host_HG=.*Europe\\s*\\*.", destination_hostgroup: 10}
  - {rule_id: 11, match_pattern: "\\/\\*\\s*shard_host_HG=.*Asia\\s*\\*.", destination_hostgroup: 20}
  - {rule_id: 12, match_pattern: "\\/\\*\\s*shard_host_HG=.*Africa\\s*\\*.", destination_hostgroup: 30}"#,
        &[
            "SW204 info witnessed 12",
            "SW311 warning witnessed 10",
            "SW311 warning witnessed 11",
            "SW311 warning witnessed 12",
            "SW313 info witnessed 11",
        ],
    ),
    (
        "a schema by a hint, recursively",
        r#"iterations: 10
rules:
  - {rule_id: 31, match_pattern: "\\S*\\s*\\/\\*\\s*continent=.*Asia\\s*\\*.*", flagOUT: 23}
  - {rule_id: 32, flagIN: 23, match_pattern: "world.", replace_pattern: "Asia.", flagOUT: 23}
  - {rule_id: 33, match_pattern: "\\S*\\s*\\/\\*\\s*continent=.*Europe\\s*\\*.*", flagOUT: 25}
  - {rule_id: 34, flagIN: 25, match_pattern: "world.", replace_pattern: "Europe.", flagOUT: 25}"#,
        &["SW204 info possible 32", "SW204 info possible 34"],
    ),
    (
        "the same without restarts",
        r#"rules:
  - {rule_id: 31, match_pattern: "\\S*\\s*\\/\\*\\s*continent=.*Asia\\s*\\*.*", flagOUT: 23}
  - {rule_id: 32, flagIN: 23, match_pattern: "world.", replace_pattern: "Asia.", flagOUT: 23}"#,
        &["SW204 warning witnessed 32", "SW214 error proved 32"],
    ),
    (
        "a schema by a value",
        r#"rules:
  - {rule_id: 31, match_pattern: "^SELECT\\s*(.*)\\s*from\\s*world.(\\S*)\\s(.*).*Continent='(\\S*)'\\s*(\\s*.*)$", replace_pattern: "SELECT \\1 from \\4.\\2 WHERE 1=1 \\5", apply: 1}"#,
        &["SW501 warning proved 31", "SW503 error proved 31"],
    ),
    (
        "hosts by the session's schema",
        r#"rules:
  - {rule_id: 1, schemaname: shard00, destination_hostgroup: 10, apply: 1}
  - {rule_id: 2, schemaname: shard01, destination_hostgroup: 20, apply: 1}
  - {rule_id: 3, schemaname: shard06, destination_hostgroup: 20, apply: 1}
  - {rule_id: 4, schemaname: shard06, destination_hostgroup: 30, apply: 1}"#,
        &[
            "SW201 error proved 4",
            "SW241 info witnessed 1",
            "SW246 info possible 1",
        ],
    ),
    (
        "shards one by one",
        r#"rules:
  - {rule_id: 1, match_pattern: "\\/\\* 000", destination_hostgroup: 10, apply: 1}
  - {rule_id: 2, match_pattern: "\\/\\* 001", destination_hostgroup: 20, apply: 1}
  - {rule_id: 3, match_pattern: "\\/\\* 002", destination_hostgroup: 30, apply: 1}"#,
        &[
            "SW204 info witnessed 3",
            "SW311 warning witnessed 1",
            "SW311 warning witnessed 2",
            "SW311 warning witnessed 3",
            "SW313 info witnessed 1",
            "SW330 warning witnessed 1",
            "SW330 warning witnessed 2",
            "SW330 warning witnessed 3",
        ],
    ),
    (
        "a tree of four shards",
        r#"rules:
  - {rule_id: 1, match_pattern: "\\/\\* [0-1]", flagOUT: 1}
  - {rule_id: 2, flagIN: 1, match_pattern: "\\/\\* 0", destination_hostgroup: 10, apply: 1}
  - {rule_id: 3, flagIN: 1, match_pattern: "\\/\\* 1", destination_hostgroup: 20, apply: 1}
  - {rule_id: 4, match_pattern: "\\/\\* 2", destination_hostgroup: 30, apply: 1}
  - {rule_id: 5, match_pattern: "\\/\\* 3", destination_hostgroup: 20, apply: 1}"#,
        &[
            "SW204 info witnessed 5",
            "SW311 warning witnessed 2",
            "SW311 warning witnessed 3",
            "SW311 warning witnessed 4",
            "SW311 warning witnessed 5",
            "SW313 info witnessed 2",
            "SW330 warning witnessed 2",
            "SW330 warning witnessed 3",
            "SW330 warning witnessed 4",
            "SW330 warning witnessed 5",
        ],
    ),
    (
        "multiplexing for whatever has an at sign",
        r#"rules:
  - {rule_id: 1, match_digest: "@", multiplex: 2}"#,
        &["SW604 error witnessed 1"],
    ),
    (
        "a cache for all reads",
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT", cache_ttl_ms: 2000, apply: 1}"#,
        &["SW606 info proved 1", "SW609 warning witnessed 1"],
    ),
    (
        "a mirror of everything",
        r#"rules:
  - {rule_id: 1, match_digest: ".", mirror_hostgroup: 30}"#,
        &["SW606 info proved 1", "SW610 warning witnessed 1"],
    ),
    (
        "denying what has no condition",
        r#"rules:
  - {rule_id: 1, username: app, match_digest: "^(DELETE|UPDATE) (?!.*WHERE)", error_msg: "WHERE is missing", apply: 1}"#,
        &["SW243 info possible 1"],
    ),
    (
        "an allow list and a last rule that denies",
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT a FROM t WHERE id=\\?$", apply: 1}
  - {rule_id: 2, match_digest: "^(BEGIN|COMMIT|ROLLBACK|SET )", apply: 1}
  - {rule_id: 99, error_msg: "not allowed", apply: 1}"#,
        &["SW243 info possible 99"],
    ),
    (
        "a denying rule in front",
        r#"rules:
  - {rule_id: 1, error_msg: "not allowed"}
  - {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}"#,
        &["SW236 warning witnessed 1,2", "SW243 info possible 1"],
    ),
    (
        "clients by network",
        r#"rules:
  - {rule_id: 1, client_addr: "10.0.0.0/8", destination_hostgroup: 20, apply: 1}
  - {rule_id: 2, client_addr: "10.1.%", destination_hostgroup: 30, apply: 1}"#,
        &["SW234 error proved 1"],
    ),
    (
        "a canary by weights",
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT a", flagOUTs: [{id: 1, weight: 9}, {id: 2, weight: 1}]}
  - {rule_id: 2, flagIN: 1, destination_hostgroup: 20, apply: 1}
  - {rule_id: 3, flagIN: 2, destination_hostgroup: 30, apply: 1}"#,
        &["SW209 info possible 3", "SW244 warning witnessed 2"],
    ),
    (
        "a table renamed while clients still use its name",
        r#"rules:
  - {rule_id: 1, match_pattern: "\\borders\\b", replace_pattern: "orders_v2", re_modifiers: "CASELESS,GLOBAL"}"#,
        &["SW502 warning witnessed 1"],
    ),
];

#[test]
fn published_rule_sets_have_known_findings() {
    let mut wrong = Vec::new();
    for (name, yaml, expected) in PUBLISHED {
        let findings = analyse(&configuration(yaml));
        if lines(&findings) != *expected {
            let got: Vec<String> = lines(&findings)
                .into_iter()
                .zip(&findings)
                .map(|(line, finding)| format!("  {line}: {}", finding.message))
                .collect();
            wrong.push(format!("{name}: expected {expected:?}, got\n{}", got.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A thousand rules one behind the other: what each of them costs is said, and that none of them is dead.
#[test]
fn a_list_of_a_thousand_rules() {
    let rules: Vec<String> = (0..1_000)
        .map(|n| format!("  - {{rule_id: {}, match_pattern: \"^/\\\\* shard={n:03} \\\\*/\", destination_hostgroup: 20, apply: 1}}", n + 1))
        .collect();
    let found = lines(&analyse(&configuration(&format!("rules:\n{}", rules.join("\n")))));
    assert_eq!(found, ["SW703 info witnessed 1000"]);
}
