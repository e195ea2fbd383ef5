//! What the `bench` program says when it cannot measure.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use insta::assert_snapshot;

/// Exit code and error output of `bench` with these arguments, without a ProxySQL in the environment.
fn bench(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(arguments)
        .env_remove("PROXYSQL_BIN")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_a_proxysql_there_is_nothing_to_measure() {
    let (code, said) = bench(&["proxysql"]);
    assert_eq!(code, Some(2));
    assert_snapshot!(said, @"
    error: no ProxySQL to measure: say where one is with PROXYSQL_BIN or --binary

    Usage: bench [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
    let (code, said) = bench(&["proxysql", "--binary", "/nonexistent/proxysql"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("no such file"), "{said}");
}

#[test]
fn another_program_is_not_measured() {
    let (code, said) = bench(&["proxysql", "--binary", "/bin/echo"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("/bin/echo --version: not a ProxySQL"), "{said}");
}
