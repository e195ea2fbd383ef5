//! Writer or reader, on the bundled engine: where a statement may leave the writer, and where it must not.

use serde_json::{Value, json};

use shardwright_rules::PendingKind;

use crate::common::{World, check, configuration, native, rule};

/// Tenants on clusters `a` and `b`, whose reads go to readers.
fn policies(missing: Value, unknown: Value) -> Value {
    let shard = |name: &str, cluster: &str, key: i64| json!({"address": format!("shard_maps.m.shards.{name}"), "cluster": cluster, "keys": [key]});
    let map = json!({"map": {
        "map": "m", "key": "tenant", "kind": "integer",
        "finders": [{"comment": {"word": "tenant", "form": "pairs"}}],
        "conflict": "reject", "unqualified": "reject",
        "shards": [shard("t1", "a", 1), shard("t2", "b", 2)],
        "missing": {"statements": missing, "session_setup": missing, "begin": "first_statement"},
        "unknown": unknown
    }});
    json!([
        native(1, json!({}), map),
        native(
            2,
            json!({}),
            json!({"role": {"reads": "all", "session_functions_on_readers": true}})
        ),
    ])
}

#[test]
fn a_statement_that_opens_a_transaction_stays_on_the_writer() {
    let read = "/* tenant=2 */ SELECT a FROM t";
    let world = |change: fn(&mut World)| {
        let mut world = World::new(configuration(
            "bundled",
            policies(json!("allow"), json!("reject")),
        ));
        change(&mut world);
        world
    };
    for (world, home, shard) in [
        (world(|_| ()), "11", "21 m/t2"),
        (world(|world| world.autocommit_off = true), "10", "20 m/t2"),
        (
            world(|world| world.transaction_pending = Some(PendingKind::Local)),
            "10",
            "20 m/t2",
        ),
    ] {
        check(
            &world,
            &[
                (read, shard),
                ("SELECT a FROM t", home),
                ("/* tenant=2 */ UPDATE t SET a=1", "20 m/t2"),
            ],
        );
    }
}

#[test]
fn a_rule_that_names_readers_does_not_open_a_transaction_there() {
    let rules = json!([rule(
        1,
        0,
        json!({"match_digest": "^SELECT", "destination_hostgroup": 21, "apply": true})
    )]);
    let mut world = World::new(configuration("bundled", rules));
    assert_eq!(world.ask("SELECT 1 FROM t"), "21");
    world.autocommit_off = true;
    assert_eq!(world.ask("SELECT 1 FROM t"), "20");
    world.autocommit_off = false;
    world.transaction_pending = Some(PendingKind::Local);
    assert_eq!(world.ask("SELECT 1 FROM t"), "20");
}

#[test]
fn a_user_of_readers_opens_transactions_on_them() {
    let mut readers = configuration("bundled", json!([]));
    for user in &mut readers.users {
        user.default_hostgroup = shardwright_rules::HostgroupId(11);
    }
    let mut world = World::new(readers);
    world.autocommit_off = true;
    assert_eq!(world.ask("SELECT 1 FROM t"), "11");
}

#[test]
fn what_a_map_sends_to_a_cluster_without_a_shard_stays_on_its_writer() {
    let to = || json!({"cluster": "b"});
    let world = World::new(configuration("bundled", policies(to(), to())));
    check(
        &world,
        &[
            ("/* tenant=1 */ SELECT a FROM t", "11 m/t1"),
            ("SELECT a FROM t", "20"),
            ("SELECT @@version", "20"),
            ("/* tenant=7 */ SELECT a FROM t", "20"),
            ("/* tenant=7 */ DELETE FROM t", "20"),
        ],
    );
}

#[test]
fn a_nul_byte_ends_a_text_for_proxysql_only() {
    let rules = |engine: &str| {
        let columns = json!({"match_pattern": "tenant=2", "destination_hostgroup": 20, "apply": true});
        World::new(configuration(engine, json!([rule(1, 0, columns)])))
    };
    let text = "INSERT INTO t VALUES (_binary'a\0b') /* tenant=2 */";
    assert_eq!(rules("bundled").ask(text), "20");
    assert_eq!(rules("proxysql-2.7").ask(text), "10");
}
