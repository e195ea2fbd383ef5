//! The commands themselves: help, exit codes, and what people see.

use shardwright_testkit::CommandEnvironment;

use crate::support::{PROGRAM, example};

const COMMANDS: [&str; 23] = [
    "init", "fmt", "demo", "validate", "lint", "explain", "compile", "route", "test", "diff", "plan", "show",
    "apply", "proxy", "refuse", "schema", "lsp", "prove", "traffic", "graph", "report", "simulate", "bench",
];

#[test]
fn every_command_has_an_example_in_its_help() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let overview = environment.run(["--help"]).unwrap().success().stdout;
    for command in COMMANDS {
        assert!(
            overview.contains(&format!("  {command} ")),
            "{command} is not in the overview"
        );
        let help = environment.run([command, "--help"]).unwrap().success().stdout;
        assert!(
            help.contains("Examples:\n  ") && help.contains(&format!("shardwright {command}")),
            "{help}"
        );
    }
}

#[test]
fn the_overview_reads_well() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    insta::assert_snapshot!(environment.run(["--help"]).unwrap().success().stdout);
}

#[test]
fn a_bad_command_line_is_64() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["lint", "--no-such-flag"],
        &["route", "--format", "xml"],
    ] {
        let output = environment.run(arguments).unwrap();
        assert_eq!(output.code(), Some(64), "{arguments:?}\n{}", output.stderr);
    }
}

#[test]
fn a_project_without_targets_is_told_how_to_write_one() {
    let environment = example("galera");
    for arguments in [&["plan"][..], &["plan", "--target", "x"]] {
        let output = environment.run(arguments).unwrap();
        assert_eq!(output.code(), Some(78), "{arguments:?}\n{}", output.stderr);
        assert!(
            output.stderr.contains("write targets: {local: "),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn what_a_command_line_asks_for_and_nobody_has_is_64() {
    let environment = example("tenants");
    let said = |arguments: &[&str]| {
        let output = environment.run(arguments).unwrap();
        assert_eq!(output.code(), Some(64), "{arguments:?}\n{}", output.stderr);
        output.stderr
    };
    let errors = [
        said(&["test", "no such test"]),
        said(&["lint", "--select", "SW2,SW999"]),
        said(&["lint", "--ignore", "SW999"]),
    ];
    insta::assert_snapshot!(errors.concat(), @"
    error: no test and no property has `no such test` in its name
      = help: names come from tests/**/*.yaml and are case-sensitive
    error: no code begins with SW999
      = help: codes look like SW201; SW2 selects all codes that begin with it
    error: no code begins with SW999
      = help: codes look like SW201; SW2 selects all codes that begin with it
    ");
    assert!(said(&["test", "--fail-under", "90"]).contains("<--coverage|--mutants>"));
    let format = said(&["lint", "--format", "sarif"]);
    assert!(format.contains("tip: write `--report sarif=FILE`"), "{format}");
}

/// README begins with it.
#[test]
fn the_demo_shows_each_statement_where_it_says() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let shown = environment.run(["demo"]).unwrap().success().stdout;
    assert!(shown.contains("reached europe (continents/europe)"), "{shown}");
    assert!(!shown.contains("reached no server, though"), "{shown}");
}

#[test]
fn notes_are_a_number_until_they_are_asked_for() {
    let environment = example("tenants");
    let validated = |arguments: &[&str]| {
        let arguments = [&["validate"], arguments].concat();
        environment.run(arguments).unwrap().success()
    };
    let calm = validated(&[]).stderr;
    insta::assert_snapshot!(calm, @"
    2 notes (SW322, SW334): --notes shows them
    valid for bundled, proxysql-2.7: 200 clusters, 1 user, 200 shards, 1 shard map
    ");
    let full = validated(&["--notes"]).stderr;
    assert!(
        full.contains("info[SW322]") && full.contains("info[SW334]"),
        "{full}"
    );
    let json = validated(&["--format", "json"]).stdout;
    assert!(json.contains("SW322") && json.contains("SW334"), "{json}");
}

#[test]
fn examples_validate_and_lint_clean() {
    for name in [
        "world",
        "tenants",
        "two-level",
        "schema-per-shard",
        "from-csv",
        "galera",
        "composed",
    ] {
        let environment = example(name);
        let validated = environment.run(["validate"]).unwrap();
        assert_eq!(validated.code(), Some(0), "{name}\n{}", validated.stderr);
        let linted = environment.run(["lint"]).unwrap();
        assert_eq!(
            linted.code(),
            Some(0),
            "{name}\n{}{}",
            linted.stdout,
            linted.stderr
        );
    }
}

#[test]
fn route_explains_a_statement() {
    let environment = example("world");
    let sql = "SELECT name FROM world.City WHERE Continent='Asia' AND Name='x'";
    insta::assert_snapshot!(
        environment
            .run(["route", "--user", "geo", sql])
            .unwrap()
            .success()
            .stdout
    );
    insta::assert_snapshot!(
        environment
            .run(["route", "--user", "geo", "SELECT name FROM world.City"])
            .unwrap()
            .success()
            .stdout
    );
    let json = environment
        .run(["route", "--user", "geo", "--format", "json", sql])
        .unwrap()
        .success()
        .stdout;
    insta::assert_snapshot!(json);
}

#[test]
fn compiling_twice_gives_the_same_bytes_and_check_tells_when_it_would_not() {
    let environment = example("tenants");
    assert_eq!(
        environment.run(["compile", "--check"]).unwrap().code(),
        Some(9),
        "there is no lock yet"
    );
    for engine in ["bundled", "proxysql-2.7"] {
        for emit in ["sql", "json", "tree"] {
            if engine == "bundled" && emit == "sql" {
                continue;
            }
            let run = || {
                environment
                    .run(["compile", "--engine", engine, "--emit", emit])
                    .unwrap()
                    .success()
                    .stdout
            };
            let first = run();
            assert!(!first.is_empty());
            assert_eq!(first, run(), "{engine} {emit}");
        }
    }
    assert_eq!(environment.run(["compile", "--check"]).unwrap().code(), Some(0));
}

#[test]
fn explain_knows_codes_and_addresses() {
    let environment = example("tenants");
    let page = environment.run(["explain", "SW351"]).unwrap().success().stdout;
    assert!(page.contains("missing_key"), "{page}");
    let map = environment
        .run(["explain", "shard_maps.tenants", "--engine", "proxysql-2.7"])
        .unwrap()
        .success()
        .stdout;
    assert!(
        map.contains("topology/tenants.yaml:") && map.contains("tree"),
        "{map}"
    );
    let shard = environment
        .run(["explain", "tenants/t137"])
        .unwrap()
        .success()
        .stdout;
    assert!(shard.contains("shard-137"), "{shard}");
    let bare = environment.run(["explain", "t137"]).unwrap().success().stdout;
    assert_eq!(bare, shard, "a name that one thing has");
    assert_eq!(
        environment.run(["explain", "tenants/t999"]).unwrap().code(),
        Some(64)
    );
}

/// A reader that has enough, such as `head`, is no failure.
#[test]
fn a_reader_that_goes_away_early_is_no_error() {
    let environment = example("tenants");
    for arguments in [
        &["validate", "--show", "resolved"][..],
        &["lint", "--format", "json"],
        &["compile", "--engine", "proxysql-2.7", "--emit", "sql"],
    ] {
        let mut process = environment
            .command()
            .args(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("error"), "{arguments:?}\n{stderr}");
        assert!(
            output.status.success(),
            "{arguments:?} {:?}\n{stderr}",
            output.status
        );
    }
}

#[test]
fn a_file_where_a_project_is_meant_is_answered_with_what_to_write() {
    let environment = example("tenants");
    let refused = |arguments: &[&str]| {
        let output = environment.run(arguments).unwrap();
        assert_eq!(output.code(), Some(64), "{arguments:?}\n{output}");
        output.stderr
    };
    insta::assert_snapshot!(refused(&["validate", "topology/tenants.yaml"]), @r"
    error: validate does not take topology/tenants.yaml: -C names the project
      = help: shardwright -C DIR validate
    ");
    insta::assert_snapshot!(refused(&["validate", "topology"]), @r"
    error: validate does not take topology: -C names the project
      = help: shardwright -C topology validate
    ");
    insta::assert_snapshot!(refused(&["validate", "clusters.pay"]), @r"
    error: the address clusters.pay needs --show
      = help: shardwright validate --show resolved ADDRESS prints it; -C DIR names the project
    ");
    insta::assert_snapshot!(refused(&["explain", "topology/tenants.yaml"]), @r"
    error: explain does not take topology/tenants.yaml: -C names the project
      = help: shardwright -C DIR explain
    ");
    let stderr = refused(&["compile", "topology/tenants.yaml"]);
    assert!(
        stderr.contains("-C names the project: shardwright -C DIR COMMAND"),
        "{stderr}"
    );
}

#[test]
fn a_directory_without_a_project_is_named() {
    let environment = example("tenants");
    let output = environment.run(["-C", "topology", "validate"]).unwrap();
    assert_eq!(output.code(), Some(78), "{output}");
    assert!(
        output
            .stderr
            .contains("there is no project file `shardwright.yaml` in `topology`"),
        "{output}"
    );
}
