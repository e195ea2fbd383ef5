//! Small configurations, written in the columns of `mysql_query_rules`.

use serde_json::{Map, Value, json};
use shardwright_rules::Configuration;

/// Reads `engine`, `iterations`, `regex`, `variables`, `listeners`, `fast_routing`, `refusing`, `clusters` and `user` (what differs),
/// `hostgroups` (what differs of their one server), `users` and `rules`. There are clusters a (hostgroups 10 and 11), b (20 and 21) and c (30), and users app and geo on a.
///
/// # Panics
/// When the text is no such configuration.
#[must_use]
pub fn configuration(yaml: &str) -> Configuration {
    let page: Value = serde_yaml::from_str(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let given = |key: &str, default: Value| page.get(key).cloned().unwrap_or(default);
    let cluster = |name: &str, writer: u32, reader: Option<u32>| {
        let mut cluster = json!({"name": name, "address": format!("clusters.{name}"), "kind": {"type": "single"},
               "writer": writer, "reader": reader, "writer_serves_reads": "last_resort"});
        overlay(&mut cluster, page.pointer(&format!("/clusters/{name}")));
        cluster
    };
    let hostgroups: Vec<Value> = [("a", 10), ("a", 11), ("b", 20), ("b", 21), ("c", 30)]
        .into_iter()
        .map(|(cluster, id)| hostgroup(cluster, id, page.pointer(&format!("/hostgroups/{id}"))))
        .collect();
    let users: Vec<Value> = serde_json::from_value::<Vec<String>>(given("users", json!(["app", "geo"])))
        .expect("a list of names")
        .into_iter()
        .map(|name| {
            let mut user = json!({"name": name, "address": format!("users.{name}"), "password": null,
                   "default_hostgroup": 10, "default_schema": "shop", "max_connections": 100,
                   "transaction_persistent": true, "annotations_allowed": false});
            overlay(&mut user, page.get("user"));
            user
        })
        .collect();
    let fast: Vec<Value> = rows(&given("fast_routing", json!([])))
        .map(|row| {
            json!({"username": row["username"], "schemaname": row["schemaname"], "flag_in": row["flagIN"],
                   "hostgroup": row["destination_hostgroup"], "address": "fast"})
        })
        .collect();
    let listeners: Vec<Value> = rows(&given("listeners", json!([])))
        .map(|row| json!({"name": "l", "address": "listeners.l", "bind": row["bind"], "port": row["port"]}))
        .collect();
    let rules: Vec<Value> = rows(&given("rules", json!([]))).map(rule).collect();
    serde_json::from_value(json!({
        "format": 1, "engine": given("engine", json!("proxysql-2.7")),
        "settings": {"query_processor_iterations": given("iterations", json!(0)), "regex": given("regex", json!("pcre"))},
        "clusters": [cluster("a", 10, Some(11)), cluster("b", 20, Some(21)), cluster("c", 30, None)],
        "variables": given("variables", json!({})), "listeners": listeners,
        "hostgroups": hostgroups, "refusing": given("refusing", json!([])), "users": users,
        "graph": {"rules": rules, "fast_routing": fast}
    }))
    .unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

fn overlay(value: &mut Value, other: Option<&Value>) {
    for (key, given) in other.and_then(Value::as_object).into_iter().flatten() {
        value[key] = given.clone();
    }
}

fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn hostgroup(cluster: &str, id: u32, other: Option<&Value>) -> Value {
    let mut member = json!({"server": format!("clusters.{cluster}.servers.s{id}"), "host": format!("s{id}"), "port": 3306,
        "weight": 1, "tier": 0, "max_connections": 100, "max_replication_lag_s": 0, "tls": "disabled", "status": "online"});
    overlay(&mut member, other);
    let role = if id % 10 == 1 { "reader" } else { "writer" };
    json!({"id": id, "cluster": format!("clusters.{cluster}"), "role": role, "members": [member]})
}

/// A row under the engine's column names. A row with `native` is a step of the bundled engine.
fn rule(row: &Value) -> Value {
    let (mut id, mut flag_in, mut body) = (Value::Null, json!(0), Map::new());
    for (column, value) in row.as_object().expect("a row") {
        let text = value.as_str().unwrap_or_default();
        let flag = || json!(value.as_u64() == Some(1));
        let (key, value) = match column.as_str() {
            "rule_id" => {
                id = value.clone();
                continue;
            }
            "flagIN" => {
                flag_in = value.clone();
                continue;
            }
            "flagOUT" => ("flag_out", value.clone()),
            "flagOUTs" => ("flag_outs", value.clone()),
            "next_query_flagIN" => ("next_query_flag_in", value.clone()),
            "mirror_flagOUT" => ("mirror_flag_out", value.clone()),
            "OK_msg" => ("ok_msg", value.clone()),
            "delay" => ("delay_ms", value.clone()),
            "timeout" => ("timeout_ms", value.clone()),
            "cache_ttl" => ("cache_ttl_ms", value.clone()),
            "log" => ("log", flag()),
            "apply" => ("apply", flag()),
            "negate_match_pattern" => ("negate_match_pattern", flag()),
            "digest" => (
                "digest",
                json!(u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a digest")),
            ),
            "re_modifiers" => (
                "re_modifiers",
                json!({"caseless": text.contains("CASELESS"), "global": text.contains("GLOBAL")}),
            ),
            other => (other, value.clone()),
        };
        body.insert(key.to_owned(), value);
    }
    let body = match body.remove("native") {
        Some(step) => json!({"native": {"scope": body.remove("scope").unwrap_or(json!({})), "step": step}}),
        None => json!({"engine": body}),
    };
    json!({"address": format!("query_rules.r.rules[{id}]"), "id": id, "flag_in": flag_in, "body": body})
}
