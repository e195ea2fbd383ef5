//! Every field that validates is kept or refused: on each engine it changes what is compiled, or a diagnostic is about it.
//!
//! The published schema says which fields there are. The documents of `tests/fields` have each of them at least once. Each
//! field of each document is changed by itself, and the document is compiled again, for every engine. A field passes if the
//! configuration is another one, or the diagnostics are. Fields whose effect is somewhere else have a reason in `elsewhere`;
//! a field of the schema that is in no document, and has no reason, fails the test.

mod document;
mod elsewhere;
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;
use shardwright_topology::{InputFile, load};

use self::document::Document;
use self::elsewhere::{reason_of_project, reason_of_topology};
use self::schema::Schema;

/// A configuration with the problems of its files.
#[derive(Clone, PartialEq)]
struct Outcome {
    configuration: Option<String>,
    problems: Vec<Problem>,
}

/// A diagnostic, and the line that it is about.
#[derive(Clone, PartialEq)]
struct Problem {
    is_error: bool,
    text: String,
    line: Option<usize>,
}

impl Outcome {
    fn of(project: &str, topology: &str, engine: EngineId) -> Self {
        let file = |path: &str, text: &str| InputFile {
            path: path.to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let files = vec![
            file("shardwright.yaml", project),
            file("topology/t.yaml", topology),
            file("allow/batch.txt", "SELECT 1\nCOMMIT\n"),
            file("allow/other.txt", "SELECT 2 FROM t\n"),
            file("data.csv", "name,other\nx,p\ny,q\n"),
            file("other.csv", "name,other\nv,r\n"),
        ];
        let options = shardwright_topology::Options {
            now: Some("2026-03-01T12:00:00Z".parse().unwrap()),
            ..shardwright_topology::Options::default()
        };
        let loaded = load(files, &options);
        let compiled = loaded.project.as_ref();
        let compiled =
            compiled.map(|project| compile(project, engine, &Lock::default(), &Options::default()));
        let mut all = loaded.problems.sorted();
        let of_compiler = compiled.as_ref().map(|compiled| compiled.problems.sorted());
        all.extend(of_compiler.iter().flatten());
        let line = |problem: &shardwright_diagnostics::Diagnostic| {
            let span = problem.primary.as_ref()?.span;
            let text = loaded.sources.text(span.file);
            Some(text[..span.range().start].matches('\n').count())
        };
        Self {
            problems: all
                .iter()
                .map(|problem| Problem {
                    is_error: problem.severity == Severity::Error,
                    text: format!("{}: {}", problem.code, problem.message),
                    line: line(problem),
                })
                .collect(),
            configuration: compiled.map(|compiled| compiled.configuration.to_json()),
        }
    }

    fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.is_error)
    }

    fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = self
            .problems
            .iter()
            .map(|problem| problem.text.as_str())
            .collect();
        texts.sort_unstable();
        texts
    }

    /// Whether somebody who changed one thing learns of it, or gets something else.
    fn is_another_than(&self, other: &Self) -> bool {
        self.configuration != other.configuration || self.texts() != other.texts()
    }
}

fn project(engine: EngineId) -> String {
    format!("version: 1\nengines: [{engine}]\n")
}

/// The changes of a document that are silent on an engine, by the field's path in the schema and what is changed.
fn silent_changes(
    name: &str,
    text: &str,
    schema: &Schema,
    engine: EngineId,
) -> BTreeMap<(String, String), String> {
    let project = project(engine);
    let mut document = Document::read(text);
    let base = loop {
        let (rendered, lines) = document.render();
        let outcome = Outcome::of(&project, &rendered, engine);
        let Some(error) = outcome.errors().next() else {
            break outcome;
        };
        // What an engine refuses at its line is refused, and the rest of the document is tried without it.
        let at = error.line.and_then(|line| lines.get(&line)).cloned();
        let refused = at.filter(|at| at.len() > 1);
        let refused = refused.unwrap_or_else(|| panic!("{name} on {engine}: {}\n{rendered}", error.text));
        document.remove(&refused);
    };
    let mut silent = BTreeMap::new();
    for leaf in schema.leaves(&document) {
        for change in leaf.changes(&document) {
            let is_silent = |mutated: &Document| {
                !Outcome::of(&project, &mutated.render().0, engine).is_another_than(&base)
            };
            if change.ways.iter().all(is_silent) {
                silent.insert(
                    (leaf.path.clone(), change.what.clone()),
                    format!("{name} on {engine}"),
                );
            }
        }
    }
    silent
}

fn document(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fields");
    std::fs::read_to_string(directory.join(format!("{name}.yaml"))).unwrap()
}

fn check(name: &str) {
    let (schema, text) = (Schema::published("topology"), document(name));
    let mut wrong = Vec::new();
    for engine in EngineId::ALL {
        let silent = silent_changes(name, &text, &schema, engine);
        let unexplained = silent
            .into_iter()
            .filter(|((path, what), _)| reason_of_topology(path, what).is_none());
        wrong.extend(unexplained.map(|((path, what), place)| format!("{path} is silent: {what} in {place}")));
    }
    assert!(wrong.is_empty(), "{} changes\n{}", wrong.len(), wrong.join("\n"));
}

/// A test for each document.
macro_rules! documents {
    ($($name:ident)+) => {
        const DOCUMENTS: &[&str] = &[$(stringify!($name)),+];
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )+
    };
}

documents! {
    clusters
    clusters_of_others
    copies
    firewall
    generators
    generators_of_firewall
    generators_of_proxysql
    moves
    policies
    pooling
    query_rules
    query_rules_of_proxysql
    routes
    scopes
    scopes_of_tables
    settings
    settings_of_proxysql
    shard_maps
    shard_maps_by_name
    shard_maps_of_bundled
    shard_maps_of_columns
    shard_maps_of_schemas
    throttles
    users
}

#[test]
fn every_field_of_the_topology_is_in_a_document() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fields");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| {
        let name = entry.unwrap().path();
        name.file_stem().unwrap().to_string_lossy().into_owned()
    });
    let files: BTreeSet<String> = files.collect();
    let listed: BTreeSet<String> = DOCUMENTS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(files, listed);
    let schema = Schema::published("topology");
    let leaves = files
        .iter()
        .flat_map(|name| schema.leaves(&Document::read(&document(name))));
    let tried: BTreeSet<String> = leaves.map(|leaf| leaf.path).collect();
    let all = schema.paths();
    let missing: Vec<&String> = all.difference(&tried).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The project file is about targets, and little of it is compiled: the rest names the place where it has its effect.
#[test]
fn every_field_of_the_project_file_has_an_effect_or_a_reason() {
    let text = "version: 1
project: shop
engines: [{engine: proxysql-2.7, regex: re2, iterations: 3}]
ids: {hostgroups: 3000-3999, rules: 200000-299999, flags: 40000-49999}
";
    let topology = "version: 1
clusters:
  one: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
users:
  app: {password: {env: APP_PASSWORD}, cluster: one}
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}]
    shards: {all: {keys: [1], cluster: one}}
";
    let schema = Schema::published("project");
    let document = Document::read(text);
    let of = |document: &Document| Outcome::of(&document.render().0, topology, EngineId::Proxysql27);
    let base = of(&document);
    assert_eq!(base.errors().count(), 0, "{:?}", base.texts());
    let mut effective = BTreeSet::new();
    for leaf in schema.leaves(&document) {
        let changes = leaf.changes(&document);
        let is_effective = |mutated: &Document| of(mutated).is_another_than(&base);
        if changes.iter().all(|change| change.ways.iter().any(is_effective)) {
            effective.insert(leaf.path);
        }
    }
    let mut wrong = Vec::new();
    for path in schema.paths() {
        match (effective.contains(&path), reason_of_project(&path)) {
            (false, None) => wrong.push(format!("{path} has no effect here and no reason")),
            (true, Some(reason)) => wrong.push(format!(
                "{path} is compiled, and is said to be elsewhere: {reason}"
            )),
            (true, None) | (false, Some(_)) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The test would see a field that nobody reads.
#[test]
fn a_field_without_an_effect_is_found() {
    let schema = Schema::published("topology");
    let text = "version: 1
clusters: {one: {type: single, servers: {a: {host: a.db, state: draining, reason: CHG-77}}}}
users: {app: {password: {env: APP_PASSWORD}, cluster: one}}
";
    let silent = silent_changes("reason", text, &schema, EngineId::Bundled);
    let paths: Vec<&str> = silent.keys().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["$server.reason", "clusters.*.type"]);
    let unknown: Value = serde_json::json!({"properties": {"clusters": {"additionalProperties": {"properties": {"colour": {"type": "string"}}}}}});
    assert_eq!(
        Schema::of(unknown).paths().into_iter().collect::<Vec<_>>(),
        ["clusters.*.colour"]
    );
}
