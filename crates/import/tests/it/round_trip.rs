//! What is emitted for ProxySQL is read back as the same rows and the same rules.

use std::collections::BTreeMap;
use std::path::Path;

use shardwright_diagnostics::{Severity, Sources, Span};
use shardwright_import::{Language, read};
use shardwright_rules::{Body, Configuration, EngineId, HostgroupId, Refuser, RefusingHostgroup};
use shardwright_targets::emit::{self, Cell, Table};
use shardwright_topology::{Options, read_project};

/// The examples of the repository, as far as they are compiled for ProxySQL.
fn examples() -> Vec<(String, Configuration)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut examples = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if !path.join("shardwright.yaml").exists() {
            continue;
        }
        let loaded = read_project(&path, &Options::default());
        let Some(project) = loaded.project else { continue };
        let compiled = shardwright_compiler::compile(
            &project,
            EngineId::Proxysql27,
            &Default::default(),
            &Default::default(),
        );
        if !compiled.problems.has_errors() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            examples.push((name, (*compiled.configuration).clone()));
        }
    }
    examples
}

type Rows = Vec<(Table, Vec<(&'static str, Cell)>)>;

/// Rows without what only a topology has: where they came from. Hand-written YAML has no comments on some of them.
fn rows(configuration: &Configuration) -> Rows {
    let mut rows: Rows = emit::rows(configuration)
        .unwrap()
        .into_iter()
        .map(|row| {
            let columns = row
                .columns
                .into_iter()
                .filter(|(name, _)| *name != "comment")
                .collect();
            (row.table, columns)
        })
        .collect();
    rows.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    rows
}

/// Rules without what people read.
fn meaning(configuration: &Configuration) -> Vec<(u32, u32, String)> {
    let rules = configuration.graph.rules.iter().map(|rule| {
        let Body::Engine(engine) = &rule.body else {
            panic!("compiled to rows")
        };
        let mut engine = engine.clone();
        engine.comment = None;
        (rule.id, rule.flag_in, serde_json::to_string(&engine).unwrap())
    });
    rules.collect()
}

/// Reads what was emitted and compares; `same` makes texts equal that only the emitted form tells apart.
fn reads_back(
    name: &str,
    configuration: &Configuration,
    path: &str,
    text: &str,
    same: fn(&str) -> String,
) -> Read {
    let mut sources = Sources::new();
    let language = Language::of_path(path);
    let file = read(
        &mut sources,
        path,
        text.as_bytes(),
        language,
        EngineId::Proxysql27,
    );
    let serious: Vec<_> = file
        .problems
        .sorted()
        .into_iter()
        .filter(|problem| problem.severity != Severity::Info)
        .collect();
    assert!(serious.is_empty(), "{name}: {serious:?}");
    assert!(file.unmodelled.is_empty(), "{name}: {:?}", file.unmodelled);
    let read = &file.configuration;
    let comparable = |configuration| {
        let rules = meaning(configuration).into_iter();
        rules
            .map(|(id, flag, rule)| (id, flag, same(&rule)))
            .collect::<Vec<_>>()
    };
    assert_eq!(comparable(read), comparable(configuration), "{name}");
    assert_eq!(read.settings, configuration.settings, "{name}");
    assert_eq!(read.variables, configuration.variables, "{name}");
    assert_eq!(read.firewall.len(), configuration.firewall.len(), "{name}");
    (file.configuration, file.origins, sources)
}

type Read = (Configuration, BTreeMap<String, Span>, Sources);

#[test]
fn emitted_files_are_read_back() {
    let examples = examples();
    assert!(examples.len() >= 5, "{}", examples.len());
    let mut files = 0;
    for (name, configuration) in examples {
        let sql = emit::sql(&configuration).unwrap();
        let (read, origins, sources) = reads_back(&name, &configuration, "rules.sql", &sql, str::to_owned);
        assert_eq!(rows(&read), rows(&configuration), "{name}");
        for rule in &read.graph.rules {
            let place = sources.slice(origins[rule.address.as_str()]);
            assert!(place.starts_with(&format!("({}, ", rule.id)), "{name}: {place}");
        }
        // Not everything can stand in a configuration file.
        let Ok(cnf) = emit::cnf(&configuration) else {
            continue;
        };
        let quotes = |rule: &str| rule.replace("\\\"", "\\\\x22");
        let (read, ..) = reads_back(&name, &configuration, "proxysql.cnf", &cnf, quotes);
        assert_eq!(rows(&read).len(), rows(&configuration).len(), "{name}");
        files += 1;
    }
    assert!(files >= 3, "{files}");
}

#[test]
fn a_hostgroup_that_refuses_is_read_back_as_one() {
    let refusing = |id| RefusingHostgroup {
        id: HostgroupId(id),
        address: format!("mysql_servers.{id}").into(),
        reason: "SW351: no shard key: it's none".into(),
        refuser: Refuser::Service,
        host: "127.0.0.1".into(),
        port: 6100,
    };
    let mut configuration = Configuration::empty(EngineId::Proxysql27);
    configuration.refusing = vec![refusing(9), refusing(10)];
    for (path, text) in [
        ("rules.sql", emit::sql(&configuration).unwrap()),
        ("proxysql.cnf", emit::cnf(&configuration).unwrap()),
    ] {
        let (read, origins, _) = reads_back(path, &configuration, path, &text, str::to_owned);
        assert_eq!(read.refusing, configuration.refusing, "{path}");
        assert!(read.hostgroups.is_empty(), "{path}");
        assert!(origins.contains_key("mysql_servers.9"), "{path}");
    }
    // A second server there would take what the first refuses.
    let second = "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (9, 'db1');\nLOAD MYSQL SERVERS TO RUNTIME;\n";
    let text = emit::sql(&configuration).unwrap() + second;
    let (read, ..) = reads_back("two", &configuration, "rules.sql", &text, str::to_owned);
    assert_eq!(read.refusing, configuration.refusing[1..]);
    assert_eq!(read.hostgroups[0].members[0].host, "db1");
}
