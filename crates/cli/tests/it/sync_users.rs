//! `sync-users`: the accounts of a server as users of the project.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use shardwright_testkit::{
    CommandEnvironment, CommandOutput, MariaDb, Options, ProxySql, ProxySqlOptions, real_proxysql,
};

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
      os: no proxy can log clients in with the hash of unix_socket
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

/// Accounts of a MySQL: their salts are random bytes, and one in three has a line break.
const ACCOUNTS: usize = 12;

#[test]
fn on_mysql_hashes_of_any_salt_log_clients_in_to_a_real_proxysql() {
    let options = Options::default();
    if !options.flavour.is_mysql() {
        return;
    }
    let server = MariaDb::start(options.arg("--caching-sha2-password-digest-rounds=5000")).unwrap();
    let names: Vec<String> = (0..ACCOUNTS).map(|number| format!("app{number:02}")).collect();
    for name in &names {
        server
            .create_user(name, &format!("canary-{name}"), Some("SELECT ON *.*"))
            .unwrap();
    }
    server
        .create_user("reader", "canary-reader", Some("SELECT ON mysql.*"))
        .unwrap();
    let environment = mysql_project(&server);
    let synced = sync(&environment, &["--format", "json"]).success();
    let report: Value = serde_json::from_str(&synced.stdout).unwrap();
    assert_eq!(report["users"], serde_json::json!(names), "{report}");
    let Some(binary) = real_proxysql("users of a MySQL on a real ProxySQL") else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    let target = format!(
        "version: 1\nengines: [proxysql-2.7]\ntargets:\n  px: {{engine: proxysql-2.7, admin: \"{}\", user: admin, \
         password: {{env: ADMIN}}}}\nsafety: {{deletes: {{max: 100}}}}\n",
        proxysql.admin_address()
    );
    environment.write("shardwright.yaml", &target).unwrap();
    let mut environment = environment;
    environment.set("ADMIN", "admin");
    let applied = environment.run(["apply", "--auto-approve"]).unwrap();
    assert_eq!(applied.code(), Some(0), "{applied}");
    for name in &names {
        for (password, expected) in [(format!("canary-{name}"), true), ("wrong".to_owned(), false)] {
            let login = mysql::OptsBuilder::new()
                .ip_or_hostname(Some("127.0.0.1"))
                .tcp_port(proxysql.address().port())
                .prefer_socket(false)
                .ssl_opts(mysql::SslOpts::default().with_danger_accept_invalid_certs(true))
                .user(Some(name))
                .pass(Some(password));
            let connected = mysql::Conn::new(login);
            assert_eq!(connected.is_ok(), expected, "{name}: {:?}", connected.err());
        }
    }
    // Nothing is left to do, and no password has changed.
    let diff = environment.run(["diff"]).unwrap();
    assert_eq!(diff.code(), Some(0), "{diff}");
    assert_eq!(sync(&environment, &["--check"]).code(), Some(0));
}

#[test]
fn on_mysql_hashes_that_proxysql_cannot_check_are_left_out() {
    let options = Options::default();
    if !options.flavour.is_mysql() {
        return;
    }
    let server = MariaDb::start(options.arg("--caching-sha2-password-digest-rounds=10000")).unwrap();
    server.create_user("app", "canary-app", None).unwrap();
    server
        .create_user("reader", "canary-reader", Some("SELECT ON mysql.*"))
        .unwrap();
    let environment = mysql_project(&server);
    let refused = sync(&environment, &[]).success();
    assert!(
        refused
            .stdout
            .contains("app: ProxySQL checks hashes of caching_sha2_password with 5,000 rounds only"),
        "{refused}"
    );
    environment
        .write("shardwright.yaml", "version: 1\nengines: [bundled]\n")
        .unwrap();
    let taken = sync(&environment, &[]).success();
    assert!(taken.stdout.contains("+ app  added"), "{taken}");
}

/// A project with the cluster of a MySQL, whose default method is its own.
fn mysql_project(server: &MariaDb) -> CommandEnvironment {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.set("PASSWORD", "canary-reader");
    environment
        .write("shardwright.yaml", "version: 1\nengines: [proxysql-2.7]\n")
        .unwrap();
    let topology = format!(
        "version: 1\nclusters:\n  pay: {{type: single, servers: {{a: {{host: 127.0.0.1, port: {}}}}}}}\n\
         engine_settings: {{proxysql: {{mysql-default_authentication_plugin: caching_sha2_password, mysql-have_ssl: true}}}}\n",
        server.port()
    );
    environment.write("topology/pay.yaml", &topology).unwrap();
    environment
}
