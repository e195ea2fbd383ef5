//! What rests on the language of digests: answers that were wrong while digests were made otherwise than the engine makes
//! them. The texts behind the answers were seen on a real ProxySQL 2.7.1.

use shardwright_analysis::analyse;
use shardwright_prover::equivalence::{Equivalence, equivalence};

use crate::common::lines;
use shardwright_testkit::configuration;

fn compare(left: &str, right: &str) -> Equivalence {
    equivalence(&configuration(left), &configuration(right))
}

fn one(pattern: &str) -> String {
    format!("rules: [{{rule_id: 1, match_digest: '{pattern}', destination_hostgroup: 20, apply: 1}}]")
}

#[track_caller]
fn refuted(left: &str, right: &str) {
    let answer = compare(left, right);
    assert!(
        matches!(answer, Equivalence::Refuted { .. }),
        "{left}\n{right}\n{answer:#?}"
    );
}

#[test]
fn blanks_of_digests_are_not_all_alike() {
    refuted(&one(r"^SELECT\s"), &one("^SELECT "));
    refuted(&one("  "), "rules: []");
    refuted(&one(" ,"), &one(r"\s,"));
    let split = |select: &str, lock: &str| {
        format!(
            "rules:\n  - {{rule_id: 1, match_digest: '{select}', destination_hostgroup: 20, apply: 1}}\n  \
             - {{rule_id: 2, match_digest: '{lock}', destination_hostgroup: 30, apply: 1}}"
        )
    };
    refuted(
        &split(r"^SELECT\s.*\sFOR\sUPDATE$", "^SELECT"),
        &split("^SELECT .* FOR UPDATE$", "^SELECT"),
    );
}

#[test]
fn what_no_digest_begins_with_is_still_decided() {
    assert_eq!(compare(&one("^ "), "rules: []"), Equivalence::Proved);
    assert_eq!(compare(&one(r"\x00"), "rules: []"), Equivalence::Proved);
}

#[test]
fn a_rule_with_two_blanks_is_alive() {
    let findings = analyse(&configuration(
        "rules: [{rule_id: 10, match_digest: '^SELECT total  tax FROM orders', destination_hostgroup: 20, apply: 1}]",
    ));
    assert_eq!(lines(&findings), Vec::<String>::new());
}

#[test]
fn variables_shape_what_rules_match() {
    let lowercase = |pattern: &str, on: bool| {
        format!(
            "variables: {{mysql-query_digests_lowercase: '{on}'}}\nrules: [{{rule_id: 10, match_digest: '{pattern}', \
             destination_hostgroup: 20, apply: 1}}]"
        )
    };
    refuted(&lowercase("^select", true), "rules: []");
    let differ = compare(
        &lowercase("^SELECT x FROM y", true),
        &lowercase("^SELECT x FROM y", false),
    );
    assert_ne!(differ, Equivalence::Proved);
    // Without digests, the conditions on them are skipped.
    let off = "variables: {mysql-query_digests: 'false'}\nrules: [{rule_id: 10, match_digest: '^x', \
               destination_hostgroup: 20, apply: 1}]";
    let all = "variables: {mysql-query_digests: 'false'}\nrules: [{rule_id: 10, destination_hostgroup: 20, apply: 1}]";
    assert_eq!(compare(off, all), Equivalence::Proved);
}
