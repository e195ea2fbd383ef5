//! Rule sets with known findings that one version of an engine has and another has not, and what is almost wrong.

use crate::common::check;

const TABLE: &[(&str, &str, &[&str])] = &[
    (
        "L35 an optional blank",
        r#"rules:
  - {rule_id: 10, match_digest: "\\b(?:GET_LOCK|RELEASE_LOCK) ?\\(", multiplex: 0}"#,
        &[],
    ),
    (
        "L35 a question mark that is meant",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT a FROM t LIMIT ?$", destination_hostgroup: 20, apply: 1}"#,
        &["SW230 warning proved 10"],
    ),
    (
        "a net that catches nothing",
        r#"rules:
  - {rule_id: 10, match_digest: "^SELECT a", flagOUT: 5}
  - {rule_id: 20, flagIN: 5, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}
  - {rule_id: 30, flagIN: 5, flagOUT: 6}
  - {rule_id: 40, flagIN: 6, destination_hostgroup: 20, apply: 1}"#,
        &[
            "SW201 info proved 30",
            "SW202 warning proved 40",
            "SW244 warning witnessed 20",
        ],
    ),
    (
        "L14 on ProxySQL 3.0",
        r#"engine: proxysql-3.0
fast_routing: [{username: "", schemaname: shop, flagIN: 0, destination_hostgroup: 20}]
rules:
  - {rule_id: 999, match_digest: "^DROP", error_msg: "no", apply: 1}"#,
        &[],
    ),
    (
        "L82 a lag limit and servers of 8.4",
        r#"variables: {mysql-server_version: "8.4.0"}
hostgroups: {11: {max_replication_lag_s: 10}}"#,
        &["SW409 warning possible "],
    ),
    (
        "L82 on ProxySQL 3.0",
        r#"engine: proxysql-3.0
variables: {mysql-server_version: "8.4.0"}
hostgroups: {11: {max_replication_lag_s: 10}}"#,
        &[],
    ),
    (
        "L76 annotations that are never read",
        r#"engine: proxysql-3.0
variables: {mysql-query_processor_first_comment_parsing: "0"}
rules:
  - {rule_id: 10, username: app, destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, username: geo, destination_hostgroup: 20, apply: 1}"#,
        &[],
    ),
    (
        "L76 annotations that override",
        r#"engine: proxysql-3.0
rules:
  - {rule_id: 10, username: app, destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, username: geo, destination_hostgroup: 20, apply: 1}"#,
        &["SW228 info witnessed 10"],
    ),
];

#[test]
fn engines_and_near_misses_have_known_findings() {
    for (name, yaml, expected) in TABLE {
        check(name, yaml, expected);
    }
}
