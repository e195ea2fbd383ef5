//! `sync-users`: the accounts of a server as users of the project.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, CommandOutput, MariaDb, Options};

use crate::support::PROGRAM;

const FILE: &str = "topology/users-pay.yaml";

/// A server with accounts, and a project that has it.
fn estate() -> (MariaDb, CommandEnvironment) {
    let server = MariaDb::start(Options::default()).unwrap();
    for name in ["app", "batch", "watch", "own"] {
        server
            .create_user(name, &format!("canary-{name}"), Some("SELECT ON *.*"))
            .unwrap();
    }
    server
        .create_user("reader", "canary-reader", Some("SELECT ON mysql.*"))
        .unwrap();
    server
        .run(
            "CREATE ROLE readers; CREATE USER old@'%' IDENTIFIED BY 'x' ACCOUNT LOCK;
             CREATE USER os@'%' IDENTIFIED VIA unix_socket; CREATE USER twice@'10.%' IDENTIFIED BY 'a';
             CREATE USER twice@'%' IDENTIFIED BY 'b'; CREATE USER app@'10.%' IDENTIFIED BY 'canary-app'",
        )
        .unwrap();
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.set("PASSWORD", "canary-reader");
    environment
        .write("shardwright.yaml", "version: 1\nengines: [proxysql-2.7]\n")
        .unwrap();
    let topology = format!(
        "version: 1\nclusters:\n  pay: {{type: single, servers: {{a: {{host: 127.0.0.1, port: {}}}}}}}\n\
         users:\n  own: {{password: {{env: OWN}}, cluster: pay}}\nmonitor: {{user: watch, password: {{env: WATCH}}}}\n",
        server.port()
    );
    environment.write("topology/pay.yaml", &topology).unwrap();
    (server, environment)
}

fn sync(environment: &CommandEnvironment, more: &[&str]) -> CommandOutput {
    let arguments = [
        "sync-users",
        "pay",
        "--user",
        "reader",
        "--password-env",
        "PASSWORD",
    ];
    let run = environment.run([&arguments[..], more].concat()).unwrap();
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(!shown.contains("canary") && !shown.contains('*'), "{shown}");
    run
}

fn text(environment: &CommandEnvironment, path: &str) -> String {
    std::fs::read_to_string(environment.project().join(path)).unwrap()
}

#[test]
fn accounts_come_and_go_with_those_of_the_server() {
    let (server, environment) = estate();
    let checked = sync(&environment, &["--check"]);
    assert_eq!(checked.code(), Some(2), "{checked}");
    assert!(!environment.project().join(FILE).exists());
    let first = sync(&environment, &[]).success();
    insta::assert_snapshot!(first.stdout, @r"
      + app  added
      + batch  added
    left out: 9
      mariadb.sys: it belongs to the server
      old: it is locked
      os: ProxySQL cannot log clients in with the hash of unix_socket
      own: the project has it at topology/pay.yaml:5
      reader: it is not asked for
      readers: it is a role
      root: it belongs to the server
      twice: its password is not the same from %, 10.%, and a user of the proxy has one
      watch: it is not asked for
    ");
    insta::assert_snapshot!(text(&environment, FILE), @r"
    # The accounts of pay, written by `shardwright sync-users pay`. The next run replaces this file.
    version: 1

    users:
      app: {password: {file: secrets/app}, cluster: pay}
      batch: {password: {file: secrets/batch}, cluster: pay}
    ");
    let hash = text(&environment, "secrets/app");
    assert!(hash.starts_with('*') && hash.len() == 41, "{}", hash.len());
    for path in ["secrets/app", "secrets/.gitignore"] {
        let mode = environment.project().join(path).metadata().unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600, "{path}");
    }
    for arguments in [&["validate"][..], &["fmt", "--check"]] {
        let run = environment.run(arguments).unwrap();
        assert_eq!(run.code(), Some(0), "{run}");
    }
    let again = sync(&environment, &["--check"]);
    assert_eq!(again.code(), Some(0), "{again}");

    server
        .run("ALTER USER app@'%' IDENTIFIED BY 'next'; ALTER USER app@'10.%' IDENTIFIED BY 'next'; DROP USER batch@'%'")
        .unwrap();
    let changed = sync(&environment, &["--format", "json"]).success();
    let report: Value = serde_json::from_str(&changed.stdout).unwrap();
    assert_eq!(
        report["changes"],
        serde_json::json!([{"user": "app", "what": "another password"}, {"user": "batch", "what": "gone"}])
    );
    assert_ne!(text(&environment, "secrets/app"), hash);
    assert!(!environment.project().join("secrets/batch").exists());
    assert!(!text(&environment, FILE).contains("batch"));
}

#[test]
fn globs_choose_accounts_and_mistakes_are_explained() {
    let (_server, mut environment) = estate();
    let some = sync(
        &environment,
        &[
            "--only", "b*", "--only", "a*", "--except", "app", "--check", "--format", "json",
        ],
    );
    let report: Value = serde_json::from_str(&some.stdout).unwrap();
    assert_eq!(report["users"], serde_json::json!(["batch"]), "{report}");
    for (more, told) in [
        (&["--server", "b"][..], "cluster pay has no server b"),
        (&["--user", "nobody"][..], "Access denied"),
    ] {
        let arguments = [&["sync-users", "pay", "--password-env", "PASSWORD"][..], more].concat();
        let arguments = match more[0] {
            "--user" => arguments,
            _ => [&arguments[..], &["--user", "reader"]].concat(),
        };
        let run = environment.run(arguments).unwrap();
        assert!(run.code() != Some(0) && run.stderr.contains(told), "{run}");
        assert!(!run.stderr.contains("canary"), "{run}");
    }
    environment.set("PASSWORD", "");
    let run = sync(&environment, &[]);
    assert!(
        run.code() != Some(0) && run.stderr.contains("--password-env"),
        "{run}"
    );
}
