//! Statements that show a difference: through a listener and of a user that there are, and different on both sides.

use proptest::prelude::*;
use proptest::sample::select;
use shardwright_prover::equivalence::{Equivalence, alike, equivalence};
use shardwright_rules::{Configuration, Evaluator, Statement};
use shardwright_sql::LexMode;
use shardwright_testkit::configuration;
use std::sync::Arc;

const LISTENERS: &str = "listeners: [{bind: 127.0.0.1, port: 6033}, {bind: 127.0.0.1, port: 6034}]\n";

fn answer(left: &str, right: &str) -> Equivalence {
    equivalence(&configuration(left), &configuration(right))
}

#[test]
fn no_statement_comes_through_a_listener_that_is_not_there() {
    let one = "listeners: [{bind: 127.0.0.1, port: 6033}]\n";
    let rules = |hostgroup: u32| {
        format!(
            "rules:\n  - {{rule_id: 1, proxy_port: 6033, destination_hostgroup: 10, apply: 1}}\n  - {{rule_id: 2, match_digest: '^SELECT', destination_hostgroup: {hostgroup}, apply: 1}}"
        )
    };
    let (left, right) = (rules(20), rules(30));
    // Rule 1 takes everything that can come.
    assert_eq!(
        answer(&format!("{one}{left}"), &format!("{one}{right}")),
        Equivalence::Proved
    );
    // There is another door.
    let found = answer(&format!("{LISTENERS}{left}"), &format!("{LISTENERS}{right}"));
    let Equivalence::Refuted { differences, .. } = found else {
        panic!("{found:?}")
    };
    for difference in &differences {
        assert_eq!(difference.session.listener, ("127.0.0.1".to_owned(), 6034));
    }
    // Each door is taken by a rule of its own: there is no third one.
    let both = |rules: &str| {
        format!(
            "{LISTENERS}{}",
            rules.replace(
                "rules:\n",
                "rules:\n  - {rule_id: 0, proxy_port: 6034, destination_hostgroup: 11, apply: 1}\n"
            )
        )
    };
    assert_eq!(answer(&both(&left), &both(&right)), Equivalence::Proved);
    // Where no listener is named, any may be there.
    let found = answer(&left, &right);
    assert!(matches!(found, Equivalence::Refuted { .. }), "{found:?}");
}

#[test]
fn a_text_that_rules_made_is_compared_where_the_engine_answers_it() {
    let rules = |apply: u8, text: &str| {
        format!(
            "rules:\n  - {{rule_id: 59, match_pattern: '/\\*.*?\\*/', replace_pattern: '{text}'}}\n  - {{rule_id: 65, digest: '0xE08F949546A9A605', destination_hostgroup: 20, apply: {apply}}}"
        )
    };
    let found = answer(&rules(0, ""), &rules(1, ""));
    assert!(!matches!(found, Equivalence::Refuted { .. }), "{found:?}");
    let found = answer(&rules(0, ""), &rules(0, "/* b */"));
    assert!(matches!(found, Equivalence::Refuted { .. }), "{found:?}");
}

/// A rule of a small set: conditions on the listener, the user and the digest.
fn rule() -> impl Strategy<Value = String> {
    let port = select(vec![
        "",
        "proxy_port: 6033, ",
        "proxy_port: 6034, ",
        "proxy_port: 7000, ",
    ]);
    let address = select(vec!["", "", "proxy_addr: 127.0.0.1, ", "proxy_addr: 10.0.0.1, "]);
    let user = select(vec!["", "", "username: app, ", "username: geo, "]);
    let digest = select(vec![
        "",
        "match_digest: '^SELECT', ",
        "match_digest: 't1', ",
        "match_digest: '^SET', ",
    ]);
    let place = select(vec![10, 11, 20, 30]);
    (port, address, user, digest, place, 0..2_u8).prop_map(|(port, address, user, digest, place, apply)| {
        format!("{port}{address}{user}{digest}destination_hostgroup: {place}, apply: {apply}")
    })
}

fn set(rules: &[String]) -> String {
    let numbered = rules.iter().enumerate();
    let rows: Vec<String> = numbered
        .map(|(id, rule)| format!("  - {{rule_id: {}, {rule}}}", id + 1))
        .collect();
    format!("{LISTENERS}rules:\n{}", rows.join("\n"))
}

fn check(left: &Configuration, right: &Configuration) {
    let Equivalence::Refuted { differences, .. } = equivalence(left, right) else {
        return;
    };
    let evaluators = [left, right].map(|one| Evaluator::new(Arc::new(one.clone())));
    for difference in &differences {
        let session = &difference.session;
        let is_there = |listener: &shardwright_rules::Listener| {
            (listener.bind.as_str(), listener.port) == (session.listener.0.as_str(), session.listener.1)
        };
        assert!(left.listeners.iter().any(is_there), "{session:?}");
        assert!(left.user(&session.user).is_some(), "{session:?}");
        let statement = Statement::new(&difference.statement, LexMode::default());
        let [one, other] = [0, 1].map(|side| evaluators[side].decide(&session.view(side), &statement));
        assert!(
            !alike(&one.outcome, &other.outcome),
            "{session:?} {:?}",
            difference.statement
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(shardwright_testkit::cases(120)))]
    #[test]
    fn witnesses_are_replayed_through_doors_that_there_are(
        left in prop::collection::vec(rule(), 1..6),
        right in prop::collection::vec(rule(), 1..6),
    ) {
        check(&configuration(&set(&left)), &configuration(&set(&right)));
    }
}
