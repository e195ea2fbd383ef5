//! Shard maps and policies on the bundled engine.

use serde_json::{Value, json};

use shardwright_rules::PendingKind;

use crate::common::{World, check, configuration, native};

fn map(name: &str, change: Value) -> Value {
    let mut step = json!({
        "map": name, "key": "tenant", "kind": "integer",
        "finders": [{"comment": {"word": "tenant", "form": "pairs"}}],
        "conflict": "reject", "unqualified": "reject",
        "shards": [shard(name, "t17", json!({"cluster": "a", "keys": [17]})),
                   shard(name, "t18", json!({"cluster": "b", "keys": [18]})),
                   shard(name, "big", json!({"cluster": "b", "ranges": [[1000, 1999]]}))],
        "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"},
        "unknown": "reject"
    });
    for (key, value) in change.as_object().unwrap() {
        step[key] = value.clone();
    }
    json!({"map": step})
}

fn shard(map: &str, name: &str, mut place: Value) -> Value {
    place["address"] = json!(format!("shard_maps.{map}.shards.{name}"));
    place
}

fn world(change: Value) -> World {
    World::new(configuration(
        "bundled",
        json!([native(
            1,
            json!({"users": {"any_of": ["app"]}}),
            map("tenants", change)
        )]),
    ))
}

const MISSING: &str =
    "refused: SW351: no shard key: shard map tenants needs tenant; write /* tenant=VALUE */";

#[test]
fn a_comment_places_and_only_a_comment() {
    check(
        &world(json!({})),
        &[
            ("/* tenant=17 */ SELECT 1 FROM t", "10 tenants/t17"),
            ("SELECT 1 FROM t /* x, tenant='18'; y */", "20 tenants/t18"),
            ("/* TENANT=017 */ DELETE FROM t", "10 tenants/t17"),
            ("/* tenant=1500 */ SELECT 1 FROM t", "20 tenants/big"),
            ("SELECT 1 FROM t", MISSING),
            ("SELECT '/* tenant=17 */' FROM t", MISSING),
            ("SELECT `/* tenant=17 */` FROM t", MISSING),
            ("SELECT 1 FROM t # /* tenant=17 */", MISSING),
            ("SELECT 1 FROM t -- /* tenant=17 */", MISSING),
            ("/* xtenant=17 */ SELECT 1 FROM t", MISSING),
            ("/*! tenant=17 */ SELECT 1 FROM t", MISSING),
            (
                "/* tenant=170 */ SELECT 1 FROM t",
                "refused: SW352: unknown shard key: shard map tenants has no tenant 170; shards: t17, t18, big",
            ),
            (
                "/* tenant=17a */ SELECT 1 FROM t",
                "refused: SW352: unknown shard key: shard map tenants has no tenant 17a; shards: t17, t18, big",
            ),
            (
                "/* tenant=17 */ SELECT 1 FROM t /* tenant=18 */",
                "refused: SW353: more than one shard key: shard map tenants takes one tenant a statement: 17, 18",
            ),
            ("/* tenant=17 tenant=017 */ SELECT 1 FROM t", "10 tenants/t17"),
        ],
    );
}

#[test]
fn other_users_are_not_concerned() {
    let world = World {
        user: "geo",
        ..world(json!({}))
    };
    check(
        &world,
        &[
            ("SELECT 1 FROM t", "10"),
            ("/* tenant=18 */ SELECT 1 FROM t", "10"),
        ],
    );
}

#[test]
fn a_missing_key_follows_its_policy() {
    check(
        &world(json!({})),
        &[
            ("SET NAMES utf8mb4", "10"),
            ("SELECT @@version_comment LIMIT 1", "10"),
            ("COMMIT", "10"),
            (
                "BEGIN",
                "refused: SW359: BEGIN has no shard key: shard map tenants needs tenant; write /* tenant=VALUE */",
            ),
            ("/* tenant=18 */ START TRANSACTION", "20 tenants/t18"),
        ],
    );
    let lenient = json!({"missing": {"statements": {"cluster": "c"}, "session_setup": "reject", "begin": "first_statement"}});
    check(
        &world(lenient),
        &[
            ("SELECT 1 FROM t", "30"),
            ("BEGIN", "deferred"),
            ("SHOW TABLES", MISSING),
        ],
    );
}

#[test]
fn xa_goes_where_its_key_is_or_where_what_follows_goes() {
    let refusing = world(json!({}));
    check(
        &refusing,
        &[
            ("/* tenant=18 */ XA START 'a'", "20 tenants/t18"),
            ("/* tenant=18 */ XA COMMIT 'a'", "20 tenants/t18"),
            ("XA START 'a'", "10"),
            ("XA RECOVER", "10"),
        ],
    );
    let deferring = || {
        world(
            json!({"missing": {"statements": "reject", "session_setup": "allow", "begin": "first_statement"}}),
        )
    };
    check(
        &deferring(),
        &[
            ("XA START 'a'", "deferred"),
            ("XA BEGIN 'a'", "deferred"),
            ("/* tenant=18 */ XA START 'a'", "20 tenants/t18"),
            ("XA COMMIT 'a'", "10"),
        ],
    );
    let mut active = deferring();
    active.transaction_pending = Some(PendingKind::Xa);
    let within = "refused: XAER_RMFAIL: The command cannot be executed when global transaction is in the  ACTIVE state";
    check(
        &active,
        &[
            ("XA START 'b'", within),
            ("BEGIN", within),
            ("COMMIT", within),
            ("ROLLBACK", within),
            ("XA END 'a'", "10"),
            ("/* tenant=18 */ UPDATE t SET a=1", "20 tenants/t18"),
        ],
    );
    let mut local = deferring();
    local.transaction_pending = Some(PendingKind::Local);
    let outside = "refused: XAER_OUTSIDE: Some work is done outside global transaction";
    check(&local, &[("XA START 'a'", outside), ("COMMIT", "answered ")]);
    let mut open = deferring();
    open.transaction = Some(20);
    check(&open, &[("XA END 'a'", "20"), ("XA START 'a'", "20")]);
}

#[test]
fn an_unknown_key_can_have_a_cluster() {
    check(
        &world(json!({"unknown": {"cluster": "c"}})),
        &[("/* tenant=99 */ SELECT 1 FROM t", "30")],
    );
}

#[test]
fn the_session_schema_places_and_other_shards_schemas_are_refused() {
    let by_schema =
        json!({"finders": [{"schema": {"template": {"prefix": "tenant_", "width": 3, "suffix": ""}}}]});
    let world = World {
        schema: Some("tenant_017"),
        ..world(by_schema)
    };
    check(
        &world,
        &[
            ("SELECT 1 FROM t", "10 tenants/t17"),
            ("SELECT 1 FROM other.t", "10 tenants/t17"),
            (
                "SELECT 1 FROM t JOIN tenant_018.u",
                "refused: SW355: the statement belongs to shard tenants/t17 (tenant_017) and names tenant_018, which is \
                 another shard's schema",
            ),
        ],
    );
}

#[test]
fn finders_must_agree_unless_the_first_decides() {
    let both = |conflict: &str| {
        json!({"conflict": conflict, "finders": [
            {"comment": {"word": "tenant", "form": "pairs"}},
            {"schema": {"template": {"prefix": "tenant_", "width": 3, "suffix": ""}}}]})
    };
    let strict = World {
        schema: Some("tenant_017"),
        ..world(both("reject"))
    };
    check(
        &strict,
        &[
            ("/* tenant=17 */ SELECT 1 FROM t", "10 tenants/t17"),
            (
                "/* tenant=18 */ SELECT 1 FROM t",
                "refused: SW353: more than one shard key: shard map tenants takes one tenant a statement: 017, 18",
            ),
        ],
    );
    let first = World {
        schema: Some("tenant_017"),
        ..world(both("first"))
    };
    check(&first, &[("/* tenant=18 */ SELECT 1 FROM t", "20 tenants/t18")]);
}

#[test]
fn remainders_place_negative_and_hashed_keys() {
    let modulo = json!({
        "remainder": {"modulo": 2, "hashed": false},
        "shards": [shard("tenants", "even", json!({"cluster": "a", "remainders": [0]})),
                   shard("tenants", "odd", json!({"cluster": "b", "remainders": [1]}))]});
    check(
        &world(modulo),
        &[
            ("/* tenant=4 */ SELECT 1 FROM t", "10 tenants/even"),
            ("/* tenant=-3 */ SELECT 1 FROM t", "20 tenants/odd"),
            (
                "/* tenant=9223372036854775807 */ SELECT 1 FROM t",
                "20 tenants/odd",
            ),
        ],
    );
}

#[test]
fn a_transaction_stays_where_it_is() {
    let world = World {
        transaction: Some(10),
        ..world(json!({}))
    };
    check(
        &world,
        &[
            ("/* tenant=17 */ SELECT 1 FROM t", "10 tenants/t17"),
            ("SET @a = 1", "10"),
            ("COMMIT", "10"),
            ("SAVEPOINT x", "10"),
            (
                "/* tenant=18 */ SELECT 1 FROM t",
                "refused: SW356: the statement belongs to cluster b, but the transaction is open on cluster a; commit or \
                 roll back first",
            ),
        ],
    );
}

#[test]
fn two_maps_that_place_different_things_compose() {
    let rules = json!([
        native(
            1,
            json!({}),
            map(
                "hosts",
                json!({
            "key": "host", "kind": "text", "finders": [{"comment": {"word": "host", "form": "pairs"}}],
            "shards": [shard("hosts", "b", json!({"cluster": "b", "keys": ["B"]}))]})
            )
        ),
        native(
            2,
            json!({}),
            map(
                "schemas",
                json!({
            "key": "region", "kind": "text", "finders": [{"comment": {"word": "region", "form": "pairs"}}],
            "logical_schema": "world",
            "shards": [shard("schemas", "asia", json!({"schema": "Asia", "keys": ["Asia"]}))]})
            )
        ),
    ]);
    let world = World {
        user: "geo",
        schema: Some("world"),
        ..World::new(configuration("bundled", rules))
    };
    check(
        &world,
        &[(
            "SELECT /* host=B */ /* region=Asia */ City.Name FROM world.City WHERE x='world.City'",
            "20 schemas/asia in Asia «SELECT /* host=B */ /* region=Asia */ City.Name FROM Asia.City WHERE \
             x='world.City'»",
        )],
    );
}

#[test]
fn policies_send_provable_reads_to_readers() {
    let policy = |change: Value| {
        let mut step = json!({"reads": "all"});
        for (key, value) in change.as_object().unwrap() {
            step[key] = value.clone();
        }
        let rules = json!([
            native(
                1,
                json!({"users": {"any_of": ["app"]}}),
                map("tenants", json!({}))
            ),
            native(2, json!({}), json!({"role": step})),
            native(
                3,
                json!({"statements": ["delete"]}),
                json!({"delay": {"delay_ms": 5}})
            ),
        ]);
        World::new(configuration("bundled", rules))
    };
    check(
        &policy(json!({})),
        &[
            ("/* tenant=17 */ SELECT a FROM t", "11 tenants/t17"),
            ("/* tenant=17 */ SELECT a FROM t FOR UPDATE", "10 tenants/t17"),
            ("/* tenant=17 */ SELECT GET_LOCK('a', 1) FROM t", "10 tenants/t17"),
            ("/* tenant=17 */ SELECT @a FROM t", "10 tenants/t17"),
            (
                "/* tenant=17 */ SELECT a INTO OUTFILE 'x' FROM t",
                "10 tenants/t17",
            ),
            ("/* tenant=17 */ SELECT LAST_INSERT_ID() FROM t", "10 tenants/t17"),
            ("/* tenant=17 */ SELECT mine() FROM t", "10 tenants/t17"),
            ("/* tenant=17 */ UPDATE t SET a=1", "10 tenants/t17"),
            ("/* tenant=17 */ DELETE FROM t", "10 tenants/t17 after 5 ms"),
        ],
    );
    check(
        &World {
            transaction: Some(10),
            ..policy(json!({}))
        },
        &[("/* tenant=17 */ SELECT a FROM t", "10 tenants/t17")],
    );
    let fresh = |ms| World {
        since_write_ms: Some(ms),
        ..policy(json!({"after_write_ms": 500}))
    };
    check(
        &fresh(499),
        &[("/* tenant=17 */ SELECT a FROM t", "10 tenants/t17")],
    );
    check(
        &fresh(500),
        &[("/* tenant=17 */ SELECT a FROM t", "11 tenants/t17")],
    );
    // Whether the session has written or not: who sends the read sees to it.
    for since_write_ms in [None, Some(0)] {
        let causal = World {
            since_write_ms,
            ..policy(json!({"causal": true}))
        };
        check(
            &causal,
            &[
                (
                    "/* tenant=17 */ SELECT a FROM t",
                    "11 tenants/t17 behind own writes",
                ),
                ("/* tenant=17 */ SELECT a FROM t FOR UPDATE", "10 tenants/t17"),
            ],
        );
    }
    let hinted = policy(json!({"writer_hint": {"word": "primary", "form": "pairs"}}));
    check(
        &hinted,
        &[
            ("/* tenant=17 primary */ SELECT a FROM t", "10 tenants/t17"),
            (
                "/* tenant=17 */ /* primary=1 */ SELECT a FROM t",
                "10 tenants/t17",
            ),
            ("/* tenant=17 primary=0 */ SELECT a FROM t", "11 tenants/t17"),
        ],
    );
    check(
        &policy(json!({"reads": {"only": [{"match_digest": ["FROM products"]}]}})),
        &[
            ("/* tenant=17 */ SELECT a FROM products", "11 tenants/t17"),
            ("/* tenant=17 */ SELECT a FROM t", "10 tenants/t17"),
        ],
    );
}

#[test]
fn a_shard_may_keep_the_logical_schema() {
    let own =
        |name: &str, key: i64, schema: &str| shard("tenants", name, json!({"keys": [key], "schema": schema}));
    let shards = json!([own("first", 1, "app"), own("second", 2, "app_2")]);
    check(
        &world(json!({"logical_schema": "app", "shards": shards, "unqualified": "qualify"})),
        &[
            ("/* tenant=1 */ SELECT 1 FROM app.t", "10 tenants/first in app"),
            (
                "/* tenant=2 */ SELECT 1 FROM app.t",
                "10 tenants/second in app_2 «/* tenant=2 */ SELECT 1 FROM app_2.t»",
            ),
            (
                "/* tenant=1 */ SELECT 1 FROM app_2.t",
                "refused: SW355: the statement belongs to shard tenants/first (app) and names app_2, which is another \
                 shard's schema",
            ),
        ],
    );
}

#[test]
fn a_session_without_a_schema_is_in_none_of_the_excepted_ones() {
    let scoped = |schemas: serde_json::Value| {
        let step = json!({"delay": {"delay_ms": 5}});
        let scope = json!({"schemas": schemas});
        World {
            schema: None,
            ..World::new(configuration("bundled", json!([native(1, scope, step)])))
        }
    };
    let none = |schemas| scoped(schemas).ask("SELECT 1 FROM t");
    assert_eq!(none(json!({"except": ["reports"]})), "10 after 5 ms");
    assert_eq!(none(json!({"any_of": ["*"]})), "10 after 5 ms");
    assert_eq!(none(json!({"any_of": ["reports"]})), "10");
    assert_eq!(none(json!({"any_of": ["*"], "except": ["*"]})), "10");
}

#[test]
fn a_placed_statement_passes_all_maps_that_take_what_is_left() {
    // The second map is not about SHOW; the third must not take what the first has placed.
    let chained = |name: &str, word: &str, rest: Value| {
        let mut change = json!({"finders": [{"comment": {"word": word, "form": "pairs"}}]});
        for (field, value) in rest.as_object().unwrap() {
            change[field] = value.clone();
        }
        map(name, change)
    };
    let missing =
        json!({"missing": {"statements": "allow", "session_setup": {"cluster": "c"}, "begin": "reject"}});
    let rules = json!([
        native(
            1,
            json!({}),
            chained("one", "tenant", json!({"otherwise": "two"}))
        ),
        native(
            2,
            json!({"except_match_digest": ["^SHOW"]}),
            chained("two", "region", json!({"otherwise": "three"}))
        ),
        native(3, json!({}), chained("three", "zone", missing)),
    ]);
    check(
        &World::new(configuration("bundled", rules)),
        &[
            ("/* tenant=18 */ SHOW TABLES", "20 one/t18"),
            ("/* tenant=18 */ SELECT 1", "20 one/t18"),
            ("/* region=18 */ SELECT 1", "20 two/t18"),
            ("SHOW TABLES", "30"),
        ],
    );
}
