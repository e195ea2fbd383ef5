//! What a comparison costs: cases without a bound of their own end within the budget, large ones are decided within it.
//!
//! Costs are counts, so these tests say the same on every machine.

use std::fmt::Write;

use shardwright_prover::equivalence::{Equivalence, Means, Tried, equivalence_by};
use shardwright_prover::{Budget, Reach, RuleSet, Structure};
use shardwright_rules::{Configuration, Evaluator, Statement};
use shardwright_testkit::configuration;

fn rules(iterations: u32, rules: impl IntoIterator<Item = String>) -> Configuration {
    let mut yaml = format!("iterations: {iterations}\nrules:\n");
    for (at, rule) in rules.into_iter().enumerate() {
        writeln!(yaml, "  - {{rule_id: {}, {rule}}}", at + 1).unwrap();
    }
    configuration(&yaml)
}

/// The answer within the default budget, which holds.
fn answer(left: &Configuration, right: &Configuration) -> Equivalence {
    let means = Means::default();
    let (answer, spent) = equivalence_by(left, right, &means);
    assert!(spent.steps <= means.budget.steps, "{spent:?}");
    assert!(spent.bytes <= means.budget.bytes, "{spent:?}");
    if let Equivalence::Refuted { differences, .. } = &answer {
        let evaluators = [left, right].map(|side| Evaluator::new(std::sync::Arc::new(side.clone())));
        for difference in differences {
            let statement = Statement::new(&difference.statement, Default::default());
            let [one, other] = [0, 1].map(|side| {
                evaluators[side]
                    .decide(&difference.session.view(side), &statement)
                    .outcome
            });
            assert_ne!(one, other, "{difference:?}");
        }
    }
    answer
}

fn is_refuted(answer: &Equivalence) -> bool {
    matches!(answer, Equivalence::Refuted { .. })
}

#[test]
fn a_rewrite_that_doubles_the_text_ends() {
    let twice = || "match_pattern: x, replace_pattern: xx, re_modifiers: GLOBAL, flagOUT: 0".to_owned();
    let last = |hostgroup| format!("match_digest: ^SELECT, destination_hostgroup: {hostgroup}, apply: 1");
    for iterations in [14, 20, 60] {
        let left = rules(iterations, [twice(), last(20)]);
        assert_eq!(answer(&left, &left), Equivalence::Proved);
        assert!(is_refuted(&answer(
            &left,
            &rules(iterations, [twice(), last(30)])
        )));
        assert!(is_refuted(&answer(&left, &rules(iterations, [twice()]))));
    }
}

#[test]
fn a_million_restarts_repeat_themselves() {
    let around = || "match_digest: ^SELECT, flagOUT: 0".to_owned();
    let last = |hostgroup| format!("match_digest: ^UPDATE, destination_hostgroup: {hostgroup}, apply: 1");
    let left = rules(1_000_000, [around(), last(20)]);
    assert_eq!(answer(&left, &left), Equivalence::Proved);
    // What goes around meets nothing on its way.
    assert_eq!(answer(&left, &rules(1_000_000, [last(20)])), Equivalence::Proved);
    assert!(is_refuted(&answer(
        &left,
        &rules(1_000_000, [around(), last(30)])
    )));
}

/// Every chain leads to every other one.
fn connected(flags: u32, iterations: u32, hostgroup: u32) -> Configuration {
    let pairs = (0..flags).flat_map(|from| (0..flags).map(move |to| (from, to)));
    let jumps = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| format!("flagIN: {from}, match_digest: w{from}_{to}\\b, flagOUT: {to}"));
    let flag = flags - 1;
    let last = format!("flagIN: {flag}, match_digest: ^SELECT, destination_hostgroup: {hostgroup}, apply: 1");
    rules(iterations, jumps.chain([last]))
}

#[test]
fn connected_chains_are_decided() {
    for flags in [12, 20] {
        let left = connected(flags, 0, 20);
        assert_eq!(answer(&left, &left), Equivalence::Proved);
        assert!(is_refuted(&answer(&left, &connected(flags, 0, 30))));
    }
}

#[test]
fn connected_chains_with_restarts_are_refuted_by_examples() {
    for flags in [12, 20] {
        let left = connected(flags, 1, 20);
        assert!(is_refuted(&answer(&left, &connected(flags, 1, 30))));
        assert_eq!(answer(&left, &left), Equivalence::Proved);
    }
}

#[test]
fn beyond_the_budget_the_answer_names_what_cost_it() {
    let (left, right) = (connected(12, 12, 20), connected(12, 12, 30));
    let means = Means {
        budget: Budget {
            steps: 300_000,
            bytes: 64 << 20,
        },
        statements: Vec::new(),
    };
    let (answer, spent) = equivalence_by(&left, &right, &means);
    // The last operation, and the last search for a difference, may come on top.
    assert!(spent.steps <= 2 * means.budget.steps, "{spent:?}");
    if let Equivalence::Undecided { constructs } = &answer {
        let named = "the budget of the comparison; most of it went to rule";
        assert!(
            constructs.iter().any(|construct| construct.starts_with(named)),
            "{constructs:?}"
        );
    }
    assert_eq!((answer, spent), equivalence_by(&left, &right, &means));
    // A statement that somebody recorded is a difference whatever the budget.
    let recorded = Tried {
        user: None,
        schema: None,
        text: b"SELECT w0_11 FROM t".to_vec(),
    };
    let statements = vec![recorded];
    let (answer, _) = equivalence_by(&left, &right, &Means { statements, ..means });
    let Equivalence::Refuted { differences, .. } = &answer else {
        panic!("{answer:?}");
    };
    assert!(
        differences
            .iter()
            .any(|difference| difference.statement == b"SELECT w0_11 FROM t")
    );
}

#[test]
fn five_hundred_chains_with_two_jumps_are_decided() {
    let chains = |hostgroup: u32| {
        let jumps = (0..500).flat_map(|chain| {
            let next = chain + 1;
            ["a", "b"].map(|word| format!("flagIN: {chain}, match_digest: {word}{chain}, flagOUT: {next}"))
        });
        let last =
            format!("flagIN: 500, match_digest: ^SELECT, destination_hostgroup: {hostgroup}, apply: 1");
        rules(0, jumps.chain([last]))
    };
    assert_eq!(answer(&chains(20), &chains(20)), Equivalence::Proved);
    assert!(is_refuted(&answer(&chains(20), &chains(30))));
}

/// Rules as somebody writes them by hand, one after the other.
fn hand_written(count: usize, changed: Option<usize>) -> Vec<String> {
    let words = ["orders", "users", "items", "carts", "events", "clicks", "stock"];
    let rule = |at: usize| {
        let table = format!("{}{at}", words[at % words.len()]);
        let hostgroup = if Some(at) == changed { 30 } else { 20 + at % 2 };
        let condition = match at % 5 {
            0 => format!("match_digest: '^SELECT .* FROM {table}'"),
            1 => format!("match_digest: '^UPDATE {table}'"),
            2 => format!("match_pattern: '(?i)from\\s+{table}\\b'"),
            3 => format!("username: app, match_digest: '^SELECT.*JOIN {table}'"),
            _ => format!("match_digest: '^INSERT INTO {table} '"),
        };
        format!("{condition}, destination_hostgroup: {hostgroup}, apply: 1")
    };
    (0..count).map(rule).collect()
}

#[test]
fn one_hostgroup_among_twenty_thousand_rules_is_found() {
    let (left, right) = (hand_written(20_000, None), hand_written(20_000, Some(10_000)));
    let answer = answer(&rules(0, left), &rules(0, right));
    let Equivalence::Refuted { differences, .. } = answer else {
        panic!("{answer:?}");
    };
    let text = String::from_utf8_lossy(&differences[0].statement).to_lowercase();
    assert!(text.contains("10000"), "{text}");
}

#[test]
fn a_rule_that_lint_proves_dead_can_go() {
    let mut written = hand_written(56, None);
    let dead = "match_digest: '^SELECT [a-z, ]* FROM orders35 WHERE', destination_hostgroup: 30, apply: 1";
    written.insert(50, dead.to_owned());
    let with = rules(0, written.clone());
    let set = RuleSet::of(&with);
    let reach = Reach::of(&set, &Structure::with_restarts(&set, 0));
    let dead: Vec<usize> = (0..written.len())
        .filter(|&position| reach.is_dead(position))
        .collect();
    assert!(dead.contains(&50), "{dead:?}");
    written.remove(50);
    assert_eq!(answer(&with, &rules(0, written)), Equivalence::Proved);
}

#[test]
fn delays_of_ten_tables_are_decided() {
    let delay = |table: usize| format!("match_digest: FROM t{table}, delay: {}", 100 * table);
    let usual: Vec<String> = (1..=10).map(delay).collect();
    let left = rules(0, usual.clone());
    // A delay that a later rule always overwrites.
    let doubled = std::iter::once("match_digest: FROM t1, delay: 7".to_owned()).chain(usual.clone());
    assert_eq!(answer(&left, &rules(0, doubled)), Equivalence::Proved);
    assert!(is_refuted(&answer(&left, &rules(0, usual.iter().rev().cloned()))));
    for at in 0..10 {
        let mut changed = usual.clone();
        changed.remove(at);
        assert!(is_refuted(&answer(&left, &rules(0, changed))));
    }
    // `FROM t1` holds `FROM t10`, and the last of them counts; the others are told apart by nothing either.
    let mut swapped = usual;
    swapped.swap(3, 4);
    assert!(is_refuted(&answer(&left, &rules(0, swapped))));
}

#[test]
fn rules_of_different_columns_or_without_a_common_statement_may_change_places() {
    let delay = "match_digest: FROM t1, delay: 100";
    let timeout = "match_digest: FROM, timeout: 50";
    let writes = "match_digest: '^UPDATE', destination_hostgroup: 20, apply: 1";
    let reads = "match_digest: '^SELECT', destination_hostgroup: 30, apply: 1";
    let ordered = |all: [&str; 4]| rules(0, all.map(str::to_owned));
    let left = ordered([delay, timeout, writes, reads]);
    assert_eq!(
        answer(&left, &ordered([timeout, delay, reads, writes])),
        Equivalence::Proved
    );
    // A rule that ends the evaluation in front of the others takes their delay away.
    assert!(is_refuted(&answer(
        &left,
        &ordered([writes, delay, timeout, reads])
    )));
}
