//! Rules that meet no ordinary statement: what is found comes from the words that they ask for.

use shardwright_analysis::{Finding, analyse};

use crate::common::{check, lines};
use shardwright_testkit::configuration;

/// The findings of one code.
fn findings_of(yaml: &str, code: &str) -> Vec<Finding> {
    let mut findings = analyse(&configuration(yaml));
    findings.retain(|finding| finding.code.as_str() == code);
    findings
}

/// The statement that shows the only finding of a code.
#[track_caller]
fn shown(yaml: &str, code: &str) -> String {
    let findings = findings_of(yaml, code);
    assert_eq!(findings.len(), 1, "{yaml}\n{:#?}", lines(&findings));
    findings[0]
        .witness
        .as_ref()
        .map_or_else(String::new, |witness| witness.query.clone())
}

/// Hostgroups 30 and 40 belong to no pair; 40 has no server here.
const NO_PAIR: &str = "clusters: {a: {reader: null}, b: {reader: null}}, user: {default_hostgroup: 30}";

fn without_pairs(rules: &str) -> String {
    format!("{{{NO_PAIR}, rules: [{rules}]}}")
}

#[test]
fn locking_reads_that_leave_the_writes_are_found_without_a_pair() {
    let split = without_pairs(
        r#"{rule_id: 1, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 30, apply: 1},
           {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}"#,
    );
    assert_eq!(
        shown(&split, "SW401"),
        "SELECT a FROM t WHERE id=1 FOR UPDATE SKIP LOCKED"
    );
    let one_table = without_pairs(
        r#"{rule_id: 2, match_digest: "^SELECT a FROM report", destination_hostgroup: 20, apply: 1}"#,
    );
    assert_eq!(shown(&one_table, "SW401"), "SELECT a FROM report FOR UPDATE");
    // Both kinds go together, to the same servers, or the end of the statement is asked for: nothing is wrong.
    for fine in [
        r#"{rule_id: 2, match_digest: "report", destination_hostgroup: 20, apply: 1}"#,
        r#"{rule_id: 2, match_digest: "^SELECT a FROM report WHERE id=\\?$", destination_hostgroup: 20, apply: 1}"#,
        r#"{rule_id: 1, match_digest: "FOR (UPDATE|SHARE)|LOCK IN SHARE MODE|GET_LOCK", destination_hostgroup: 30, apply: 1},
           {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}"#,
    ] {
        assert!(findings_of(&without_pairs(fine), "SW401").is_empty(), "{fine}");
    }
    let same_server = r#"{clusters: {a: {reader: null}, b: {reader: null}}, user: {default_hostgroup: 30},
        hostgroups: {20: {host: one}, 30: {host: one}},
        rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}]}"#;
    assert!(findings_of(same_server, "SW401").is_empty());
}

#[test]
fn rules_of_one_table_on_readers_are_one_finding() {
    let findings = findings_of(
        r#"rules:
  - {rule_id: 1, match_digest: "^SELECT a FROM report", destination_hostgroup: 11, apply: 1}
  - {rule_id: 2, match_digest: "^SELECT b FROM stock", destination_hostgroup: 11, apply: 1}"#,
        "SW401",
    );
    assert_eq!(lines(&findings), ["SW401 warning witnessed 1,2"]);
}

#[test]
fn writes_of_one_table_are_mirrored_cached_and_retried() {
    for (columns, code, statement) in [
        (
            r#"match_digest: "^INSERT INTO clicks", mirror_hostgroup: 20"#,
            "SW610",
            "INSERT INTO clicks VALUES (1)",
        ),
        (
            r#"match_digest: "clicks", mirror_hostgroup: 20"#,
            "SW610",
            "UPDATE clicks SET a=1 WHERE id=1",
        ),
        (
            r#"match_digest: "^UPDATE counters", cache_ttl_ms: 1000"#,
            "SW609",
            "UPDATE counters SET a=1 WHERE id=1",
        ),
        (
            r#"match_pattern: "^DELETE FROM sessions", retries: 2"#,
            "SW607",
            "DELETE FROM sessions WHERE id=1",
        ),
    ] {
        let yaml = format!("rules:\n  - {{rule_id: 1, {columns}}}");
        assert_eq!(shown(&yaml, code), statement, "{columns}");
    }
}

#[test]
fn refusals_that_another_way_to_write_passes() {
    for (columns, passes) in [
        (r#"match_pattern: "^ALTER TABLE""#, " ALTER TABLE"),
        (r#"match_pattern: "ALTER TABLE""#, "ALTER  TABLE"),
        (r#"match_digest: "^drop", re_modifiers: """#, "DROP"),
        (r#"match_digest: "^DROP TABLE", re_modifiers: """#, "drop TABLE"),
        (r#"match_digest: "TRUNCATE TABLE""#, "TRUNCATE t"),
    ] {
        let yaml = format!("rules:\n  - {{rule_id: 1, {columns}, error_msg: \"no\", apply: 1}}");
        let query = shown(&yaml, "SW229");
        assert!(query.starts_with(passes), "{columns}: {query}");
    }
    for fine in [
        r#"match_digest: "^DROP""#,
        r#"match_digest: "^(ALTER|DROP|TRUNCATE) ""#,
    ] {
        let yaml = format!("rules:\n  - {{rule_id: 1, {fine}, error_msg: \"no\", apply: 1}}");
        assert!(findings_of(&yaml, "SW229").is_empty(), "{fine}");
    }
}

#[test]
fn rows_of_fast_routing_behind_a_catch_all_are_never_found() {
    check(
        "a catch-all",
        r#"fast_routing: [{username: "", schemaname: shop, flagIN: 0, destination_hostgroup: 20}]
rules:
  - {rule_id: 1, match_digest: "^CALL", destination_hostgroup: 20, apply: 1}
  - {rule_id: 9, destination_hostgroup: 10, apply: 1}"#,
        &["SW239 error proved 9"],
    );
}

#[test]
fn executions_that_rules_refuse() {
    for (name, rules, scripts) in [
        (
            "another schema",
            r#"{rule_id: 1, schemaname: archive, error_msg: "no", apply: 1}"#,
            "USE archive, EXECUTE",
        ),
        (
            "another flag",
            r#"{rule_id: 1, match_digest: "^CALL lock_me", next_query_flagIN: 5, apply: 1},
               {rule_id: 2, flagIN: 5, match_digest: "^UPDATE", error_msg: "no", next_query_flagIN: 0, apply: 1}"#,
            "a statement that leaves the session at flag 5, EXECUTE",
        ),
        (
            "a rewritten text",
            r#"{rule_id: 1, match_pattern: "^SELECT 1$", replace_pattern: "SELECT 2", apply: 1},
               {rule_id: 2, match_pattern: "^SELECT 2$", error_msg: "no", apply: 1}"#,
            "it is kept as `SELECT 2`, EXECUTE",
        ),
        (
            "an answer",
            r#"{rule_id: 1, schemaname: archive, OK_msg: "fine", apply: 1}"#,
            "USE archive, EXECUTE",
        ),
    ] {
        let findings = findings_of(&format!("rules: [{rules}]"), "SW243");
        let notes: Vec<&str> = findings
            .iter()
            .flat_map(|finding| &finding.notes)
            .map(String::as_str)
            .collect();
        assert_eq!(
            findings[0].severity,
            shardwright_diagnostics::Severity::Warning,
            "{name}: {notes:?}"
        );
        assert!(
            notes.iter().any(|note| note.ends_with(scripts)),
            "{name}: {notes:?}"
        );
    }
    // Whatever EXECUTE could meet, PREPARE has met; a user cannot change, nor can an address.
    for rules in [
        r#"{rule_id: 1, match_digest: "^DROP", error_msg: "no", apply: 1}"#,
        r#"{rule_id: 1, username: geo, error_msg: "no", apply: 1}"#,
        r#"{rule_id: 1, client_addr: "10.1.%", error_msg: "no", apply: 1}"#,
        // A text that was rewritten to carry a mark is an execution, and only texts without it are refused.
        r#"{rule_id: 1, match_pattern: "^(?!/\\*ok\\*/)DROP", error_msg: "no", apply: 1},
           {rule_id: 2, match_pattern: "^(?!/\\*ok\\*/)", replace_pattern: "/*ok*/", destination_hostgroup: 20, apply: 1}"#,
    ] {
        let findings = findings_of(&format!("rules: [{rules}]"), "SW243");
        assert!(
            lines(&findings)
                .iter()
                .all(|line| line.starts_with("SW243 info possible")),
            "{rules}: {findings:#?}"
        );
    }
    let bundled =
        r#"{engine: bundled, rules: [{rule_id: 1, schemaname: archive, error_msg: "no", apply: 1}]}"#;
    assert!(findings_of(bundled, "SW243").is_empty());
    let newer =
        r#"{engine: proxysql-3.0, rules: [{rule_id: 1, schemaname: archive, error_msg: "no", apply: 1}]}"#;
    assert_eq!(lines(&findings_of(newer, "SW243")), ["SW243 warning possible 1"]);
}

#[test]
fn users_of_the_admin_port() {
    for (yaml, names) in [
        ("{users: [app, admin, stats]}", 2),
        ("{users: [app, administrator]}", 0),
        ("{engine: bundled, users: [admin]}", 0),
        (
            "{users: [admin, root], variables: {admin-admin_credentials: 'root:x;ops:y'}}",
            1,
        ),
    ] {
        assert_eq!(findings_of(yaml, "SW245").len(), names, "{yaml}");
    }
}

#[test]
fn a_mirror_under_a_firewall_ends_the_engine() {
    let on = "variables: {mysql-firewall_whitelist_enabled: 'true'}";
    let off = "variables: {mysql-firewall_whitelist_enabled: 'false'}";
    let mirror = "rules: [{rule_id: 1, match_digest: '^SELECT', mirror_hostgroup: 20, apply: 1}]";
    let chain = "rules: [{rule_id: 1, match_digest: '^SELECT', mirror_flagOUT: 5, apply: 1}]";
    let plain = "rules: [{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: 1}]";
    for (yaml, count) in [
        (format!("{{{on}, {mirror}}}"), 1),
        (format!("{{{on}, {chain}}}"), 1),
        (format!("{{engine: proxysql-3.0, {on}, {mirror}}}"), 1),
        (format!("{{{off}, {mirror}}}"), 0),
        (format!("{{{on}, {plain}}}"), 0),
        (format!("{{engine: bundled, {on}, {mirror}}}"), 0),
    ] {
        assert_eq!(findings_of(&yaml, "SW248").len(), count, "{yaml}");
    }
}
