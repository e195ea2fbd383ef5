//! What the analysis claims holds on the evaluator, for random rules, sessions and statements.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shardwright_analysis::{Finding, analyse};
use shardwright_rules::{Body, Configuration, Evaluator, SessionView, Statement};

const PATTERNS: [&str; 14] = [
    "^SELECT",
    "t1",
    "tenant=1",
    "tenant=17\\b",
    "FROM",
    "^$",
    "(broken",
    "a|b",
    "UPDATE",
    "^(SELECT|UPDATE)",
    "x$",
    "'",
    "(?=S)S",
    "SELECT.*t1",
];
const USERS: [&str; 3] = ["app", "geo", "someone"];
const SCHEMAS: [Option<&str>; 3] = [None, Some("shop"), Some("world")];
const ADDRESSES: [&str; 4] = ["10.0.0.1", "10.1.0.1", "192.0.2.1", "localhost"];
const PIECES: [&str; 14] = [
    "SELECT a FROM t1",
    "UPDATE t1 SET a=1",
    "SELECT",
    "SELECT 1",
    "UPDATE",
    " FOR UPDATE",
    "/* tenant=17 */",
    "/* tenant=18 */",
    "x",
    "",
    "'x'",
    "t1",
    " FROM b",
    "b",
];

fn optional<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>) -> impl Strategy<Value = Option<T>> {
    prop_oneof![2 => Just(None), 1 => select(values).prop_map(Some)]
}

fn rule() -> impl Strategy<Value = Value> {
    let conditions = (
        optional(vec!["app", "geo"]),
        optional(vec!["shop", "world"]),
        optional(vec!["10.%", "10.1.%", "192.0.2.1"]),
        optional(PATTERNS.to_vec()),
        optional(PATTERNS.to_vec()),
        prop::bool::weighted(0.2),
    );
    let actions = (
        optional(vec![0_u32, 1, 2, 3]),
        optional(vec![10_u32, 11, 20]),
        prop::option::weighted(0.1, select(vec!["x", "t11", ""])),
        prop::option::weighted(0.1, select(vec![1_u32, 2])),
        prop::bool::weighted(0.4),
    );
    (0_u32..4, conditions, actions).prop_map(|(flag_in, conditions, actions)| {
        let (username, schemaname, client_addr, match_digest, match_pattern, negate) = conditions;
        let (flag_out, hostgroup, replace, next_flag, apply) = actions;
        let replace = match_pattern.and(replace);
        json!({"flag_in": flag_in, "body": {"engine": {
            "username": username, "schemaname": schemaname, "client_addr": client_addr, "match_digest": match_digest,
            "match_pattern": match_pattern, "negate_match_pattern": negate, "flag_out": flag_out,
            "destination_hostgroup": hostgroup, "replace_pattern": replace, "next_query_flag_in": next_flag, "apply": apply}}})
    })
}

fn rules() -> impl Strategy<Value = Configuration> {
    (prop::collection::vec(rule(), 1..9), 0_u32..4).prop_map(|(mut rules, iterations)| {
        for (position, rule) in rules.iter_mut().enumerate() {
            rule["id"] = json!(position * 10 + 10);
            rule["address"] = json!(format!("rule.{position}"));
        }
        let mut configuration = shardwright_testkit::configuration("rules: []");
        configuration.settings.query_processor_iterations = iterations;
        configuration.graph.rules = serde_json::from_value(json!(rules)).expect("the strategy writes rules");
        configuration
    })
}

/// The rules of which a finding says that they never match.
fn dead_rules(finding: &Finding) -> &[u32] {
    match finding.code.as_str() {
        "SW201" | "SW202" | "SW212" => &finding.rule_ids,
        "SW205" | "SW213" => &finding.rule_ids[1..],
        _ => &[],
    }
}

fn start_flags(configuration: &Configuration) -> BTreeSet<u32> {
    let rows = configuration
        .graph
        .rules
        .iter()
        .filter_map(|rule| match &rule.body {
            Body::Engine(row) => row.next_query_flag_in,
            Body::Native { .. } => None,
        });
    rows.chain([0]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(shardwright_testkit::cases(600)))]
    #[test]
    fn claims_hold_on_the_evaluator(
        configuration in rules(),
        sql in prop::collection::vec(prop::collection::vec(select(PIECES.to_vec()), 0..4), 12),
    ) {
        let findings = analyse(&configuration);
        let dead: BTreeSet<u32> = findings.iter().flat_map(dead_rules).copied().collect();
        let undecided: BTreeSet<u32> =
            findings.iter().filter(|finding| finding.code.as_str() == "SW209").flat_map(|finding| finding.rule_ids.clone()).collect();
        prop_assert!(dead.is_disjoint(&undecided), "{dead:?} {undecided:?}");
        let evaluator = Evaluator::new(Arc::new(configuration.clone()));
        let iterations = configuration.settings.query_processor_iterations as usize;
        let most = (iterations + 1) * configuration.graph.rules.len();
        for flag in start_flags(&configuration) {
            for text in sql.iter().map(|pieces| pieces.concat()) {
                for (user, schema) in USERS.into_iter().flat_map(|user| SCHEMAS.map(|schema| (user, schema))) {
                    for address in ADDRESSES {
                        let session = SessionView {
                            user, schema, client_addr: Some(address), listener: Some(("0.0.0.0", 6033)),
                            next_query_flag_in: (flag != 0).then_some(flag), ..SessionView::default()
                        };
                        let decision = evaluator.decide(&session, &Statement::new(text.as_bytes(), Default::default()));
                        prop_assert!(decision.visits as usize <= most);
                        for hit in decision.hits {
                            let id = configuration.graph.rules[hit as usize].id;
                            prop_assert!(!dead.contains(&id), "rule {id} matches {text:?} of {user} {schema:?} {address} {flag}: {findings:#?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_witness_of_a_jump_or_a_placement_hits_the_rule(configuration in rules()) {
        let evaluator = Evaluator::new(Arc::new(configuration.clone()));
        let findings = analyse(&configuration);
        prop_assert_eq!(&findings, &analyse(&configuration), "the same rules, the same findings");
        for finding in findings.iter().filter(|finding| matches!(finding.code.as_str(), "SW203" | "SW208")) {
            let Some(witness) = finding.witness.as_ref().filter(|_| finding.notes.is_empty()) else { continue };
            let session = SessionView {
                user: &witness.user,
                schema: Some(witness.schema.as_str()).filter(|schema| !schema.is_empty()),
                client_addr: Some("10.0.0.7"),
                listener: Some(("0.0.0.0", 6033)),
                ..SessionView::default()
            };
            let decision = evaluator.decide(&session, &Statement::new(witness.query.as_bytes(), Default::default()));
            let hits: Vec<u32> = decision.hits.iter().map(|&hit| configuration.graph.rules[hit as usize].id).collect();
            prop_assert!(hits.contains(&finding.rule_ids[0]), "{hits:?} {finding:#?}");
        }
    }
}

/// How often random rule sets are decided: a bound that says that proofs and statements are found, not only avoided.
#[test]
fn few_rules_stay_undecided() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut rules_seen, mut undecided) = (0, 0);
    let mut reasons = BTreeSet::new();
    for _ in 0..400 {
        let configuration = rules()
            .new_tree(&mut runner)
            .expect("a strategy without filters")
            .current();
        rules_seen += configuration.graph.rules.len();
        for finding in analyse(&configuration) {
            if finding.code.as_str() == "SW209" {
                undecided += finding.rule_ids.len();
                reasons.extend(
                    finding
                        .notes
                        .iter()
                        .filter_map(|note| note.split(": ").nth(1).map(str::to_owned)),
                );
            }
        }
    }
    assert!(
        undecided * 20 < rules_seen,
        "{undecided} of {rules_seen} undecided: {reasons:#?}"
    );
}
