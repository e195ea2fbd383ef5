//! Rows of `mysql_query_rules` mean what ProxySQL 2.7.1 makes of them.

use std::collections::BTreeSet;

use serde_json::json;
use shardwright_rules::Effects;
use shardwright_rules::tables::{Part, RULE_COLUMNS};

use crate::common::{World, check, configuration, rule};

fn world(rules: serde_json::Value) -> World {
    World::new(configuration("proxysql-2.7", rules))
}

#[test]
fn the_last_match_wins_until_one_applies() {
    let world = world(json!([
        rule(
            1,
            0,
            json!({"match_digest": "^SELECT", "destination_hostgroup": 20})
        ),
        rule(
            2,
            0,
            json!({"match_digest": "FROM t2", "destination_hostgroup": 30, "apply": true})
        ),
        rule(
            3,
            0,
            json!({"match_digest": "t1|t2", "destination_hostgroup": 21, "apply": true})
        ),
    ]));
    check(
        &world,
        &[
            ("SELECT * FROM x", "20"),
            ("SELECT * FROM t1", "21"),
            ("SELECT * FROM t2", "30"),
            ("UPDATE x SET a=1", "10"),
        ],
    );
}

#[test]
fn a_jump_reaches_only_later_rules() {
    let forward = json!([
        rule(1, 0, json!({"match_digest": "^SELECT", "flag_out": 5})),
        rule(2, 0, json!({"destination_hostgroup": 30, "apply": true})),
        rule(3, 5, json!({"destination_hostgroup": 20, "apply": true})),
    ]);
    check(&world(forward), &[("SELECT 1", "20"), ("DELETE FROM t", "30")]);
    let backward = json!([
        rule(1, 5, json!({"destination_hostgroup": 20, "apply": true})),
        rule(2, 0, json!({"match_digest": "^SELECT", "flag_out": 5})),
    ]);
    check(&world(backward.clone()), &[("SELECT 1", "10")]);
    let mut restarting = configuration("proxysql-2.7", backward);
    restarting.settings.query_processor_iterations = 1;
    check(&World::new(restarting), &[("SELECT 1", "20")]);
}

#[test]
fn a_self_loop_runs_iterations_and_one() {
    let rules = json!([rule(
        1,
        0,
        json!({"match_pattern": "t1", "replace_pattern": "t11", "flag_out": 0})
    )]);
    let mut looping = configuration("proxysql-2.7", rules);
    looping.settings.query_processor_iterations = 3;
    let world = World::new(looping);
    check(&world, &[("SELECT * FROM t1", "10 «SELECT * FROM t11111»")]);
    assert_eq!(world.decide("SELECT * FROM t1").hits.len(), 4);
}

#[test]
fn negation_counts_for_each_pattern_and_for_broken_ones() {
    let world = world(json!([
        rule(
            1,
            0,
            json!({"match_digest": "^SELECT", "match_pattern": "hint", "negate_match_pattern": true,
                          "destination_hostgroup": 20, "apply": true})
        ),
        rule(
            2,
            0,
            json!({"match_pattern": "(abc", "destination_hostgroup": 21, "apply": true})
        ),
        rule(
            3,
            0,
            json!({"match_pattern": "(abc", "negate_match_pattern": true, "destination_hostgroup": 30, "apply": true})
        ),
    ]));
    check(
        &world,
        &[
            ("UPDATE t SET a=1", "20"),
            ("SELECT 1", "30"),
            ("UPDATE hint SET a=1", "30"),
            ("SELECT hint", "30"),
        ],
    );
}

#[test]
fn later_patterns_see_the_rewritten_text_and_digests_the_original() {
    let world = world(json!([
        rule(1, 0, json!({"match_pattern": "old", "replace_pattern": "new"})),
        rule(
            2,
            0,
            json!({"match_digest": "new", "destination_hostgroup": 21, "apply": true})
        ),
        rule(
            3,
            0,
            json!({"match_pattern": "new", "destination_hostgroup": 20, "apply": true})
        ),
    ]));
    check(&world, &[("SELECT * FROM old", "20 «SELECT * FROM new»")]);
}

#[test]
fn messages_refuse_and_answer() {
    let world = world(json!([
        rule(1, 0, json!({"match_digest": "^DROP", "error_msg": "no"})),
        rule(2, 0, json!({"match_digest": "^DROP ok", "ok_msg": "fine"})),
    ]));
    check(
        &world,
        &[
            ("DROP TABLE t", "refused: no"),
            ("DROP ok", "answered fine"),
            ("SELECT 1", "10"),
        ],
    );
}

#[test]
fn fast_routing_is_skipped_behind_a_trailing_apply() {
    let fast_on = |engine: &str, trailing_apply: bool| {
        let rules = json!([rule(
            1,
            0,
            json!({"match_digest": "^NEVER", "apply": trailing_apply})
        )]);
        let mut configuration = configuration(engine, rules);
        configuration.graph.fast_routing = serde_json::from_value(json!([
            {"username": "", "schemaname": "app", "flag_in": 0, "hostgroup": 20, "address": "m"},
            {"username": "geo", "schemaname": "app", "flag_in": 0, "hostgroup": 30, "address": "m"},
        ]))
        .unwrap();
        World::new(configuration)
    };
    let fast = |trailing_apply: bool| fast_on("proxysql-2.7", trailing_apply);
    check(&fast(true), &[("SELECT 1", "10")]);
    check(&fast_on("proxysql-3.0", true), &[("SELECT 1", "20")]);
    check(&fast(false), &[("SELECT 1", "20")]);
    check(
        &World {
            user: "geo",
            ..fast(false)
        },
        &[("SELECT 1", "30")],
    );
    check(
        &World {
            schema: Some("App"),
            ..fast(false)
        },
        &[("SELECT 1", "10")],
    );
}

#[test]
fn annotations_override_rules_on_proxysql_and_are_refused_on_the_bundled_engine() {
    let rules = json!([rule(1, 0, json!({"destination_hostgroup": 20, "apply": true}))]);
    let proxysql = world(rules.clone());
    check(
        &proxysql,
        &[
            ("/* hostgroup=30 */ SELECT 1", "30"),
            ("/* a */ /* hostgroup=30 */ SELECT 1", "20"),
            ("SELECT 1", "20"),
        ],
    );
    let bundled = World::new(configuration("bundled", rules.clone()));
    check(
        &bundled,
        &[
            ("/* a */ SELECT 1", "20"),
            (
                "/* hostgroup=30 */ SELECT 1",
                "refused: SW357: the comment sets hostgroup, which user app may not; remove it, or set \
                 users.app.annotations: allow",
            ),
        ],
    );
    let dba = World {
        user: "dba",
        ..World::new(configuration("bundled", rules))
    };
    check(&dba, &[("/* hostgroup=30 */ SELECT 1", "30")]);
}

#[test]
fn an_open_transaction_keeps_its_hostgroup_on_proxysql() {
    let rules = json!([rule(1, 0, json!({"destination_hostgroup": 20, "apply": true}))]);
    let world = World {
        transaction: Some(30),
        ..world(rules)
    };
    check(&world, &[("SELECT 1", "30"), ("COMMIT", "30")]);
}

#[test]
fn evaluations_and_visits_are_counted() {
    let world = world(json!([
        rule(1, 0, json!({"match_digest": "^SELECT", "flag_out": 5})),
        rule(2, 0, json!({"match_digest": "x"})),
        rule(
            3,
            5,
            json!({"match_pattern": "a", "destination_hostgroup": 20, "apply": true})
        ),
        rule(
            4,
            5,
            json!({"match_pattern": "b", "destination_hostgroup": 30, "apply": true})
        ),
    ]));
    let counts = |sql: &str| {
        let decision = world.decide(sql);
        (decision.evaluations, decision.visits)
    };
    assert_eq!(counts("SELECT a"), (2, 3));
    assert_eq!(counts("SELECT b"), (3, 4));
    assert_eq!(counts("UPDATE q"), (2, 4));
}

#[test]
fn variables_shape_digests() {
    let rules = |variables: serde_json::Value| {
        let mut configuration = configuration(
            "proxysql-2.7",
            json!([
                rule(
                    1,
                    0,
                    json!({"digest": 0x1E09_2DAE_FFBB_F262_u64, "destination_hostgroup": 20, "apply": true})
                ),
                rule(
                    2,
                    0,
                    json!({"digest": 0x1C46_AE52_9DD5_A40E_u64, "destination_hostgroup": 30, "apply": true})
                ),
            ]),
        );
        configuration.variables = serde_json::from_value(variables).expect("names and values");
        World::new(configuration)
    };
    check(
        &rules(json!({})),
        &[("select 1", "20"), ("SELECT 1", "30"), ("SELECT a", "10")],
    );
    check(
        &rules(json!({"mysql-query_digests_lowercase": "true"})),
        &[("SELECT 1", "20"), ("UPDATE t", "10")],
    );
    check(
        &rules(json!({"mysql-query_digests_keep_comment": "true"})),
        &[("SELECT 1", "30"), ("SELECT 1 /* c */", "10")],
    );
    // Without digests, what asks for them is skipped, and the first rule matches everything.
    check(
        &rules(json!({"mysql-query_digests": "false"})),
        &[("UPDATE t", "20")],
    );
}

#[test]
fn a_decision_shows_every_effect_but_two() {
    let effects = serde_json::to_value(Effects::default()).unwrap();
    let shown: BTreeSet<&str> = effects.as_object().unwrap().keys().map(String::as_str).collect();
    let columns = RULE_COLUMNS.iter().filter(|column| column.part == Part::Effect);
    let unseen = ["gtid_from_hostgroup", "mirror_flag_out"];
    let fields: BTreeSet<&str> = columns
        .map(|column| column.field)
        .filter(|field| !unseen.contains(field))
        .collect();
    assert_eq!(fields, shown);
}
