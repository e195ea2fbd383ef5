//! A statement whose map finds its key in a comment is decided without the heap, unless something is done to it on its way.

use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, Outcome, SessionView, Statement};

/// A map of shards 1 to 100, each on a cluster of its own, behind these steps.
fn configuration(before: Vec<Value>) -> Configuration {
    let clusters: Vec<Value> = (1..=100)
        .map(|n| {
            json!({"name": format!("c{n}"), "address": format!("clusters.c{n}"), "kind": {"type": "single"},
                   "writer": 1000 + n, "reader": null, "writer_serves_reads": "never"})
        })
        .collect();
    let shards: Vec<Value> = (1..=100)
        .map(|n| {
            json!({"address": format!("shard_maps.m.shards.t{n}"), "cluster": format!("c{n}"), "keys": [n]})
        })
        .collect();
    let map = json!({"map": "m", "key": "tenant", "kind": "integer",
        "finders": [{"comment": {"word": "tenant", "form": "pairs"}}], "conflict": "reject",
        "unqualified": "reject", "shards": shards, "unknown": "reject",
        "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"}});
    let user = json!({"name": "app", "address": "users.app", "password": null, "default_hostgroup": 1001,
        "default_schema": null, "max_connections": 1, "transaction_persistent": true, "annotations_allowed": false});
    let rules: Vec<Value> = before
        .into_iter()
        .chain([json!({"map": map}), json!("stop_if_placed")])
        .zip(1_u32..)
        .map(|(step, id)| {
            json!({"id": id, "address": format!("rule.{id}"), "flag_in": 0,
                   "body": {"native": {"scope": {"users": {"any_of": ["app"]}}, "step": step}}})
        })
        .collect();
    serde_json::from_value(json!({
        "format": 1, "engine": "bundled", "settings": {"query_processor_iterations": 0, "regex": "pcre"},
        "clusters": clusters, "hostgroups": [], "users": [user],
        "graph": {"rules": rules, "fast_routing": []}}))
    .unwrap_or_else(|error| panic!("a configuration: {error}"))
}

#[test]
fn a_statement_with_its_key_in_a_comment_takes_nothing_from_the_heap() {
    let delay = json!({"delay": {"delay_ms": 1}});
    for (before, delay_ms, allocations) in [(vec![], None, 0), (vec![delay], Some(1), 1)] {
        let table = RoutingTable::new(Arc::new(configuration(before)));
        let session = SessionView {
            user: "app",
            ..SessionView::default()
        };
        for (text, hostgroup) in [
            ("/* tenant=17 */ SELECT id FROM t WHERE id=1", 1017),
            ("/* tenant=0100 */ UPDATE t SET a='x' WHERE id=1;", 1100),
            (
                "/* app=web, tenant=\"3\"; trace=x */\r\nINSERT INTO t VALUES (1)",
                1003,
            ),
        ] {
            let mut placed = None;
            let allocated = allocation_counter::measure(|| {
                let statement = Statement::new(text.as_bytes(), Default::default());
                if let Outcome::Route(to) = table.dispatch(&session, &statement).outcome {
                    placed = Some((to.hostgroup.0, to.is_on_shard, to.besides().effects.delay_ms));
                }
            });
            assert_eq!(placed, Some((hostgroup, true, delay_ms)), "{text}");
            assert_eq!(allocated.count_total, allocations, "{text}");
        }
    }
}
