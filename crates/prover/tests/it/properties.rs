//! Properties over small rule sets: proved where the rules show it, refuted by a statement, else undecided; and never
//! proved where a statement breaks it.

use std::sync::Arc;

use proptest::prelude::*;
use shardwright_prover::KeyedShards;
use shardwright_prover::expectation::{Expected, OutcomeKind};
use shardwright_prover::properties::{Answer, Claim, Domain, Property, Prover};
use shardwright_rules::{Configuration, Evaluator, Outcome, Role, SessionView, Statement, StatementKind};

use shardwright_testkit::configuration;

const WRITES: [StatementKind; 4] = [
    StatementKind::Insert,
    StatementKind::Update,
    StatementKind::Delete,
    StatementKind::Replace,
];

fn writes_stay() -> Property<'static> {
    Property {
        domain: Domain {
            statements: WRITES.to_vec(),
            ..Domain::default()
        },
        claim: Claim::Each(Box::new(Expected {
            role: Some(Role::Writer),
            ..Expected::default()
        })),
    }
}

fn answer(configuration: &Arc<Configuration>, property: &Property<'_>) -> String {
    match Prover::new(configuration, KeyedShards::of(configuration)).answer(property) {
        Answer::Proved => "proved".to_owned(),
        Answer::Undecided { reason, checked } => {
            assert!(checked > 0, "nothing was tried");
            format!("undecided: {reason}")
        }
        Answer::Refuted(example) => {
            let statements: Vec<String> = example
                .statements
                .iter()
                .map(|shown| format!("{} {}", shown.user, shown.query))
                .collect();
            format!("refuted: {}", statements.join(" | "))
        }
    }
}

#[test]
fn writes_never_reach_readers() {
    let cases = [
        (
            "a split by the first word",
            r#"rules: [{rule_id: 1, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#,
            "proved",
        ),
        (
            "locking reads first",
            r#"
rules:
  - {rule_id: 1, match_digest: "^SELECT.*FOR UPDATE", destination_hostgroup: 10, apply: 1}
  - {rule_id: 2, match_pattern: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
            "proved",
        ),
        (
            "a word anywhere",
            r#"rules: [{rule_id: 1, match_digest: "SELECT", destination_hostgroup: 11, apply: 1}]"#,
            "refuted: app INSERT INTO t (id, a) SELECT 1, a FROM u WHERE id = 1",
        ),
        (
            "a table of reports",
            r#"rules: [{rule_id: 1, match_digest: "reports", destination_hostgroup: 11, apply: 1}]"#,
            "refuted: app INSERT REPORTS",
        ),
        (
            "a user of readers",
            r#"rules: [{rule_id: 1, username: geo, destination_hostgroup: 11, apply: 1}]"#,
            "refuted: geo INSERT INTO t (id, a) VALUES (1, 2)",
        ),
        (
            "readers and then a writer for all",
            r#"
rules:
  - {rule_id: 1, destination_hostgroup: 11}
  - {rule_id: 2, destination_hostgroup: 10, apply: 1}"#,
            "proved",
        ),
        (
            "one digest",
            r#"rules: [{rule_id: 1, digest: "0x4D7DCFF87DD1A927", destination_hostgroup: 11, apply: 1}]"#,
            "undecided: the rules do not exclude that insert of user app is sent to a, reader",
        ),
        (
            "what was split and then rewritten",
            r#"
rules:
  - {rule_id: 1, match_pattern: "^INSERT", replace_pattern: "SELECT", flagOUT: 5}
  - {rule_id: 2, flagIN: 5, match_pattern: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
            "refuted: app INSERT INTO t (id, a) VALUES (1, 2)",
        ),
        (
            "jumps that lead back",
            r#"
iterations: 3
rules:
  - {rule_id: 1, flagIN: 5, destination_hostgroup: 10, flagOUT: 0}
  - {rule_id: 2, match_digest: "^x", flagOUT: 5}"#,
            "undecided: jumps lead back to earlier rules",
        ),
        (
            "a schema of fast routing",
            r#"fast_routing: [{username: "", schemaname: far, flagIN: 0, destination_hostgroup: 21}]"#,
            "refuted: app INSERT INTO t (id, a) VALUES (1, 2)",
        ),
    ];
    for (name, rules, expected) in cases {
        let configuration = Arc::new(configuration(rules));
        assert_eq!(answer(&configuration, &writes_stay()), expected, "{name}");
    }
}

#[test]
fn digests_that_are_made_otherwise_prove_nothing() {
    let read = r#"rules: [{rule_id: 1, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}]"#;
    let commented = r#"rules: [{rule_id: 1, match_digest: "^/", destination_hostgroup: 11, apply: 1}]"#;
    for (rules, setting, holds) in [
        (read, "mysql-query_digests_replace_null: 'false'", true),
        // The condition is skipped: every statement matches.
        (read, "mysql-query_digests: 'false'", false),
        (commented, "mysql-query_digests_keep_comment: 'true'", false),
    ] {
        let configuration = Arc::new(configuration(&format!("variables: {{{setting}}}\n{rules}")));
        let answer = answer(&configuration, &writes_stay());
        assert_eq!(answer == "proved", holds, "{setting}: {answer}");
    }
}

/// `SET sql_select_limit=1+1` goes to the user's hostgroup whatever rules say; SET NAMES is the engine's own.
#[test]
fn a_set_that_the_engine_cannot_read_goes_where_no_rule_sends_it() {
    let rules = "rules: [{rule_id: 1, destination_hostgroup: 11, apply: 1}]";
    let to_readers = |kind| Property {
        domain: Domain {
            statements: vec![kind],
            ..Domain::default()
        },
        claim: Claim::Each(Box::new(Expected {
            role: Some(Role::Reader),
            ..Expected::default()
        })),
    };
    let configuration = Arc::new(configuration(rules));
    assert_ne!(answer(&configuration, &to_readers(StatementKind::Set)), "proved");
    assert_eq!(
        answer(&configuration, &to_readers(StatementKind::Delete)),
        "proved"
    );
}

#[test]
fn a_domain_limits_what_is_asked() {
    let rules = r#"
rules:
  - {rule_id: 1, username: geo, destination_hostgroup: 30, apply: 1}
  - {rule_id: 2, schemaname: far, destination_hostgroup: 20, apply: 1}
  - {rule_id: 3, match_digest: "^DROP", error_msg: "no", apply: 1}"#;
    let configuration = Arc::new(configuration(rules));
    let ask = |domain: Domain<'static>, expected: Expected<'static>| {
        let claim = Claim::Each(Box::new(expected));
        answer(&configuration, &Property { domain, claim })
    };
    let on = |cluster| Expected {
        cluster: Some(cluster),
        ..Expected::default()
    };
    let users = |users| Domain {
        users,
        ..Domain::default()
    };
    // ProxySQL does not read this SET, and sends it to the user's own hostgroup.
    assert_eq!(
        ask(users(vec!["geo"]), on("c")),
        "refuted: geo SET sql_select_limit=1+1"
    );
    let writes = |domain| Domain {
        statements: WRITES.to_vec(),
        ..domain
    };
    assert_eq!(ask(writes(users(vec!["geo"])), on("c")), "proved");
    assert_eq!(
        ask(users(vec!["app"]), on("a")),
        "refuted: app SELECT a FROM t WHERE id = 1"
    );
    let here = |schema| Domain {
        users: vec!["app"],
        schemas: vec![schema],
        ..Domain::default()
    };
    assert_eq!(ask(here("near"), on("a")), "proved");
    assert_eq!(ask(writes(here("far")), on("b")), "proved");
    let refused = Expected {
        outcome: Some(OutcomeKind::Reject),
        ..Expected::default()
    };
    let drops = Domain {
        statements: vec![StatementKind::Ddl],
        ..here("near")
    };
    assert_eq!(ask(drops, refused), "refuted: app CREATE TABLE t (id INT)");
}

#[test]
fn shards_are_kept_apart() {
    let map = |second: &str| {
        format!(
            r#"
engine: bundled
rules:
  - rule_id: 1
    scope: {{}}
    native:
      map:
        map: m
        key: tenant
        kind: integer
        finders: [{{comment: {{word: tenant, form: pairs}}}}]
        conflict: reject
        unqualified: reject
        shards:
          - {{address: shard_maps.m.shards.one, cluster: a, keys: [1]}}
          - {{address: shard_maps.m.shards.two, cluster: {second}, keys: [2]}}
        missing: {{statements: reject, session_setup: allow, begin: reject}}
        unknown: reject"#
        )
    };
    let property = Property {
        domain: Domain {
            map: Some("m"),
            ..Domain::default()
        },
        claim: Claim::Disjoint,
    };
    assert_eq!(answer(&Arc::new(configuration(&map("b"))), &property), "proved");
    assert_eq!(
        answer(&Arc::new(configuration(&map("a"))), &property),
        "refuted: app /* tenant=1 */ SELECT a FROM t WHERE id = 1 | app /* tenant=2 */ SELECT a FROM t WHERE id = 1"
    );
}

/// A row of a random rule set, in YAML.
fn row() -> impl Strategy<Value = String> {
    let pattern = prop::sample::select(vec![
        "",
        "^SELECT",
        "^INSERT",
        "^(UPDATE|DELETE)",
        "SELECT",
        "t",
        "^.*FOR UPDATE",
        "[^S]",
        "^\\(?SELECT",
        "x$",
    ]);
    (
        0..3_u32,
        prop::option::of(1..4_u32),
        pattern.clone(),
        pattern,
        prop::option::of(prop::sample::select(vec![10, 11, 20, 21, 30])),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["", "app", "geo"]),
        prop::sample::select(vec!["", "shop", "far"]),
        prop::sample::select(vec!["", "", "", "error_msg: no, ", "replace_pattern: SELECT, "]),
    )
        .prop_map(
            |(flag, out, digest, text, to, apply, negate, user, schema, more)| {
                let number = |name: &str, value: Option<u32>| {
                    value.map_or(String::new(), |v| format!("{name}: {v}, "))
                };
                let quoted = |name: &str, value: &str| {
                    if value.is_empty() {
                        String::new()
                    } else {
                        format!("{name}: '{value}', ")
                    }
                };
                format!(
                    "flagIN: {flag}, {}{}{}{}{}{}{more}negate_match_pattern: {}, apply: {}",
                    number("flagOUT", out),
                    number("destination_hostgroup", to),
                    quoted("match_digest", digest),
                    quoted("match_pattern", text),
                    quoted("username", user),
                    quoted("schemaname", schema),
                    u8::from(negate),
                    u8::from(apply),
                )
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("PROPTEST_CASES").is_some() { 20_000 } else { 200 }, ..ProptestConfig::default() })]

    #[test]
    fn what_is_proved_holds(rows in prop::collection::vec(row(), 1..7)) {
        let mut yaml = "rules:\n".to_owned();
        for (number, row) in rows.iter().enumerate() {
            yaml.push_str(&format!("  - {{rule_id: {}, {row}}}\n", number + 1));
        }
        let configuration = Arc::new(configuration(&yaml));
        let evaluator = Evaluator::new(Arc::clone(&configuration));
        let prover = Prover::new(&configuration, KeyedShards::default());
        if prover.answer(&writes_stay()) == Answer::Proved {
            let texts = [
                "INSERT INTO t VALUES (1)", "(INSERT x)", "/* a */ insert t select x", "UPDATE t SET x", "DELETE FROM x",
                "WITH t AS (SELECT 1) DELETE FROM t", "REPLACE t VALUES (1)", "\tUPDATE SELECT x",
                "INSERT INTO t SELECT a FROM t FOR UPDATE",
            ];
            for (user, schema) in [("app", "shop"), ("geo", "far"), ("app", "far"), ("geo", "other")] {
                for text in texts {
                    let session = SessionView { user, schema: Some(schema), client_addr: Some("10.0.0.1"), ..SessionView::default() };
                    let decision = evaluator.decide(&session, &Statement::new(text.as_bytes(), Default::default()));
                    if let Outcome::Route(route) = decision.outcome {
                        prop_assert_eq!(route.role, Some(Role::Writer), "{} {}\n{}", user, text, yaml);
                    }
                }
            }
        }
    }
}
