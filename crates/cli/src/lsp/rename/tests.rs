//! Renames of any name of any project: refused, or every environment means the same afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use shardwright_compiler::{Lock, compile};
use shardwright_routing::RoutingTable;
use shardwright_rules::decide::Index;
use shardwright_rules::{EngineId, Outcome, SessionView, Statement};
use shardwright_topology::{Options, read_project_with};

use super::Renaming;
use crate::lsp::analysis::Analysis;

const CLUSTERS: [&str; 3] = ["one", "two", "three"];
const ENVIRONMENTS: [Option<&str>; 3] = [None, Some("prod"), Some("stage")];

/// One way to write something.
fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(choices)
}

/// Files of a project in which names are meant by letters, by variables, by generators, by patterns and in patches.
fn projects() -> impl Strategy<Value = BTreeMap<String, String>> {
    let cluster_of_user = one_of(&["one", "two", "$(var.home)", "\"$(var.home)\"", "$(var.prefix)e"]);
    let cluster_of_shard = one_of(&["one", "three", "$(var.home)", "$(c)"]);
    let policy = one_of(&["[one, two]", "[one]", "[\"t*\"]", "[\"*\"]", "[$(var.home)]"]);
    let names = one_of(&["", "for_each: {c: [one, two]}, "]);
    let value = || one_of(&["one", "two", "three"]);
    let patch = || {
        one_of(&[
            "",
            "patch:\n  clusters.one.servers.a.weight: 5\n",
            "patch:\n  users.app.cluster: two\n",
            "patch:\n  users.app.cluster: $(var.home)\n",
            "patch:\n  shard_maps.m.shards.s1.cluster: three\n",
            "patch:\n  read_write_policies.reads.applies_to.clusters: [three]\n",
        ])
    };
    let prefix = one_of(&["on", "tw", "on"]);
    (
        (cluster_of_user, cluster_of_shard, policy, names, prefix, value()),
        (value(), patch()),
        (value(), patch()),
    )
        .prop_map(|(topology, prod, stage)| {
            let (user, shard, policy, each, prefix, home) = topology;
            let mut clusters = String::new();
            for name in CLUSTERS {
                clusters += &format!(
                    "  {name}:\n    type: replication\n    servers:\n      a: {{host: a.{name}}}\n      b: {{host: b.{name}}}\n"
                );
            }
            let (each, shard) = match (each.is_empty(), shard) {
                (false, shard) => (each, shard),
                (true, "$(c)") => ("", "two"),
                (true, shard) => ("", shard),
            };
            let key = if each.is_empty() { "s1: {keys: [1], " } else { "s-$(c): {keys: [\"$(c)\"], " };
            let kind = if each.is_empty() { "integer" } else { "text" };
            let topology = format!(
                "version: 1\nvariables:\n  home: {{type: text, default: {home}}}\n  prefix: {{type: text, default: {prefix}}}\n\
                 clusters:\n{clusters}users:\n  app: {{password: {{env: P}}, cluster: {user}}}\n  rep: {{password: {{env: P}}, cluster: two}}\n\
                 shard_maps:\n  m:\n    applies_to: {{users: [app]}}\n    key: {{name: k, type: {kind}}}\n    key_from: [comment: {{}}]\n\
                 \x20   shards:\n      {key}{each}cluster: {shard}}}\n      other: {{keys: [{}], cluster: two}}\n\
                 read_write_policies:\n  reads:\n    applies_to: {{clusters: {policy}}}\n    reads: {{all: true}}\n",
                if kind == "integer" { "9" } else { "nine" }
            );
            let environment = |(home, patch): (&str, &str)| format!("version: 1\nvariables: {{home: {home}}}\n{patch}");
            BTreeMap::from(
                [
                    (
                        "shardwright.yaml",
                        "version: 1\nengines: [proxysql-2.7, bundled]\nenvironments: [prod, stage]\n".to_owned(),
                    ),
                    ("topology/shop.yaml", topology),
                    ("env/prod.yaml", environment(prod)),
                    ("env/stage.yaml", environment(stage)),
                ]
                .map(|(path, text)| (path.to_owned(), text)),
            )
        })
}

/// What an environment does with a few statements, on each engine; its errors if it has some.
fn behaviour(texts: &BTreeMap<String, String>, environment: Option<&str>, new: &str) -> Vec<String> {
    let options = Options {
        environment: environment.map(str::to_owned),
        ..Options::default()
    };
    let loaded = read_project_with(Path::new("/nowhere/at/all"), &options, texts);
    let Some(project) = &loaded.project else {
        let problems = loaded.problems.sorted();
        return problems
            .iter()
            .map(|problem| format!("error {}", problem.code))
            .collect();
    };
    let mut lines = Vec::new();
    for engine in [EngineId::Proxysql27, EngineId::Bundled] {
        let compiled = compile(project, engine, &Lock::default(), &Default::default());
        if compiled.problems.has_errors() {
            lines.push(format!("{engine}: cannot be compiled"));
            continue;
        }
        let table = RoutingTable::new(compiled.configuration.clone());
        for user in ["app", "rep", new] {
            for text in [
                "/* k=1 */ SELECT a FROM t",
                "/* k=1 */ UPDATE t SET a=1",
                "/* k=9 */ SELECT a FROM t",
                "/* k=one */ SELECT a FROM t",
                "/* k=two */ UPDATE t SET a=1",
                "/* k=nine */ UPDATE t SET a=1",
                "SELECT 1",
            ] {
                let session = SessionView {
                    user,
                    ..SessionView::default()
                };
                let decision = table.explain(&session, &Statement::new(text.as_bytes(), Default::default()));
                let place = match &decision.outcome {
                    Outcome::Route(route) => {
                        let configuration = table.configuration();
                        let cluster = configuration.cluster_of(route.hostgroup);
                        // Users whom the project does not name have no cluster.
                        cluster.map_or_else(
                            || "elsewhere".to_owned(),
                            |cluster| {
                                format!("{} writer={}", cluster.name, cluster.writer == route.hostgroup)
                            },
                        )
                    }
                    Outcome::Reject(rejection) => format!("error {}", rejection.code),
                    other => format!("{other:?}"),
                };
                lines.push(format!("{engine} {user} {text}: {place}"));
            }
        }
    }
    lines
}

/// The places of names in a project, for proptest to choose from.
fn rename_at(
    texts: &BTreeMap<String, String>,
    pick: usize,
    new: &str,
) -> Option<(String, BTreeMap<String, String>)> {
    let options = Options::default();
    let analysis = Analysis::of(Path::new("/nowhere/at/all"), &options, texts);
    let symbols: Vec<_> = analysis.symbols().iter().collect();
    let symbol = symbols.get(pick % symbols.len().max(1))?;
    let renaming = Renaming::of(&analysis, symbol).ok()?;
    let old = analysis
        .loaded
        .sources
        .slice(renaming.definitions[0].span)
        .to_owned();
    let edits = renaming.edits(new).ok()?;
    Some((old, super::unchanged::edited(&analysis, texts.clone(), &edits)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn what_is_renamed_means_the_same_in_every_environment(
        texts in projects(),
        pick in any::<usize>(),
        new in proptest::sample::select(vec!["uno", "t9", "zzz", "a1"]),
    ) {
        let Some((old, after)) = rename_at(&texts, pick, new) else {
            return Ok(());
        };
        for environment in ENVIRONMENTS {
            let as_renamed = |line: &String| line.replace(&format!(": {old} "), &format!(": {new} "));
            // Users are asked for by name: what the old one did, the new one does.
            let of_user = |line: &String| line.replace(&format!(" {old} "), &format!(" {new} "));
            // Before, nobody has the new name.
            let is_of_nobody = |line: &&String| line.contains(&format!(" {new} "));
            let before: BTreeSet<String> = behaviour(&texts, environment, new)
                .iter()
                .filter(|line| !is_of_nobody(line))
                .map(as_renamed)
                .map(|line| if ["app", "rep"].contains(&&*old) { of_user(&line) } else { line })
                .collect();
            let renamed: BTreeSet<String> = behaviour(&after, environment, new).into_iter().collect();
            let missing: Vec<_> = before.difference(&renamed).collect();
            let is_user = ["app", "rep"].contains(&&*old);
            prop_assert!(
                missing.is_empty() || is_user && missing.iter().all(|line| line.contains(&format!(" {old} "))),
                "{environment:?}: {old} → {new}: {missing:?}\n{after:#?}"
            );
        }
    }
}

#[test]
fn names_that_only_an_environment_means_are_not_renamed_alone() {
    let base = |user: &str| {
        format!(
            "version: 1\nvariables:\n  home: {{type: text, default: two}}\nclusters:\n  one: {{type: single, servers: {{a: {{host: a}}}}}}\n  \
             two: {{type: single, servers: {{a: {{host: b}}}}}}\nusers:\n  app: {{password: {{env: P}}, cluster: {user}}}\n"
        )
    };
    let project = "version: 1\nengines: [bundled]\nenvironments: [prod]\n";
    for (user, prod, refusal) in [
        ("$(var.home)", "variables: {home: one}\n", true),
        (
            "two",
            "patch:\n  users.app.cluster: $(var.home)\nvariables: {home: one}\n",
            true,
        ),
        ("two", "patch:\n  users.app.cluster: one\n", true),
        ("two", "patch:\n  clusters.one.servers.a.weight: 5\n", false),
        ("one", "variables: {home: two}\n", false),
    ] {
        let texts: BTreeMap<String, String> = BTreeMap::from(
            [
                ("shardwright.yaml", project.to_owned()),
                ("topology/a.yaml", base(user)),
                ("env/prod.yaml", format!("version: 1\n{prod}")),
            ]
            .map(|(path, text)| (path.to_owned(), text)),
        );
        let analysis = Analysis::of(Path::new("/nowhere/at/all"), &Options::default(), &texts);
        assert!(analysis.loaded.project.is_some(), "{texts:?}");
        let symbols = analysis.symbols();
        let symbol = symbols
            .iter()
            .find(|symbol| {
                symbol.is_definition()
                    && symbol
                        .addresses()
                        .iter()
                        .any(|address| &**address == "clusters.one")
            })
            .unwrap();
        let edits = Renaming::of(&analysis, symbol).unwrap().edits("uno");
        match (&edits, refusal) {
            (Err(why), true) => assert!(why.contains("in environment prod"), "{why}"),
            (Ok(edits), false) => {
                let after = super::unchanged::edited(&analysis, texts.clone(), edits);
                for environment in [None, Some("prod")] {
                    let lines = behaviour(&after, environment, "uno");
                    assert!(!lines.iter().any(|line| line.starts_with("error ")), "{lines:?}");
                }
            }
            _ => panic!("{user} {prod}: {edits:?}"),
        }
    }
}
