//! The command-line environment and the proxy launcher, with programs of the system in place of ours.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use shardwright_testkit::{CommandEnvironment, Ports, ProxyError, ProxyOptions, ProxyProcess, eventually};

#[test]
fn nothing_of_the_callers_environment_reaches_the_program() {
    let mut environment = CommandEnvironment::new("/usr/bin/env").unwrap();
    environment.set("EXTRA", "1");
    let output = environment.run([""; 0]).unwrap().success();
    let mut names: Vec<&str> = output
        .stdout
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    names.retain(|name| *name != "LLVM_PROFILE_FILE");
    let expected = [
        "COLUMNS",
        "EXTRA",
        "HOME",
        "LC_ALL",
        "NO_COLOR",
        "PATH",
        "SHARDWRIGHT_ADMIN_PASSWORD",
        "TERM",
        "TZ",
    ];
    assert_eq!(names, expected);
    assert!(output.stdout.contains("HOME=$HOME\n"), "{output}");
}

#[test]
fn output_and_exit_code_are_captured_and_normalised() {
    let mut environment = CommandEnvironment::new("/bin/sh").unwrap();
    environment
        .normaliser()
        .name_port("127.0.0.1:4242".parse().unwrap(), "admin");
    environment.write("topology/a.yaml", "a: 1\n").unwrap();
    let script = "cat topology/a.yaml; pwd; echo 127.0.0.1:4242 127.0.0.1:999 >&2; exit 65";
    let output = environment.run(["-c", script]).unwrap();
    assert_eq!(
        output.to_string(),
        "exit: 65\n--- stdout\na: 1\n$PROJECT\n--- stderr\n127.0.0.1:[admin] 127.0.0.1:[port]\n"
    );
    assert!(!environment.run(["-c", "kill -9 $$"]).unwrap().status.success());
}

#[test]
fn input_is_what_the_test_gives_and_otherwise_empty() {
    let environment = CommandEnvironment::new("/bin/cat").unwrap();
    assert_eq!(
        environment
            .run_with_input([""; 0], b"one\ntwo\n")
            .unwrap()
            .success()
            .stdout,
        "one\ntwo\n"
    );
    assert_eq!(environment.run([""; 0]).unwrap().success().stdout, "");
}

#[test]
fn commands_run_side_by_side() {
    let environment = CommandEnvironment::new("/bin/sh").unwrap();
    // Each waits for the other, so neither would end if they ran one after the other.
    let meet =
        |mine: &str, other: &str| format!("touch {mine}; until [ -e {other} ]; do :; done; echo {mine}");
    let first = environment.start(["-c", &meet("a", "b")]).unwrap();
    let second = environment.start(["-c", &meet("b", "a")]).unwrap();
    assert_eq!(first.finish().unwrap().success().stdout, "a\n");
    assert_eq!(second.finish().unwrap().success().stdout, "b\n");
}

#[test]
fn a_proxy_is_known_by_its_ready_line_and_restarts_on_the_same_data() {
    let environment =
        CommandEnvironment::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/announces")).unwrap();
    let data = environment.outside("data");
    let mut proxy = ProxyProcess::start(&environment, ProxyOptions::new(&data)).unwrap();
    assert_eq!(proxy.listen().to_string(), "127.0.0.1:101");
    assert_eq!(proxy.admin().to_string(), "127.0.0.1:201");
    assert!(!proxy.kill().unwrap().success());
    proxy.restart(&environment, Ports::Same).unwrap();
    assert_eq!(proxy.listen().to_string(), "127.0.0.1:101");
    proxy.restart(&environment, Ports::Free).unwrap();
    assert_eq!(proxy.admin().to_string(), "127.0.0.1:203");
    assert_eq!(fs::read_to_string(&data).unwrap().lines().count(), 3);
    eventually(Duration::from_secs(20), || {
        proxy.output().contains("starting proxy\n")
    });
    assert!(proxy.stop().unwrap().success());
    assert!(proxy.output().lines().any(|line| line == "stopping"));
    proxy.signal(Signal::SIGTERM).unwrap();
}

#[test]
fn a_proxy_that_ends_too_early_is_reported_with_its_output() {
    let environment =
        CommandEnvironment::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/ends-early")).unwrap();
    match ProxyProcess::start(&environment, ProxyOptions::new("/nonexistent")) {
        Err(ProxyError::Ended { status, output }) => {
            assert_eq!(status.code(), Some(78));
            assert_eq!(output, "no such data directory\n");
        }
        other => panic!("{other:?}"),
    }
}
