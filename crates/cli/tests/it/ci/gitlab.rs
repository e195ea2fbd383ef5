//! The jobs of `ci/gitlab.yml`, run as the runner of GitLab runs them: the scripts of a job are one shell.

use std::process::Output;

use serde_yaml::Value;
use shardwright_testkit::CommandEnvironment;

use super::service::Service;
use super::{commit_projects, proxy, repository, shell, shown, write_project};
use crate::support::PROGRAM;

/// Runs a job with these variables of the pipeline.
fn job(name: &str, environment: &CommandEnvironment, variables: &[(&str, &str)]) -> Output {
    let text = std::fs::read_to_string(repository().join("ci/gitlab.yml")).unwrap();
    let template: Value = serde_yaml::from_str(&text).unwrap();
    let named = |map: &Value| -> Vec<(String, String)> {
        let entries = map.as_mapping().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        entries.map(|(name, value)| (text(name), text(value))).collect()
    };
    let mut all = named(&template["variables"]);
    all.extend(
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    // Those of a job name those of the pipeline.
    for (name, value) in named(&template[name]["variables"]) {
        let value = match value.strip_prefix('$') {
            Some(other) => all
                .iter()
                .rev()
                .find(|(known, _)| known == other)
                .unwrap()
                .1
                .clone(),
            None => value,
        };
        all.push((name, value));
    }
    // The template gets its scripts from where it was included from.
    let scripts = environment.outside("included");
    std::fs::create_dir_all(&scripts).unwrap();
    if !scripts.join("main").exists() {
        std::os::unix::fs::symlink(repository(), scripts.join("main")).unwrap();
    }
    all.push((
        "SHARDWRIGHT_SCRIPTS".to_owned(),
        format!("file://{}", scripts.display()),
    ));
    let lines = |value: &Value| -> Vec<String> {
        let lines = value.as_sequence().unwrap().iter();
        lines.map(|line| line.as_str().unwrap().to_owned()).collect()
    };
    let before = lines(&template[".shardwright-scripts"]["before_script"]);
    let script = [before, lines(&template[name]["script"])].concat().join("\n");
    let all: Vec<(&str, &str)> = all
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    shell(
        &environment.project(),
        &environment.outside("home"),
        &script,
        &all,
    )
}

#[test]
fn a_merge_request_gets_its_checks_and_its_comment() {
    let service = Service::start("a-token");
    let of_service = service.gitlab();
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    let folder = "proxies/the shop";
    write_project(&environment, folder, live.admin().port());
    commit_projects(&environment, &[folder]);
    let mut variables: Vec<(&str, &str)> = of_service
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    variables.extend([
        ("SHARDWRIGHT_DIRECTORY", folder),
        ("SHARDWRIGHT_PLAN", "true"),
        ("CI_MERGE_REQUEST_IID", "12"),
    ]);
    let without_token = job("shardwright", &environment, &variables);
    assert_eq!(without_token.status.code(), Some(0), "{}", shown(&without_token));
    assert!(shown(&without_token).contains("no comment: GITLAB_TOKEN is not set"));
    variables.push(("GITLAB_TOKEN", "a-token"));
    let output = job("shardwright", &environment, &variables);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(shown(&output).contains("created 1"), "{}", shown(&output));
    variables.push(("GITLAB_TOKEN", "another"));
    let refused = job("shardwright", &environment, &variables);
    assert_ne!(refused.status.code(), Some(0), "{}", shown(&refused));
    // A lock that nobody compiled fails the job before there is a plan.
    std::fs::remove_file(environment.project().join(folder).join("shardwright.lock")).unwrap();
    let stale = job("shardwright", &environment, &variables);
    assert_ne!(stale.status.code(), Some(0), "{}", shown(&stale));
    assert!(
        shown(&stale).contains("shardwright.lock is not up to date"),
        "{}",
        shown(&stale)
    );
    assert_eq!(service.comments().len(), 1);
}

#[test]
fn a_scheduled_pipeline_keeps_an_issue_and_fails_while_there_is_drift() {
    let service = Service::start("a-token");
    let of_service = service.gitlab();
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    write_project(&environment, "shop", live.admin().port());
    commit_projects(&environment, &["shop"]);
    let mut variables: Vec<(&str, &str)> = of_service
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    variables.extend([("SHARDWRIGHT_DIRECTORY", "shop"), ("GITLAB_TOKEN", "a-token")]);
    let output = job("shardwright-drift", &environment, &variables);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("created 1"), "{}", shown(&output));
    assert!(service.issues()[0].is_open);
}

#[test]
fn scripts_that_cannot_be_fetched_fail_the_job() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let output = job(
        "shardwright",
        &environment,
        &[("SHARDWRIGHT_REF", "no-such-branch")],
    );
    assert_ne!(output.status.code(), Some(0), "{}", shown(&output));
}
