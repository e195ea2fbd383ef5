//! Rule sets in which nothing is to be found, on each engine.

mod common;

use common::{configuration, lines};
use shardwright_analysis::analyse;
use shardwright_rules::EngineId;

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
];

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let mut wrong = Vec::new();
    let mut sets = 0;
    for rules in CLEAN {
        for engine in EngineId::ALL {
            sets += 1;
            let configuration = configuration(&format!("{{engine: {engine}, rules: [{rules}]}}"));
            let findings = analyse(&configuration);
            if !findings.is_empty() {
                let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
                wrong.push(format!(
                    "{engine}: {rules}\n  {:?} {messages:?}",
                    lines(&findings)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sets >= 50, "{sets}");
}
