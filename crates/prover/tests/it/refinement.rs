//! Whether one configuration refines another: known answers, and claims held against the evaluator.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use shardwright_prover::equivalence::{Difference, Equivalence};
use shardwright_prover::refinement::refinement;
use shardwright_rules::{Configuration, Evaluator, HostgroupId, Outcome, SessionView, Statement};
use shardwright_testkit::configuration;

use crate::equivalence::{PIECES, change, changed, rule, with_rules};

fn shown(difference: &Difference) -> String {
    let side =
        |decision: Option<&shardwright_rules::Decision>| match decision.map(|decision| &decision.outcome) {
            None => "no login".to_owned(),
            Some(Outcome::Route(route)) => route.hostgroup.to_string(),
            Some(Outcome::Reject(_)) => "refused".to_owned(),
            Some(other) => format!("{other:?}"),
        };
    format!(
        "{} `{}`: {}, and there {}",
        difference.session.user,
        String::from_utf8_lossy(&difference.statement),
        side(difference.left.as_ref()),
        side(difference.right.as_ref())
    )
}

/// The answer in one line, and a line for each class that is refused.
fn answer(left: &Configuration, right: &Configuration) -> Vec<String> {
    let found = refinement(left, right);
    let mut lines = vec![match &found.answer {
        Equivalence::Proved => "proved".to_owned(),
        Equivalence::Refuted { differences, .. } => shown(&differences[0]),
        Equivalence::Undecided { constructs } => format!("undecided: {}", constructs.join("; ")),
    }];
    lines.extend(found.stricter.iter().map(|class| {
        let places = class.served_by.join(", ");
        format!("{}: {} ({places})", class.reason, shown(&class.example))
    }));
    lines
}

#[test]
fn known_answers() {
    for (left, right, expected) in [
        (
            r#"rules:
  - {rule_id: 1, match_digest: "^DELETE", error_msg: "no deletes"}
  - {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 10, apply: 1}"#,
            r#"rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#,
            &[
                "proved",
                "no deletes: app `DELETE FROM t WHERE id=1`: refused, and there 10 (a writer)",
            ][..],
        ),
        (
            r#"rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#,
            r#"rules:
  - {rule_id: 1, match_digest: "^DELETE", error_msg: "no deletes"}
  - {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
            &["app `DELETE FROM t WHERE id=1`: 10, and there refused"],
        ),
        // A reader has not what the writer has.
        (
            r#"rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#,
            r#"rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 10, apply: 1}]"#,
            &["app `SELECT a FROM t WHERE id=1`: 11, and there 10"],
        ),
        // Delays place nothing.
        (
            r#"rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#,
            r#"rules: [{rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1, delay_ms: 700}]"#,
            &["proved"],
        ),
        (
            "rules: [{rule_id: 1, match_pattern: 'a', replace_pattern: 'b', re_modifiers: ''}]",
            "rules: []",
            &["app `SELECT a FROM t WHERE id=1`: 10, and there 10"],
        ),
        (
            "{users: [app], rules: []}",
            "{users: [app, geo], rules: []}",
            &[
                "proved",
                "user geo cannot log in: geo `SELECT 1`: no login, and there 10 (a writer)",
            ],
        ),
        (
            "{users: [app, geo], rules: []}",
            "{users: [app], rules: []}",
            &["geo `SELECT 1`: 10, and there no login"],
        ),
        // Refused by a hostgroup.
        (
            r#"{refusing: [{id: 99, address: x, reason: "not here", refuser: admin, host: 127.0.0.1, port: 6032}],
                rules: [{rule_id: 1, match_digest: "^SELECT", destination_hostgroup: 99, apply: 1}]}"#,
            r#"rules: [{rule_id: 1, match_digest: "^SELECT", destination_hostgroup: 20, apply: 1}]"#,
            &[
                "proved",
                "not here: app `SELECT a FROM t WHERE id=1`: refused, and there 20 (b writer)",
            ],
        ),
    ] {
        let (left_side, right_side) = (configuration(left), configuration(right));
        assert_eq!(answer(&left_side, &right_side), expected, "{left}\nof\n{right}");
        assert_eq!(answer(&right_side, &right_side), ["proved"], "{right}");
    }
}

/// The same clusters under other numbers: what refers to them refers to the same.
#[test]
fn hostgroups_correspond_by_cluster_and_role() {
    let rules = r#"rules: [{rule_id: 1, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#;
    let left = configuration(rules);
    // b has the numbers that a has on the left, and a those of b.
    let swapped = |destination: u32| {
        let mut right = configuration(&rules.replace("11", &destination.to_string()));
        for cluster in &mut right.clusters {
            let by = match &*cluster.name {
                "a" => 20,
                "b" => 10,
                _ => continue,
            };
            cluster.writer = HostgroupId(by);
            cluster.reader = Some(HostgroupId(by + 1));
        }
        for user in &mut right.users {
            user.default_hostgroup = HostgroupId(20);
        }
        right
    };
    assert_eq!(answer(&left, &swapped(21)), ["proved"]);
    assert_eq!(answer(&swapped(21), &left), ["proved"]);
    // 11 is the number of b's readers now.
    assert_eq!(
        answer(&left, &swapped(11)),
        ["app `SELECT a FROM t WHERE id=1`: 11, and there 21"]
    );
}

/// Independently of the prover: what the first outcome may be where the second is this.
fn allows(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Reject(_), _) => true,
        (Outcome::Route(one), Outcome::Route(other)) => {
            let writer_for_reader = matches!((one.hostgroup.0, other.hostgroup.0), (10, 11) | (20, 21));
            one.rewritten == other.rewritten && (one.hostgroup == other.hostgroup || writer_for_reader)
        }
        (one, other) => one == other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(shardwright_testkit::cases(300)))]
    #[test]
    fn claims_hold_on_both_evaluators(
        rules in prop::collection::vec(rule(), 1..8),
        change in change(),
        sql in prop::collection::vec(prop::collection::vec(select(PIECES.to_vec()), 0..4), 12),
    ) {
        let (left, right) = (with_rules(&rules, 0), with_rules(&changed(&rules, &change), 0));
        prop_assert_eq!(refinement(&left, &left).answer, Equivalence::Proved);
        let evaluators = [&left, &right].map(|side| Evaluator::new(Arc::new(side.clone())));
        let found = refinement(&left, &right);
        match found.answer {
            Equivalence::Proved => {
                for text in sql.iter().map(|pieces| pieces.concat()) {
                    for user in ["app", "geo"] {
                        for schema in [None, Some("shop"), Some("world")] {
                            let session = SessionView {
                                user, schema, client_addr: Some("10.0.0.1"), listener: Some(("0.0.0.0", 6033)),
                                ..SessionView::default()
                            };
                            let [a, b] = evaluators.each_ref().map(|evaluator| {
                                evaluator.decide(&session, &Statement::new(text.as_bytes(), Default::default())).outcome
                            });
                            prop_assert!(allows(&a, &b), "{text:?} of {user} {schema:?}: {a:?} {b:?}");
                        }
                    }
                }
            }
            Equivalence::Refuted { differences, .. } => {
                for difference in differences {
                    let statement = Statement::new(&difference.statement, Default::default());
                    let [a, b] = [0, 1].map(|side| {
                        evaluators[side].decide(&difference.session.view(side), &statement).outcome
                    });
                    prop_assert!(!allows(&a, &b), "{difference:?}");
                }
            }
            Equivalence::Undecided { constructs } => prop_assert!(!constructs.is_empty()),
        }
        for class in found.stricter {
            let statement = Statement::new(&class.example.statement, Default::default());
            let [a, b] = [0, 1].map(|side| {
                evaluators[side].decide(&class.example.session.view(side), &statement).outcome
            });
            prop_assert!(matches!((&a, &b), (Outcome::Reject(_), Outcome::Route(_))), "{class:?}");
        }
    }
}
