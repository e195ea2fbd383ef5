//! Files that a release has written are read by the next one, or refused with a sentence.
//!
//! The files below `formats/` were written by version 1 of each format. They are never edited: a change that does not read
//! them raises a version.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use insta::assert_snapshot;
use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, CommandOutput, Etcd, EtcdOptions, MariaDb, Options};

use crate::support::PROGRAM;

const RUN: &str = "20261125-191909-486-9bb37c61";
const RECORD: &str = include_str!("formats/run-1.json");
const LINES: &str = include_str!("formats/journal-1.jsonl");
const PLAN: &str = include_str!("formats/plan-1.json");
const LOCK: &str = include_str!("formats/lock-1");

/// The project that wrote the files. Nothing listens where its target is.
fn project() -> CommandEnvironment {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.set("PX_ADMIN", "admin");
    environment.set("APP_PASSWORD", "secret-of-app");
    environment
        .write("shardwright.yaml", include_str!("formats/project.yaml"))
        .unwrap();
    environment
        .write("topology/shop.yaml", include_str!("formats/topology.yaml"))
        .unwrap();
    environment.write("shardwright.lock", LOCK).unwrap();
    environment
}

fn with_run(record: &str, lines: &str) -> CommandEnvironment {
    let environment = project();
    let directory = format!(".shardwright/runs/{RUN}");
    environment
        .write(format!("{directory}/run.json"), record)
        .unwrap();
    environment
        .write(format!("{directory}/journal.jsonl"), lines)
        .unwrap();
    environment
}

fn ends(environment: &CommandEnvironment, code: i32, arguments: &[&str]) -> CommandOutput {
    let output = environment.run(arguments).unwrap();
    assert_eq!(output.code(), Some(code), "{arguments:?}: {output:?}");
    output
}

#[test]
fn a_run_of_version_1_is_in_the_history_and_can_be_taken_back() {
    let environment = with_run(RECORD, LINES);
    let history = ends(&environment, 0, &["history", "--format", "json"]).stdout;
    let history: Value = serde_json::from_str(&history).unwrap();
    let run = &history["runs"][0];
    assert_eq!(run["run"], RUN);
    assert_eq!(run["by"], "dba@here");
    assert_eq!(run["generation"], 1);
    assert_eq!(run["end"], "applied");
    // Its rows are read before anything is asked of the target, which was another one.
    let refused = ends(&environment, 4, &["rollback", RUN]);
    let told = refused.stdout + &refused.stderr;
    assert!(
        told.contains("was made on px1 at 127.0.0.1:[port], and not on px1 at"),
        "{told}"
    );
}

#[test]
fn a_run_of_a_later_version_is_refused() {
    let environment = with_run(&RECORD.replacen("\"version\":1", "\"version\":2", 1), LINES);
    for command in [&["history"][..], &["rollback", RUN]] {
        let told = ends(&environment, 1, command).stderr;
        assert!(
            told.contains(
                "run.json cannot be read as the state of a run: it has version 2, this program reads 1"
            ),
            "{told}"
        );
    }
    let unknown = format!("{LINES}{{\"phase\":\"pondering\"}}\n");
    let told = ends(&with_run(RECORD, &unknown), 1, &["history"]).stderr;
    assert!(
        told.contains("journal.jsonl cannot be read") && told.contains("pondering"),
        "{told}"
    );
}

/// The values of a shared store, by name.
fn shared() -> Vec<(String, Vec<u8>)> {
    let stored: Value = serde_json::from_str(include_str!("formats/shared-1.json")).unwrap();
    let values = stored["values"].as_array().unwrap().iter();
    values
        .map(|pair| {
            let value = BASE64_STANDARD.decode(pair[1].as_str().unwrap()).unwrap();
            (pair[0].as_str().unwrap().to_owned(), value)
        })
        .collect()
}

/// A run in a store is listed without its key, and read whole with it.
fn is_read(state: &str) {
    let mut environment = project();
    let project = include_str!("formats/project.yaml");
    environment
        .write("shardwright.yaml", format!("{project}state: {state}\n"))
        .unwrap();
    environment.set("STATE_PASSWORD", "pass");
    let history = ends(&environment, 0, &["history"]).stdout;
    assert!(
        history.starts_with(RUN) && history.contains("dba@here"),
        "{history}"
    );
    let told = ends(&environment, 1, &["rollback", RUN]).stderr;
    assert!(told.contains("STATE_KEY is not set"), "{told}");
    environment.set("STATE_KEY", "Zm9ydHkgY2hhcmFjdGVycyB0aGF0IGFyZSBhIGtleQ");
    let refused = ends(&environment, 4, &["rollback", RUN]);
    let told = refused.stdout + &refused.stderr;
    assert!(
        told.contains("was made on px1 at 127.0.0.1:[port], and not on px1 at"),
        "{told}"
    );
    environment.set("STATE_KEY", "another key of forty characters, and more");
    let told = ends(&environment, 1, &["rollback", RUN]).stderr;
    assert!(told.contains("sealed with the key"), "{told}");
}

#[test]
fn a_run_of_version_1_in_mysql_is_read() {
    let mariadb = MariaDb::start(Options::default().arg("--innodb-flush-log-at-trx-commit=1")).unwrap();
    mariadb
        .run(
            "CREATE DATABASE state; USE state; CREATE TABLE shardwright_values (project VARBINARY(255) NOT NULL, \
             name VARBINARY(255) NOT NULL, value LONGBLOB NOT NULL, PRIMARY KEY (project, name)); \
             CREATE TABLE shardwright_locks (project VARBINARY(255) NOT NULL PRIMARY KEY, holder BLOB NOT NULL, \
             expires DATETIME(6) NOT NULL); CREATE TABLE shardwright_version (only_row TINYINT NOT NULL PRIMARY KEY, \
             version INT UNSIGNED NOT NULL); INSERT INTO shardwright_version VALUES (1, 1)",
        )
        .unwrap();
    for (name, value) in shared() {
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        mariadb
            .run(format!(
                "INSERT INTO state.shardwright_values VALUES ('shop', '{name}', x'{hex}')"
            ))
            .unwrap();
    }
    // Whoever only reads needs no right to write.
    mariadb
        .create_user("swstate", "pass", Some("SELECT ON state.*"))
        .unwrap();
    let address = mariadb.address();
    is_read(&format!(
        "{{mysql: \"{address}/state\", user: swstate, password: {{env: STATE_PASSWORD}}, key: {{env: STATE_KEY}}}}"
    ));
}

#[test]
fn a_run_of_version_1_in_etcd_is_read() {
    let etcd = Etcd::start(EtcdOptions::default()).unwrap();
    let put = |name: String, value: &[u8]| {
        let (key, value) = (BASE64_STANDARD.encode(name), BASE64_STANDARD.encode(value));
        let question = serde_json::json!({"key": key, "value": value});
        etcd.ask("/v3/kv/put", &question.to_string(), None).unwrap();
    };
    put("shardwright/version".to_owned(), b"1");
    for (name, value) in shared() {
        put(format!("shardwright/shop/{name}"), &value);
    }
    is_read(&format!(
        "{{etcd: [\"{}\"], key: {{env: STATE_KEY}}}}",
        etcd.endpoint()
    ));
}

#[test]
fn a_plan_of_version_1_is_shown_and_one_of_a_later_version_refused() {
    let environment = project();
    environment.write("change.plan", PLAN).unwrap();
    let shown = ends(&environment, 0, &["show", "change.plan"]).stdout;
    assert!(shown.contains("tenants/t2"), "{shown}");
    let newer = PLAN.replacen("\"schema_version\":1", "\"schema_version\":2", 1);
    environment.write("change.plan", newer).unwrap();
    for command in [&["show", "change.plan"][..], &["apply", "change.plan"]] {
        let output = environment.run(command).unwrap();
        assert_ne!(output.code(), Some(0), "{output:?}");
        assert!(
            output
                .stderr
                .contains("the plan has schema_version 2, this program reads 1"),
            "{output:?}"
        );
    }
}

#[test]
fn a_lock_of_version_1_keeps_its_numbers_and_one_of_a_later_version_is_refused() {
    let environment = project();
    ends(&environment, 0, &["compile", "--emit", "sql", "-o", "shop.sql"]);
    let after = environment.read("shardwright.lock").unwrap();
    for line in LOCK.lines() {
        assert!(after.lines().any(|kept| kept == line), "{line} is gone:\n{after}");
    }
    environment
        .write("shardwright.lock", format!("# version: 2\n{LOCK}"))
        .unwrap();
    let told = ends(&environment, 65, &["compile", "--emit", "sql", "-o", "shop.sql"]).stderr;
    assert_snapshot!(told.lines().next().unwrap(), @"error: shardwright.lock:1: line 1 of the lock file says version 2, this program reads 1: use the newer program that wrote it");
}
