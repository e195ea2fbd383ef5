//! The routing table answers as the evaluator does: same outcome, same rules, same counts.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use shardwright_routing::{Recollection, RoutingTable, moved};
use shardwright_rules::decide::Index as _;
use shardwright_rules::{
    Body, Configuration, Dispatch, Evaluator, HostgroupId, SentAs, SessionView, Statement, Transaction,
};

const PATTERNS: [&str; 8] = [
    "^SELECT", "t1", "tenant=1", "FROM", "^$", "(broken", "a|b", "UPDATE",
];
/// Keys found by patterns that begin alike, as compiled trees have them.
const KEYS: [&str; 10] = [
    r"\btenant=1[7-9]*\b",
    r"\btenant=(?:1[0-7]|9)\b",
    r"\btenant=17\b",
    r"\btenant=18",
    r"\btenant=1500(?: |$)",
    r"\btenant='?[0-9]{2}'? ",
    r"\btenant=x",
    r"\btenant=",
    "^SELECT",
    "tenant=1",
];
const USERS: [&str; 5] = ["app", "geo", "dba", "tenant_017", "tenant_099"];
const SCHEMAS: [Option<&str>; 5] = [
    None,
    Some("app"),
    Some("tenant_017"),
    Some("TENANT_018"),
    Some("world"),
];
const PIECES: [&str; 31] = [
    "SELECT a FROM t1",
    "UPDATE t1 SET a=1",
    "BEGIN",
    "COMMIT",
    "SET @x=1",
    "SELECT 1",
    " FOR UPDATE",
    "DELETE FROM world.c",
    "/* tenant=17 */",
    "/* tenant=18 */",
    "/* tenant=1500 */",
    "/* tenant=x */",
    "/* region=Asia */",
    "'/* tenant=17 */'",
    " FROM world.City",
    "/* hostgroup=20 */",
    "; SELECT 2",
    " WHERE b",
    "SELECT 1 FROM o_017",
    "SELECT 1 FROM app.`o_018`",
    " JOIN o_018",
    " JOIN o_1500 AS o_017",
    ", O_017",
    "ALTER TABLE o_018 ADD o_17 INT",
    "TRUNCATE o_099",
    "INSERT INTO o_017 SELECT 1 FROM o_018",
    "/*! o_017 */",
    "/*tenant='1%37'*/",
    "/* 017 */",
    "/* 0017 */",
    " WHERE tenant IN (17, 18)",
];

/// Every kind of finder; comments in all forms.
fn finders() -> Vec<Value> {
    let template = |prefix: &str, width: Option<u8>| json!({"prefix": prefix, "width": width, "suffix": ""});
    vec![
        json!({"comment": {"word": "tenant", "form": "pairs"}}),
        json!({"comment": {"word": "tenant", "form": "sqlcommenter"}}),
        json!({"comment": {"word": "tenant", "form": {"exact": template("", Some(3))}}}),
        json!({"schema": {"template": template("tenant_", Some(3))}}),
        json!({"column": {"column": "tenant", "in_shards": "present"}}),
        json!({"column": {"column": "tenant", "in_shards": "absent"}}),
        json!({"table": {"template": template("o_", Some(3))}}),
        json!({"user": {"template": template("tenant_", Some(3))}}),
    ]
}

fn optional<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>) -> impl Strategy<Value = Option<T>> {
    prop_oneof![2 => Just(None), 1 => select(values).prop_map(Some)]
}

fn engine_rule() -> impl Strategy<Value = Value> {
    let conditions = (
        optional(USERS.to_vec()),
        optional(vec!["app", "world"]),
        optional(PATTERNS.to_vec()),
        optional(PATTERNS.to_vec()),
        any::<bool>(),
    );
    engine_rule_of(conditions)
}

/// Mostly rules that ask for a key and for nothing else.
fn key_rule() -> impl Strategy<Value = Value> {
    let rarely =
        |values: Vec<&'static str>| prop_oneof![15 => Just(None), 1 => select(values).prop_map(Some)];
    let conditions = (
        rarely(USERS.to_vec()),
        rarely(vec!["app", "world"]),
        rarely(PATTERNS.to_vec()),
        prop_oneof![15 => select(KEYS.to_vec()).prop_map(Some), 1 => Just(None)],
        prop::bool::weighted(0.05),
    );
    engine_rule_of(conditions)
}

/// What the rules of schemas in a compiled chain do.
fn schema_rule() -> impl Strategy<Value = Value> {
    let schemas = vec!["app", "world", "tenant_017", "TENANT_018", ""];
    (
        0_u32..2,
        select(schemas),
        optional(KEYS.to_vec()),
        0_u32..4,
        any::<bool>(),
    )
        .prop_map(|(flag_in, schema, pattern, flag_out, apply)| {
            json!({"flag_in": flag_in, "body": {"engine": {"schemaname": schema, "match_pattern": pattern,
                "flag_out": flag_out, "destination_hostgroup": 20, "apply": apply}}})
        })
}

/// What the inner rules of a compiled tree do.
fn jump_rule() -> impl Strategy<Value = Value> {
    (0_u32..4, select(KEYS.to_vec()), 0_u32..4).prop_map(|(flag_in, pattern, flag_out)| {
        json!({"flag_in": flag_in, "body": {"engine": {"match_pattern": pattern, "flag_out": flag_out,
            "re_modifiers": {"caseless": flag_in == 0, "global": false}}}})
    })
}

fn engine_rule_of(
    conditions: impl Strategy<
        Value = (
            Option<&'static str>,
            Option<&'static str>,
            Option<&'static str>,
            Option<&'static str>,
            bool,
        ),
    >,
) -> impl Strategy<Value = Value> {
    let actions = (
        optional(vec![0_u32, 1, 2]),
        optional(vec![10_u32, 11, 20, 77]),
        optional(vec!["x", "\\1y"]),
        optional(vec!["refused"]),
        optional(vec!["fine"]),
        optional(vec![0_u32, 1, 2]),
        any::<bool>(),
    );
    (0_u32..3, conditions, actions).prop_map(|(flag_in, conditions, actions)| {
        let (username, schemaname, match_digest, match_pattern, negate) = conditions;
        let (flag_out, hostgroup, replace, error_msg, ok_msg, next_flag, apply) = actions;
        let replace = match_pattern.and(replace);
        json!({"flag_in": flag_in, "body": {"engine": {
            "username": username, "schemaname": schemaname, "match_digest": match_digest, "match_pattern": match_pattern,
            "negate_match_pattern": negate, "re_modifiers": {"caseless": true, "global": apply},
            "flag_out": flag_out, "destination_hostgroup": hostgroup, "replace_pattern": replace,
            "error_msg": error_msg, "ok_msg": ok_msg, "next_query_flag_in": next_flag,
            "delay_ms": next_flag, "apply": apply}}})
    })
}

fn native_step() -> impl Strategy<Value = Value> {
    let shards = json!([
        {"address": "shard_maps.m.shards.t17", "cluster": "a", "keys": [17]},
        {"address": "shard_maps.m.shards.t18", "cluster": "b", "keys": [18], "schema": "tenant_018"},
        {"address": "shard_maps.m.shards.big", "cluster": "b", "ranges": [[1000, 1999], [-5, -1]]}]);
    let by_remainder = json!([
        {"address": "shard_maps.m.shards.even", "cluster": "a", "remainders": [0, 2]},
        {"address": "shard_maps.m.shards.odd", "cluster": "b", "remainders": [1, 3], "schema": "odd"}]);
    let remainder = |hashed: bool| Some(json!({"modulo": 4, "hashed": hashed}));
    let map = (
        subsequence(finders(), 1..=4),
        select(vec!["reject", "first"]),
        select(vec!["reject", "allow"]),
        select(vec![json!("reject"), json!({"cluster": "b"})]),
        select(vec![None, None, remainder(false), remainder(true)]),
        optional(vec!["app", "world"]),
    )
        .prop_map(move |(finders, conflict, statements, unknown, remainder, logical)| {
            let shards = if remainder.is_some() { &by_remainder } else { &shards };
            json!({"map": {"map": "m", "key": "tenant", "kind": "integer", "finders": finders, "conflict": conflict,
                "logical_schema": logical, "remainder": remainder, "unqualified": "qualify", "shards": shards,
                "unknown": unknown,
                "missing": {"statements": statements, "session_setup": "allow", "begin": "first_statement"}}})
        });
    let step = prop_oneof![
        map,
        Just(json!({"role": {"reads": "all", "after_write_ms": 500}})),
        Just(json!({"role": {"reads": {"only": [{"match_digest": ["t1"]}]}}})),
        Just(json!({"delay": {"delay_ms": 7}})),
        Just(
            json!({"throttle": {"from_ms": 1, "to_ms": 500, "signal": {"source": "replication_lag", "start_above": 3000.0, "stop_below": 1000.0}, "max_concurrent": 16}})
        ),
        Just(json!("stop_if_placed")),
    ];
    (0_u32..2, step, optional(USERS.to_vec())).prop_map(|(flag_in, step, user)| {
        let scope = user.map_or(json!({}), |user| json!({"users": {"any_of": [user]}}));
        json!({"flag_in": flag_in, "body": {"native": {"scope": scope, "step": step}}})
    })
}

fn configuration() -> impl Strategy<Value = Configuration> {
    let any = prop::collection::vec(prop_oneof![engine_rule(), native_step()], 0..10);
    let keys = prop::collection::vec(
        prop_oneof![6 => key_rule(), 6 => jump_rule(), 1 => native_step()],
        20..60,
    );
    let schemas = prop::collection::vec(
        prop_oneof![8 => schema_rule(), 3 => key_rule(), 2 => jump_rule(), 1 => native_step()],
        20..60,
    );
    let rules = prop_oneof![any, keys, schemas];
    let fast = prop::collection::vec(
        (select(vec!["", "app"]), select(vec!["app", "world"]), 0_u32..3),
        0..4,
    );
    (rules, fast, select(vec!["bundled", "proxysql-2.7"]), 0_u32..4).prop_map(|(mut rules, fast, engine, iterations)| {
        for (position, rule) in rules.iter_mut().enumerate() {
            rule["id"] = json!(position * 10 + 1);
            rule["address"] = json!(format!("rule.{position}"));
        }
        let fast: Vec<Value> = fast
            .iter()
            .map(|(user, schema, flag)| {
                json!({"username": user, "schemaname": schema, "flag_in": flag, "hostgroup": 20 + flag, "address": "f"})
            })
            .collect();
        let cluster = |name: &str, writer: u32| {
            json!({"name": name, "address": format!("clusters.{name}"), "kind": {"type": "single"}, "writer": writer,
                   "reader": writer + 1, "writer_serves_reads": "never"})
        };
        let user = |name: &str| {
            json!({"name": name, "address": format!("users.{name}"), "password": null, "default_hostgroup": 10,
                   "default_schema": null, "max_connections": 1, "transaction_persistent": name == "app",
                   "annotations_allowed": name == "dba"})
        };
        serde_json::from_value(json!({
            "format": 1, "engine": engine, "settings": {"query_processor_iterations": iterations, "regex": "pcre"},
            "clusters": [cluster("a", 10), cluster("b", 20)], "hostgroups": [],
            "users": USERS.map(user), "graph": {"rules": rules, "fast_routing": fast}}))
        .unwrap_or_else(|error| panic!("the strategy writes configurations: {error}"))
    })
}

/// The configuration without one of its rules, or with another that does not stand alike: the tables share patterns.
fn altered(configuration: &Configuration, change: prop::sample::Index) -> Configuration {
    let mut altered = configuration.clone();
    let rules = &mut altered.graph.rules;
    if !rules.is_empty() {
        let at = change.index(rules.len());
        match &mut rules[at].body {
            Body::Engine(row) if at.is_multiple_of(2) => row.destination_hostgroup = Some(11),
            _ => drop(rules.remove(at)),
        }
    }
    altered
}

fn statement() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES.to_vec()), 1..5).prop_map(|pieces| pieces.concat())
}

fn sent_as() -> impl Strategy<Value = SentAs> {
    prop_oneof![3 => Just(SentAs::Query), 1 => Just(SentAs::Prepare), 1 => Just(SentAs::Execute)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn the_table_answers_as_the_evaluator(
        configuration in configuration(),
        sql in prop::collection::vec((sent_as(), statement()), 1..6),
        user in select(USERS.to_vec()),
        schema in select(SCHEMAS.to_vec()),
        transaction in optional(vec![10_u32, 20, 99]),
        since_write_ms in optional(vec![10_u64, 9_000]),
        change in any::<prop::sample::Index>(),
    ) {
        let configuration = Arc::new(configuration);
        let evaluator = Evaluator::new(configuration.clone());
        let cold = RoutingTable::new(Arc::clone(&configuration));
        let other = Arc::new(altered(&configuration, change));
        let table = RoutingTable::new(configuration);
        let session = SessionView {
            user,
            schema,
            client_addr: Some("10.0.0.1"),
            transaction: transaction.map(|id| Transaction { hostgroup: HostgroupId(id) }),
            since_write_ms,
            ..SessionView::default()
        };
        // A table that is asked often matches the patterns of keys together.
        for _ in 0..40 {
            table.decide(&session, &Statement::new(b"SELECT 1", Default::default()));
        }
        let changed = table.changed(Arc::clone(&other));
        let moved = moved(table.configuration(), &other);
        let other = Evaluator::new(other);
        for (sent_as, text) in &sql {
            let ask = || Statement::new(text.as_bytes(), Default::default()).sent_as(*sent_as);
            let expected = evaluator.decide(&session, &ask());
            prop_assert_eq!(&table.explain(&session, &ask()), &expected, "{}", text);
            prop_assert_eq!(&cold.explain(&session, &ask()), &expected, "{}", text);
            let mut quick = expected;
            quick.path.clear();
            prop_assert_eq!(&table.decide(&session, &ask()), &quick, "{}", text);
            let usual = Dispatch::from(quick);
            prop_assert_eq!(&table.dispatch(&session, &ask()), &usual, "{}", text);
            let otherwise = Dispatch::from(other.decide(&session, &ask()));
            prop_assert_eq!(&changed.dispatch(&session, &ask()), &otherwise, "{}", text);
            if let Some(moved) = &moved && !usual.hits.iter().any(|hit| moved.contains(hit)) {
                prop_assert_eq!(&usual, &otherwise, "{}", text);
            }
            let recollection = Recollection::default();
            for (table, expected) in [(&table, &usual), (&changed, &otherwise), (&cold, &usual), (&table, &usual)] {
                let shared = table.dispatch_recalling(&session, &ask(), &recollection);
                prop_assert_eq!(&shared, expected, "{}", text);
            }
        }
    }
}

/// Conditions that different rules share, or nearly share: the same pattern with other modifiers, negated, over the
/// digest, by another library.
fn shared_rule() -> impl Strategy<Value = Value> {
    let pattern = prop_oneof![select(KEYS.to_vec()), select(PATTERNS.to_vec())];
    let columns = (any::<bool>(), prop::bool::weighted(0.2));
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let actions = (
        0_u32..3,
        optional(vec![0_u32, 1, 2]),
        optional(vec![10_u32, 20]),
        optional(vec!["x=\\0", "tenant=17 "]),
    );
    (pattern, columns, flags, actions, any::<bool>()).prop_map(
        |(pattern, (is_asked, on_digest), (caseless, global, negate), actions, apply)| {
            let (flag_in, flag_out, hostgroup, replace) = actions;
            let text = is_asked.then_some(pattern);
            json!({"flag_in": flag_in, "body": {"engine": {
                "match_pattern": text, "match_digest": on_digest.then_some(pattern),
                "negate_match_pattern": negate && text.is_some(),
                "re_modifiers": {"caseless": caseless, "global": global},
                "replace_pattern": text.filter(|_| !negate).and(replace).filter(|_| global),
                "flag_out": flag_out, "destination_hostgroup": hostgroup, "apply": apply}}})
        },
    )
}

fn of_rules(mut rules: Vec<Value>, engine: &str, regex: &str, iterations: u32) -> Arc<Configuration> {
    for (position, rule) in rules.iter_mut().enumerate() {
        rule["id"] = json!(position * 10 + 1);
        rule["address"] = json!(format!("rule.{position}"));
    }
    let configuration = json!({"format": 1, "engine": engine,
        "settings": {"query_processor_iterations": iterations, "regex": regex}, "clusters": [], "hostgroups": [],
        "users": [], "graph": {"rules": rules, "fast_routing": []}});
    Arc::new(
        serde_json::from_value(configuration)
            .unwrap_or_else(|error| panic!("the strategy writes configurations: {error}")),
    )
}

/// A statement of pieces, some with a NUL byte and some long.
fn raw_statement() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => select(PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => Just(b"\0".to_vec()),
        1 => Just(b"TENANT=17 ".to_vec()),
        1 => Just(b" tenant=17".repeat(12)),
        1 => Just(b" /* x */ , 'y'".repeat(6_000)),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Tables that share patterns, whatever else differs, decide as each does alone and as the evaluator does.
    #[test]
    fn tables_that_share_patterns_decide_as_their_evaluators(
        rules in prop::collection::vec(shared_rule(), 12..50),
        moved_rules in any::<prop::sample::Index>(),
        inserted in prop::collection::vec(shared_rule(), 0..4),
        engines in [select(vec!["bundled", "proxysql-2.7"]), select(vec!["bundled", "proxysql-2.7"])],
        libraries in [select(vec!["pcre", "re2"]), select(vec!["pcre", "re2"])],
        iterations in 0_u32..3,
        texts in prop::collection::vec((sent_as(), raw_statement()), 1..6),
    ) {
        let mut others = rules.clone();
        let middle = moved_rules.index(others.len());
        others.rotate_left(middle);
        others.splice(0..0, inserted);
        let sides = [
            of_rules(rules, engines[0], libraries[0], iterations),
            of_rules(others, engines[1], libraries[1], iterations),
        ];
        let [left, right] = sides.clone();
        let tables = RoutingTable::pair(left, right);
        let evaluators = sides.clone().map(Evaluator::new);
        let changed = tables[0].changed(Arc::clone(&sides[1]));
        let session = SessionView::default();
        let asked = texts.iter().map(|(sent_as, text)| {
            let ask = || Statement::new(text, Default::default()).sent_as(*sent_as);
            (ask, [0, 1].map(|side: usize| evaluators[side].decide(&session, &ask())))
        });
        let asked: Vec<_> = asked.collect();
        for round in [0, 1] {
            for (ask, expected) in &asked {
                let recollection = Recollection::default();
                for side in [round % 2, 1 - round % 2, round % 2] {
                    let shared = tables[side].dispatch_recalling(&session, &ask(), &recollection);
                    prop_assert_eq!(&shared, &Dispatch::from(expected[side].clone()));
                }
                let of_changed = changed.dispatch_recalling(&session, &ask(), &recollection);
                prop_assert_eq!(&of_changed, &Dispatch::from(expected[1].clone()));
                prop_assert_eq!(&changed.explain(&session, &ask()), &expected[1]);
                for side in [0, 1] {
                    prop_assert_eq!(&tables[side].explain(&session, &ask()), &expected[side]);
                }
            }
            // Families are made when tables have been asked often.
            for _ in 0..40 {
                for table in [&tables[0], &tables[1], &changed] {
                    table.decide(&session, &Statement::new(b"SELECT 1", Default::default()));
                }
            }
        }
    }
}
