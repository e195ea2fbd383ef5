//! `init` and `fmt`: projects that start clean and stay in one form.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{PROGRAM, examples};

fn empty() -> CommandEnvironment {
    CommandEnvironment::new(PROGRAM).unwrap()
}

fn templates() -> Vec<String> {
    let listed = empty()
        .run(["init", "--list", "--format", "json"])
        .unwrap()
        .success()
        .stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let names = listed.as_array().unwrap().iter();
    names
        .map(|template| template["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn there_is_a_template_for_each_example_and_it_is_formatted() {
    let mut examples: Vec<String> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    examples.push("start".to_owned());
    examples.sort();
    let mut templates = templates();
    templates.sort();
    assert_eq!(templates, examples);
    for name in templates {
        let environment = empty();
        let written = environment.run(["init", "--template", &name, "shop"]).unwrap();
        assert_eq!(written.code(), Some(0), "{name}\n{}", written.stderr);
        let output = environment.run(["-C", "shop", "fmt", "--check"]).unwrap();
        assert_eq!(
            output.code(),
            Some(0),
            "{name}\n{}{}",
            output.stdout,
            output.stderr
        );
        // `lint` of the largest takes a minute here; what it finds besides is held by `examples.rs`.
        let output = environment.run(["-C", "shop", "validate"]).unwrap().success();
        assert!(!output.stderr.contains("warning["), "{name}\n{}", output.stderr);
    }
}

/// The examples are checked as examples; see `examples.rs`.
#[test]
fn the_template_to_start_from_is_clean() {
    let environment = empty();
    let written = environment.run(["init", "shop"]).unwrap();
    assert_eq!(written.code(), Some(0), "{}", written.stderr);
    for command in [
        &["validate"][..],
        &["lint", "--fail-on", "info"],
        &["test"],
        &["compile"],
    ] {
        let output = environment.run([&["-C", "shop"], command].concat()).unwrap();
        assert_eq!(
            output.code(),
            Some(0),
            "{command:?}\n{}{}",
            output.stdout,
            output.stderr
        );
    }
}

#[test]
fn the_template_to_start_from_teaches() {
    let environment = empty();
    let output = environment.run(["init"]).unwrap().success();
    insta::assert_snapshot!(output.stdout, @"
    ./.gitattributes
    ./shardwright.yaml
    ./tests/routes.yaml
    ./topology/topology.yaml
    ");
    insta::assert_snapshot!(output.stderr, @"next: shardwright -C . validate");
    let route = environment
        .run(["route", "SELECT 1 FROM t"])
        .unwrap()
        .success()
        .stdout;
    assert!(route.contains("main reader"), "{route}");
}

#[test]
fn templates_are_listed_with_what_they_are_about() {
    let listed = empty().run(["init", "--list"]).unwrap().success().stdout;
    assert!(listed.contains("start  "), "{listed}");
    assert!(
        listed.contains("One cluster, one user, reads on replicas\n"),
        "{listed}"
    );
    assert!(
        listed.lines().all(|line| line.split_whitespace().count() > 2),
        "{listed}"
    );
}

#[test]
fn nothing_is_overwritten() {
    let environment = empty();
    environment.write("topology/topology.yaml", "mine").unwrap();
    let output = environment.run(["init"]).unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("topology.yaml exists; nothing was written"),
        "{}",
        output.stderr
    );
    assert!(environment.read("shardwright.yaml").is_err());
    assert_eq!(environment.read("topology/topology.yaml").unwrap(), "mine");
    let output = environment.run(["init", "--template", "tenant", "new"]).unwrap();
    assert_eq!(output.code(), Some(64));
    assert!(
        output.stderr.contains("did you mean tenants?"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_repository_keeps_its_own_attributes() {
    let environment = empty();
    environment.write(".gitattributes", "* text=auto\n").unwrap();
    let output = environment.run(["init"]).unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert_eq!(environment.read(".gitattributes").unwrap(), "* text=auto\n");
    assert!(environment.read("shardwright.yaml").is_ok());
}

const UNTIDY: &str = "version:   1\nclusters: # all\n    c:   {type: single,servers: {s: { host: 'h' }}}\n";
const TIDY: &str = "version: 1\nclusters: # all\n  c: {type: single, servers: {s: {host: \"h\"}}}\n";

fn untidy() -> CommandEnvironment {
    let environment = empty();
    environment
        .write("shardwright.yaml", "version: 1\nengines: [bundled]\n")
        .unwrap();
    environment.write("topology/deep/a.yaml", UNTIDY).unwrap();
    environment
}

#[test]
fn check_and_diff_write_nothing() {
    let environment = untidy();
    let check = environment.run(["fmt", "--check"]).unwrap();
    assert_eq!(check.code(), Some(2), "{}", check.stderr);
    assert_eq!(check.stdout, "topology/deep/a.yaml\n");
    let diff = environment.run(["fmt", "--diff"]).unwrap().success();
    insta::assert_snapshot!(diff.stdout, @r#"
    --- topology/deep/a.yaml
    +++ topology/deep/a.yaml
    @@ -1,3 +1,3 @@
    -version:   1
    +version: 1
     clusters: # all
    -    c:   {type: single,servers: {s: { host: 'h' }}}
    +  c: {type: single, servers: {s: {host: "h"}}}
    "#);
    assert_eq!(
        environment.run(["fmt", "--check", "--diff"]).unwrap().code(),
        Some(2)
    );
    assert_eq!(environment.read("topology/deep/a.yaml").unwrap(), UNTIDY);
}

#[test]
fn fmt_writes_what_changes_and_keeps_modes_and_links() {
    let environment = untidy();
    let file = environment.project().join("topology/deep/a.yaml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = environment.project().join("topology/link.yaml");
    std::os::unix::fs::symlink("deep/a.yaml", &link).unwrap();
    let output = environment.run(["fmt"]).unwrap().success();
    assert_eq!(output.stderr, "2 of 3 files formatted\n");
    assert_eq!(environment.read("topology/deep/a.yaml").unwrap(), TIDY);
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(environment.run(["fmt", "--check"]).unwrap().code(), Some(0));
}

#[test]
fn files_that_cannot_be_read_are_left_alone_and_the_others_formatted() {
    let environment = untidy();
    environment.write("topology/b.yaml", "clusters: {a: [\n").unwrap();
    let output = environment.run(["fmt", "--report", "json=found.json"]).unwrap();
    assert_eq!(output.code(), Some(65), "{}", output.stderr);
    assert!(output.stderr.contains("error[SW101]"), "{}", output.stderr);
    assert_eq!(environment.read("topology/b.yaml").unwrap(), "clusters: {a: [\n");
    assert_eq!(environment.read("topology/deep/a.yaml").unwrap(), TIDY);
    assert!(environment.read("found.json").unwrap().contains("SW101"));
}

#[test]
fn editors_pipe_through() {
    let environment = empty();
    let pipe =
        |text: &str, arguments: &[&str]| environment.run_with_input(arguments, text.as_bytes()).unwrap();
    assert_eq!(pipe(UNTIDY, &["fmt", "-"]).success().stdout, TIDY);
    assert_eq!(pipe(UNTIDY, &["fmt", "-", "--check"]).code(), Some(2));
    let broken = pipe("a: [", &["fmt", "-"]);
    assert_eq!((broken.code(), broken.stdout.as_str()), (Some(65), "a: ["));
}

#[test]
fn fmt_without_a_project_says_so() {
    let output = empty().run(["fmt"]).unwrap();
    assert_eq!(output.code(), Some(78), "{}", output.stderr);
    let output = empty().run(["fmt", "no-such.yaml"]).unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
}
