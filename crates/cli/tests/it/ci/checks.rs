//! `ci/check` and `ci/drift`: what fails them, and that nothing else passes.

use std::collections::BTreeMap;
use std::process::Output;

use shardwright_testkit::CommandEnvironment;

use super::{commit_projects, proxy, shell, shown, succeeds, write_project};
use crate::support::PROGRAM;

const CHECK: &str = "\"$SHARDWRIGHT_SOURCE/ci/check\"";

fn check(environment: &CommandEnvironment, variables: &[(&str, &str)]) -> Output {
    shell(
        &environment.project(),
        &environment.outside("home"),
        CHECK,
        variables,
    )
}

/// A program in front of the real one that does `script` where its command is `command`.
fn program(environment: &CommandEnvironment, command: &str, script: &str) -> String {
    let path = environment.outside("a program");
    let text = format!(
        "#!/bin/sh\nfor word; do\n  if [ \"$word\" = {command} ]; then {script}; fi\ndone\nexec '{PROGRAM}' \"$@\"\n"
    );
    std::fs::write(&path, text).unwrap();
    succeeds(
        &environment.project(),
        environment,
        &format!("chmod +x '{}'", path.display()),
    );
    path.display().to_string()
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

#[test]
fn a_lock_that_is_old_for_one_engine_fails_the_checks() {
    for engine in ["bundled", "proxysql-2.7"] {
        let environment = CommandEnvironment::new(PROGRAM).unwrap();
        write_project(&environment, ".", 6032);
        commit_projects(&environment, &["."]);
        assert_eq!(check(&environment, &[]).status.code(), Some(0));
        // A rule more, and nobody compiled for the other engine.
        let topology = environment.read("topology/shop.yaml").unwrap();
        let more = topology + "routes:\n  no-ddl: {match: {statements: [ddl]}, refuse: not here}\n";
        environment.write("topology/shop.yaml", more).unwrap();
        succeeds(
            &environment.project(),
            &environment,
            &format!("shardwright fmt\nshardwright compile --engine {engine}"),
        );
        let output = check(&environment, &[]);
        assert_eq!(output.status.code(), Some(1), "{engine}: {}", shown(&output));
        assert!(
            shown(&output).contains("shardwright.lock is not up to date")
                && shown(&output).contains("== shardwright compile: exit code 9"),
            "{engine}: {}",
            shown(&output)
        );
        succeeds(&environment.project(), &environment, "shardwright compile");
        assert_eq!(check(&environment, &[]).status.code(), Some(0), "{engine}");
    }
}

#[test]
fn a_command_that_ends_well_and_writes_nothing_fails_the_checks() {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    write_project(&environment, ".", live.admin().port());
    commit_projects(&environment, &["."]);
    let outputs = environment.outside("outputs");
    for (command, script, missing) in [
        ("lint", "exit 0", "lint.sarif was not written"),
        ("test", "exit 0", "test.xml was not written"),
        ("plan", "exit 0", "change.plan was not written"),
        ("plan", "exit 2", "plan.md was not written"),
    ] {
        let program = program(&environment, command, script);
        // What an earlier run has left behind does not count.
        assert_eq!(check(&environment, &[("PLAN", "true")]).status.code(), Some(0));
        let variables = [
            ("PLAN", "true"),
            ("SHARDWRIGHT", program.as_str()),
            ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
        ];
        let output = check(&environment, &variables);
        assert_eq!(output.status.code(), Some(1), "{command}: {}", shown(&output));
        assert!(shown(&output).contains(missing), "{command}: {}", shown(&output));
        assert!(!outputs.exists(), "{command}: it says whether there are changes");
    }
    let nothing = check(&environment, &[("SHARDWRIGHT", "/no/such/program")]);
    assert_eq!(nothing.status.code(), Some(1), "{}", shown(&nothing));
}

#[test]
fn an_old_lock_is_not_taken_for_changes_by_the_plan() {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    write_project(&environment, ".", live.admin().port());
    commit_projects(&environment, &["."]);
    let outputs = environment.outside("outputs");
    let program = program(&environment, "plan", "rm shardwright.lock");
    let variables = [
        ("PLAN", "true"),
        ("SHARDWRIGHT", program.as_str()),
        ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
    ];
    let output = check(&environment, &variables);
    assert_eq!(output.status.code(), Some(9), "{}", shown(&output));
    assert!(!outputs.exists());
}

/// Annotations by kind, place and title.
fn annotations(text: &str) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("::")) {
        let (head, _) = line[2..].split_once("::").unwrap();
        *counted.entry(head.to_owned()).or_default() += 1;
    }
    counted
}

#[test]
fn one_problem_is_one_annotation() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    write_project(&environment, "a shop", 6032);
    commit_projects(&environment, &["a shop"]);
    let topology = environment.read("a shop/topology/shop.yaml").unwrap();
    let variables = [("GITHUB_ACTIONS", "true"), ("DIRECTORY", "a shop")];
    // An error of the language, an error of one engine, a finding, a test that fails, a file that is not formatted.
    let wrong = topology.replace("cluster: one}", "cluster: no}");
    let finding = topology.clone()
        + "query_rules:\n  own:\n    rules:\n      - {match_digest: \"^SELECT x\", cluster: one, apply: 1}\n      - \
           {match_digest: \"^SELECT x\", cluster: two, apply: 1}\n";
    let untidy = topology.replace("version: 1", "version:   1");
    for (text, expected) in [(wrong, "SW"), (finding, "SW201"), (untidy, "SW109")] {
        environment.write("a shop/topology/shop.yaml", text).unwrap();
        let output = check(&environment, &variables);
        assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
        let annotations = annotations(&shown(&output));
        assert!(
            annotations
                .keys()
                .any(|head| head.contains(expected) && head.contains("file=a shop/")),
            "{}",
            shown(&output)
        );
        assert!(
            annotations.values().all(|count| *count == 1),
            "{annotations:?}\n{}",
            shown(&output)
        );
    }
}
