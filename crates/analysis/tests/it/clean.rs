//! Rule sets in which nothing is to be found, on each engine.

use std::collections::BTreeSet;

use shardwright_analysis::analyse;
use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;

use crate::common::lines;
use shardwright_testkit::configuration;

/// The rows of `rules:`; clusters b and c take what is placed, so that nothing is a read/write split.
const CLEAN: &[&str] = &[
    "",
    r#"{rule_id: 1, match_digest: "^SELECT a FROM report", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM report WHERE id=\\?$", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "\\breport_2024\\b", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^DROP", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^(DROP|TRUNCATE)", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, username: app, match_digest: "^DROP", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, client_addr: "10.%", match_digest: "^DROP", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, client_addr: "10.0.0.7", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, username: geo, destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, username: geo, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^CALL ", destination_hostgroup: 30, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^CALL ", log: true}"#,
    r#"{rule_id: 1, match_digest: "^SELECT", log: true}"#,
    r#"{rule_id: 1, match_digest: "^SELECT", timeout_ms: 60000}"#,
    r#"{rule_id: 1, match_digest: "^SELECT @@[a-z_.]+$", multiplex: 2}"#,
    r#"{rule_id: 1, match_digest: "^LOCK TABLES", multiplex: 0}"#,
    r#"{rule_id: 1, match_pattern: "^/\\* tenant=1 \\*/", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM t1\\b", flagOUT: 5}, {rule_id: 2, flagIN: 5, destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM t1\\b", flagOUT: 5}, {rule_id: 2, flagIN: 5, username: app, destination_hostgroup: 20, apply: 1}, {rule_id: 3, flagIN: 5, error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^(SELECT|UPDATE) t1$", flagOUT: 5}, {rule_id: 2, flagIN: 5, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}, {rule_id: 3, flagIN: 5, match_digest: "^UPDATE", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^INSERT INTO log\\b", destination_hostgroup: 20, apply: 1}, {rule_id: 2, match_digest: "^INSERT INTO audit\\b", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM hot\\b", destination_hostgroup: 20, apply: 1}, {rule_id: 2, match_digest: "^SELECT a FROM", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^DROP TABLE tmp_", apply: 1}, {rule_id: 2, match_digest: "^DROP TABLE", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SHOW", destination_hostgroup: 30, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT COUNT\\(", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^INSERT INTO metrics\\b", destination_hostgroup: 30, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^UPDATE counters SET ", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^TRUNCATE (TABLE )?tmp_", error_msg: "not here", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^FLUSH ", error_msg: "not through the proxy", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^GRANT |^REVOKE ", error_msg: "ask the administrators", apply: 1}"#,
    r#"{rule_id: 1, username: app, match_digest: "^ALTER TABLE ", error_msg: "migrations only", apply: 1}, {rule_id: 2, username: geo, match_digest: "^DROP DATABASE ", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, client_addr: "10.1.%", match_digest: "^SELECT a FROM report\\b", destination_hostgroup: 20, apply: 1}, {rule_id: 2, client_addr: "10.2.%", match_digest: "^SELECT a FROM report\\b", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM t WHERE id=\\?$", apply: 1}, {rule_id: 2, match_digest: "^(BEGIN|COMMIT|ROLLBACK|SET )", apply: 1}, {rule_id: 99, error_msg: "not allowed", apply: 1}"#,
    r#"{rule_id: 1, match_pattern: "shard=1\\b", destination_hostgroup: 20, apply: 1}, {rule_id: 2, match_pattern: "shard=2\\b", destination_hostgroup: 30, apply: 1}, {rule_id: 3, error_msg: "no shard", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^(SELECT|UPDATE) orders$", flagOUT: 5}, {rule_id: 2, flagIN: 5, match_digest: "^SEL", destination_hostgroup: 20, apply: 1}, {rule_id: 3, flagIN: 5, match_digest: "^UPD", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM t1\\b", flagOUT: 5}, {rule_id: 2, flagIN: 5, flagOUT: 6}, {rule_id: 3, flagIN: 6, destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^DROP", error_msg: "no", apply: 1}, {rule_id: 2, flagOUT: 5}, {rule_id: 3, flagIN: 5, match_digest: "t1", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, username: app, match_digest: "^SELECT", timeout_ms: 30000}"#,
    r#"{rule_id: 1, username: app, log: true}"#,
    r#"{rule_id: 1, match_digest: "^(DELETE|UPDATE) (?!.*WHERE)", error_msg: "WHERE is missing", apply: 1}"#,
    r#"{rule_id: 1, match_pattern: "^SELECT a FROM old_orders$", replace_pattern: "SELECT a FROM new_orders"}"#,
    r#"{rule_id: 1, match_digest: "^SELECT SLEEP\\(", error_msg: "no", apply: 1}, {rule_id: 2, match_digest: "^SELECT BENCHMARK\\(", error_msg: "no", apply: 1}"#,
    r#"{rule_id: 1, match_digest: "^SELECT a FROM (hot|warm)\\b", destination_hostgroup: 20, apply: 1}, {rule_id: 2, match_digest: "^SELECT a FROM cold\\b", destination_hostgroup: 20, apply: 1}"#,
    r#"{rule_id: 1, username: geo, match_digest: "^(INSERT|UPDATE|DELETE|REPLACE) ", error_msg: "geo only reads", apply: 1}"#,
];

/// The same with other settings, servers or listeners.
const CLEAN_WITH: &[(&str, &str)] = &[
    (
        r#"listeners: [{bind: "0.0.0.0", port: 6033}, {bind: "0.0.0.0", port: 6034}]"#,
        r#"{rule_id: 1, proxy_port: 6034, destination_hostgroup: 20, apply: 1}"#,
    ),
    (
        "iterations: 1",
        r#"{rule_id: 5, flagIN: 5, destination_hostgroup: 20, apply: 1}, {rule_id: 10, match_digest: "^CALL ", flagOUT: 5}"#,
    ),
    (
        "fast_routing: [{username: geo, schemaname: shard01, flagIN: 0, destination_hostgroup: 20}]",
        "",
    ),
    (
        "hostgroups: {20: {weight: 100}, 21: {weight: 50}}",
        r#"{rule_id: 1, match_digest: "^CALL ", destination_hostgroup: 20, apply: 1}"#,
    ),
    ("hostgroups: {11: {max_replication_lag_s: 10}}", ""),
    (
        "regex: re2",
        r#"{rule_id: 1, match_digest: "^SELECT a FROM report\\b", destination_hostgroup: 20, apply: 1}"#,
    ),
    (
        "variables: {mysql-monitor_slave_lag_when_null: '600'}, hostgroups: {11: {max_replication_lag_s: 300}}",
        "",
    ),
];

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let mut wrong = Vec::new();
    let plain = CLEAN.iter().map(|rules| ("", *rules));
    let sets: BTreeSet<(&str, &str)> = plain.chain(CLEAN_WITH.iter().copied()).collect();
    for &(settings, rules) in &sets {
        for engine in EngineId::ALL {
            let comma = if settings.is_empty() { "" } else { ", " };
            let configuration = configuration(&format!(
                "{{{settings}{comma}engine: {engine}, rules: [{rules}]}}"
            ));
            let mut findings = analyse(&configuration);
            // What ProxySQL does to any refusal that is loaded at the wrong time, and to any two hostgroups of a session,
            // is told once for each set.
            findings.retain(|finding| {
                let code = finding.code.as_str();
                code != "SW244" && (code, finding.severity) != ("SW243", Severity::Info)
            });
            if !findings.is_empty() {
                let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
                wrong.push(format!(
                    "{engine}: {settings} {rules}\n  {:?} {messages:?}",
                    lines(&findings)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sets.len() >= 50, "{} different sets", sets.len());
}
