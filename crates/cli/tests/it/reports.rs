//! Report files and annotations: every form at once, also when the run fails.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{PROGRAM, example};

/// Four independent errors in two files, one of them in each instance of a generator.
fn faulty() -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "shop/shardwright.yaml",
            "version: 1\nengines: [bundled, proxysql-2.7]\n",
        )
        .unwrap();
    environment
        .write(
            "shop/topology/b.yaml",
            "version: 1\nusers:\n  app: {password: {env: P}, cluster: c9}\n  old: {pasword: {env: P}, password: {env: P}, cluster: c1}\n",
        )
        .unwrap();
    environment
        .write(
            "shop/topology/a.yaml",
            "version: 1\nclusters:\n  c$(n): {for_each: {n: 1..3}, type: single, servers: {s: {host: h, port: 99999}}}\nclustres: {}\n",
        )
        .unwrap();
    environment
}

const ALL_REPORTS: [&str; 10] = [
    "--report",
    "json=out/found.json",
    "--report",
    "sarif=out/found.sarif",
    "--report",
    "junit=out/found.xml",
    "--report",
    "markdown=out/found.md",
    "--report",
    "html=out/found.html",
];

#[test]
fn one_run_reports_every_independent_problem_in_file_order_in_every_form() {
    let environment = faulty();
    let output = environment
        .run(
            [
                &["-C", "shop", "validate", "--annotate", "github"][..],
                &ALL_REPORTS,
            ]
            .concat(),
        )
        .unwrap();
    assert_eq!(output.code(), Some(65), "{}", output.stderr);
    insta::assert_snapshot!(output.stderr);
    let json: Value = serde_json::from_str(&environment.read("out/found.json").unwrap()).unwrap();
    let places: Vec<String> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            format!("{} {}:{}", finding["code"], finding["file"], finding["line"]).replace('"', "")
        })
        .collect();
    assert_eq!(json["summary"]["error"], places.len());
    insta::assert_debug_snapshot!(places);
    let sarif: Value = serde_json::from_str(&environment.read("out/found.sarif").unwrap()).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"].as_array().unwrap().len(),
        places.len()
    );
    assert_eq!(
        sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "shop/topology/a.yaml"
    );
    let described = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(
        described.iter().all(|rule| rule["help"]["markdown"].is_string()),
        "{sarif:#}"
    );
    let xml = environment.read("out/found.xml").unwrap();
    assert_eq!(xml.matches("<failure ").count(), places.len(), "{xml}");
    let markdown = environment.read("out/found.md").unwrap();
    assert_eq!(
        markdown.matches("\n**error SW").count(),
        places.len(),
        "{markdown}"
    );
    let html = environment.read("out/found.html").unwrap();
    assert_eq!(
        html.matches("<article class=\"finding error\"").count(),
        places.len()
    );
    assert!(html.contains("shop/topology/a.yaml:"), "{html}");
    for loaded in ["http:", "https:", "src=", "url(", "@import", "<link"] {
        assert!(!html.contains(loaded), "{loaded}");
    }
}

#[test]
fn a_page_tells_of_tests_that_hold() {
    let environment = example("tenants");
    let _passed = environment
        .run(["test", "--report", "html=tests.html"])
        .unwrap()
        .success();
    let html = environment.read("tests.html").unwrap();
    assert!(html.contains("as expected</td>"), "{html}");
    assert!(!html.contains("failed: "), "{html}");
}

#[test]
fn pages_and_comments_count_the_tests_that_fail() {
    let environment = example("tenants");
    let tests = "version: 1\nsession: {user: app}\nroute_tests:\n\
        \x20 here: {query: /* tenant=1 */ SELECT 1, expect: {cluster: shard-001}}\n\
        \x20 elsewhere: {query: /* tenant=1 */ SELECT 1, expect: {cluster: shard-002}}\n";
    environment.write("tests/more.yaml", tests).unwrap();
    let output = environment
        .run([&["test", "--engine", "bundled", "here"][..], &ALL_REPORTS].concat())
        .unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    let html = environment.read("out/found.html").unwrap();
    assert!(
        html.contains("<div class=\"tile \"><b>2</b><span>tests</span>")
            && html.contains("<div class=\"tile bad\"><b>1</b><span>tests failed</span>"),
        "{html}"
    );
    assert!(html.contains("</span>failed</td>"), "{html}");
    let markdown = environment.read("out/found.md").unwrap();
    assert!(markdown.contains("1 of 2 tests failed"), "{markdown}");
    // The finding is the failed case.
    let junit = environment.read("out/found.xml").unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
}

#[test]
fn every_command_that_reads_a_project_writes_reports() {
    let environment = faulty();
    for command in [
        &["validate"][..],
        &["lint"],
        &["compile"],
        &["route", "SELECT 1"],
        &["explain", "clusters.c1"],
        &["diff"],
        &["plan"],
        &["apply"],
    ] {
        let arguments = [&["-C", "shop", "--report", "json=found.json"][..], command].concat();
        let output = environment.run(arguments).unwrap();
        assert_eq!(output.code(), Some(65), "{command:?}\n{}", output.stderr);
        let report: Value = serde_json::from_str(&environment.read("found.json").unwrap()).unwrap();
        assert!(
            report["summary"]["error"].as_u64().unwrap() >= 4,
            "{command:?} {report:#}"
        );
        std::fs::remove_file(environment.project().join("found.json")).unwrap();
    }
}

#[test]
fn a_run_that_could_not_do_its_job_says_so_in_its_reports() {
    let environment = example("tenants");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("admin_port={}", listener.local_addr().unwrap().port());
    drop(listener);
    let arguments = [&["plan", "--var", &port][..], &ALL_REPORTS].concat();
    let output = environment.run(arguments).unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
    assert!(
        output.stderr.contains("nothing listens there"),
        "{}",
        output.stderr
    );
    assert!(
        !output.stderr.contains('{'),
        "no inside of an error: {}",
        output.stderr
    );
    let sarif: Value = serde_json::from_str(&environment.read("out/found.sarif").unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let xml = environment.read("out/found.xml").unwrap();
    assert!(
        xml.contains("errors=\"1\"") && xml.contains("target local"),
        "{xml}"
    );
    let json: Value = serde_json::from_str(&environment.read("out/found.json").unwrap()).unwrap();
    assert!(
        json["failure"].as_str().unwrap().contains("target local"),
        "{json:#}"
    );
}

#[test]
fn a_clean_run_writes_clean_reports() {
    let environment = example("world");
    let output = environment.run([&["lint"][..], &ALL_REPORTS].concat()).unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    let json: Value = serde_json::from_str(&environment.read("out/found.json").unwrap()).unwrap();
    assert_eq!(json["summary"]["error"], 0);
    assert!(
        environment
            .read("out/found.xml")
            .unwrap()
            .contains("failures=\"0\" errors=\"0\"")
    );
}

#[test]
fn a_report_that_cannot_be_written_fails_the_run_and_not_the_others() {
    let environment = example("world");
    environment.write("file", "").unwrap();
    let output = environment
        .run([
            "validate",
            "--report",
            "json=file/no.json",
            "--report",
            "markdown=yes.md",
        ])
        .unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
    assert!(
        output.stderr.contains("cannot write file/no.json"),
        "{}",
        output.stderr
    );
    assert!(environment.read("yes.md").is_ok());
}

#[test]
fn a_bad_report_is_a_bad_command_line() {
    let environment = example("world");
    let output = environment.run(["validate", "--report", "xml=a.xml"]).unwrap();
    assert_eq!(output.code(), Some(64), "{}", output.stderr);
    assert!(
        output.stderr.contains("kinds: json, sarif, junit, markdown"),
        "{}",
        output.stderr
    );
}

#[test]
fn findings_can_be_markdown_and_quiet_runs_tell_errors_only() {
    let environment = faulty();
    let output = environment
        .run(["-C", "shop", "validate", "--format", "markdown"])
        .unwrap();
    assert!(
        output.stdout.starts_with("### shardwright: "),
        "{}",
        output.stdout
    );
    let notes = CommandEnvironment::new(PROGRAM).unwrap();
    notes
        .write("shardwright.yaml", "version: 1\nengines: [proxysql-2.7]\n")
        .unwrap();
    notes
        .write(
            "topology/t.yaml",
            "version: 1\nclusters:\n  c: {type: replication, servers: {a: {host: a}, b: {host: b}}}\n\
             users:\n  app: {password: {env: P}, cluster: c}\n",
        )
        .unwrap();
    let loud = notes.run(["validate", "--verbose"]).unwrap();
    assert!(loud.stderr.contains("info[SW322]"), "{}", loud.stderr);
    assert!(
        loud.stderr
            .contains("read shardwright.yaml, topology/t.yaml in ."),
        "{}",
        loud.stderr
    );
    let quiet = notes.run(["validate", "--quiet"]).unwrap();
    assert_eq!((quiet.code(), quiet.stderr.as_str()), (Some(0), ""));
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let environment = faulty();
    let plain = environment.run(["-C", "shop", "validate"]).unwrap();
    assert!(!plain.stderr.contains('\u{1b}'));
    let coloured = environment
        .run(["-C", "shop", "validate", "--color", "always"])
        .unwrap();
    assert!(coloured.stderr.contains("\u{1b}["));
}

#[test]
fn tests_that_hold_are_passed_cases_and_others_findings() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let written = environment.run(["init"]).unwrap();
    assert_eq!(written.code(), Some(0), "{}", written.stderr);
    let routes = environment.read("tests/routes.yaml").unwrap();
    environment
        .write(
            "tests/routes.yaml",
            routes.replacen("role: reader", "role: writer", 1),
        )
        .unwrap();
    let output = environment.run([&["test"][..], &ALL_REPORTS].concat()).unwrap();
    assert_eq!(output.code(), Some(3), "{}", output.stderr);
    let xml = environment.read("out/found.xml").unwrap();
    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{xml}");
    assert!(
        xml.contains("name=\"writes go to the writer (bundled)\"/>"),
        "{xml}"
    );
    let markdown = environment.read("out/found.md").unwrap();
    assert!(markdown.starts_with("### shardwright: 1 error"), "{markdown}");
}
