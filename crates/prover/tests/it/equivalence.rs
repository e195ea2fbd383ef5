//! Whether two configurations route alike: known answers, and claims held against the evaluator.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Difference, Equivalence, Means, equivalence, equivalence_by};
use shardwright_rules::{Configuration, Decision, Evaluator, Outcome, SessionView, Statement};

use shardwright_testkit::configuration;

fn destination(decision: Option<&Decision>) -> String {
    match decision.map(|decision| &decision.outcome) {
        None => "no login".to_owned(),
        Some(Outcome::Route(route)) => route.hostgroup.to_string(),
        Some(Outcome::Reject(_)) => "refused".to_owned(),
        Some(Outcome::Answer { message }) => format!("answered {message}"),
        Some(Outcome::Own { answer, .. }) => format!("own answer {answer:?}"),
        Some(Outcome::DeferBegin) => "deferred".to_owned(),
    }
}

fn shown(difference: &Difference) -> String {
    format!(
        "{} `{}`: {} or {}",
        difference.session.user,
        String::from_utf8_lossy(&difference.statement),
        destination(difference.left.as_ref()),
        destination(difference.right.as_ref())
    )
}

/// The answer as one line, the first difference only.
fn answer(left: &str, right: &str) -> String {
    match equivalence(&configuration(left), &configuration(right)) {
        Equivalence::Proved => "proved".to_owned(),
        Equivalence::Refuted { differences, .. } => shown(&differences[0]),
        Equivalence::Undecided { constructs } => format!("undecided: {}", constructs.join("; ")),
    }
}

const SPLIT: &str = r#"rules:
  - {rule_id: 10, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#;

#[test]
fn known_answers() {
    for (left, right, expected) in [
        (SPLIT, SPLIT, "proved"),
        // Nobody is ever at another flag.
        (
            r#"rules: [{rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, next_query_flagIN: 0, apply: 1}]"#,
            r#"rules: [{rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#,
            "proved",
        ),
        (
            SPLIT,
            r#"rules:
  - {rule_id: 1, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 10, apply: 1, comment: "locks"}
  - {rule_id: 7, match_digest: "^SELECT", destination_hostgroup: 11, flagOUT: 9}"#,
            "proved",
        ),
        (
            SPLIT,
            r#"rules:
  - {rule_id: 10, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT.*FOR UPDATE$", destination_hostgroup: 10, apply: 1}"#,
            "app `SELECT a FROM t WHERE id=1 FOR UPDATE`: 10 or 11",
        ),
        (
            "rules: [{rule_id: 1, match_digest: '^(SELECT|UPDATE)', destination_hostgroup: 11, apply: 1}]",
            r#"rules:
  - {rule_id: 1, match_digest: "^UPDATE", destination_hostgroup: 11, apply: 1}
  - {rule_id: 2, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
            "proved",
        ),
        (
            "rules: [{rule_id: 1, flagOUT: 5}, {rule_id: 2, flagIN: 5, match_digest: '^S', destination_hostgroup: 11}]",
            "rules: [{rule_id: 9, match_digest: '^S', destination_hostgroup: 11, apply: 1}]",
            "proved",
        ),
        (
            "rules: [{rule_id: 1, username: app, destination_hostgroup: 11}]",
            "rules: [{rule_id: 1, username: nobody, destination_hostgroup: 11}]",
            "app `SELECT a FROM t WHERE id=1`: 11 or 10",
        ),
        (
            "rules: [{rule_id: 1, username: nobody, destination_hostgroup: 11}]",
            "rules: []",
            "proved",
        ),
        (
            "rules: [{rule_id: 1, match_pattern: 'a(?!b)', destination_hostgroup: 11}]",
            "rules: [{rule_id: 1, match_pattern: 'a(?!c)', destination_hostgroup: 11}]",
            "app `SHOW TABLES`: 10 or 11",
        ),
        (
            "rules: [{rule_id: 1, match_pattern: 'zz(?!b)', destination_hostgroup: 11}]",
            "rules: [{rule_id: 1, match_pattern: 'zz(?!c)', destination_hostgroup: 11}]",
            "undecided: pattern `zz(?!b)`: look-ahead makes this no regular language; \
             pattern `zz(?!c)`: look-ahead makes this no regular language",
        ),
        (
            "rules: [{rule_id: 1, match_digest: SELECT, flagOUTs: [{id: 5, weight: 1}, {id: 6, weight: 1}]}]",
            "rules: [{rule_id: 1, match_digest: SELECT, flagOUTs: [{id: 8, weight: 1}, {id: 9, weight: 1}]}]",
            "proved",
        ),
        // Rule 1 has no automaton, so no text is known that it leaves; rule 3 is dead whatever it leaves.
        (
            r#"rules:
  - {rule_id: 1, match_pattern: "(?=DROP)D", destination_hostgroup: 20, apply: 1}
  - {rule_id: 2, match_digest: "^(DROP|TRUNCATE) ", destination_hostgroup: 30, apply: 1}
  - {rule_id: 3, match_digest: "^DROP TABLE", destination_hostgroup: 10, apply: 1}"#,
            r#"rules:
  - {rule_id: 1, match_pattern: "(?=DROP)D", destination_hostgroup: 20, apply: 1}
  - {rule_id: 2, match_digest: "^(DROP|TRUNCATE) ", destination_hostgroup: 30, apply: 1}"#,
            "proved",
        ),
        (
            "rules: [{rule_id: 1, match_digest: '^CALL', destination_hostgroup: 10, apply: 1}]",
            "rules: []",
            "undecided: hostgroup 10, which a rule of one side names and the other side takes as the user's default: \
             only sessions that are bound to another hostgroup can tell them apart",
        ),
        (
            "{users: [app], rules: []}",
            "{users: [app, geo], rules: []}",
            "geo `SELECT 1`: no login or 10",
        ),
        (
            "fast_routing: [{username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 20}]",
            "fast_routing: [{username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 30}]",
            "app `SELECT a FROM t WHERE id=1`: 20 or 30",
        ),
        (
            "fast_routing: [{username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 20}]",
            r#"fast_routing: [{username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 20}]
rules: [{rule_id: 1, match_digest: "^x", destination_hostgroup: 20, apply: 1}]"#,
            "app `SELECT a FROM t WHERE id=1`: 20 or 10",
        ),
        (
            "rules: [{rule_id: 1, match_pattern: 'a', replace_pattern: 'b', re_modifiers: ''}]",
            "rules: [{rule_id: 1, match_pattern: 'a', replace_pattern: 'c', re_modifiers: ''}]",
            "app `SELECT a FROM t WHERE id=1`: 10 or 10",
        ),
        (
            "rules: [{rule_id: 1, error_msg: 'no'}, {rule_id: 2, match_digest: S, destination_hostgroup: 20}]",
            "rules: [{rule_id: 1, error_msg: 'never', apply: 1}]",
            "proved",
        ),
        (
            "{engine: bundled, rules: []}",
            "rules: []",
            "app `/* query_delay=1 */ SELECT 1`: refused or 10",
        ),
    ] {
        assert_eq!(answer(left, right), expected, "{left}\nand\n{right}");
    }
}

const PATTERNS: [&str; 9] = [
    "^SELECT",
    "t1",
    "tenant=1",
    "FROM",
    "(broken",
    "a|b",
    "^(SELECT|UPDATE)",
    "(?=S)S",
    "SELECT.*t1",
];
pub(crate) const PIECES: [&str; 10] = [
    "SELECT a FROM t1",
    "UPDATE t1 SET a=1",
    "SELECT",
    "tenant=17",
    " FOR UPDATE",
    "x",
    "",
    "'x'",
    " FROM b",
    "b",
];

pub(crate) fn rule() -> impl Strategy<Value = Value> {
    let conditions = (
        prop::option::weighted(0.2, select(vec!["app", "geo"])),
        prop::option::weighted(0.2, select(vec!["shop", "world"])),
        prop::option::weighted(0.5, select(PATTERNS.to_vec())),
        prop::option::weighted(0.3, select(PATTERNS.to_vec())),
        prop::bool::weighted(0.2),
    );
    let actions = (
        prop::option::weighted(0.3, select(vec![0_u32, 1, 2])),
        prop::option::weighted(0.6, select(vec![10_u32, 11, 20])),
        prop::option::weighted(0.1, select(vec!["x", "t11"])),
        prop::bool::weighted(0.4),
        (prop::bool::weighted(0.1), prop::bool::weighted(0.1)),
        prop::option::weighted(0.3, select(vec![0_u32, 5])),
        prop::bool::weighted(0.1),
    );
    (0_u32..3, conditions, actions).prop_map(|(flag_in, conditions, actions)| {
        let (username, schemaname, match_digest, match_pattern, negate) = conditions;
        let (flag_out, hostgroup, replace, apply, (refuses, answers), delay, draws) = actions;
        let draws = draws.then(|| json!([{"id": 1, "weight": 3}, {"id": 2, "weight": 1}]));
        let replace = match_pattern.and(replace);
        json!({"flag_in": flag_in, "body": {"engine": {
            "username": username, "schemaname": schemaname, "match_digest": match_digest,
            "match_pattern": match_pattern, "negate_match_pattern": negate, "flag_out": flag_out,
            "error_msg": refuses.then_some("no"), "ok_msg": answers.then_some("yes"), "delay_ms": delay,
            "flag_outs": draws.unwrap_or_else(|| json!([])),
            "destination_hostgroup": hostgroup, "replace_pattern": replace, "apply": apply}}})
    })
}

/// What is done to a rule set to get another one.
pub(crate) fn change() -> impl Strategy<Value = (usize, usize, Value)> {
    (0_usize..5, 0_usize..16, rule())
}

pub(crate) fn changed(rules: &[Value], (how, at, fresh): &(usize, usize, Value)) -> Vec<Value> {
    let mut rules = rules.to_vec();
    let at = at % rules.len();
    match how {
        0 => drop(rules.remove(at)),
        1 => rules.insert(at, fresh.clone()),
        2 => rules[at] = fresh.clone(),
        3 => {
            let other = (at + 1) % rules.len();
            rules.swap(at, other);
        }
        _ => rules[at]["body"]["engine"]["destination_hostgroup"] = json!(30),
    }
    rules
}

pub(crate) fn with_rules(rules: &[Value], iterations: u32) -> Configuration {
    let mut rules = rules.to_vec();
    for (position, rule) in rules.iter_mut().enumerate() {
        rule["id"] = json!(position * 10 + 10);
        rule["address"] = json!(format!("rule.{position}"));
    }
    let mut configuration = configuration("rules: []");
    configuration.settings.query_processor_iterations = iterations;
    configuration.graph.rules = serde_json::from_value(json!(rules)).expect("the strategy writes rules");
    configuration
}

fn routes_alike(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Route(a), Outcome::Route(b)) => {
            (a.hostgroup, &a.rewritten, &a.effects) == (b.hostgroup, &b.rewritten, &b.effects)
        }
        (Outcome::Reject(_), Outcome::Reject(_)) => true,
        (a, b) => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(shardwright_testkit::cases(400)))]
    #[test]
    fn claims_hold_on_both_evaluators(
        rules in prop::collection::vec(rule(), 1..8),
        changes in prop::collection::vec(change(), 1..4),
        iterations in select(vec![0_u32, 1, 2, 7, 40]),
        sql in prop::collection::vec(prop::collection::vec(select(PIECES.to_vec()), 0..4), 12),
    ) {
        let edited = changes.iter().fold(rules.clone(), |rules, change| match rules.is_empty() {
            true => rules,
            false => changed(&rules, change),
        });
        let (left, right) = (with_rules(&rules, iterations), with_rules(&edited, iterations));
        // Restarts of rewrites pass any budget; a small one ends sooner.
        let means = Means { budget: Budget { steps: 400_000, bytes: 64 << 20 }, ..Means::default() };
        let (same, spent) = equivalence_by(&left, &left, &means);
        prop_assert!(same == Equivalence::Proved || spent.steps > means.budget.steps);
        let evaluators = [&left, &right].map(|side| Evaluator::new(Arc::new(side.clone())));
        match equivalence_by(&left, &right, &means).0 {
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
                            prop_assert!(routes_alike(&a, &b), "{text:?} of {user} {schema:?}: {a:?} {b:?}");
                        }
                    }
                }
            }
            Equivalence::Refuted { differences, .. } => {
                for difference in differences {
                    let [a, b] = [0, 1].map(|side| {
                        let statement = Statement::new(&difference.statement, Default::default());
                        evaluators[side].decide(&difference.session.view(side), &statement).outcome
                    });
                    prop_assert!(!routes_alike(&a, &b), "{difference:?}");
                    prop_assert_eq!(Some(&a), difference.left.as_ref().map(|decision| &decision.outcome));
                }
            }
            Equivalence::Undecided { constructs } => prop_assert!(!constructs.is_empty()),
        }
    }
}

/// L73: a chain that is taken away is missed by the sessions that begin there.
#[test]
fn a_flag_that_sessions_hold_is_compared() {
    let left = r#"rules:
  - {rule_id: 10, match_digest: "^BEGIN", destination_hostgroup: 20, next_query_flagIN: 7, apply: 1}
  - {rule_id: 20, flagIN: 7, destination_hostgroup: 30, apply: 1}"#;
    let right = r#"rules:
  - {rule_id: 10, match_digest: "^BEGIN", destination_hostgroup: 20, next_query_flagIN: 7, apply: 1}"#;
    let Equivalence::Refuted { differences, .. } = equivalence(&configuration(left), &configuration(right))
    else {
        panic!("the chain is gone");
    };
    assert_eq!(
        (differences[0].session.flag, shown(&differences[0]).as_str()),
        (7, "app `SELECT a FROM t WHERE id=1`: 30 or 10")
    );
}

/// Revisions of a large set that differ in one place.
#[test]
fn one_shard_of_many() {
    let shards = |moved: Option<usize>| -> Vec<Value> {
        let rule = |n: usize| {
            let hostgroup = if moved == Some(n) { 30 } else { 10 + n % 2 };
            json!({"flag_in": 0, "body": {"engine": {
                "match_pattern": format!(r"^/\* tenant={n} \*/"), "destination_hostgroup": hostgroup, "apply": true}}})
        };
        (0..500).map(rule).collect()
    };
    let (left, right) = (with_rules(&shards(None), 0), with_rules(&shards(Some(321)), 0));
    let Equivalence::Refuted { differences, .. } = equivalence(&left, &right) else {
        panic!("one shard has moved");
    };
    assert_eq!(
        shown(&differences[0]),
        "app `/* TENANT=321 */ SELECT a FROM t WHERE id=1`: 11 or 30"
    );
    let mut reordered = shards(None);
    reordered.swap(3, 400);
    assert_eq!(
        equivalence(&left, &with_rules(&reordered, 0)),
        Equivalence::Proved
    );
}

/// The answer about two configurations that differ in what stands around their rules.
fn around(rules: &str, change: impl Fn(&mut Configuration)) -> String {
    let left = configuration(rules);
    let mut right = left.clone();
    change(&mut right);
    match equivalence(&left, &right) {
        Equivalence::Proved => "proved".to_owned(),
        Equivalence::Refuted { differences, .. } => {
            let first = &differences[0];
            format!("{} in {:?}", shown(first), first.session.schemas)
        }
        Equivalence::Undecided { constructs } => format!("undecided: {}", constructs.join("; ")),
    }
}

#[test]
fn the_schema_of_sessions_that_name_none_is_compared() {
    let moved = |configuration: &mut Configuration| {
        configuration.users[0].default_schema = Some("zzz".to_owned());
    };
    let of_schema = r#"rules:
  - {rule_id: 10, schemaname: zzz, destination_hostgroup: 30, apply: 1}"#;
    assert_eq!(
        around(of_schema, moved),
        r#"app `SELECT a FROM t WHERE id=1`: 10 or 30 in [Some("shop"), Some("zzz")]"#
    );
    // Whatever rules say, it finds other tables.
    assert_eq!(
        around(SPLIT, moved),
        r#"app `SELECT 1`: 11 or 11 in [Some("shop"), Some("zzz")]"#
    );
    let of_engine = |configuration: &mut Configuration| {
        let name = "mysql-default_schema".to_owned();
        configuration.variables.insert(name, "zzz".to_owned());
    };
    assert_eq!(around(of_schema, of_engine), "proved");
    let without = |configuration: &mut Configuration| {
        of_engine(configuration);
        configuration.users[0].default_schema = None;
    };
    assert_eq!(
        around(of_schema, without),
        r#"app `SELECT a FROM t WHERE id=1`: 10 or 30 in [Some("shop"), Some("zzz")]"#
    );
}

/// ProxySQL sends a SET that it cannot follow to the user's own hostgroup, whatever rules say.
#[test]
fn the_hostgroup_that_a_set_falls_back_to_is_compared() {
    let moved = |configuration: &mut Configuration| {
        for user in &mut configuration.users {
            user.default_hostgroup = shardwright_rules::HostgroupId(30);
        }
    };
    for (rules, expected) in [
        (
            "rules: [{rule_id: 10, destination_hostgroup: 20, apply: 1}]",
            r#"app `SET sql_select_limit=1+1`: 10 or 30 in [Some("shop"), Some("shop")]"#,
        ),
        (
            "rules: [{rule_id: 10, destination_hostgroup: 20, multiplex: 2, apply: 1}]",
            r#"app `SET foo=1`: 10 or 30 in [Some("shop"), Some("shop")]"#,
        ),
        (
            "rules: [{rule_id: 10, error_msg: no}]",
            "undecided: a SET that the engine cannot follow goes to the user's default hostgroup, which differs",
        ),
        (
            "{engine: bundled, rules: [{rule_id: 10, destination_hostgroup: 20, apply: 1}]}",
            "proved",
        ),
    ] {
        assert_eq!(around(rules, moved), expected, "{rules}");
    }
}

#[test]
fn what_stands_around_the_rules_is_compared() {
    let listener = |configuration: &mut Configuration| {
        let address = shardwright_rules::Address::new("listeners.other");
        let listener = shardwright_rules::Listener::on_port("other", address, "10.0.0.5", 6033);
        configuration.listeners.push(listener);
    };
    let asks = r#"rules:
  - {rule_id: 10, proxy_addr: 10.0.0.5, destination_hostgroup: 30, apply: 1}"#;
    assert_eq!(
        around(asks, listener),
        "undecided: rules that match the listener, while the listeners differ"
    );
    assert_eq!(around(SPLIT, listener), "proved");
    let delay = |configuration: &mut Configuration| {
        let name = "mysql-default_query_delay".to_owned();
        configuration.variables.insert(name, "700".to_owned());
    };
    assert_eq!(
        around(SPLIT, delay),
        "undecided: the variable mysql-default_query_delay, which differs"
    );
    let route = |configuration: &mut Configuration| {
        configuration
            .graph
            .fast_routing
            .push(shardwright_rules::FastRoute {
                address: shardwright_rules::Address::new("fast"),
                username: "app".to_owned(),
                schemaname: "shop".to_owned(),
                flag_in: 0,
                hostgroup: shardwright_rules::HostgroupId(30),
            });
    };
    let copies = r#"rules:
  - {rule_id: 10, destination_hostgroup: 20, apply: 1, mirror_hostgroup: 11}"#;
    assert_eq!(
        around(copies, route),
        "undecided: copies of mirrors, which fast routing sends elsewhere, while fast routing differs"
    );
}
