//! The published schemas are valid, and describe every property.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shardwright_topology::{InputFile, Options, load, schema};

#[test]
fn the_schemas_are_valid() {
    for schema in [
        schema::topology(),
        schema::project(),
        schema::tests(),
        schema::environment(),
    ] {
        assert!(jsonschema::draft202012::meta::is_valid(&schema));
    }
}

/// Every property of a schema with its path, itself and what it refers to.
fn properties(schema: &Value, check: &mut impl FnMut(&str, &[&Value])) {
    fn walk(part: &Value, path: &str, root: &Value, check: &mut impl FnMut(&str, &[&Value])) {
        for (name, property) in part["properties"].as_object().into_iter().flatten() {
            let target = property["$ref"]
                .as_str()
                .and_then(|target| root.pointer(&target[1..]));
            let said: Vec<&Value> = [Some(property), target].into_iter().flatten().collect();
            check(&format!("{path}.{name}"), &said);
        }
        match part {
            Value::Object(parts) => {
                for (name, part) in parts
                    .iter()
                    .filter(|(name, _)| *name != "default" && *name != "examples")
                {
                    let path = format!("{path}/{name}");
                    match part {
                        // A map of schemas and no schema, whose keys are names of fields.
                        Value::Object(fields) if name == "properties" => {
                            for (field, part) in fields {
                                walk(part, &format!("{path}/{field}"), root, check);
                            }
                        }
                        part => walk(part, &path, root, check),
                    }
                }
            }
            Value::Array(parts) => parts.iter().for_each(|part| walk(part, path, root, check)),
            _ => {}
        }
    }
    walk(schema, "", schema, check);
}

fn schemas() -> [Value; 4] {
    [
        schema::topology(),
        schema::project(),
        schema::tests(),
        schema::environment(),
    ]
}

#[test]
fn every_property_is_described_with_its_unit() {
    for schema in schemas() {
        let mut wrong = Vec::new();
        properties(&schema, &mut |path, said| {
            // Editors show the first of them.
            let text = said
                .iter()
                .find_map(|schema| schema["description"].as_str())
                .unwrap_or_default();
            if text.split_whitespace().count() < 5 || !text.ends_with('.') {
                wrong.push(format!("{path} is described by too little: {text:?}"));
            }
            let is_duration = said.iter().any(|schema| {
                schema["pattern"]
                    .as_str()
                    .is_some_and(|pattern| pattern.contains("(ms|s|m|h|d)"))
            });
            if is_duration && !text.contains("unit: ms, s, m, h or d") {
                wrong.push(format!(
                    "{path} is a duration and does not name its units: {text:?}"
                ));
            }
            let name = path.rsplit('.').next().unwrap_or_default();
            let is_time = ["delay", "timeout", "ttl"].iter().any(|word| name.contains(word));
            let is_number = said[0]["type"]
                .as_array()
                .is_some_and(|types| types.contains(&json!("integer")));
            if is_time && is_number && name != "cache_timeout" && !text.contains("in milliseconds") {
                wrong.push(format!(
                    "{path} is a number of milliseconds and does not say so: {text:?}"
                ));
            }
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn defaults_and_examples_are_values_of_their_field() {
    for schema in schemas() {
        properties(&schema, &mut |path, said| {
            let mut field = said[0].clone();
            let values: Vec<Value> = field["examples"]
                .as_array()
                .into_iter()
                .flatten()
                .cloned()
                .collect();
            let values = values.into_iter().chain(field.get("default").cloned());
            if let Some(definitions) = schema.get("$defs") {
                field["$defs"] = definitions.clone();
            }
            let values: Vec<Value> = values.collect();
            let validator = jsonschema::draft202012::new(&field).expect("it is a schema");
            for value in values {
                assert!(validator.is_valid(&value), "{path}: {value}");
            }
        });
    }
}

/// Where nothing written means that nothing is asked for, or something that other fields say.
const NO_DEFAULT: [&str; 6] = [
    "all",
    "all remaining targets",
    "everything",
    "no limit",
    "always on",
    "`weight`",
];

#[test]
fn defaults_that_are_described_are_printed() {
    for schema in schemas() {
        properties(&schema, &mut |path, said| {
            let text = said.iter().find_map(|schema| schema["description"].as_str());
            let text = text.unwrap_or_default();
            let none = NO_DEFAULT
                .iter()
                .any(|none| text.contains(&format!("{none} by default")));
            assert!(
                !text.contains("by default") || none || said[0].get("default").is_some(),
                "{path} has a default that `validate --show resolved` does not print: {text}"
            );
        });
    }
}

/// Sections that hold a bit of everything that has a default, as JSON, which is YAML.
pub(crate) fn sample() -> (Value, Value) {
    let (a, b) = (json!({"host": "a"}), json!({"host": "b"}));
    let topology = json!({
        "clusters": {
            "one": {"type": "single", "servers": {"a": a}},
            "two": {"type": "replication", "servers": {"a": a, "b": b}},
            "three": {"type": "galera", "servers": {"a": a, "b": b}},
        },
        "users": {"app": {"password": {"env": "A"}, "cluster": "one"}},
        "shard_maps": {"m": {
            "logical_schema": "world",
            "key": {"name": "k", "type": "text"},
            "key_from": [{"comment": {}}, {"column": {"name": "K"}}],
            "shards": {"a": {"keys": ["a"], "schema": "a", "cluster": "one"}},
            "missing_key": {},
        }},
        "read_write_policies": {"p": {"reads": {"all": true}}},
        "routes": {"r": {"match": {"users": ["app"]}, "cluster": "two"}},
        "throttles": {"t": {
            "signal": {"replication_lag": {"start_above": "3s", "stop_below": "1s"}},
            "delay": {"from": "1ms", "to": "5ms"},
        }},
        "query_rules": {"r": {"rules": [{"match_digest": "x", "cluster": "one", "apply": 1}, {"comment": "x"}]}},
        "caches": {"c": {"match": {"users": ["app"]}, "ttl": "1s"}},
        "mirrors": {"m": {"match": {"users": ["app"]}, "to": {"cluster": "two"}}},
        "pooling": {"exceptions": {"e": {"match": {"users": ["app"]}, "multiplex": "never", "reason": "r"}}},
        "firewall": {"app": {"mode": "detecting", "allow": {"statements": "SELECT 1"}}},
        "listeners": {"l": {"port": 3307, "address": "127.0.0.1"}},
        "moves": {"m/a": {"from": "one", "to": "two", "ready": {"command": ["true"]}, "open_transactions": {}}},
    });
    let project = json!({
        "version": 1, "engines": ["bundled", "proxysql-2.7"],
        "ids": {}, "state": {}, "safety": {}, "lint": {},
    });
    (topology, project)
}

/// Copies of a value, each with one default of its schema written out, and the path of the field.
fn with_defaults(value: &Value, schema: &Value, root: &Value) -> Vec<(String, Value)> {
    let target = schema["$ref"]
        .as_str()
        .and_then(|target| root.pointer(&target[1..]));
    let schema = target.unwrap_or(schema);
    let schema = if schema.get("then").is_some() && value.is_object() {
        &schema["then"]
    } else {
        schema
    };
    let mut copies = Vec::new();
    match value {
        Value::Object(fields) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = property.get("default").filter(|_| !fields.contains_key(name)) {
                    let mut copy = value.clone();
                    copy[name] = default.clone();
                    copies.push((name.clone(), copy));
                }
            }
            for (name, inner) in fields {
                let property = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                for (path, copy) in with_defaults(inner, property, root) {
                    let mut outer = value.clone();
                    outer[name] = copy;
                    copies.push((format!("{name}.{path}"), outer));
                }
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                for (path, copy) in with_defaults(inner, &schema["items"], root) {
                    let mut outer = value.clone();
                    outer[at] = copy;
                    copies.push((path, outer));
                }
            }
        }
        _ => {}
    }
    copies
}

/// A default that is written out changes nothing. Some fields do not go with every object that could have them.
#[test]
fn defaults_are_what_is_meant_where_nothing_is_written() {
    let (topology, project) = sample();
    let resolve = |topology: &Value, project: &Value| {
        let file = |path: &str, value: &Value| InputFile {
            path: path.to_owned(),
            bytes: value.to_string().into_bytes(),
        };
        let files = vec![
            file("topology/a.yaml", topology),
            file("shardwright.yaml", project),
        ];
        let loaded = load(files, &Options::default());
        loaded.project.ok_or(loaded.problems)
    };
    let plain = resolve(&topology, &project).expect("the sample has no errors");
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    let root = schema::topology();
    for (path, changed) in with_defaults(&topology, &root, &root) {
        let resolved = resolve(&changed, &project);
        if let Ok(resolved) = &resolved {
            assert_eq!(resolved.topology, plain.topology, "{path}");
        }
        let field = path.rsplit('.').next().unwrap_or_default().to_owned();
        *seen.entry(field).or_default() |= resolved.is_ok();
    }
    let root = schema::project();
    let mut shared = project.clone();
    shared["project"] = json!("shop");
    shared["state"] = json!({
        "mysql": "state.db:3306/shardwright", "user": "state", "password": {"env": "A"}, "key": {"env": "B"},
    });
    for project in [project, shared] {
        let plain = resolve(&topology, &project).expect("the sample has no errors");
        for (path, changed) in with_defaults(&project, &root, &root) {
            let resolved = resolve(&topology, &changed);
            if let Ok(resolved) = &resolved {
                assert_eq!(resolved.file, plain.file, "{path}");
            }
            *seen.entry(path).or_default() |= resolved.is_ok();
        }
    }
    assert!(
        seen.values().all(|resolved| *resolved),
        "never without an error: {seen:?}"
    );
    assert!(seen.len() > 30, "the sample reaches {seen:?}");
}
