//! Refinement of the bundled engine by ProxySQL: proofs over shard maps, held against both evaluators.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shardwright_prover::Budget;
use shardwright_prover::equivalence::Equivalence;
use shardwright_prover::refinement::{Refinement, refinement, refinement_by};
use shardwright_rules::{Configuration, Evaluator, Outcome, SessionView, Statement, StatementKind};
use shardwright_testkit::configuration;

/// The bundled engine with one map: by cluster, the keys of its shard.
fn bundled(shards: &[(&str, Vec<i64>)]) -> Configuration {
    let shards: Vec<Value> = shards
        .iter()
        .map(|(cluster, keys)| {
            json!({"address": format!("shard_maps.m.shards.{cluster}"), "cluster": cluster, "keys": keys})
        })
        .collect();
    let map = json!({"map": "m", "key": "tenant", "kind": "integer",
        "finders": [{"comment": {"word": "tenant", "form": "pairs"}}], "conflict": "reject", "unqualified": "reject",
        "shards": shards, "missing": {"statements": "reject", "session_setup": "reject", "begin": "reject"},
        "unknown": "reject"});
    let page = json!({"engine": "bundled", "rules": [{"rule_id": 10, "native": {"map": map}}]});
    configuration(&page.to_string())
}

/// ProxySQL with patterns that place, and one rule that refuses the rest.
fn proxysql(leaves: &[(String, u32)]) -> Configuration {
    let mut rules: Vec<Value> = leaves
        .iter()
        .enumerate()
        .map(|(at, (pattern, hostgroup))| {
            json!({"rule_id": 10 + at, "match_pattern": pattern, "re_modifiers": "", "destination_hostgroup": hostgroup,
                   "apply": 1})
        })
        .collect();
    rules.push(json!({"rule_id": 1000, "error_msg": "no key", "apply": 1}));
    configuration(&json!({ "rules": rules }).to_string())
}

/// A text in one comment, without literals behind it.
fn guarded(key: i64) -> (String, u32) {
    let pattern = format!(r"\A/\* ?tenant=(?:0*{key}|'0*{key}') ?\*/[^'`/#=-]*\z");
    (pattern, 10)
}

fn constructs(found: &Refinement) -> Vec<String> {
    match &found.answer {
        Equivalence::Proved => Vec::new(),
        Equivalence::Undecided { constructs } => constructs.clone(),
        Equivalence::Refuted { differences, .. } => differences
            .iter()
            .map(|difference| String::from_utf8_lossy(&difference.statement).into_owned())
            .collect(),
    }
}

#[test]
fn keys_in_comments_are_proved() {
    let right = bundled(&[("a", vec![5, 6]), ("b", vec![7])]);
    let (pattern, _) = guarded(7);
    let found = refinement(&proxysql(&[guarded(5), guarded(6), (pattern, 20)]), &right);
    assert_eq!(constructs(&found), [""; 0]);
    assert_eq!(found.answer, Equivalence::Proved);
    assert_eq!(
        found.shown,
        [("shard map `m`: statements with a key".to_owned(), 2)]
    );
    // What the engines differ in is told whether or not a statement was met.
    assert_eq!(found.natures.len(), 5);
}

#[test]
fn a_key_of_another_shard_refutes() {
    let right = bundled(&[("a", vec![5]), ("b", vec![7])]);
    let found = refinement(&proxysql(&[guarded(5), guarded(7)]), &right);
    assert_eq!(constructs(&found), ["/* tenant=7 */ SELECT 1"]);
    let found = refinement(&proxysql(&[guarded(5), guarded(8)]), &right);
    let Equivalence::Refuted { differences, .. } = &found.answer else {
        panic!("{:?}", found.answer);
    };
    // The bundled engine knows no key 8.
    assert!(matches!(
        differences[0].right.as_ref().map(|decision| &decision.outcome),
        Some(Outcome::Reject(_))
    ));
}

/// A pattern that reads keys outside of comments.
#[test]
fn a_literal_is_no_key() {
    let right = bundled(&[("a", vec![5])]);
    let found = refinement(&proxysql(&[(r"\btenant=5\b".to_owned(), 10)]), &right);
    assert!(
        matches!(found.answer, Equivalence::Refuted { .. }),
        "{:?}",
        found.answer
    );
}

#[test]
fn one_cluster_without_a_map() {
    let page = |engine: &str, rules: &str| configuration(&format!("{{engine: {engine}, rules: {rules}}}"));
    let right = page("bundled", "[]");
    let found = refinement(
        &page(
            "proxysql-2.7",
            "[{rule_id: 1, match_digest: '^DROP', error_msg: no}]",
        ),
        &right,
    );
    assert_eq!(found.answer, Equivalence::Proved);
    assert_eq!(found.stricter[0].reason, "no");
    let elsewhere = "[{rule_id: 1, match_digest: '^DROP', destination_hostgroup: 20, apply: 1}]";
    let found = refinement(&page("proxysql-2.7", elsewhere), &right);
    assert_eq!(constructs(&found), ["DROP TABLE t"]);
    // Reads are not compared by proof.
    let reader = "[{rule_id: 1, match_digest: '^SELECT x$', destination_hostgroup: 11, apply: 1}]";
    let found = refinement(&page("proxysql-2.7", reader), &right);
    assert!(!matches!(found.answer, Equivalence::Proved));
}

/// The bundled engine with a read/write split.
fn bundled_with_reads() -> Configuration {
    let role = json!({"rule_id": 10, "native": {"role": {"reads": "all"}}});
    configuration(&json!({"engine": "bundled", "rules": [role]}).to_string())
}

/// ProxySQL with one pattern whose texts go to the readers.
fn proxysql_with_reads(pattern: &str) -> Configuration {
    let read = json!({"rule_id": 1, "match_pattern": pattern, "re_modifiers": "CASELESS", "destination_hostgroup": 11,
                      "apply": 1});
    configuration(&json!({ "rules": [read] }).to_string())
}

#[test]
fn reads_are_proved_or_refuted() {
    let right = bundled_with_reads();
    let found = refinement(&proxysql_with_reads(r"\ASELECT [a-e, ]+\z"), &right);
    assert_eq!(found.answer, Equivalence::Proved);
    assert!(
        found
            .shown
            .contains(&("reads that go to the readers of the user's cluster".to_owned(), 1))
    );
    let found = refinement(&proxysql_with_reads(r"\ASELECT [i-t, ]+\z"), &right);
    assert_eq!(constructs(&found), ["SELECT INTO"]);
}

#[test]
fn schemas_of_shards_are_proved() {
    let shard = |cluster: &str, key: i64| json!({"address": format!("shard_maps.m.shards.{cluster}"), "cluster": cluster, "keys": [key]});
    let map = json!({"map": "m", "key": "tenant", "kind": "integer", "finders": [{"schema": {"template": {"prefix": "t_", "suffix": ""}}}],
        "conflict": "reject", "unqualified": "reject", "shards": [shard("a", 5), shard("b", 7)],
        "missing": {"statements": "reject", "session_setup": "reject", "begin": "reject"}, "unknown": "reject"});
    let page = json!({"engine": "bundled", "rules": [{"rule_id": 10, "native": {"map": map}}]});
    let right = configuration(&page.to_string());
    let by_schema = |rows: &[(&str, u32)]| {
        let mut rules: Vec<Value> = rows
            .iter()
            .zip(10..)
            .map(|((schema, hostgroup), id)| {
                json!({"rule_id": id, "schemaname": schema, "destination_hostgroup": hostgroup, "apply": 1})
            })
            .collect();
        rules.push(json!({"rule_id": 1000, "error_msg": "no key", "apply": 1}));
        configuration(&json!({ "rules": rules }).to_string())
    };
    let left = by_schema(&[("t_5", 10), ("t_7", 20)]);
    assert_eq!(refinement(&left, &right).answer, Equivalence::Proved);
    let moved = refinement(&by_schema(&[("t_5", 10), ("t_7", 10)]), &right);
    assert!(
        matches!(moved.answer, Equivalence::Refuted { .. }),
        "{:?}",
        moved.answer
    );
    let evaluators = [&left, &right].map(|side| Evaluator::new(Arc::new(side.clone())));
    for (schema, hostgroup) in [("t_5", 10), ("t_7", 20)] {
        for text in [
            "SELECT a FROM t",
            "INSERT INTO t (a) VALUES (1)",
            "BEGIN",
            "SHOW TABLES",
            "CREATE TABLE u (a INT)",
        ] {
            let session = SessionView {
                user: "app",
                schema: Some(schema),
                ..SessionView::default()
            };
            let statement = Statement::new(text.as_bytes(), Default::default());
            for evaluator in &evaluators {
                let Outcome::Route(route) = evaluator.decide(&session, &statement).outcome else {
                    panic!("{text} in {schema} is placed nowhere");
                };
                assert_eq!(route.hostgroup.0, hostgroup, "{text} in {schema}");
            }
        }
    }
}

#[test]
fn beyond_the_budget_it_is_undecided() {
    let right = bundled(&[("a", vec![5]), ("b", vec![7])]);
    let left = proxysql(&[guarded(5)]);
    assert_eq!(refinement(&left, &right).answer, Equivalence::Proved);
    let budget = Budget {
        steps: 1_000,
        ..Budget::default()
    };
    let found = constructs(&refinement_by(&left, &right, budget));
    assert!(
        found
            .iter()
            .any(|construct| construct.starts_with("the budget of the comparison")),
        "{found:?}"
    );
}

const PIECES: [&str; 24] = [
    "/* tenant=5 */",
    "/*tenant=6*/",
    "/* tenant='7' */",
    "/* x=1, tenant=5 */",
    "tenant=5",
    "tenant=7",
    " SELECT a FROM t",
    " SELECT 1",
    "/*",
    "*/",
    "'",
    "\"",
    " ",
    "`",
    "#",
    "\n",
    "-- ",
    "/*! ",
    "5",
    "=",
    "/* tenant=05*/",
    "x",
    "\\",
    "tenant=",
];

fn leaf() -> impl Strategy<Value = (String, u32)> {
    let shapes = vec![
        r"\A/\* ?tenant='?0*{key}'? ?\*/[^'`/#=-]*\z",
        r"\A/\* ?tenant=(?:0*{key}|'0*{key}') ?\*/[^'`/#=-]*\z",
        r"\A/\*tenant={key}\*/",
        r"\btenant=0*{key}\b",
        r"\A[^'`/#-]*/\*[^'*=/!+]*\btenant={key}(?:\*/|[ ,])[^'`/#=-]*\z",
        r"\A[^'`\x22/#-]*/\* ?tenant={key} ?\*/[^=]*\z",
        r"\A/\*.*tenant={key}.*\*/",
    ];
    (
        select(shapes),
        select(vec![5_i64, 6, 7]),
        select(vec![10_u32, 20, 30]),
    )
        .prop_map(|(shape, key, hostgroup)| (shape.replace("{key}", &key.to_string()), hostgroup))
}

/// Whether the statement is one that the answer is about.
fn is_covered(statement: &Statement<'_>) -> bool {
    !statement.has_several() && !statement.follows_transaction() && statement.kind() != StatementKind::Set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(shardwright_testkit::cases(50)))]
    #[test]
    fn proofs_hold_on_both_evaluators(
        leaves in prop::collection::vec(leaf(), 1..4),
        places in prop::collection::vec(select(vec!["a", "b", "c"]), 3),
        texts in prop::collection::vec(prop::collection::vec(select(PIECES.to_vec()), 1..7), 60),
    ) {
        let keys = |cluster: &str| -> Vec<i64> {
            [5, 6, 7].into_iter().zip(&places).filter(|(_, place)| **place == cluster).map(|(key, _)| key).collect()
        };
        let shards: Vec<(&str, Vec<i64>)> =
            ["a", "b", "c"].into_iter().map(|cluster| (cluster, keys(cluster))).filter(|shard| !shard.1.is_empty()).collect();
        let (left, right) = (proxysql(&leaves), bundled(&shards));
        let found = refinement(&left, &right);
        let evaluators = [&left, &right].map(|side| Evaluator::new(Arc::new(side.clone())));
        let decided = |session: &SessionView<'_>, text: &[u8]| {
            let statement = Statement::new(text, Default::default());
            evaluators.each_ref().map(|evaluator| evaluator.decide(session, &statement).outcome)
        };
        let places_elsewhere = |[left, right]: &[Outcome; 2]| match (left, right) {
            (Outcome::Route(one), Outcome::Route(other)) => one.hostgroup != other.hostgroup,
            (Outcome::Route(_), _) => true,
            _ => false,
        };
        match &found.answer {
            Equivalence::Proved => {
                for text in texts.iter().map(|pieces| pieces.concat()) {
                    let session = SessionView { user: "app", schema: Some("shop"), ..SessionView::default() };
                    let statement = Statement::new(text.as_bytes(), Default::default());
                    let both = decided(&session, text.as_bytes());
                    prop_assert!(!is_covered(&statement) || !places_elsewhere(&both), "{text:?}: {both:?}");
                }
            }
            Equivalence::Refuted { differences, .. } => {
                for difference in differences {
                    let both = decided(&difference.session.view(0), &difference.statement);
                    prop_assert!(places_elsewhere(&both), "{difference:?}");
                }
            }
            Equivalence::Undecided { constructs } => prop_assert!(!constructs.is_empty()),
        }
    }
}
