//! Continuous integration as users run it: the steps of `docs/ci.md`, the scripts of `ci/`, the steps of `action.yml` and of
//! `ci/gitlab.yml`, and the hooks, each in scratch repositories, against a service that answers as GitHub and GitLab do.

mod action;
mod checks;
mod comments;
mod gitlab;
mod hooks;
mod issues;
mod page;
mod service;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use shardwright_testkit::{ADMIN_PASSWORD, CommandEnvironment, ProxyOptions, ProxyProcess};

use crate::support::PROGRAM;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Runs a script as a step of a pipeline runs: the first command that fails ends it.
fn shell(directory: &Path, home: &Path, script: &str, variables: &[(&str, &str)]) -> Output {
    let programs = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    Command::new("sh")
        .args(["-euc", script])
        .current_dir(directory)
        .env_clear()
        .envs([
            ("PATH", path.as_str()),
            ("LC_ALL", "C.UTF-8"),
            ("NO_COLOR", "1"),
            ("SHARDWRIGHT_ADMIN_PASSWORD", ADMIN_PASSWORD),
            ("APP_PASSWORD", "a-password"),
        ])
        .env("HOME", home)
        .env("TMPDIR", std::env::temp_dir())
        .env("SHARDWRIGHT_SOURCE", repository())
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Ada")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "ada@example.com")))
        .envs(variables.iter().copied())
        .output()
        .expect("sh is there")
}

fn shown(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr];
    texts
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .concat()
}

/// Runs a script that must succeed.
fn succeeds(directory: &Path, environment: &CommandEnvironment, script: &str) {
    let output = shell(directory, &environment.outside("home"), script, &[]);
    assert_eq!(output.status.code(), Some(0), "{script}\n{}", shown(&output));
}

/// Writes a project into a folder, with a bundled proxy as its target; it has no `project:`.
fn write_project(environment: &CommandEnvironment, folder: &str, admin: u16) {
    let project = format!(
        "version: 1\nengines: [bundled, proxysql-2.7]\ntargets:\n  px-1:\n    engine: bundled\n    admin: \"127.0.0.1:{admin}\"\n    \
         user: admin\n    password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}\n"
    );
    let topology = "version: 1\nclusters:\n  one: {type: single, servers: {db: {host: one.db.localhost}}}\n  two: {type: single, \
                    servers: {db: {host: two.db.localhost}}}\nusers:\n  app: {password: {env: APP_PASSWORD}, cluster: one}\n";
    let tests = "version: 1\nroute_tests:\n  statements of app:\n    session: {user: app}\n    query: SELECT 1\n    \
                 expect: {cluster: one}\n";
    for (path, text) in [
        ("shardwright.yaml", project.as_str()),
        ("topology/shop.yaml", topology),
        ("tests/routes.yaml", tests),
    ] {
        environment.write(format!("{folder}/{path}"), text).unwrap();
    }
}

/// A proxy without a configuration, in a data directory of this name.
fn proxy(environment: &mut CommandEnvironment, name: &str) -> ProxyProcess {
    environment.set("APP_PASSWORD", "a-password");
    ProxyProcess::start(environment, ProxyOptions::new(environment.outside(name))).unwrap()
}

/// A repository of git with a project in each of these folders, formatted, compiled and committed.
fn commit_projects(environment: &CommandEnvironment, folders: &[&str]) {
    for folder in folders {
        let script = format!("shardwright -C '{folder}' fmt\nshardwright -C '{folder}' compile");
        succeeds(&environment.project(), environment, &script);
    }
    succeeds(
        &environment.project(),
        environment,
        "git init --quiet --initial-branch main\nprintf '%s\\n' shardwright-reports/ .shardwright/ >.gitignore\n\
         git add .\ngit commit --quiet --message 'The proxies'",
    );
}
