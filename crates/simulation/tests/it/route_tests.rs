//! Route tests over a small configuration: each expectation can hold and can fail, and a session is carried on.

use std::sync::Arc;

use shardwright_prover::KeyedShards;
use shardwright_prover::expectation::{Expected, OutcomeKind};
use shardwright_routing::RoutingTable;
use shardwright_rules::Role;
use shardwright_simulation::route_tests::{Case, Failure, Runner};
use shardwright_simulation::supposed::Supposed;
use shardwright_simulation::{Command, Step};

use shardwright_testkit::configuration;

/// Users are on a (10, readers 11); there are b (20, 21) and c (30) beside it.
const RULES: &str = r#"
rules:
  - {rule_id: 10, match_digest: "^DROP", error_msg: "SW999: no drops", apply: 1}
  - {rule_id: 20, match_digest: "^PING", OK_msg: "pong", apply: 1}
  - {rule_id: 30, match_pattern: "old[.]t", replace_pattern: "new.t", destination_hostgroup: 20, delay_ms: 5, apply: 1}
  - {rule_id: 40, match_digest: "FROM cached", cache_ttl_ms: 2000, mirror_hostgroup: 30, multiplex: 0, destination_hostgroup: 11, apply: 1}
  - {rule_id: 50, schemaname: "far", destination_hostgroup: 30, apply: 1}
  - {rule_id: 60, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}
"#;

fn run(steps: Vec<Step<'_>>) -> Vec<Failure> {
    let configuration = configuration(RULES);
    let table = RoutingTable::new(Arc::new(configuration.clone()));
    Runner::new(table, &configuration, &KeyedShards::default()).run(&Case { steps })
}

fn step<'t>(query: &'t str, expect: Option<Expected<'t>>) -> Step<'t> {
    Step {
        user: "app",
        schema: None,
        client: None,
        listener: None,
        after_ms: 0,
        command: Command::Query,
        query: query.as_bytes(),
        supposed: Supposed::default(),
        expect,
    }
}

/// The fields that do not hold, with what is.
fn wrong(query: &str, expect: Expected<'_>) -> Vec<String> {
    let failures = run(vec![step(query, Some(expect))]);
    let mismatches = failures.iter().flat_map(|failure| &failure.mismatches);
    mismatches
        .map(|mismatch| format!("{}: {}", mismatch.field.unwrap_or("-"), mismatch.actual))
        .collect()
}

#[test]
fn each_expectation_can_hold_and_can_fail() {
    let any = Expected::default;
    let cases: Vec<(&str, Expected<'_>, &[&str])> = vec![
        (
            "UPDATE x",
            Expected {
                cluster: Some("a"),
                role: Some(Role::Writer),
                hostgroup: Some(10),
                ..any()
            },
            &[],
        ),
        (
            "UPDATE x",
            Expected {
                cluster: Some("b"),
                ..any()
            },
            &["cluster: a"],
        ),
        (
            "SELECT 1",
            Expected {
                role: Some(Role::Writer),
                hostgroup: Some(10),
                ..any()
            },
            &["role: reader", "hostgroup: 11"],
        ),
        (
            "UPDATE old.t",
            Expected {
                query: Some("UPDATE new.t"),
                delay_ms: Some(5),
                cluster: Some("b"),
                ..any()
            },
            &[],
        ),
        (
            "UPDATE old.t",
            Expected {
                query: Some("UPDATE old.t"),
                delay_ms: Some(0),
                ..any()
            },
            &["query: UPDATE new.t", "delay: 5ms"],
        ),
        (
            "UPDATE x",
            Expected {
                query: Some("UPDATE x\n"),
                delay_ms: Some(0),
                cache_ttl_ms: Some(0),
                ..any()
            },
            &[],
        ),
        (
            "SELECT 1 FROM cached",
            Expected {
                cache_ttl_ms: Some(2000),
                mirror: Some("c"),
                multiplex: Some(0),
                ..any()
            },
            &[],
        ),
        (
            "SELECT 1 FROM cached",
            Expected {
                cache_ttl_ms: Some(1),
                mirror: Some("b"),
                multiplex: Some(2),
                ..any()
            },
            &["cache_ttl: 2000ms", "mirror: c", "multiplex: 0"],
        ),
        (
            "SELECT 1",
            Expected {
                mirror: Some("c"),
                multiplex: Some(0),
                ..any()
            },
            &["mirror: none", "multiplex: none"],
        ),
        (
            "DROP x",
            Expected {
                error: Some("no drops"),
                ..any()
            },
            &[],
        ),
        (
            "DROP x",
            Expected {
                error: Some("SW351"),
                ..any()
            },
            &["error: SW999: no drops"],
        ),
        (
            "DROP x",
            Expected {
                outcome: Some(OutcomeKind::Reject),
                ..any()
            },
            &[],
        ),
        (
            "DROP x",
            Expected {
                cluster: Some("a"),
                role: Some(Role::Writer),
                ..any()
            },
            &["cluster: a refusal"],
        ),
        (
            "UPDATE x",
            Expected {
                error: Some("x"),
                ..any()
            },
            &["error: sent to a, writer"],
        ),
        (
            "PING",
            Expected {
                answer: Some("pong"),
                ..any()
            },
            &[],
        ),
        (
            "PING",
            Expected {
                answer: Some("ping"),
                ..any()
            },
            &["answer: pong"],
        ),
        (
            "PING",
            Expected {
                outcome: Some(OutcomeKind::Route),
                ..any()
            },
            &["outcome: an answer of the proxy"],
        ),
        (
            "SELECT 1",
            Expected {
                rule: Some("query_rules.r"),
                ..any()
            },
            &[],
        ),
        (
            "SELECT 1",
            Expected {
                rule: Some("query_rules.r.rules[60]"),
                ..any()
            },
            &[],
        ),
        (
            "SELECT 1",
            Expected {
                rule: Some("query_rules.r.rules[6]"),
                ..any()
            },
            &["rule: query_rules.r.rules[60]"],
        ),
        (
            "UPDATE x",
            Expected {
                rule: Some("query_rules.r"),
                ..any()
            },
            &["rule: no rule"],
        ),
        (
            "DROP x",
            Expected {
                rule: Some("query_rules.r.rules[10]"),
                error: Some("SW999"),
                ..any()
            },
            &[],
        ),
        (
            "SELECT 1",
            Expected {
                shards: vec!["shard_maps.m.shards.s"],
                ..any()
            },
            &["shard: no shard"],
        ),
        (
            "SELECT 1",
            Expected {
                backend_schema: Some("x"),
                ..any()
            },
            &["backend_schema: none"],
        ),
    ];
    for (query, expect, expected) in cases {
        let said = format!("{query}: {expect:?}");
        assert_eq!(wrong(query, expect), expected, "{said}");
    }
}

#[test]
fn a_statement_of_which_nothing_is_expected_must_not_be_refused() {
    let failures = run(vec![
        step("DROP x", None),
        step("PING", None),
        step("SELECT 1", None),
    ]);
    let places: Vec<usize> = failures.iter().map(|failure| failure.step).collect();
    assert_eq!(places, [0]);
    assert_eq!(failures[0].mismatches[0].field, None);
    assert!(
        !failures[0].decision.path.is_empty(),
        "the path is there for people"
    );
}

/// What the engine answers itself.
const OWN: u32 = u32::MAX;

/// The hostgroups that the statements of a script are sent to.
#[track_caller]
fn check_script(script: &[(&str, u32)]) {
    let steps = script.iter().map(|(query, hostgroup)| {
        let is_own = *hostgroup == OWN;
        step(
            query,
            Some(Expected {
                hostgroup: Some(*hostgroup).filter(|_| !is_own),
                outcome: is_own.then_some(OutcomeKind::Answer),
                ..Expected::default()
            }),
        )
    });
    let failures = run(steps.collect());
    let said: Vec<String> = failures
        .iter()
        .map(|failure| format!("{}: {:?}", script[failure.step].0, failure.mismatches))
        .collect();
    assert_eq!(said, [""; 0], "{script:?}");
}

#[test]
fn a_session_is_carried_from_statement_to_statement() {
    // A transaction is where its BEGIN went, until it ends.
    check_script(&[("BEGIN", 10), ("SELECT 1", 10), ("COMMIT", 10), ("SELECT 1", 11)]);
    check_script(&[
        ("START TRANSACTION", 10),
        ("SELECT 1", 10),
        ("ROLLBACK TO s", 10),
        ("SELECT 1", 10),
    ]);
    check_script(&[
        ("BEGIN", 10),
        ("COMMIT AND CHAIN", 10),
        ("SELECT 1", 10),
        ("ROLLBACK AND NO CHAIN", 10),
        ("SELECT 1", 11),
    ]);
    // Servers commit before DDL; temporary tables are none.
    check_script(&[("BEGIN", 10), ("CREATE TABLE t (a INT)", 10), ("SELECT 1", 11)]);
    check_script(&[
        ("BEGIN", 10),
        ("CREATE TEMPORARY TABLE t (a INT)", 10),
        ("SELECT 1", 10),
    ]);
    // Without autocommit, the first statement that is work opens a transaction.
    check_script(&[
        ("SET autocommit=0", OWN),
        ("UPDATE x", 10),
        ("SELECT a FROM t", 10),
        ("SET autocommit=1", 10),
        ("SELECT 1", 11),
    ]);
    // USE changes the schema.
    check_script(&[
        ("USE far", OWN),
        ("SELECT 1", 30),
        ("USE `shop`", OWN),
        ("SELECT 1", 11),
    ]);
}

#[test]
fn another_user_or_schema_is_another_session() {
    let at = |user: &'static str, schema: Option<&'static str>, query: &'static str, hostgroup: u32| Step {
        user,
        schema,
        expect: Some(Expected {
            hostgroup: Some(hostgroup),
            ..Expected::default()
        }),
        ..step(query, None)
    };
    let failures = run(vec![
        at("app", None, "BEGIN", 10),
        at("app", None, "SELECT 1", 10),
        at("geo", None, "SELECT 1", 11),
        at("geo", Some("far"), "SELECT 1", 30),
        at("geo", None, "SELECT 1", 30),
        at("geo", Some(""), "SELECT 1", 11),
    ]);
    assert_eq!(failures, []);
}
