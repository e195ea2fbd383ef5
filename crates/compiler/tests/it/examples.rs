//! The examples compile for every engine that they list, without warnings.

use std::path::{Path, PathBuf};

use shardwright_compiler::{Compiled, Lock, Options, compile, tree};
use shardwright_diagnostics::{Severity, render};
use shardwright_rules::EngineId;
use shardwright_topology::model::Project;
use shardwright_topology::read_project;

use crate::support::*;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

pub(crate) fn example(name: &str) -> Project {
    let loaded = read_project(&directory(name), &shardwright_topology::Options::default());
    let told = render::text::render(&loaded.problems, &loaded.sources, false);
    assert_eq!(told, "", "{name}");
    loaded.project.expect("nothing is wrong")
}

fn compiled_clean(project: &Project, engine: EngineId) -> Compiled {
    let compiled = compile(project, engine, &Lock::default(), &Options::default());
    for severity in [Severity::Error, Severity::Warning] {
        let mut told = problems(&compiled, severity);
        // Without a monitor's account, the bundled engine measures no lag, and says so.
        told.retain(|problem| {
            engine != EngineId::Bundled || !problem.starts_with("SW321: bundled does not watch")
        });
        // Nothing that a rule can do: the drivers must be told.
        told.retain(|problem| !problem.contains("a prepared SELECT after a comment opens its transaction"));
        assert_eq!(told, Vec::<String>::new(), "{engine}");
    }
    compiled
}

fn check(name: &str, cases: &[(&str, Option<&str>, &str, &str)]) {
    let project = example(name);
    for engine in EngineId::ALL {
        let decider = Decider::new(&compiled_clean(&project, engine));
        for (user, schema, statement, expected) in cases {
            let found = decider.short(user, *schema, statement).replace('`', "");
            assert_eq!(found, *expected, "{engine}: {statement}");
        }
    }
}

#[test]
fn two_levels() {
    check(
        "two-level",
        &[
            (
                "shop",
                None,
                "/* region=us, tenant=17 */ SELECT name FROM shop.orders",
                "us reader: /* region=us, tenant=17 */ SELECT name FROM shop_017.orders",
            ),
            (
                "shop",
                None,
                "/* region=ap, tenant=100 */ DELETE FROM shop.orders",
                "ap writer: /* region=ap, tenant=100 */ DELETE FROM shop_100.orders",
            ),
            (
                "shop",
                None,
                "/* region=us */ SELECT name FROM shop.orders",
                "SW351",
            ),
            (
                "shop",
                None,
                "/* tenant=17 */ SELECT name FROM shop.orders",
                "SW351",
            ),
            (
                "shop",
                None,
                "/* region=xx, tenant=17 */ SELECT 1 FROM shop.t",
                "SW352",
            ),
            (
                "shop",
                None,
                "/* region=us, tenant=101 */ SELECT 1 FROM shop.t",
                "SW352",
            ),
        ],
    );
}

#[test]
fn a_schema_for_each_shard() {
    check(
        "schema-per-shard",
        &[
            ("acct", Some("acct_0009"), "SELECT a FROM t", "accounts-1 writer"),
            (
                "acct",
                Some("acct_0511"),
                "UPDATE t SET a = 1",
                "accounts-7 writer",
            ),
            ("acct", Some("acct_0137"), "SELECT a FROM t", "accounts-7 writer"),
            ("acct", Some("acct_0512"), "SELECT a FROM t", "accounts-0 writer"),
            ("acct", None, "SELECT a FROM t", "accounts-0 writer"),
        ],
    );
    let compiled = compiled_clean(&example("schema-per-shard"), EngineId::Proxysql27);
    assert_eq!(compiled.configuration.graph.fast_routing.len(), 512);
}

#[test]
fn tenants_from_a_table() {
    check(
        "from-csv",
        &[
            (
                "app",
                Some("app"),
                "/* tenant=17 */ SELECT a FROM t",
                "north writer",
            ),
            (
                "app",
                Some("app"),
                "/* tenant=1024 */ SELECT a FROM t",
                "south writer",
            ),
            (
                "app",
                Some("app"),
                "/* tenant=57 */ SELECT a FROM t",
                "archive writer",
            ),
            ("app", Some("app"), "/* tenant=1 */ SELECT a FROM t", "SW352"),
        ],
    );
    let project = example("from-csv");
    let archive = project.topology.clusters.get_named("archive");
    assert_eq!(archive.map(|cluster| cluster.servers[0].port), Some(3307));
}

#[test]
fn a_fleet_in_a_few_lines() {
    let path = directory("fleet").join("topology/fleet.yaml");
    let lines = std::fs::read_to_string(path)
        .expect("it can be read")
        .lines()
        .count();
    assert!(lines < 60, "{lines} lines");
    let project = example("fleet");
    assert_eq!(project.topology.shard_maps[0].shards.len(), 10_000);
    compiled_clean(&project, EngineId::Proxysql27);
    let decider = Decider::new(&compiled_clean(&project, EngineId::Bundled));
    for (user, statement, expected) in [
        ("app", "/* tenant=1 */ SELECT a FROM t", "c0000 reader"),
        ("jobs", "/* tenant=10000 */ UPDATE t SET a = 1", "c2499 writer"),
        ("app", "/* tenant=4711 primary */ SELECT a FROM t", "c2499 writer"),
        ("app", "/* tenant=10001 */ SELECT a FROM t", "SW352"),
    ] {
        assert_eq!(decider.short(user, None, statement), expected, "{statement}");
    }
}

/// Chains and rules without their patterns, which the tests of statements are about.
fn graph(compiled: &Compiled) -> String {
    let mut text = String::new();
    for line in tree::render(compiled).lines() {
        let line = line.split("   # ").next().unwrap_or(line);
        let words = line.split(" -> ").collect::<Vec<_>>();
        let shown = match words.as_slice() {
            [conditions, .., action] => {
                let kinds = [
                    "text~",
                    "digest~",
                    "schema=",
                    "user=",
                    "client=",
                    "listener=",
                    "port=",
                ];
                let has = kinds.into_iter().filter(|kind| conditions.contains(kind));
                let id = conditions.split_whitespace().next().unwrap_or_default();
                let asks = has
                    .map(|kind| kind.trim_end_matches(['~', '=']))
                    .collect::<Vec<_>>()
                    .join(" ");
                format!("  {id} {asks} -> {action}")
            }
            _ => line.to_owned(),
        };
        text.push_str(&shown);
        text.push('\n');
    }
    text
}

/// The examples, by name.
pub(crate) fn names() -> Vec<String> {
    let names = std::fs::read_dir(directory("")).expect("the examples");
    let mut names: Vec<String> = names
        .filter_map(|entry| {
            let entry = entry.expect("an entry");
            let is_project = entry.path().join("shardwright.yaml").exists();
            is_project.then(|| entry.file_name().into_string().expect("a name"))
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_graph_of_every_example() {
    for name in names() {
        let loaded = read_project(&directory(&name), &shardwright_topology::Options::default());
        let Some(project) = loaded.project else { continue };
        for entry in &project.file.engines {
            let engine = EngineId::from_name(entry.name.as_str()).expect("an engine");
            let compiled = compile(&project, engine, &Lock::default(), &Options::default());
            let text = graph(&compiled);
            if text.lines().count() <= MOST_LINES {
                insta::assert_snapshot!(format!("graph_{name}_{engine}"), text);
            }
        }
    }
}

/// Larger graphs are not read by anybody; what they mean and what they cost is tested.
const MOST_LINES: usize = 200;
