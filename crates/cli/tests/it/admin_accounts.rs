//! What the log of a running proxy says of its administrators.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;
use shardwright_testkit::{
    ClientOptions, CommandEnvironment, ProxyOptions, ProxyProcess, connect, eventually,
};

use crate::support::PROGRAM;

const PATIENCE: Duration = Duration::from_secs(30);
const ACCOUNTS: &str = "accounts: {oncall: {role: operator, password: {file: oncall.pw}}}\n";

fn start(home: &CommandEnvironment) -> ProxyProcess {
    home.write("oncall.pw", "geheim\n").unwrap();
    home.write("accounts.yaml", ACCOUNTS).unwrap();
    let mut options = ProxyOptions::new(home.outside("data"));
    options.extra_args = vec!["--admin-accounts=accounts.yaml".to_owned()];
    ProxyProcess::start(home, options).unwrap()
}

fn log_in(proxy: &ProxyProcess, password: &str) -> mysql::Result<Conn> {
    let options = ClientOptions {
        user: "oncall",
        password,
        schema: None,
    };
    connect(proxy.admin(), options)
}

/// The lines of the log that have all of these texts.
fn lines(proxy: &ProxyProcess, texts: &[&str]) -> usize {
    let output = proxy.output();
    let has = |line: &&str| texts.iter().all(|text| line.contains(text));
    output.lines().filter(has).count()
}

#[test]
fn the_log_says_who_did_what() {
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    let proxy = start(&home);
    let mut oncall = log_in(&proxy, "geheim").unwrap();
    oncall
        .query_drop("SHARDWRIGHT REFUSE APP 'archive' FOR 5")
        .unwrap();
    oncall
        .query_drop("SHARDWRIGHT PREFER 'clusters.x.servers.y'")
        .unwrap_err();
    let who = "admin{account=\"oncall\" address=127.0.0.1:";
    eventually(PATIENCE, || {
        lines(&proxy, &[who, "its checks are refused", "app=\"archive\""]) == 1
    });
    eventually(PATIENCE, || {
        lines(&proxy, &["WARN", who, "it was not done", "no monitor watches"]) == 1
    });
}

#[test]
fn the_log_says_where_wrong_passwords_come_from() {
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    let proxy = start(&home);
    log_in(&proxy, "guess-canary").unwrap_err();
    let line = [
        "WARN",
        "logins at the admin port were denied",
        "address=127.0.0.1",
        "account=\"oncall\"",
    ];
    eventually(PATIENCE, || lines(&proxy, &line) == 1);
    let nobody = ClientOptions {
        user: "name-canary",
        password: "guess-canary",
        schema: None,
    };
    connect(proxy.admin(), nobody).unwrap_err();
    assert!(!proxy.output().contains("canary"), "{}", proxy.output());
}

#[test]
fn a_file_that_everybody_can_read_is_a_warning_and_a_broken_one_is_not_taken() {
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    let mut proxy = start(&home);
    let warning = [
        "WARN",
        "everybody on this machine can read the admin accounts",
        "accounts.yaml",
    ];
    eventually(PATIENCE, || lines(&proxy, &warning) == 1);
    home.write("accounts.yaml", "accounts: {oncall: {role: boss}}")
        .unwrap();
    let file = home.project().join("accounts.yaml");
    std::fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    proxy.signal(Signal::SIGHUP).unwrap();
    let refusal =
        ["not reloaded: admin accounts: accounts.yaml: accounts.oncall.role: write stats, operator or admin"];
    eventually(PATIENCE, || lines(&proxy, &refusal) == 1);
    assert_eq!(lines(&proxy, &warning), 1);
    log_in(&proxy, "geheim").unwrap();
    assert!(proxy.stop().unwrap().success());
}
