//! Tests test: every expectation of every example is made wrong, one field at a time, and fails on each engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_yaml::{Mapping, Value as Yaml};
use shardwright_testkit::CommandEnvironment;

use crate::support::{self, example, examples};

/// Objects of which no statement of a test comes to one: what a wrong expectation names.
const STRANGERS: &str = "\
version: 1
clusters:
  stranger: {type: single, servers: {a: {host: stranger.db}}}
users:
  stranger: {password: {env: STRANGER}, cluster: stranger}
shard_maps:
  strangers:
    applies_to: {users: [stranger]}
    key: {name: stranger, type: integer}
    key_from: [comment: {}]
    shards:
      s1: {keys: [1], cluster: stranger}
";
const ROUTES: &str = "\
routes:
  no-stranger: {match: {users: [stranger], statements: [ddl]}, refuse: no strangers}
";

/// Every kind of expectation that the examples do not have, with values that hold.
const OTHER_KINDS: &str = "\
version: 1
session: {user: app}
route_tests:
  the schema of the server:
    session: {user: by_schema, schema: acct_2}
    query: SELECT 1 FROM o
    expect: {shard: accounts/a2, hostgroup: 1010}
  a rewrite:
    query: SELECT old FROM t
    expect: {query: SELECT new FROM t, rule: query_rules.own, outcome: route}
  multiplexing:
    query: SELECT plexed FROM t
    expect: {multiplex: 0}
  an answer:
    query: SELECT answered FROM t
    expect: {answer: nothing to see}
  an error:
    query: SELECT refused FROM t
    expect: {error: not here, outcome: reject}
  a throttle:
    query: DELETE FROM t
    expect: {delay: 20ms, rule: throttles.slow}
";

const OTHER_TOPOLOGY: &str = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
  bulk: {type: single, servers: {a: {host: c.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
  by_schema: {password: {env: APP}, cluster: shop, schema: acct_1}
throttles:
  slow: {applies_to: {statements: [delete]}, delay: 20ms, reason: slow disks}
shard_maps:
  accounts:
    applies_to: {users: [by_schema]}
    key: {name: account, type: integer}
    key_from: [{schema: \"acct_$(key)\"}]
    shards: {a1: {keys: [1], cluster: shop}, a2: {keys: [2], cluster: shop}}
query_rules:
  own:
    rules:
      - {match_pattern: ' old ', replace_pattern: ' new ', apply: 1}
      - {match_digest: ' plexed ', multiplex: 0, apply: 1}
      - {match_digest: ' answered ', OK_msg: nothing to see, apply: 1}
      - {match_digest: ' refused ', error_msg: not here, apply: 1}
";

/// What only ProxySQL can do, behind the others.
const KINDS_OF_PROXYSQL: &str = "  a cache:
    query: SELECT cached FROM t
    expect: {cache_ttl: 5s, rule: query_rules.own}
  a copy:
    query: SELECT mirrored FROM t
    expect: {mirror: bulk}
";

const RULES_OF_PROXYSQL: &str = "      - {match_digest: ' cached ', cache_ttl: 5000, apply: 1}
      - {match_digest: ' mirrored ', mirror_hostgroup: 1000, apply: 1}
";

/// Values of a field that are not the one that holds; with the fields that have to go.
fn wrong(field: &str, value: &Yaml, neighbours: &Neighbours) -> Vec<Yaml> {
    let text = |text: &str| Yaml::from(text);
    let was = value.as_str().unwrap_or_default();
    match field {
        "outcome" => ["route", "reject", "answer"]
            .into_iter()
            .filter(|other| *other != was)
            .map(text)
            .collect(),
        "cluster" | "mirror" => {
            let others = neighbours
                .clusters
                .iter()
                .filter(|other| !was.contains("$(") && **other != was);
            others
                .take(2)
                .map(|other| text(other))
                .chain([text("stranger")])
                .collect()
        }
        "role" => vec![text(if was == "writer" { "reader" } else { "writer" })],
        "shard" => {
            let map = was.split('/').next().unwrap_or_default();
            let shards = neighbours.shards.get(map).into_iter().flatten();
            let last = shards.clone().next_back().filter(|_| was.contains("$("));
            let others = shards
                .filter(|other| !was.contains("$(") && **other != was)
                .take(2);
            let stranger = neighbours.has_stranger_map.then_some("strangers/s1");
            let others = others.chain(last).map(String::as_str).chain(stranger);
            others.map(text).collect()
        }
        "hostgroup" => vec![Yaml::from(value.as_u64().map_or(1, |hostgroup| hostgroup + 1))],
        "query" | "answer" | "error" => vec![text("nobody said this")],
        "backend_schema" => vec![text("stranger")],
        "delay" | "cache_ttl" => vec![text("12345ms")],
        "rule" => {
            let stranger = neighbours.has_stranger_map.then_some("shard_maps.strangers");
            stranger
                .into_iter()
                .chain(["routes.no-stranger"])
                .map(text)
                .collect()
        }
        "multiplex" => (0..3)
            .filter(|other| value.as_u64() != Some(*other))
            .map(Yaml::from)
            .collect(),
        "served_by" => vec![Yaml::Sequence(vec![text("clusters.stranger.servers.a")])],
        "throttled_by" => vec![match value.as_sequence() {
            Some(names) if !names.is_empty() => Yaml::Sequence(Vec::new()),
            _ => Yaml::Sequence(vec![text("throttles.behind-lag")]),
        }],
        unknown => panic!("no wrong value for {unknown}: every kind of expectation needs one"),
    }
}

/// What stands beside the object that an expectation names.
#[derive(Default)]
struct Neighbours {
    clusters: Vec<String>,
    /// `map/shard`, by map.
    shards: BTreeMap<String, Vec<String>>,
    /// The strangers have a map of their own.
    has_stranger_map: bool,
}

impl Neighbours {
    fn of(environment: &CommandEnvironment) -> Self {
        let arguments = ["validate", "--show", "resolved", "--format", "json"];
        let resolved: Value =
            serde_json::from_str(&environment.run(arguments).unwrap().success().stdout).unwrap();
        let names = |value: &Value| -> Vec<String> {
            value
                .as_object()
                .into_iter()
                .flat_map(|map| map.keys().cloned())
                .collect()
        };
        let maps = resolved["topology"]["shard_maps"]
            .as_object()
            .into_iter()
            .flatten();
        Self {
            clusters: names(&resolved["topology"]["clusters"]),
            shards: maps
                .map(|(map, value)| {
                    let shards = names(&value["shards"]).into_iter();
                    (
                        map.clone(),
                        shards.map(|shard| format!("{map}/{shard}")).collect(),
                    )
                })
                .collect(),
            has_stranger_map: false,
        }
    }
}

/// The same expectation with one field wrong, in every way.
fn mutated(
    expect: &Mapping,
    neighbours: &Neighbours,
    kinds: &mut BTreeSet<String>,
) -> Vec<(String, Mapping)> {
    let mut mutated = Vec::new();
    for (field, value) in expect {
        let field = field.as_str().unwrap();
        kinds.insert(field.to_owned());
        for other in wrong(field, value, neighbours) {
            let mut changed = if field == "outcome" {
                Mapping::new()
            } else {
                expect.clone()
            };
            changed.insert(field.into(), other.clone());
            mutated.push((format!("{field} {other:?}"), changed));
        }
    }
    mutated
}

/// The test with the first instance only: what is wrong for it may be right for another.
fn pinned(test: &Yaml) -> Yaml {
    let mut test = test.clone();
    if let Some(each) = test.get_mut("for_each").and_then(Yaml::as_mapping_mut) {
        each.remove("except");
        for (_, values) in each.iter_mut() {
            let first = match &*values {
                Yaml::String(range) => range
                    .split("..")
                    .next()
                    .map(|first| first.parse::<i64>().unwrap().into()),
                Yaml::Sequence(values) => values.first().cloned(),
                _ => None,
            };
            if let Some(first) = first {
                *values = Yaml::Sequence(vec![first]);
            }
        }
    }
    test
}

/// The tests of a file, each with one field of one expectation wrong; by name.
fn mutants(file: &Yaml, neighbours: &Neighbours, kinds: &mut BTreeSet<String>) -> Vec<(String, Yaml)> {
    let mut all = Vec::new();
    for (name, test) in file["route_tests"].as_mapping().into_iter().flatten() {
        let name = name.as_str().unwrap();
        if let Some(expect) = test["expect"].as_mapping() {
            for (what, expect) in mutated(expect, neighbours, kinds) {
                let mut test = pinned(test);
                test["expect"] = expect.into();
                all.push((format!("{name}: {what}"), test));
            }
        }
        for (at, step) in test["script"].as_sequence().into_iter().flatten().enumerate() {
            let Some(expect) = step["expect"].as_mapping() else {
                continue;
            };
            for (what, expect) in mutated(expect, neighbours, kinds) {
                let mut test = pinned(test);
                test["script"][at]["expect"] = expect.into();
                all.push((format!("{name} {at}: {what}"), test));
            }
        }
    }
    all
}

/// Cases and failed cases of each engine.
fn cases(environment: &CommandEnvironment, arguments: &[&str]) -> BTreeMap<String, (u64, u64)> {
    let output = environment
        .run([&["test", "--format", "json"][..], arguments].concat())
        .unwrap();
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let engines = answer["engines"].as_array().unwrap_or_else(|| panic!("{output}"));
    let engines = engines.iter().map(|engine| {
        let count = |key: &str| engine[key].as_u64().unwrap();
        (
            engine["engine"].as_str().unwrap().to_owned(),
            (count("cases"), count("failed")),
        )
    });
    engines.collect()
}

/// The mutants that pass on an engine, and how many were tried.
fn passing(
    environment: &CommandEnvironment,
    files: &[String],
    kinds: &mut BTreeSet<String>,
) -> (Vec<String>, u64) {
    let mut neighbours = Neighbours::of(environment);
    // Where a map takes every user, another one has no place.
    let (rest, _) = STRANGERS.split_once("shard_maps:").unwrap();
    let has_map = ["shard_maps:", ""].into_iter().find(|section| {
        let text = if section.is_empty() {
            format!("{rest}{ROUTES}")
        } else {
            format!("{STRANGERS}{ROUTES}")
        };
        environment.write("topology/strangers.yaml", text).unwrap();
        environment.run(["validate"]).unwrap().code() == Some(0)
    });
    neighbours.has_stranger_map = has_map == Some("shard_maps:");
    let before = cases(environment, &[]);
    assert!(before.values().all(|(_, failed)| *failed == 0), "{before:?}");
    let mut named = BTreeMap::new();
    for (number, path) in files.iter().enumerate() {
        let file: Yaml = serde_yaml::from_str(&environment.read(path).unwrap()).unwrap();
        let mut tests = Mapping::new();
        for (at, (name, test)) in mutants(&file, &neighbours, kinds).into_iter().enumerate() {
            let key = format!("mutant {number}-{at}.");
            tests.insert(key.clone().into(), test);
            named.insert(key, format!("{path}: {name}"));
        }
        let mut written =
            Mapping::from_iter([("version".into(), 1.into()), ("route_tests".into(), tests.into())]);
        if let Some(session) = file.get("session") {
            written.insert("session".into(), session.clone());
        }
        let text = serde_yaml::to_string(&written).unwrap();
        environment
            .write(format!("tests/mutants-{number}.yaml"), text)
            .unwrap();
    }
    let after = cases(environment, &["mutant "]);
    let tried = after.values().map(|(cases, _)| cases).sum();
    if after.values().all(|(cases, failed)| cases == failed) {
        return (Vec::new(), tried);
    }
    // At most 1,000 findings are kept: the first that pass are enough to begin with.
    let output = environment.run(["test", "--format", "json", "mutant "]).unwrap();
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    let messages: Vec<&str> = findings
        .iter()
        .filter_map(|finding| finding["message"].as_str())
        .collect();
    let mut passing = Vec::new();
    for (key, name) in &named {
        for engine in after.keys() {
            let fails = |message: &&&str| {
                message.starts_with(&format!("`{key}")) && message.ends_with(engine.as_str())
            };
            if !messages.iter().any(|message| fails(&message)) {
                passing.push(format!("{engine}: {name}"));
            }
        }
    }
    (passing, tried)
}

#[test]
fn every_wrong_expectation_of_every_example_fails() {
    let mut passed = Vec::new();
    let mut kinds = BTreeSet::new();
    let mut tried = 0;
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !path.join("shardwright.yaml").exists() {
            continue;
        }
        let files = std::fs::read_dir(path.join("tests")).unwrap();
        let mut files: Vec<String> = files
            .map(|file| format!("tests/{}", file.unwrap().file_name().to_str().unwrap()))
            .collect();
        files.sort();
        let (passing, count) = passing(&example(&name), &files, &mut kinds);
        passed.extend(passing.iter().map(|passing| format!("{name}: {passing}")));
        tried += count;
    }
    for (engines, rules, tests) in [
        ("bundled, proxysql-2.7", "", ""),
        ("proxysql-2.7", RULES_OF_PROXYSQL, KINDS_OF_PROXYSQL),
    ] {
        let topology = format!("{OTHER_TOPOLOGY}{rules}");
        let tests = format!("{OTHER_KINDS}{tests}");
        let files = [
            ("topology/shop.yaml", topology.as_str()),
            ("tests/routes.yaml", &tests),
        ];
        let project = support::project(engines, &files);
        let (passing, count) = passing(&project, &["tests/routes.yaml".to_owned()], &mut kinds);
        passed.extend(passing);
        tried += count;
    }
    assert!(
        passed.is_empty(),
        "{} of {tried} pass:\n{}",
        passed.len(),
        passed.join("\n")
    );
    // Every kind that the language has was tried, but for those that no project here has.
    let schema = std::fs::read_to_string(examples().join("../schemas/tests.v1.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let fields = schema["$defs"]["expect"]["properties"].as_object().unwrap();
    let untried: Vec<&String> = fields.keys().filter(|field| !kinds.contains(*field)).collect();
    assert_eq!(
        untried,
        ["backend_schema", "served_by", "throttled_by"],
        "of {tried}"
    );
}
