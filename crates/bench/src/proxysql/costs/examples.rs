//! The examples of the repository.

use std::path::Path;

use shardwright_compiler::{Lock, Options, compile};
use shardwright_rules::{Body, Configuration, EngineId, Finder, KeyKind, MapStep, NativeStep, Scope};
use shardwright_topology::model::{EngineName, Project};
use shardwright_topology::read_project;

use super::cases::Case;
use super::scripts::{Emitted, emitted};
use super::workloads::{LONG_READ, SHORT_READ, Said, UPDATE, Workload, key_in, keys, said_by};
use crate::BenchError;

/// Every example for ProxySQL, in its first environment, with a long read of each key by each finder that a map has.
pub(super) fn all(directory: &Path) -> Result<Vec<Case>, BenchError> {
    let failed = || BenchError::io(format!("reading {}", directory.display()));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        if path.join("shardwright.yaml").is_file() {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    let cases = names.iter().map(|name| example(directory, name));
    cases.filter_map(Result::transpose).collect()
}

/// `examples/composed`: three statements by both finders, and a mixture with 80 % reads.
pub(super) fn composed(directory: &Path) -> Result<Case, BenchError> {
    let project = project(directory, "composed")?;
    let (scope, map) = maps(&project)
        .into_iter()
        .find(|(_, map)| map.map == "tenants")
        .ok_or_else(|| nothing_to_measure("composed"))?;
    let Emitted { configuration, sets } = emitted(&project, "composed")?;
    let user = user_of(&scope, &configuration).ok_or_else(|| nothing_to_measure("composed"))?;
    let said = |finder: &Finder, text: &str| -> Vec<Said> {
        let keys = keys(&map);
        let said = keys.iter().filter_map(|key| said_by(finder, key, text));
        said.map(|(schema, sql)| (user.clone(), schema, sql)).collect()
    };
    let mut workloads = Vec::new();
    let mut mixed = Vec::new();
    for (name, text) in [
        ("SELECT 1", SHORT_READ),
        ("150-byte SELECT", LONG_READ),
        ("UPDATE", UPDATE),
    ] {
        for finder in &map.finders {
            let said = said(finder, text);
            workloads.push(Workload::of(format!("{name}, {}", word(finder)), said.clone()));
            if text == LONG_READ && matches!(finder, Finder::Schema { .. }) {
                let name = format!("{name}, schema, a session for each");
                workloads.push(Workload::of_many_sessions(name, said.clone()));
            }
            // Two of five are short reads, two long ones, one writes.
            let times = if text == UPDATE { 1 } else { 2 };
            mixed.extend(std::iter::repeat_n(said, times).flatten());
        }
    }
    workloads.push(Workload::of("80 % reads, half comment, half schema", mixed));
    Ok(Case {
        name: "examples/composed".to_owned(),
        users: names(&configuration),
        sets,
        workloads,
    })
}

/// None for an example that is for the bundled engine only.
fn example(directory: &Path, name: &str) -> Result<Option<Case>, BenchError> {
    let project = project(directory, name)?;
    if !project
        .file
        .engines
        .iter()
        .any(|entry| entry.name == EngineName::ProxySql27)
    {
        return Ok(None);
    }
    let Emitted { configuration, sets } = emitted(&project, name)?;
    let mut workloads = Vec::new();
    let maps = maps(&project);
    for (scope, map) in &maps {
        for finder in &map.finders {
            let text = long_read(scope, map, &maps, &configuration);
            let said = long_reads(finder, map, scope, &text, &configuration);
            if !said.is_empty() {
                let name = format!("{} by {}, 150-byte SELECT", map.map, word(finder));
                workloads.push(Workload::of(name, said));
            }
        }
    }
    if workloads.is_empty() {
        let first = names(&configuration).into_iter().next();
        let user = first.ok_or_else(|| nothing_to_measure(name))?;
        workloads.push(Workload::of(
            "150-byte SELECT",
            [(user, None, LONG_READ.to_owned())],
        ));
    }
    Ok(Some(Case {
        name: format!("examples/{name}"),
        users: names(&configuration),
        sets,
        workloads,
    }))
}

/// A long read beside which only the key of this map is missing: with the tables of the logical schema, and a key of every
/// other level.
fn long_read(
    scope: &Scope,
    map: &MapStep,
    maps: &[(Scope, MapStep)],
    configuration: &Configuration,
) -> String {
    let Some(user) = user_of(scope, configuration) else {
        return LONG_READ.to_owned();
    };
    let met = || {
        maps.iter()
            .filter(|(scope, _)| scope.users.contains(&user))
            .map(|(_, met)| met)
    };
    let mut text = LONG_READ.to_owned();
    if let Some(schema) = met().find_map(|met| met.logical_schema.as_deref()) {
        text = text
            .replace("FROM orders", &format!("FROM {schema}.orders"))
            .replace("JOIN customers", &format!("JOIN {schema}.customers"));
    }
    let chooses_cluster = |map: &MapStep| map.shards.iter().any(|shard| shard.cluster.is_some());
    for level in met().filter(|met| chooses_cluster(met) != chooses_cluster(map)) {
        let said = |key| {
            level
                .finders
                .iter()
                .find_map(|finder| said_by(finder, key, &text))
        };
        if let Some((None, with_key)) = keys(level).first().and_then(said) {
            text = with_key;
        }
    }
    text
}

/// That read with each key, as the finder reads it.
fn long_reads(
    finder: &Finder,
    map: &MapStep,
    scope: &Scope,
    text: &str,
    configuration: &Configuration,
) -> Vec<Said> {
    let users: Vec<String> = names(configuration);
    let mut users = users.into_iter().filter(|name| scope.users.contains(name));
    match finder {
        Finder::User { template } => users
            .filter(|name| key_in(map, template, name).is_some())
            .map(|name| (name, None, text.to_owned()))
            .collect(),
        Finder::Column { column, .. } => {
            let (Some(user), Some(schema)) = (users.next(), &map.logical_schema) else {
                return Vec::new();
            };
            let of = |key: &shardwright_rules::KeyValue| {
                let literal = if map.kind == KeyKind::Integer {
                    key.to_string()
                } else {
                    format!("'{key}'")
                };
                let sql = format!(
                    "SELECT id, total, name FROM {schema}.orders WHERE {column} = {literal} AND state = 3 AND total > 100 \
                     AND created_at > 20260101 AND owner = 42 ORDER BY created_at LIMIT 20"
                );
                (user.clone(), None, sql)
            };
            keys(map).iter().map(of).collect()
        }
        _ => {
            let Some(user) = users.next() else {
                return Vec::new();
            };
            let said = keys(map)
                .into_iter()
                .filter_map(|key| said_by(finder, &key, text));
            said.map(|(schema, sql)| (user.clone(), schema, sql)).collect()
        }
    }
}

fn project(directory: &Path, name: &str) -> Result<Project, BenchError> {
    let read = |environment: Option<String>| {
        let options = shardwright_topology::Options {
            environment,
            ..Default::default()
        };
        read_project(&directory.join(name), &options)
    };
    let mut loaded = read(None);
    let first = loaded
        .project
        .as_ref()
        .and_then(|project| project.file.environments.first().cloned());
    if let Some(environment) = first {
        loaded = read(Some(environment.name.to_string()));
    }
    loaded.project.ok_or_else(|| BenchError::Output {
        what: format!("the example {name} is no project"),
        output: format!("{:?}", loaded.problems.sorted()),
    })
}

/// The maps of a project, as the bundled engine has them.
fn maps(project: &Project) -> Vec<(Scope, MapStep)> {
    let compiled = compile(project, EngineId::Bundled, &Lock::default(), &Options::default());
    let rules = &compiled.configuration.graph.rules;
    let maps = rules.iter().filter_map(|rule| match &rule.body {
        Body::Native {
            scope,
            step: NativeStep::Map(map),
        } => Some(((**scope).clone(), (**map).clone())),
        _ => None,
    });
    maps.collect()
}

fn names(configuration: &Configuration) -> Vec<String> {
    configuration.users.iter().map(|user| user.name.clone()).collect()
}

fn user_of(scope: &Scope, configuration: &Configuration) -> Option<String> {
    names(configuration)
        .into_iter()
        .find(|name| scope.users.contains(name))
}

fn word(finder: &Finder) -> &'static str {
    match finder {
        Finder::Comment { .. } => "comment",
        Finder::Schema { .. } => "schema",
        Finder::Column { .. } => "column",
        Finder::Table { .. } => "table",
        Finder::User { .. } => "user",
    }
}

fn nothing_to_measure(name: &str) -> BenchError {
    BenchError::Output {
        what: format!("nothing to measure in the example {name}"),
        output: "no map, or no user that it is about".to_owned(),
    }
}
