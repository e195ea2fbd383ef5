//! `docs/ci.md` as it stands: its files, its steps on a repository of git, with the bundled proxy as the target. And the script
//! that keeps one comment up to date, against a service that answers as GitHub and GitLab do.

mod service;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use shardwright_testkit::{ADMIN_PASSWORD, CommandEnvironment, ProxyOptions, ProxyProcess};

use self::service::Service;
use crate::support::PROGRAM;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A block of the page with the comment above it.
struct Block {
    /// What stands behind `<!-- `.
    mark: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut mark, mut open): (Option<String>, Option<Block>) = (None, None);
    for line in page.lines() {
        if let Some(block) = &mut open {
            if line == "```" {
                blocks.extend(open.take());
            } else {
                block.text.push_str(line);
                block.text.push('\n');
            }
        } else if let Some(comment) = line.strip_prefix("<!-- ") {
            mark = comment.strip_suffix(" -->").map(str::to_owned);
        } else if line.starts_with("```") {
            let mark = mark.take().unwrap_or_default();
            open = Some(Block {
                mark,
                text: String::new(),
            });
        }
    }
    blocks
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

#[test]
fn the_steps_of_the_page_work_as_they_stand() {
    let page = std::fs::read_to_string(repository().join("docs/ci.md")).unwrap();
    let mut home = CommandEnvironment::new(PROGRAM).unwrap();
    home.set("APP_PASSWORD", "a-password");
    let proxy = ProxyProcess::start(&home, ProxyOptions::new(home.outside("data"))).unwrap();
    let port = proxy.admin().port().to_string();
    let directory = home.project();
    let mut last: Option<Output> = None;
    let mut steps = 0;
    for Block { mark, text } in blocks(&page) {
        if let Some(path) = mark.strip_prefix("file: ") {
            home.write(path, text.replace("6032", &port)).unwrap();
        } else if mark.starts_with("step") {
            let expected = mark
                .strip_prefix("step: exits ")
                .map_or(0, |code| code.parse().unwrap());
            let output = shell(&directory, &home.outside("home"), &text, &[]);
            assert_eq!(output.status.code(), Some(expected), "{text}\n{}", shown(&output));
            last = Some(output);
            steps += 1;
        } else if mark == "shows" {
            let printed = shown(last.as_ref().expect("a step stands in front"));
            for line in text.lines() {
                assert!(printed.contains(line), "{line}\n{printed}");
            }
        }
    }
    assert!(steps >= 8, "{steps} steps");
}

#[test]
fn the_templates_are_yaml_and_name_what_is_there() {
    for path in ["action.yml", "ci/gitlab.yml", ".pre-commit-hooks.yaml"] {
        let text = std::fs::read_to_string(repository().join(path)).unwrap();
        let mut sources = shardwright_diagnostics::Sources::new();
        let (document, problems) = shardwright_documents::read(&mut sources, path, text.as_bytes());
        assert!(problems.is_empty() && document.complete, "{path}");
        for script in ["check", "comment"] {
            if text.contains(&format!("ci/{script}\"")) {
                assert!(repository().join("ci").join(script).is_file(), "{path}: {script}");
            }
        }
    }
    let action = std::fs::read_to_string(repository().join("action.yml")).unwrap();
    for variable in [
        "SHARDWRIGHT",
        "DIRECTORY",
        "ENVIRONMENT",
        "BASELINE",
        "PLAN",
        "OUT",
    ] {
        let check = std::fs::read_to_string(repository().join("ci/check")).unwrap();
        assert!(check.contains(&format!("#   {variable} ")), "{variable}");
        assert!(action.contains(&format!("        {variable}: ")), "{variable}");
    }
}

/// A project whose second rule is never reached, and more rules.
fn with_dead_rules(environment: &CommandEnvironment, dead: usize) {
    let project = "version: 1\nengines: [proxysql-2.7]\n";
    environment.write("shardwright.yaml", project).unwrap();
    let mut topology = "version: 1\nclusters:\n  a: {type: single, servers: {s: {host: s.db}}}\nusers:\n  \
                        app: {password: {env: APP_PASSWORD}, cluster: a}\nquery_rules:\n  own:\n    rules:\n"
        .to_owned();
    for rule in 0..=dead {
        topology.push_str(&format!(
            "      - {{match_digest: \"^SELECT x\", cluster: a, timeout: {}, apply: 1}}\n",
            1000 + rule
        ));
    }
    environment.write("topology/shop.yaml", topology).unwrap();
}

#[test]
fn findings_of_a_baseline_do_not_fail_the_checks_and_new_ones_do() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let check = |variables: &[(&str, &str)]| {
        let script = "shardwright fmt\nshardwright compile\n\"$SHARDWRIGHT_SOURCE/ci/check\"";
        shell(
            &environment.project(),
            &environment.outside("home"),
            script,
            variables,
        )
    };
    with_dead_rules(&environment, 1);
    let output = check(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(
        shown(&output).contains("== shardwright lint: exit code 3"),
        "{}",
        shown(&output)
    );
    let arguments = ["lint", "--baseline", "known.json", "--update-baseline"];
    environment.run(arguments).unwrap();
    let output = check(&[("BASELINE", "known.json")]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    with_dead_rules(&environment, 2);
    let output = check(&[("BASELINE", "known.json")]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
}

#[test]
fn a_target_that_cannot_be_read_is_neither_drift_nor_none() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    with_dead_rules(&environment, 0);
    let nobody = shardwright_testkit::ReservedPort::new().unwrap();
    let project = format!(
        "version: 1\nengines: [proxysql-2.7]\ntargets:\n  px: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: \
         APP_PASSWORD}}}}\n",
        nobody.address()
    );
    environment.write("shardwright.yaml", project).unwrap();
    let script = "\"$SHARDWRIGHT_SOURCE/ci/drift\"";
    let outputs = environment.outside("outputs");
    let variables = [("GITHUB_OUTPUT", outputs.to_str().unwrap())];
    let output = shell(
        &environment.project(),
        &environment.outside("home"),
        script,
        &variables,
    );
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert_eq!(std::fs::read_to_string(outputs).unwrap(), "drift=unknown\n");
}

/// Runs `ci/comment` on a plan; gives what it printed.
fn comment(service: &Service, plan: &str, variables: &[(&str, &str)]) -> Output {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("plan.md", plan).unwrap();
    let url = service.url();
    let mut all = vec![
        ("GITHUB_API_URL", url.as_str()),
        ("GITHUB_REPOSITORY", "shop/topology"),
        ("CI_API_V4_URL", url.as_str()),
        ("CI_PROJECT_ID", "7"),
    ];
    all.extend(variables);
    let script = "\"$SHARDWRIGHT_SOURCE/ci/comment\" plan.md";
    shell(&environment.project(), &environment.outside("home"), script, &all)
}

#[test]
fn a_change_keeps_one_comment_for_each_marker() {
    let github: &[(&str, &str)] = &[("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "a-token")];
    let gitlab: &[(&str, &str)] = &[("CI_MERGE_REQUEST_IID", "12"), ("GITLAB_TOKEN", "a-token")];
    for variables in [github, gitlab] {
        let service = Service::start("a-token");
        // More than a page of what people said, one of them about the marker.
        for number in 0..130 {
            service.say(&format!("comment {number}\n<!-- shardwright:plan env=prod -->"));
        }
        let said = |plan: &str| {
            let output = comment(&service, plan, variables);
            assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
            assert!(!shown(&output).contains("a-token"));
            shown(&output).trim().to_owned()
        };
        let prod = "<!-- shardwright:plan env=prod -->\n### Plan `1` \"quoted\" \\ and\n| ü |\n";
        assert_eq!(said(prod), "created 131");
        assert_eq!(
            said("<!-- shardwright:plan env=staging -->\n### Plan `2`\n"),
            "created 132"
        );
        let later = prod.replace("`1`", "`3`");
        assert_eq!(said(&later), "updated 131");
        assert_eq!(service.comments().len(), 132);
        assert_eq!(service.comments()[130], later);
    }
}

#[test]
fn a_comment_that_cannot_be_written_says_why() {
    let service = Service::start("a-token");
    let plan = "<!-- shardwright:plan -->\n### Plan `1`\n";
    let refused = comment(
        &service,
        plan,
        &[("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "another")],
    );
    assert_ne!(refused.status.code(), Some(0));
    assert!(shown(&refused).contains("401"), "{}", shown(&refused));
    for (plan, variables, expected) in [
        (plan, &[][..], "neither a merge request"),
        (
            "# Notes\n",
            &[("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "a-token")][..],
            "does not begin with the marker",
        ),
    ] {
        let output = comment(&service, plan, variables);
        assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
        assert!(shown(&output).contains(expected), "{}", shown(&output));
    }
    assert_eq!(service.comments().len(), 0);
}
