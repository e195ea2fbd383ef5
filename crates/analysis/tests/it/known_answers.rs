//! Rule sets with known findings; the numbers are those of the hazards in the reference.

use shardwright_analysis::{Beside, OtherUsers, analyse, analysis_beside};
use shardwright_rules::NamePattern;

use crate::common::lines;
use shardwright_testkit::configuration;

const TABLE: &[(&str, &str, &[&str])] = &[
    ("no rules", "rules: []", &[]),
    (
        "a reader split with the rest on the default",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW244 warning witnessed 20",
            "SW401 warning witnessed 20",
            "SW406 info witnessed 20",
        ],
    ),
    (
        "L01 a jump back",
        r#"rules:
  - {rule_id: 5, flagIN: 5, destination_hostgroup: 20, apply: 1}
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 5}"#,
        &["SW213 error proved 10,5"],
    ),
    (
        "L01 with a restart",
        r#"iterations: 1
rules:
  - {rule_id: 5, flagIN: 5, destination_hostgroup: 20, apply: 1}
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 5}"#,
        &["SW244 warning witnessed 5"],
    ),
    (
        "L02 a chain that nothing enters",
        r#"rules:
  - {rule_id: 20, flagIN: 7, destination_hostgroup: 20, apply: 1}"#,
        &["SW202 warning proved 20"],
    ),
    (
        "a chain behind a dead chain",
        r#"rules:
  - {rule_id: 20, flagIN: 7, flagOUT: 8}
  - {rule_id: 30, flagIN: 8, destination_hostgroup: 20, apply: 1}"#,
        &["SW202 warning proved 20", "SW202 warning proved 30"],
    ),
    (
        "a chain that next_query_flagIN enters",
        r#"rules:
  - {rule_id: 10, match_digest: "^BEGIN", destination_hostgroup: 20, next_query_flagIN: 7, apply: 1}
  - {rule_id: 20, flagIN: 7, destination_hostgroup: 20, apply: 1}"#,
        &["SW232 warning proved 10"],
    ),
    (
        "L03 a jump to nowhere",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 9}"#,
        &["SW203 error witnessed 10"],
    ),
    (
        "L03 with a destination",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, flagOUT: 9}"#,
        &[
            "SW203 warning witnessed 10",
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "L04 a chain without an end",
        r#"rules:
  - {rule_id: 10, match_digest: "^(SELECT|UPDATE)", flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_digest: "t1", destination_hostgroup: 20, apply: 1}"#,
        &["SW204 warning witnessed 20"],
    ),
    (
        "a chain that goes on where the first one ends",
        r#"rules:
  - {rule_id: 10, match_digest: "^DROP", error_msg: "no", apply: 1}
  - {rule_id: 15, flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_digest: "t1", destination_hostgroup: 20, apply: 1}"#,
        &["SW243 info possible 10"],
    ),
    (
        "L04 where the jump has placed",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_digest: "t1", destination_hostgroup: 20, apply: 1}"#,
        &[
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "L04 where the patterns of the chain cover the jump's",
        r#"rules:
  - {rule_id: 10, match_digest: "^(SELECT|UPDATE)", flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_digest: "^SEL", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, flagIN: 5, match_digest: "^UPD", destination_hostgroup: 21, apply: 1}"#,
        &["SW244 warning witnessed 20", "SW401 error witnessed 30"],
    ),
    (
        "shards without an end",
        r#"rules:
  - {rule_id: 10, match_pattern: "shard=1\\b", destination_hostgroup: 20, apply: 1}
  - {rule_id: 20, match_pattern: "shard=2\\b", destination_hostgroup: 30, apply: 1}"#,
        &["SW204 info witnessed 20"],
    ),
    (
        "shards with an end",
        r#"rules:
  - {rule_id: 10, match_pattern: "shard=1\\b", destination_hostgroup: 20, apply: 1}
  - {rule_id: 20, match_pattern: "shard=2\\b", destination_hostgroup: 30, apply: 1}
  - {rule_id: 30, error_msg: "no shard", apply: 1}"#,
        &["SW243 info possible 30"],
    ),
    (
        "L05 apply and flagOUT",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 5, apply: 1}"#,
        &["SW207 warning proved 10"],
    ),
    (
        "L06 a self-loop that grows",
        r#"iterations: 3
rules:
  - {rule_id: 10, match_pattern: "t1", replace_pattern: "t11", flagOUT: 0}"#,
        &[
            "SW211 warning witnessed 10",
            "SW502 warning witnessed 10",
            "SW504 warning witnessed 10",
        ],
    ),
    (
        "a self-loop that ends by itself",
        r#"iterations: 3
rules:
  - {rule_id: 10, match_pattern: "old", replace_pattern: "new", flagOUT: 0}"#,
        &["SW502 warning witnessed 10"],
    ),
    (
        "L07 a circle",
        r#"iterations: 3
rules:
  - {rule_id: 10, flagOUT: 5}
  - {rule_id: 20, flagIN: 5, flagOUT: 0}"#,
        &["SW210 warning witnessed 10,20"],
    ),
    (
        "L08 a shadowed rule",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT.*FOR UPDATE", destination_hostgroup: 10, apply: 1}"#,
        &[
            "SW201 error proved 20",
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "a redundant rule",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT a", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW201 warning proved 20",
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "a rule that three take together",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT [a-m]", destination_hostgroup: 11, apply: 1}
  - {rule_id: 11, match_digest: "^SHOW", destination_hostgroup: 11, apply: 1}
  - {rule_id: 12, match_digest: "^SELECT [n-z]", destination_hostgroup: 20, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT [b-y]{2}", destination_hostgroup: 21, apply: 1}"#,
        &[
            "SW201 error proved 20",
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "a rule that users share",
        r#"rules:
  - {rule_id: 10, username: app, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}
  - {rule_id: 20, username: geo, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, username: app, match_digest: "^SELECT a", destination_hostgroup: 20, apply: 1}"#,
        &[
            "SW201 error proved 30",
            "SW228 info witnessed 10",
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "conditions of a chain that exclude those of its entrance",
        r#"rules:
  - {rule_id: 10, username: app, flagOUT: 5}
  - {rule_id: 20, flagIN: 5, username: geo, destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, flagIN: 5, destination_hostgroup: 30, apply: 1}"#,
        &["SW201 error proved 20"],
    ),
    (
        "an entrance's pattern excludes a rule's",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_digest: "^UPDATE", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, flagIN: 5, destination_hostgroup: 21, apply: 1}"#,
        &[
            "SW201 error proved 20",
            "SW244 warning witnessed 30",
            "SW401 error witnessed 30",
            "SW406 info witnessed 30",
        ],
    ),
    (
        "prefixes of addresses",
        r#"rules:
  - {rule_id: 10, client_addr: "10.%", destination_hostgroup: 11, apply: 1}
  - {rule_id: 20, client_addr: "10.1.%", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, client_addr: "192.168.%", destination_hostgroup: 30, apply: 1}"#,
        &["SW201 error proved 20", "SW401 error witnessed 10"],
    ),
    (
        "L09 no condition, not last",
        r#"rules:
  - {rule_id: 10, destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, match_digest: "^UPDATE", destination_hostgroup: 30, apply: 1}"#,
        &["SW205 error proved 10,20,30"],
    ),
    (
        "L10 a missing apply",
        r#"rules:
  - {rule_id: 10, schemaname: shop, destination_hostgroup: 20}
  - {rule_id: 90, destination_hostgroup: 10, apply: 1}"#,
        &["SW208 error proved 10,90", "SW241 info witnessed 10"],
    ),
    (
        "a placement that only some statements lose",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11}
  - {rule_id: 90, match_digest: "FOR UPDATE$", destination_hostgroup: 10, apply: 1}"#,
        &[
            "SW244 warning witnessed 10",
            "SW401 warning witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "L12 an answer beats a refusal",
        r#"rules:
  - {rule_id: 10, match_digest: "^DROP", OK_msg: ""}
  - {rule_id: 20, match_digest: "^DROP", error_msg: "denied", apply: 1}"#,
        &["SW223 error witnessed 10,20", "SW243 info possible 10,20"],
    ),
    (
        "L14 fast routing switched off",
        r#"fast_routing: [{username: "", schemaname: shop, flagIN: 0, destination_hostgroup: 20}]
rules:
  - {rule_id: 999, match_digest: "^DROP", error_msg: "no", apply: 1}"#,
        &["SW221 error witnessed 999", "SW243 info possible 999"],
    ),
    (
        "L14 on the bundled engine",
        r#"engine: bundled
fast_routing: [{username: "", schemaname: shop, flagIN: 0, destination_hostgroup: 20}]
rules:
  - {rule_id: 999, match_digest: "^DROP", error_msg: "no", apply: 1}"#,
        &[],
    ),
    (
        "L27 a pattern that does not compile",
        r#"rules:
  - {rule_id: 10, match_pattern: "(abc", destination_hostgroup: 20, apply: 1}"#,
        &["SW220 error proved 10"],
    ),
    (
        "L28 the same, negated",
        r#"rules:
  - {rule_id: 10, match_pattern: "(abc", negate_match_pattern: 1, error_msg: "no", apply: 1}
  - {rule_id: 20, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW205 error proved 10,20",
            "SW220 error proved 10",
            "SW243 info possible 10",
        ],
    ),
    (
        "L29 look-ahead on RE2",
        r#"regex: re2
rules:
  - {rule_id: 10, match_digest: "^SELECT (?!.*FOR UPDATE)", destination_hostgroup: 11, apply: 1}"#,
        &["SW222 error proved 10"],
    ),
    (
        "L29 look-ahead on PCRE",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT (?!.*FOR UPDATE)", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW244 warning witnessed 10",
            "SW401 warning witnessed 10",
            "SW406 info witnessed 10",
        ],
    ),
    (
        "quotes stand in a digest by executable comments only",
        r#"rules:
  - {rule_id: 10, match_digest: "name='x'", destination_hostgroup: 11, apply: 1}"#,
        &["SW226 warning possible 10"],
    ),
    (
        "nor do comments",
        r#"rules:
  - {rule_id: 10, match_digest: "/\\* shard=1 \\*/", destination_hostgroup: 20, apply: 1}"#,
        &["SW226 warning possible 10"],
    ),
    (
        "a rewrite can make what a later rule matches",
        r#"rules:
  - {rule_id: 10, match_pattern: "^old", replace_pattern: "new", re_modifiers: ""}
  - {rule_id: 20, match_pattern: "^old", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, match_pattern: "^new", destination_hostgroup: 21, apply: 1}"#,
        &[],
    ),
    (
        "a digest that nobody knows",
        r#"rules:
  - {rule_id: 10, digest: "0xDEADBEEFDEADBEEF", destination_hostgroup: 20, apply: 1}"#,
        &["SW209 info possible 10"],
    ),
    (
        "two rules with one digest",
        r#"rules:
  - {rule_id: 10, digest: "0xDEADBEEFDEADBEEF", destination_hostgroup: 20, apply: 1}
  - {rule_id: 20, digest: "0xDEADBEEFDEADBEEF", destination_hostgroup: 30, apply: 1}"#,
        &["SW201 error proved 20", "SW209 info possible 10"],
    ),
    (
        "patterns over both texts",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_pattern: "/\\* hot \\*/", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, flagIN: 5, destination_hostgroup: 30, apply: 1}"#,
        &["SW244 warning witnessed 30", "SW311 warning witnessed 20"],
    ),
    (
        "a user who is none",
        r#"rules:
  - {rule_id: 10, username: ghost, destination_hostgroup: 20, apply: 1}"#,
        &["SW206 warning proved 10"],
    ),
    (
        "two restarts and one iteration",
        r#"iterations: 1
rules:
  - {rule_id: 10, flagIN: 6, destination_hostgroup: 20, apply: 1}
  - {rule_id: 20, flagIN: 5, flagOUT: 6}
  - {rule_id: 30, match_digest: "^SELECT", flagOUT: 5}"#,
        &["SW212 error proved 10"],
    ),
    (
        "a hostgroup that does not exist",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 77, apply: 1}"#,
        &["SW244 warning witnessed 10", "SW701 error proved 10"],
    ),
    (
        "a hostgroup that refuses",
        r#"refusing: [{id: 77, address: shard_maps.m, reason: "SW351: no shard key", refuser: admin, host: 127.0.0.1, port: 6032}]
rules:
  - {rule_id: 10, match_digest: "^CREATE", destination_hostgroup: 77, apply: 1}"#,
        &[],
    ),
    (
        "a hostgroup that is drained",
        r#"hostgroups: {11: {status: draining}}
rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
            "SW701 warning proved 10",
        ],
    ),
    (
        "weights of 0",
        r#"hostgroups: {11: {weight: 0}}
rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
        &[
            "SW244 warning witnessed 10",
            "SW401 error witnessed 10",
            "SW406 info witnessed 10",
            "SW702 error proved 10",
        ],
    ),
    (
        "steps of the bundled engine",
        r#"engine: bundled
rules:
  - {rule_id: 1, native: {map: {map: m, key: tenant, kind: integer, conflict: reject, unqualified: reject,
      finders: [{comment: {word: tenant, form: pairs}}],
      shards: [{address: shard_maps.m.shards.t1, cluster: b, keys: [1]}, {address: shard_maps.m.shards.t2, cluster: c, keys: [2]}],
      missing: {statements: reject, session_setup: allow, begin: reject}, unknown: reject}}}
  - {rule_id: 2, native: {role: {reads: all}}}
  - {rule_id: 3, native: stop_if_placed}
  - {rule_id: 4, match_digest: "^SHOW", destination_hostgroup: 11, apply: 1}"#,
        &[],
    ),
    (
        "a shard on a cluster without servers",
        r#"engine: bundled
hostgroups: {20: {status: offline}}
rules:
  - {rule_id: 1, native: {map: {map: m, key: tenant, kind: integer, conflict: reject, unqualified: reject,
      finders: [{comment: {word: tenant, form: pairs}}],
      shards: [{address: shard_maps.m.shards.t1, cluster: b, keys: [1]}],
      missing: {statements: reject, session_setup: allow, begin: reject}, unknown: reject}}}"#,
        &["SW701 warning proved 1"],
    ),
];

#[test]
fn known_rule_sets_have_known_findings() {
    let mut wrong = Vec::new();
    for (name, yaml, expected) in TABLE {
        let findings = analyse(&configuration(yaml));
        if lines(&findings) != *expected {
            let got: Vec<String> = lines(&findings)
                .into_iter()
                .zip(&findings)
                .map(|(line, finding)| {
                    format!(
                        "  {line}: {} {:?} {:?}",
                        finding.message, finding.notes, finding.witness
                    )
                })
                .collect();
            wrong.push(format!("{name}: expected {expected:?}, got\n{}", got.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_rule_for_a_user_of_others_is_not_dead() {
    let configuration =
        configuration("users: [app]\nrules:\n  - {rule_id: 10, username: svc.app, error_msg: no, apply: 1}");
    let told = |others: OtherUsers| {
        let findings = analysis_beside(
            &configuration,
            &Beside {
                users: others,
                ..Beside::default()
            },
        )
        .findings;
        findings.iter().any(|finding| finding.code.as_str() == "SW206")
    };
    assert!(told(OtherUsers::None));
    assert!(!told(OtherUsers::AllBut(vec![NamePattern::new("app")])));
    assert!(told(OtherUsers::AllBut(vec![NamePattern::new("svc*")])));
}
