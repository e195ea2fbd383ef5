//! The drivers' own test suites, on the server and through the proxy: what passes there passes here, or a reason stands in
//! `tests/clients/suites.yaml`.
//!
//! They run in the long mode: `SHARDWRIGHT_CLIENTS=all`, or `=suites` alone. go-sql-driver's suite comes with its module.
//! PyMySQL's is in no package: `PYMYSQL_SOURCE` names a checkout of its repository; without it the suite is left out, and
//! the test says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::estate::{Estate, PASSWORD, Side, USER};
use crate::programs::installed;
use crate::{SUITES_WORD, asks_for, root};

/// A driver's suite.
struct Suite {
    name: &'static str,
    /// The schemas that it uses.
    schemas: &'static [&'static str],
    /// The program of a side; `None` where the suite is not there.
    command: fn(&Estate, &Side) -> Option<Command>,
    /// The test that a line of its output is about, and whether it passed.
    result: fn(&str) -> Option<(String, bool)>,
    /// Fewer have not passed on the server since this was written.
    least: usize,
}

const SUITES: [Suite; 2] = [
    Suite {
        name: "go-sql-driver",
        schemas: &["gotest"],
        command: go,
        result: go_result,
        least: 400,
    },
    Suite {
        name: "pymysql",
        schemas: &["test1", "test2"],
        command: pymysql,
        result: pytest_result,
        least: 160,
    },
];

fn go(estate: &Estate, side: &Side) -> Option<Command> {
    let mut command = Command::new(installed("go/suite.test"));
    command
        .args(["-test.v", "-test.timeout=300s"])
        // It connects to an address on the internet.
        .args(["-test.skip", "^TestConnectorReturnsTimeout$"])
        .env("MYSQL_TEST_USER", USER)
        .env("MYSQL_TEST_PASS", PASSWORD)
        .env("MYSQL_TEST_ADDR", side.address.to_string())
        .env("MYSQL_TEST_DBNAME", "gotest")
        .current_dir(estate.environment.outside(""));
    Some(command)
}

/// `    --- PASS: TestCRUD/default (0.01s)`
fn go_result(line: &str) -> Option<(String, bool)> {
    let (outcome, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let (name, _) = rest.split_once(' ')?;
    match outcome {
        "PASS" => Some((name.to_owned(), true)),
        "FAIL" => Some((name.to_owned(), false)),
        _ => None,
    }
}

fn pymysql(estate: &Estate, side: &Side) -> Option<Command> {
    let source = PathBuf::from(std::env::var_os("PYMYSQL_SOURCE")?);
    let copy = estate
        .environment
        .outside(&format!("pymysql-{}", side.address.port()));
    let copied = Command::new("cp")
        .arg("-r")
        .arg(&source)
        .arg(&copy)
        .status()
        .unwrap();
    assert!(copied.success(), "{}", source.display());
    let (host, port) = (side.address.ip(), side.address.port());
    let database = |name: &str, more: &str| {
        format!(
            r#"{{"host": "{host}", "port": {port}, "user": "{USER}", "passwd": "{PASSWORD}", "database": "{name}"{more}}}"#
        )
    };
    let databases = [
        database("test1", r#", "use_unicode": true, "local_infile": true"#),
        database("test2", ""),
    ];
    fs::write(
        copy.join("pymysql/tests/databases.json"),
        format!("[{}]", databases.join(", ")),
    )
    .unwrap();
    let mut command = Command::new(installed("python/bin/python"));
    command
        .args([
            "-m",
            "pytest",
            "-q",
            "-rA",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "pymysql/tests",
        ])
        .current_dir(copy);
    Some(command)
}

/// `PASSED pymysql/tests/test_basic.py::TestConversion::test_dict`
fn pytest_result(line: &str) -> Option<(String, bool)> {
    let (outcome, rest) = line.split_once(' ')?;
    let name = rest.split(" - ").next()?.strip_prefix("pymysql/tests/")?;
    match outcome {
        "PASSED" => Some((name.to_owned(), true)),
        "FAILED" | "ERROR" => Some((name.to_owned(), false)),
        _ => None,
    }
}

/// What passed and what failed; `None` where the suite is not there.
fn run(suite: &Suite, estate: &Estate, side: &Side) -> Option<BTreeMap<String, bool>> {
    for schema in suite.schemas {
        estate.new_schema(schema);
    }
    let mut command = (suite.command)(estate, side)?;
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let results: BTreeMap<String, bool> = text.lines().filter_map(suite.result).collect();
    assert!(
        !results.is_empty(),
        "{}: {}\n{text}\n{}",
        suite.name,
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Some(results)
}

/// The tests of each suite that have a reason not to pass through the proxy.
fn reasons(path: &Path) -> BTreeMap<String, BTreeMap<String, String>> {
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn what_passes_on_the_server_passes_through_the_proxy() {
    if !asks_for(SUITES_WORD) {
        return;
    }
    let estate = Estate::start();
    let reasons = reasons(&root().join("tests/clients/suites.yaml"));
    let mut problems = Vec::new();
    for suite in &SUITES {
        let Some(direct) = run(suite, &estate, &estate.direct()) else {
            println!("{}: left out, its source is not there", suite.name);
            continue;
        };
        let proxied = run(suite, &estate, &estate.proxied()).unwrap();
        let passes = |results: &BTreeMap<String, bool>| -> BTreeSet<String> {
            let passed = results.iter().filter(|(_, passed)| **passed);
            passed.map(|(name, _)| name.clone()).collect()
        };
        let (direct, proxied) = (passes(&direct), passes(&proxied));
        println!(
            "{}: {} pass on the server, {} through the proxy",
            suite.name,
            direct.len(),
            proxied.len()
        );
        if direct.len() < suite.least {
            problems.push(format!(
                "{}: only {} pass on the server",
                suite.name,
                direct.len()
            ));
        }
        let missing: BTreeSet<&String> = direct.difference(&proxied).collect();
        let excused: BTreeSet<&String> = reasons[suite.name].keys().collect();
        for test in missing.difference(&excused) {
            problems.push(format!("{}: {test} passes on the server only", suite.name));
        }
        for test in excused.difference(&missing) {
            problems.push(format!("{}: {test} has a reason and passes", suite.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
