//! Shards that are refused, users for whom something else holds without a key, and users who only read, on the bundled
//! engine.

use serde_json::{Value, json};

use crate::common::{World, check, configuration, native, rule};

/// Tenants 1 to 3 on `a`, 4 refused and nowhere, 5 refused and on `b`, found in comments and schemas.
fn map() -> Value {
    let shard = |name: &str, facts: Value| {
        let mut shard = json!({"address": format!("shard_maps.m.shards.{name}")});
        let facts = facts.as_object().unwrap().clone();
        shard.as_object_mut().unwrap().extend(facts);
        shard
    };
    json!({"map": {
        "map": "m", "key": "tenant", "kind": "integer",
        "finders": [
            {"comment": {"word": "tenant", "form": "pairs"}},
            {"schema": {"template": {"prefix": "t_", "suffix": ""}}},
        ],
        "conflict": "reject", "unqualified": "reject",
        "shards": [
            shard("low", json!({"cluster": "a", "ranges": [[1, 3]]})),
            shard("gone", json!({"refuse": "it has moved", "keys": [4]})),
            shard("closed", json!({"refuse": "it is closed", "cluster": "b", "keys": [5]})),
            shard("single", json!({"cluster": "c", "keys": [6]})),
        ],
        "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"},
        "missing_by_user": {
            "dba": {"statements": {"cluster": "b"}, "session_setup": "reject", "begin": "allow"},
        },
        "unknown": {"cluster": "b"},
    }})
}

fn world(change: impl FnOnce(&mut World)) -> World {
    let role = json!({"role": {"reads": "all", "causal": true, "session_functions_on_readers": true}});
    let rules = json!([native(1, json!({}), map()), native(2, json!({}), role)]);
    let mut configuration = configuration("bundled", rules);
    // `geo` only reads.
    configuration.users[1].reads_only = true;
    configuration.users[1].default_hostgroup = shardwright_rules::HostgroupId(11);
    let mut world = World::new(configuration);
    world.schema = None;
    change(&mut world);
    world
}

#[test]
fn a_refused_shard_refuses_all_of_its_statements_with_its_words() {
    let gone = "refused: SW362: it has moved (m/gone)";
    let closed = "refused: SW362: it is closed (m/closed)";
    check(
        &world(|_| ()),
        &[
            ("/* tenant=4 */ SELECT a FROM t", gone),
            ("/* tenant=5 */ UPDATE t SET a=1", closed),
            ("/* tenant=5 */ BEGIN", closed),
            ("/* tenant=4 */ SET @a=1", gone),
            ("/* tenant=3 */ UPDATE t SET a=1", "10 m/low"),
            (
                "/* tenant=4 */ /* tenant=5 */ SELECT a FROM t",
                "refused: SW353: more than one shard key: shard map m takes one tenant a statement: 4, 5",
            ),
        ],
    );
    let by_schema = world(|world| world.schema = Some("t_4"));
    check(&by_schema, &[("SELECT a FROM t", gone), ("SHOW TABLES", gone)]);
}

#[test]
fn what_is_open_on_a_refused_shard_can_end() {
    let open = world(|world| {
        world.schema = Some("t_5");
        world.transaction = Some(20);
    });
    check(
        &open,
        &[
            ("UPDATE t SET a=1", "refused: SW362: it is closed (m/closed)"),
            ("COMMIT", "20"),
            ("/* tenant=5 */ ROLLBACK", "20"),
            ("SAVEPOINT s", "20"),
        ],
    );
}

#[test]
fn a_user_can_have_an_own_answer_without_a_key() {
    check(
        &world(|world| world.user = "dba"),
        &[
            ("UPDATE t SET a=1", "20"),
            ("SELECT a FROM t", "20"),
            ("BEGIN", "10"),
            (
                "SET @a=1",
                "refused: SW351: no shard key: shard map m needs tenant; write /* tenant=VALUE */, or a session schema like t_VALUE",
            ),
            ("/* tenant=1 */ UPDATE t SET a=1", "10 m/low"),
        ],
    );
    check(&world(|_| ()), &[("SET @a=1", "10")]);
}

#[test]
fn readers_take_every_statement_of_a_user_who_only_reads() {
    let reads = [
        ("/* tenant=1 */ SELECT a FROM t", "11 m/low"),
        ("/* tenant=1 */ SELECT LAST_INSERT_ID(), @a", "11 m/low"),
        // For an unknown key, and on a cluster that has no readers.
        ("/* tenant=9 */ SELECT a FROM t", "21"),
        ("/* tenant=6 */ SELECT a FROM t", "30 m/single"),
        ("SET NAMES utf8mb4", "11"),
        ("SELECT @@version", "11"),
        ("/* tenant=2 */ BEGIN", "11 m/low"),
        ("COMMIT", "11"),
    ];
    check(&world(|world| world.user = "geo"), &reads);
    let later = world(|world| {
        world.user = "geo";
        world.autocommit_off = true;
        world.since_write_ms = Some(1);
    });
    check(&later, &reads[..4]);
    let open = world(|world| {
        world.user = "geo";
        world.transaction = Some(11);
    });
    check(
        &open,
        &[("/* tenant=1 */ SELECT a FROM t", "11 m/low"), ("ROLLBACK", "11")],
    );
}

#[test]
fn what_may_do_more_than_read_is_refused_wherever_it_would_go() {
    let world = world(|world| world.user = "geo");
    for sql in [
        "UPDATE t SET a=1",
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "REPLACE INTO t VALUES (1)",
        "CREATE TEMPORARY TABLE x (a INT)",
        "TRUNCATE t",
        "CALL p()",
        "DO f()",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a FROM t LOCK IN SHARE MODE",
        "SELECT a INTO OUTFILE '/tmp/a' FROM t",
        "SELECT GET_LOCK('a', 1)",
        "SELECT NEXTVAL(s)",
        "SELECT unknown(1) FROM t",
        "SELECT a FROM t; DELETE FROM t",
        "/*! DELETE FROM t */",
        "LOCK TABLES t READ",
        "PREPARE p FROM 'DELETE FROM t'",
        "BEGIN NOT ATOMIC DELETE FROM t; END",
        "SET @a = f()",
        "SET @a = (SELECT 1 FROM t)",
        "SET GLOBAL read_only = 0",
        "SET @@global.read_only = 0",
        "SET @a = 1, GLOBAL read_only = 0",
        "SET @@PERSIST.read_only = 0",
        "SET PERSIST_ONLY read_only = 0",
        "SET PASSWORD = 'x'",
        "SET DEFAULT ROLE r TO u",
        "XA START 'a'",
        "XA COMMIT 'a'",
    ] {
        for text in [
            sql.to_owned(),
            format!("/* tenant=1 */ {sql}"),
            format!("/* tenant=4 */ {sql}"),
        ] {
            let answer = world.ask(&text);
            assert!(answer.starts_with("refused: SW363: "), "{text}: {answer}");
        }
    }
}

#[test]
fn raw_rules_do_not_take_a_user_who_only_reads_to_a_writer() {
    let away = json!({"match_pattern": "SELECT 7", "destination_hostgroup": 20, "apply": true});
    let stop = native(2, json!({}), json!("stop_if_placed"));
    let late = json!({"match_pattern": "SELECT 8", "destination_hostgroup": 20, "apply": true});
    let mut configuration = configuration("bundled", json!([rule(1, 0, away), stop, rule(3, 0, late)]));
    let mut ask = |reads_only: bool| {
        configuration.users[0].reads_only = reads_only;
        let world = World::new(configuration.clone());
        ["SELECT 7 FROM t", "SELECT 8 FROM t"].map(|sql| world.ask(sql))
    };
    assert_eq!(ask(false), ["20", "20"]);
    assert_eq!(ask(true), ["21", "11"]);
}
