//! The short way of a proxy's statements says what the evaluator says, of hostile statements above all.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use shardwright_routing::RoutingTable;
use shardwright_rules::{
    Configuration, Dispatch, Evaluator, HostgroupId, Outcome, PendingKind, SentAs, SessionView, Statement,
    Transaction,
};

/// Of the last three, `free` and `reader` are in no rule that names users, and `nobody` is no user.
const USERS: [&str; 6] = ["app", "dba", "geo", "free", "reader", "nobody"];

/// What statements around a key in a comment are made of, and what attacks on its reader are.
const PIECES: [&[u8]; 60] = [
    b"/* tenant=17 */ SELECT id FROM t WHERE id=1",
    b"/* tenant=17 */",
    b"/*tenant=1*/",
    b"/* TENANT=2 */",
    b"/* tenant=017 */",
    b"/* tenant=+3 */",
    b"/* tenant=-3 */",
    b"/* tenant=- */",
    b"/* tenant= */",
    b"/* tenant = 17 */",
    b"/* tenant=17a */",
    b"/* xtenant=17 */",
    b"/* tenant=17, tenant=17 */",
    b"/* tenant=17, tenant=18 */",
    b"/* app=web; tenant=17; trace='x y' */",
    b"/* tenant='17' */",
    b"/* tenant=\"17\" */",
    b"/* tenant='1%37' */",
    b"/* tenant='17 */",
    b"/* tenant=9223372036854775807 */",
    b"/* tenant=9223372036854775808 */",
    b"/* tenant=-9223372036854775808 */",
    b"/* tenant=99999999999999999999999999999999 */",
    b"/* tenant=\xff\xfe */",
    b"/* tenant=\xc3\xa9 */",
    b"/* tenant=eu-1 */",
    b"/* tenant=17; hostgroup=20 */",
    b"/* hostgroup=20; tenant=17 */",
    b"/* tenant=17; query_delay=5 */",
    b"/* HostGroup = 20 ; tenant=17 */",
    b"/*! tenant=17 */",
    b"/*!50000 SELECT 1 */",
    b"/*M! tenant=17 */",
    b"/*+ tenant=17 */",
    b"/*/ tenant=17 */",
    b"/* /* tenant=17 */",
    b"/* tenant=17",
    b"*/",
    b"'/* tenant=17 */'",
    b"\"/* tenant=18 */\"",
    b"`/* tenant=18 */`",
    b"-- /* tenant=17 */\n",
    b"# /* tenant=17 */\n",
    b"SELECT id FROM t WHERE id=1",
    b"SELECT ';' FROM t",
    b"UPDATE t SET a='",
    b"INSERT INTO t VALUES (4/2)",
    b"BEGIN",
    b"COMMIT",
    b"SET @a=1",
    b"(SELECT 1)",
    b";",
    b"; SELECT 2",
    b" ",
    b"\r\n",
    b"\x0b\t",
    b"\0",
    b"DROP TABLE t",
    b" FOR UPDATE",
    b"SELECT last_insert_id(), @a",
];

fn statement() -> impl Strategy<Value = Vec<u8>> {
    let digits = "[+-]?0{0,3}[0-9]{1,25}";
    let key = (digits, select(vec!["\n", "\r\n", " ", ""])).prop_map(|(key, blank)| {
        format!("/*{blank}tenant={key}{blank}*/{blank}SELECT 1 FROM t").into_bytes()
    });
    let bytes = prop::collection::vec(any::<u8>(), 0..30).prop_map(|noise| {
        let mut text = b"/* tenant=".to_vec();
        text.extend(noise);
        text.extend(b" */ SELECT 1 FROM t");
        text
    });
    let pieces = prop::collection::vec(select(PIECES.to_vec()), 1..5).prop_map(|pieces| pieces.concat());
    prop_oneof![1 => key, 1 => bytes, 4 => pieces]
}

/// Shards by single keys in a row or far apart, by ranges, by remainder, and by schema.
fn shards() -> Vec<(&'static str, Value, Option<Value>)> {
    let shard = |name: &str, cluster: &str, mut shard: Value| {
        shard["address"] = json!(format!("shard_maps.m.shards.{name}"));
        shard["cluster"] = json!(cluster);
        shard
    };
    let row: Vec<Value> = (1..=20)
        .map(|n| shard(&format!("t{n}"), ["a", "b"][n % 2], json!({"keys": [n]})))
        .collect();
    let apart = json!([
        shard("low", "a", json!({"keys": [i64::MIN, -3, 3]})),
        shard("high", "b", json!({"keys": [17, i64::MAX]})),
        shard("lost", "gone", json!({"keys": [18]})),
    ]);
    let ranges = json!([
        shard("first", "a", json!({"ranges": [[-5, 16]]})),
        shard("rest", "b", json!({"keys": [17], "ranges": [[18, i64::MAX]]})),
    ]);
    let halves = json!([
        shard("even", "a", json!({"remainders": [0, 2]})),
        shard("odd", "b", json!({"remainders": [1, 3]})),
    ]);
    let texts = json!([
        shard("eu", "a", json!({"keys": ["eu-1", "17", "\u{e9}"]})),
        shard("us", "b", json!({"keys": ["017", "+3", ""]})),
    ]);
    let schemas = json!([
        shard("t17", "a", json!({"keys": [17], "schema": "tenant_017"})),
        shard("t18", "a", json!({"keys": [18], "schema": "t"})),
    ]);
    let by = |hashed: bool| Some(json!({"modulo": 4, "hashed": hashed}));
    vec![
        ("integer", json!(row), None),
        ("integer", apart, None),
        ("integer", ranges, None),
        ("integer", halves.clone(), by(false)),
        ("text", halves, by(true)),
        ("text", texts, None),
        ("integer", schemas, None),
    ]
}

fn map() -> impl Strategy<Value = Value> {
    (
        select(shards()),
        select(vec![json!("pairs"), json!("pairs"), json!("sqlcommenter")]),
        select(vec!["reject", "first"]),
        select(vec!["reject", "allow"]),
        select(vec![json!("reject"), json!({"cluster": "b"})]),
    )
        .prop_map(|((kind, shards, remainder), form, conflict, missing, unknown)| {
            json!({"map": {"map": "m", "key": "tenant", "kind": kind,
                "finders": [{"comment": {"word": "tenant", "form": form}}], "conflict": conflict,
                "remainder": remainder, "unqualified": "reject", "shards": shards, "unknown": unknown,
                "missing": {"statements": missing, "session_setup": "allow", "begin": missing}}})
        })
}

/// A map among steps that every statement of its users takes, or none, or some.
fn rules() -> impl Strategy<Value = Vec<Value>> {
    let native = |scope: Value, step: Value| json!({"body": {"native": {"scope": scope, "step": step}}});
    let app = || json!({"users": {"any_of": ["app", "dba"]}});
    let around = vec![
        native(app(), json!("stop_if_placed")),
        native(app(), json!({"delay": {"delay_ms": 7}})),
        native(json!({}), json!({"delay": {"delay_ms": 9}})),
        native(
            app(),
            json!({"throttle": {"from_ms": 1, "to_ms": 500, "signal": {"source": "replication_lag", "start_above": 3000.0, "stop_below": 1000.0}, "max_concurrent": 16}}),
        ),
        native(app(), json!("no_multiplex")),
        native(app(), json!({"role": {"reads": "all", "after_write_ms": 500}})),
        native(
            json!({"schemas": {"any_of": ["app"]}}),
            json!({"delay": {"delay_ms": 11}}),
        ),
        native(json!({"statements": ["update"]}), json!("no_multiplex")),
        native(json!({"users": {"any_of": ["geo"]}}), json!("no_multiplex")),
        native(
            app(),
            json!({"role": {"reads": {"only": [{"match_digest": ["FROM t"]}]}, "session_functions_on_readers": true}}),
        ),
        json!({"body": {"engine": {"match_pattern": "UPDATE", "destination_hostgroup": 77, "apply": true}}}),
    ];
    // Most lists are of the first few, which leave the short way open.
    let some = |around: Vec<Value>| {
        prop_oneof![
            2 => subsequence(around[..5].to_vec(), 0..=3).prop_shuffle(),
            1 => subsequence(around, 0..=2).prop_shuffle(),
        ]
    };
    (some(around.clone()), map(), some(around), 0_u32..8).prop_map(move |(before, map, behind, flag)| {
        let map = native(app(), map);
        let mut rules: Vec<Value> = before.into_iter().chain([map]).chain(behind).collect();
        for (position, rule) in rules.iter_mut().enumerate() {
            rule["id"] = json!(position * 10 + 1);
            rule["address"] = json!(format!("rule.{position}"));
            rule["flag_in"] = json!(u32::from(flag == 7));
        }
        rules
    })
}

fn configuration() -> impl Strategy<Value = Configuration> {
    let seldom = || prop_oneof![4 => Just(false), 1 => Just(true)];
    let engine = select(vec!["bundled", "bundled", "proxysql-2.7"]);
    (rules(), seldom(), seldom(), seldom(), engine).prop_map(|(rules, fast, guarded, refuses, engine)| {
        let cluster = |name: &str, writer: u32| {
            json!({"name": name, "address": format!("clusters.{name}"), "kind": {"type": "single"}, "writer": writer,
                   "reader": writer + 1, "writer_serves_reads": "never"})
        };
        let user = |name: &str| {
            json!({"name": name, "address": format!("users.{name}"), "password": null,
                   "default_hostgroup": if name == "free" { 11 } else { 10 },
                   "default_schema": null, "max_connections": 1, "transaction_persistent": true,
                   "annotations_allowed": name == "dba" || name == "free", "reads_only": name == "reader"})
        };
        let users = ["app", "dba", "geo", "free", "reader"].map(user);
        let firewall: Vec<Value> = guarded
            .then(|| json!({"user": "geo", "address": "w", "mode": "protecting"}))
            .into_iter()
            .collect();
        let refusing: Vec<Value> = refuses
            .then(|| json!({"id": 11, "address": "r", "reason": "SW351: no shard key", "refuser": "service", "host": "h", "port": 1}))
            .into_iter()
            .collect();
        let fast: Vec<Value> = fast
            .then(|| json!({"username": "", "schemaname": "app", "flag_in": 0, "hostgroup": 21, "address": "f"}))
            .into_iter()
            .collect();
        serde_json::from_value(json!({
            "format": 1, "engine": engine, "settings": {"query_processor_iterations": 0, "regex": "pcre"},
            "clusters": [cluster("a", 10), cluster("b", u32::MAX - 1)], "hostgroups": [],
            "refusing": refusing, "firewall": firewall,
            "users": users, "graph": {"rules": rules, "fast_routing": fast}}))
        .unwrap_or_else(|error| panic!("the strategy writes configurations: {error}"))
    })
}

fn check(
    table: &RoutingTable,
    evaluator: &Evaluator,
    session: &SessionView<'_>,
    (text, sent_as): (&[u8], SentAs),
) -> Dispatch {
    let ask = || Statement::new(text, Default::default()).sent_as(sent_as);
    let answer = table.dispatch(session, &ask());
    let expected = Dispatch::from(evaluator.decide(session, &ask()));
    assert_eq!(answer, expected, "{}", String::from_utf8_lossy(text));
    answer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2400))]
    #[test]
    fn the_short_way_ends_where_the_walk_does(
        configuration in configuration(),
        texts in prop::collection::vec(statement(), 1..12),
        user in prop_oneof![1 => Just("app"), 1 => select(USERS.to_vec())],
        // The user's own, another's, or nobody's.
        user_position in prop::option::of(0_u32..7),
        sent_as in prop_oneof![3 => Just(SentAs::Query), 1 => select(vec![SentAs::Prepare, SentAs::Execute])],
        transaction in prop_oneof![4 => Just(None), 1 => select(vec![Some(10_u32), Some(20)])],
        transaction_pending in prop_oneof![5 => Just(None), 1 => Just(Some(PendingKind::Local)), 1 => Just(Some(PendingKind::Xa))],
        autocommit_off in prop_oneof![3 => Just(false), 1 => Just(true)],
        since_write_ms in prop_oneof![2 => Just(None), 1 => select(vec![Some(10_u64), Some(9_000)])],
        next_query_flag_in in prop_oneof![4 => Just(None), 1 => select(vec![Some(0_u32), Some(1)])],
    ) {
        let configuration = Arc::new(configuration);
        let evaluator = Evaluator::new(configuration.clone());
        let table = RoutingTable::new(configuration);
        let session = SessionView {
            user,
            user_position,
            schema: Some("app"),
            transaction: transaction.map(|id| Transaction { hostgroup: HostgroupId(id) }),
            transaction_pending,
            autocommit_off,
            next_query_flag_in,
            since_write_ms,
            ..SessionView::default()
        };
        for text in &texts {
            check(&table, &evaluator, &session, (text, sent_as));
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every key, its neighbours and every way to write it, by thousands of shards in a row with gaps.
    #[test]
    fn every_key_finds_its_own_shard(gap in 1_i64..4, first in -50_i64..50, count in 1_i64..60) {
        let shards: Vec<Value> = (0..count)
            .map(|n| json!({"address": format!("shard_maps.m.shards.s{n}"), "cluster": "c", "keys": [first + n * gap]}))
            .collect();
        let configuration = of_keys(&shards, count);
        let configuration = Arc::new(configuration);
        let evaluator = Evaluator::new(configuration.clone());
        let table = RoutingTable::new(configuration);
        let session = SessionView { user: "app", ..SessionView::default() };
        for key in first - 2..=first + count * gap + 2 {
            let place = key.checked_sub(first).filter(|offset| offset % gap == 0).map(|offset| offset / gap);
            let expected = place.filter(|place| (0..count).contains(place)).map(|place| 100 + place as u32);
            for text in [format!("/* tenant={key} */ SELECT 1"), format!("/* tenant={key:06} */ DELETE FROM t")] {
                let answer = check(&table, &evaluator, &session, (text.as_bytes(), SentAs::Query));
                let hostgroup = match answer.outcome {
                    Outcome::Route(to) => Some(to.hostgroup.0),
                    _ => None,
                };
                prop_assert_eq!(hostgroup, expected, "{}", text);
            }
        }
    }
}

/// One map over these shards, each moved to a cluster of its own.
fn of_keys(shards: &[Value], count: i64) -> Configuration {
    let clusters: Vec<Value> = (0..count)
        .map(|n| {
            json!({"name": format!("c{n}"), "address": format!("clusters.c{n}"), "kind": {"type": "single"},
                   "writer": 100 + n, "reader": null, "writer_serves_reads": "never"})
        })
        .collect();
    let mut shards = shards.to_vec();
    for (n, shard) in shards.iter_mut().enumerate() {
        shard["cluster"] = json!(format!("c{n}"));
    }
    let map = json!({"map": "m", "key": "tenant", "kind": "integer",
        "finders": [{"comment": {"word": "tenant", "form": "pairs"}}], "conflict": "reject",
        "unqualified": "reject", "shards": shards, "unknown": "reject",
        "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"}});
    let user = json!({"name": "app", "address": "users.app", "password": null, "default_hostgroup": 100,
        "default_schema": null, "max_connections": 1, "transaction_persistent": true, "annotations_allowed": false});
    serde_json::from_value(json!({
        "format": 1, "engine": "bundled", "settings": {"query_processor_iterations": 0, "regex": "pcre"},
        "clusters": clusters, "hostgroups": [], "users": [user],
        "graph": {"rules": [{"id": 1, "address": "shard_maps.m", "flag_in": 0,
            "body": {"native": {"scope": {}, "step": {"map": map}}}}], "fast_routing": []}}))
    .unwrap_or_else(|error| panic!("a configuration: {error}"))
}

/// ProxySQL's library reads a text to its first NUL byte, the bundled engine to its end.
#[test]
fn a_changed_table_reads_texts_as_its_own_engine_does() {
    let of = |engine: &str| -> Arc<Configuration> {
        let rule = json!({"id": 1, "address": "query_rules.a", "flag_in": 0, "body": {"engine": {
            "match_pattern": "wanted", "re_modifiers": {"caseless": true, "global": false},
            "destination_hostgroup": 7, "apply": true}}});
        let configuration = json!({"format": 1, "engine": engine,
            "settings": {"query_processor_iterations": 0, "regex": "pcre"}, "clusters": [], "hostgroups": [], "users": [],
            "graph": {"rules": [rule], "fast_routing": []}});
        Arc::new(serde_json::from_value(configuration).unwrap())
    };
    let statement = || Statement::new(b"SELECT 1 \0 wanted", Default::default());
    let session = SessionView::default();
    for (from, to, hits) in [("proxysql-2.7", "bundled", 1), ("bundled", "proxysql-2.7", 0)] {
        let table = RoutingTable::new(of(from)).changed(of(to));
        assert_eq!(
            table.decide(&session, &statement()).hits.len(),
            hits,
            "{from} to {to}"
        );
    }
}
