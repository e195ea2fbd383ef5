//! The hooks of `.pre-commit-hooks.yaml` in scratch repositories, run as pre-commit runs them. With `PRE_COMMIT_BIN=/path/to/pre-commit`
//! the real one runs them too.

use std::process::Command;

use serde_yaml::Value;
use shardwright_testkit::CommandEnvironment;

use super::{commit_projects, repository, shell, shown, succeeds, write_project};
use crate::support::PROGRAM;

fn hooks() -> Vec<Value> {
    let text = std::fs::read_to_string(repository().join(".pre-commit-hooks.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// The ids of the hooks that fail for what is staged.
fn failing(environment: &CommandEnvironment, folder: &str) -> Vec<String> {
    let hooks = hooks();
    let fails = |hook: &&Value| {
        // Else pre-commit skips it where the changed files do not match, as where they are only removed.
        assert_eq!(hook["always_run"].as_bool(), Some(true), "{hook:?}");
        assert_eq!(hook["pass_filenames"].as_bool(), Some(false), "{hook:?}");
        assert_eq!(hook["language"].as_str(), Some("system"), "{hook:?}");
        let script = format!("{} -C '{folder}'", hook["entry"].as_str().unwrap());
        let before = state(environment);
        let output = shell(&environment.project(), &environment.outside("home"), &script, &[]);
        // A hook that changes files fails.
        !output.status.success() || state(environment) != before
    };
    let failing = hooks
        .iter()
        .filter(fails)
        .map(|hook| hook["id"].as_str().unwrap().to_owned());
    failing.collect()
}

fn state(environment: &CommandEnvironment) -> Vec<u8> {
    let diff = ["diff", "--no-ext-diff"];
    let output = Command::new("git")
        .arg("-C")
        .arg(environment.project())
        .args(diff)
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

/// A committed project in a folder with a blank.
fn project(folder: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    write_project(&environment, folder, 6032);
    commit_projects(&environment, &[folder]);
    environment
}

const FOLDER: &str = "proxies/the shop";

/// What somebody does before a commit, and the hooks that must fail.
type Case = (&'static str, fn(&CommandEnvironment), &'static [&'static str]);

const CASES: [Case; 5] = [
    ("nothing", |_| {}, &[]),
    (
        "a file is only removed",
        |environment| {
            std::fs::remove_file(environment.project().join(FOLDER).join("topology/shop.yaml")).unwrap();
        },
        &["shardwright-validate", "shardwright-test"],
    ),
    (
        "the lock is only removed",
        |environment| {
            std::fs::remove_file(environment.project().join(FOLDER).join("shardwright.lock")).unwrap();
        },
        &["shardwright-lock"],
    ),
    (
        "a route test goes elsewhere",
        |environment| {
            let path = format!("{FOLDER}/tests/routes.yaml");
            let tests = environment
                .read(&path)
                .unwrap()
                .replace("cluster: one", "cluster: two");
            environment.write(&path, tests).unwrap();
        },
        &["shardwright-test"],
    ),
    (
        "a file is not formatted",
        |environment| {
            let path = format!("{FOLDER}/tests/routes.yaml");
            let tests = environment
                .read(&path)
                .unwrap()
                .replace("version: 1", "version:   1");
            environment.write(&path, tests).unwrap();
        },
        &["shardwright-fmt"],
    ),
];

#[test]
fn hooks_run_for_a_project_in_a_folder_whatever_was_changed() {
    for (name, change, expected) in CASES {
        let environment = project(FOLDER);
        change(&environment);
        succeeds(&environment.project(), &environment, "git add --all");
        let failing = failing(&environment, FOLDER);
        for hook in expected {
            assert!(failing.contains(&(*hook).to_owned()), "{name}: {failing:?}");
        }
        if expected.is_empty() {
            assert!(failing.is_empty(), "{name}: {failing:?}");
        }
    }
}

#[test]
fn the_real_pre_commit_runs_them_too() {
    let Ok(program) = std::env::var("PRE_COMMIT_BIN") else {
        eprintln!("skipped: PRE_COMMIT_BIN names no pre-commit");
        return;
    };
    for (name, change, expected) in CASES {
        let environment = project(FOLDER);
        let mut configuration = "repos:\n  - repo: local\n    hooks:\n".to_owned();
        for hook in hooks() {
            let text = |key: &str| hook[key].as_str().unwrap().to_owned();
            configuration.push_str(&format!(
                "      - {{id: {}, name: {}, entry: {}, language: system, pass_filenames: {}, always_run: {}, args: [-C, {FOLDER}]}}\n",
                text("id"),
                text("name"),
                text("entry"),
                hook["pass_filenames"].as_bool().unwrap(),
                hook["always_run"].as_bool().unwrap()
            ));
        }
        environment
            .write(".pre-commit-config.yaml", configuration)
            .unwrap();
        change(&environment);
        succeeds(&environment.project(), &environment, "git add --all");
        let script = format!("'{program}' run --color never");
        let output = shell(&environment.project(), &environment.outside("home"), &script, &[]);
        assert_eq!(
            output.status.success(),
            expected.is_empty(),
            "{name}: {}",
            shown(&output)
        );
        for hook in expected {
            assert!(
                shown(&output).contains(&format!("- hook id: {hook}")),
                "{name}: {}",
                shown(&output)
            );
        }
    }
}
