//! What ProxySQL 2.7.1 answers itself, and what it does with sessions that named no schema; each row was seen there.

use serde_json::json;
use shardwright_rules::{HostgroupId, Outcome, OwnAnswer, SentAs, SessionView, Statement};

use crate::common::{World, configuration, rule};

/// Everything goes to 20, and the next statement starts at flag 1.
fn world() -> World {
    World::new(configuration(
        "proxysql-2.7",
        json!([rule(
            1,
            0,
            json!({"destination_hostgroup": 20, "next_query_flag_in": 1})
        )]),
    ))
}

fn own(world: &World, sql: &str) -> Option<OwnAnswer> {
    match world.decide(sql).outcome {
        Outcome::Own { answer, .. } => Some(answer),
        _ => None,
    }
}

#[test]
fn what_the_engine_answers_is_not_routed() {
    let world = world();
    for (sql, expected) in [
        ("USE shop", Some(OwnAnswer::Schema)),
        ("/* a */ use `shop`", Some(OwnAnswer::Schema)),
        ("SET NAMES utf8mb4", Some(OwnAnswer::Set)),
        ("SET autocommit=1", Some(OwnAnswer::Set)),
        ("SET autocommit = ON", Some(OwnAnswer::Set)),
        (
            "SET sql_mode='STRICT_TRANS_TABLES', time_zone='+01:00'",
            Some(OwnAnswer::Set),
        ),
        ("SET SESSION wait_timeout=100 /* app */", Some(OwnAnswer::Set)),
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            Some(OwnAnswer::Set),
        ),
        ("COMMIT", Some(OwnAnswer::NoTransaction)),
        ("rollback", Some(OwnAnswer::NoTransaction)),
        ("SELECT CONNECTION_ID()", Some(OwnAnswer::OfEngine)),
        ("SELECT LAST_INSERT_ID()", Some(OwnAnswer::OfEngine)),
        ("SHOW WARNINGS", Some(OwnAnswer::OfEngine)),
        ("/* a */ KILL QUERY 7", Some(OwnAnswer::OfEngine)),
        ("select USER()", Some(OwnAnswer::OfEngine)),
        // A byte beside these, and a server is asked.
        ("COMMIT ", None),
        ("SELECT USER()", None),
        ("KILL 7;", None),
        ("SET @a=1", None),
        ("SET foo=1", None),
        ("SET GLOBAL wait_timeout=100", None),
        ("SELECT CONNECTION_ID(), 1", None),
    ] {
        assert_eq!(own(&world, sql), expected, "{sql}");
    }
    for prepared in ["USE shop", "SET NAMES utf8", "COMMIT", "SELECT CONNECTION_ID()"] {
        let decision = world.decide_as(SentAs::Prepare, prepared);
        assert!(matches!(decision.outcome, Outcome::Route(_)), "{prepared}");
    }
}

#[test]
fn messages_count_for_what_is_looked_at_behind_the_rules_and_not_for_use() {
    let world = World::new(configuration(
        "proxysql-2.7",
        json!([rule(1, 0, json!({"error_msg": "no"}))]),
    ));
    assert_eq!(own(&world, "USE shop"), Some(OwnAnswer::Schema));
    assert_eq!(own(&world, "SET NAMES utf8"), Some(OwnAnswer::Set));
    assert_eq!(own(&world, "COMMIT"), Some(OwnAnswer::NoTransaction));
    assert_eq!(world.ask("SET time_zone='+01:00'"), "refused: no");
    assert_eq!(world.ask("SELECT CONNECTION_ID()"), "refused: no");
}

#[test]
fn a_set_that_cannot_be_followed_locks_the_session() {
    let world = world();
    let Outcome::Route(route) = world.decide("SET @a=1").outcome else {
        panic!("it is sent");
    };
    assert!(route.locks);
    assert_eq!(
        (route.hostgroup, route.effects.next_query_flag_in),
        (HostgroupId(20), None)
    );
    let locked = SessionView {
        user: "app",
        locked_on: Some(HostgroupId(10)),
        ..SessionView::default()
    };
    let decide = |sql: &str| {
        world
            .evaluator
            .decide(&locked, &Statement::new(sql.as_bytes(), Default::default()))
            .outcome
    };
    for sql in ["SELECT 1", "SET sql_mode=''"] {
        match decide(sql) {
            Outcome::Reject(rejection) => assert_eq!(rejection.code, 9006, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    // With a rule about pooling it locks nothing, and goes to the user's hostgroup.
    let pooled = World::new(configuration(
        "proxysql-2.7",
        json!([rule(1, 0, json!({"destination_hostgroup": 20, "multiplex": 0}))]),
    ));
    assert_eq!(pooled.ask("SET @a=1"), "10");
}

#[test]
fn a_session_without_a_schema_has_the_engines() {
    let rules = json!([rule(
        1,
        0,
        json!({"schemaname": "information_schema", "destination_hostgroup": 20, "apply": true})
    )]);
    let ask = |configuration, schema| {
        let mut world = World::new(configuration);
        world.user = "dba";
        world.schema = schema;
        world.ask("SELECT 1 FROM t")
    };
    let plain = || configuration("proxysql-2.7", rules.clone());
    assert_eq!(ask(plain(), None), "20");
    assert_eq!(ask(plain(), Some("shop")), "10");
    let with = |value: &str| {
        let mut configuration = plain();
        configuration
            .variables
            .insert("mysql-default_schema".to_owned(), value.to_owned());
        configuration
    };
    assert_eq!(ask(with("information_schema"), None), "20");
    assert_eq!(ask(with("shop"), None), "10");
    assert_eq!(ask(configuration("bundled", rules.clone()), None), "10");
}

#[test]
fn an_annotation_can_take_a_hostgroup_back_and_an_open_comment_is_unsure() {
    let world = world();
    assert_eq!(world.ask("SELECT 1 /*! hostgroup=30 */"), "30");
    assert_eq!(world.ask("SELECT 1 /* hostgroup=4294967295 */"), "10");
    assert!(world.decide("SELECT 1 /* hostgroup=30; ").unsure);
    assert!(!world.decide("SELECT 1 /* hostgroup=30; */").unsure);
}

#[test]
fn the_end_of_a_transaction_follows_it() {
    let mut world = world();
    world.transaction = Some(30);
    assert_eq!(world.ask("COMMIT"), "30");
}
