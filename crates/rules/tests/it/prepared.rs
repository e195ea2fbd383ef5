//! Prepared statements of the binary protocol: what each command gets of what rules ask for, by engine.

use serde_json::{Value, json};
use shardwright_rules::{Outcome, Route, SentAs};

use crate::common::{World, configuration, native, rule};

const ENGINES: [&str; 2] = ["proxysql-2.7", "proxysql-3.0"];

fn world(engine: &str, rules: &Value) -> World {
    World::new(configuration(engine, rules.clone()))
}

fn route(world: &World, sent_as: SentAs, sql: &str) -> Route {
    match world.decide_as(sent_as, sql).outcome {
        Outcome::Route(route) => route,
        other => panic!("{sql}: {other:?}"),
    }
}

/// A statement sent as text, then prepared and executed: where it goes, one line for each command. What is executed is
/// the text that the engine keeps.
fn sent(world: &World, engine: &str, sql: &str) -> [String; 3] {
    let prepared = world.decide_as(SentAs::Prepare, sql);
    let kept = match &prepared.outcome {
        Outcome::Route(route) if engine != "bundled" => route.rewritten.clone(),
        _ => None,
    };
    let kept = kept.unwrap_or_else(|| sql.as_bytes().to_vec());
    let executed = world.decide_as(SentAs::Execute, &String::from_utf8_lossy(&kept));
    [world.decide(sql), prepared, executed].map(|decision| World::line(decision.outcome))
}

/// L51: what was placed by a text that the rewrite removes is executed elsewhere.
#[test]
fn proxysql_executes_the_rewritten_text() {
    let rules = json!([
        rule(
            10,
            0,
            json!({"match_pattern": "legacy_", "replace_pattern": "", "destination_hostgroup": 20, "apply": true})
        ),
        rule(
            20,
            0,
            json!({"match_digest": "^SELECT", "destination_hostgroup": 30, "apply": true})
        ),
    ]);
    let sql = "SELECT a FROM legacy_t WHERE id = ?";
    let rewritten = "20 «SELECT a FROM t WHERE id = ?»";
    for engine in ENGINES {
        assert_eq!(
            sent(&world(engine, &rules), engine, sql),
            [rewritten, rewritten, "30"],
            "{engine}"
        );
    }
    let bundled = sent(&world("bundled", &rules), "bundled", sql);
    assert_eq!(bundled, [rewritten; 3], "the text that the client sent is kept");
}

#[test]
fn proxysql_rewrites_no_execution() {
    let rules = json!([rule(
        10,
        0,
        json!({"match_pattern": "t1", "replace_pattern": "t11", "destination_hostgroup": 20, "apply": true})
    )]);
    for engine in ENGINES {
        assert_eq!(
            sent(&world(engine, &rules), engine, "SELECT a FROM t1"),
            ["20 «SELECT a FROM t11»", "20 «SELECT a FROM t11»", "20"]
        );
    }
}

/// L62: a delay, retries, a mirror and the cache are for statements sent as text.
#[test]
fn effects_that_prepared_statements_do_not_get() {
    let rules = json!([rule(
        10,
        0,
        json!({"delay_ms": 500, "retries": 3, "mirror_hostgroup": 30, "cache_ttl_ms": 1000, "timeout_ms": 70,
               "multiplex": 0, "next_query_flag_in": 5, "apply": true})
    )]);
    let effects = |engine: &str, sent_as: SentAs| {
        let effects = route(&world(engine, &rules), sent_as, "SELECT 1").effects;
        assert_eq!(
            (effects.timeout_ms, effects.multiplex, effects.next_query_flag_in),
            (Some(70), Some(0), Some(5)),
            "{engine} {sent_as:?}"
        );
        (
            effects.delay_ms,
            effects.retries,
            effects.mirror_hostgroup,
            effects.cache_ttl_ms,
        )
    };
    let all = (Some(500), Some(3), Some(30), Some(1000));
    for (engine, sent_as, expected) in [
        ("proxysql-2.7", SentAs::Query, all),
        ("proxysql-2.7", SentAs::Prepare, (None, Some(3), None, None)),
        ("proxysql-2.7", SentAs::Execute, (None, None, None, None)),
        ("proxysql-3.0", SentAs::Prepare, (None, Some(3), None, None)),
        ("proxysql-3.0", SentAs::Execute, (None, None, None, None)),
        ("bundled", SentAs::Prepare, (None, Some(3), None, None)),
        ("bundled", SentAs::Execute, all),
    ] {
        assert_eq!(effects(engine, sent_as), expected, "{engine} {sent_as:?}");
    }
}

#[test]
fn the_path_says_what_a_command_goes_without() {
    let rules = json!([
        rule(
            10,
            0,
            json!({"match_digest": "^SELECT", "delay_ms": 500, "retries": 3})
        ),
        rule(
            20,
            0,
            json!({"match_pattern": "t1", "replace_pattern": "t2", "cache_ttl_ms": 9})
        ),
        rule(30, 0, json!({"timeout_ms": 9})),
    ]);
    let world = world("proxysql-2.7", &rules);
    let why = |sent_as: SentAs| -> Vec<String> {
        let path = world.decide_as(sent_as, "SELECT a FROM t1").path;
        path.into_iter().map(|step| step.why.to_string()).collect()
    };
    assert_eq!(
        why(SentAs::Query),
        ["match_digest ^SELECT", "match_pattern t1", "no condition"]
    );
    assert_eq!(
        why(SentAs::Prepare),
        [
            "match_digest ^SELECT; preparing does not get its delay",
            "match_pattern t1; preparing does not get its cache",
            "no condition"
        ]
    );
    assert_eq!(
        why(SentAs::Execute),
        [
            "match_digest ^SELECT; executions of prepared statements do not get its delay and retries",
            "match_pattern t1; executions of prepared statements do not get its rewrite and cache",
            "no condition"
        ]
    );
}

/// A value of the protocol is `?` in the text; a comment of the preparation stays.
#[test]
fn a_literal_is_not_seen_and_a_comment_is() {
    let rules = json!([
        rule(
            10,
            0,
            json!({"match_pattern": "tenant *= *17\\b", "destination_hostgroup": 20, "apply": true})
        ),
        rule(
            20,
            0,
            json!({"match_digest": "tenant = \\?", "destination_hostgroup": 21, "apply": true})
        ),
    ]);
    let world = world("proxysql-2.7", &rules);
    for (sql, expected) in [
        ("SELECT a FROM t WHERE tenant = 17", ["20", "20", "20"]),
        ("SELECT a FROM t WHERE tenant = ?", ["21", "21", "21"]),
        (
            "/* tenant=17 */ SELECT a FROM t WHERE tenant = ?",
            ["20", "20", "20"],
        ),
        (
            "/* hostgroup=30 */ SELECT a FROM t WHERE tenant = ?",
            ["30", "30", "30"],
        ),
        (
            "/* query_delay=9 */ SELECT a FROM t WHERE id = 1",
            ["10 after 9 ms", "10", "10"],
        ),
    ] {
        assert_eq!(sent(&world, "proxysql-2.7", sql), expected, "{sql}");
    }
}

#[test]
fn messages_answer_prepared_statements_on_proxysql() {
    let rules = json!([
        rule(
            10,
            0,
            json!({"match_digest": "FROM a", "ok_msg": "ok", "apply": true})
        ),
        rule(
            20,
            0,
            json!({"match_digest": "FROM b", "error_msg": "no", "apply": true})
        ),
    ]);
    let world = world("proxysql-2.7", &rules);
    assert_eq!(
        sent(&world, "proxysql-2.7", "SELECT 1 FROM a"),
        ["answered ok"; 3]
    );
    assert_eq!(
        sent(&world, "proxysql-2.7", "SELECT 1 FROM b"),
        ["refused: no"; 3]
    );
}

#[test]
fn the_bundled_engine_prepares_nothing_that_it_would_have_to_follow() {
    let rules = json!([
        native(1, json!({}), json!({"delay": {"delay_ms": 5}})),
        rule(
            10,
            0,
            json!({"match_digest": "FROM a", "ok_msg": "ok", "apply": true})
        ),
    ]);
    let world = world("bundled", &rules);
    let refused = "refused: This command is not supported in the prepared statement protocol yet";
    for sql in ["XA RECOVER", "PREPARE s FROM 'SELECT 1'", "SELECT 1 FROM a"] {
        assert_eq!(
            World::line(world.decide_as(SentAs::Prepare, sql).outcome),
            refused,
            "{sql}"
        );
    }
    assert_eq!(
        sent(&world, "bundled", "SELECT 1"),
        ["10 after 5 ms", "10", "10 after 5 ms"]
    );
    let path = world.decide_as(SentAs::Prepare, "SELECT 1").path;
    assert_eq!(&*path[0].why, "a delay of 5 ms, which preparing does not get");
}
