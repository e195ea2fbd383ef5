//! Two people with machines of their own, whose runs are in one store.

use insta::assert_snapshot;
use serde_json::Value;
use shardwright_testkit::{
    AdminPort, Authority, CommandEnvironment, CommandOutput, Etcd, EtcdOptions, Fault, Faulty, MariaDb,
    Options, eventually,
};
use std::time::Duration;

use crate::support::PROGRAM;

const PATIENCE: Duration = Duration::from_secs(60);
const KEY: &str = "Zm9ydHkgY2hhcmFjdGVycyB0aGF0IGFyZSBhIGtleQ";

/// A machine with the project on it.
struct Machine(CommandEnvironment);

impl Machine {
    fn new(user: &str, state: &str) -> Self {
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("USER", user);
        environment.set("PX_ADMIN", "admin");
        environment.set("APP_PASSWORD", "canary-of-app");
        environment.set("STATE_PASSWORD", "pass");
        environment.set("STATE_KEY", KEY);
        environment.write("state", state).unwrap();
        Self(environment)
    }

    /// The project with this many connections for its user, applied by this way.
    fn project(&self, admin: &str, max_connections: u32) {
        let state = self.0.read("state").unwrap();
        let text = format!(
            "version: 1\nproject: shop\nengines: [proxysql-2.7]\nstate: {state}\ntargets:\n  px1: {{engine: proxysql-2.7, \
             admin: \"{admin}\", user: admin, password: {{env: PX_ADMIN}}}}\n"
        );
        self.0.write("shardwright.yaml", text).unwrap();
        let text = format!(
            "version: 1\nclusters:\n  one: {{type: single, servers: {{s1: {{host: one.db}}}}}}\nusers:\n  app: {{password: \
             {{env: APP_PASSWORD}}, cluster: one, schema: app, max_connections: {max_connections}}}\n"
        );
        self.0.write("topology/shop.yaml", text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.0.run(arguments).unwrap()
    }

    /// Runs a command that must end with a code; all that it prints.
    fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code(), Some(code), "{arguments:?}: {output:?}");
        output.stdout + &output.stderr
    }

    fn history(&self) -> Vec<Value> {
        let output = self.run(&["history", "--format", "json"]);
        let history: Value = serde_json::from_str(&output.stdout).unwrap();
        history["runs"].as_array().unwrap().clone()
    }
}

fn live(proxysql: &AdminPort) -> String {
    format!(
        "{:?}",
        proxysql
            .run(["SELECT username, max_connections FROM runtime_mysql_users"])
            .unwrap()
    )
}

/// A starts an apply and its machine dies; B sees that, breaks the lock, and takes the run back.
fn ends_what_another_machine_has_begun(proxysql: &AdminPort, state: &str) {
    let admin = proxysql.admin_address().to_string();
    let (a, b) = (Machine::new("alice", state), Machine::new("bob", state));
    a.project(&admin, 1);
    a.ends(0, &["apply", "--auto-approve"]);
    let before = live(proxysql);
    let network = Faulty::start(proxysql.admin_address(), usize::MAX, None, false);
    for machine in [&a, &b] {
        machine.project(&network.address.to_string(), 2);
    }
    b.ends(0, &["apply", "--auto-approve"]);
    let sent = network.statements();
    let at = sent
        .iter()
        .position(|statement| statement.starts_with("LOAD MYSQL USERS"))
        .unwrap();
    let by: Vec<String> = a
        .history()
        .iter()
        .map(|run| run["by"].as_str().unwrap().to_owned())
        .collect();
    assert!(by[0].starts_with("alice@") && by[1].starts_with("bob@"), "{by:?}");
    a.project(&admin, 1);
    a.ends(0, &["apply", "--auto-approve"]);
    assert_eq!(live(proxysql), before);

    let network = Faulty::start(proxysql.admin_address(), at, Some(Fault::HangsAfter), false);
    for machine in [&a, &b] {
        machine.project(&network.address.to_string(), 2);
    }
    let running = a.0.start(["apply", "--auto-approve"]).unwrap();
    eventually(PATIENCE, || network.has_failed());
    assert!(b.ends(0, &["lock", "show"]).starts_with("held by alice@"));
    drop(running);
    network.mend();
    let last = b.history().pop().unwrap();
    assert_eq!(last["end"], Value::Null, "{last}");
    let run = last["run"].as_str().unwrap();
    let told = b.ends(5, &["apply", "--auto-approve"]);
    assert!(told.contains(&format!("rollback {run}")), "{told}");
    let told = b.ends(5, &["rollback", run]);
    assert!(told.contains("is locked by alice@"), "{told}");
    let told = b.ends(4, &["lock", "break"]);
    assert!(told.contains("the lock is held by alice@"), "{told}");
    let told = b.ends(0, &["lock", "break", "--auto-approve"]);
    assert!(told.contains("the lock of alice@"), "{told}");
    assert_eq!(b.ends(0, &["lock", "show"]), "nobody holds the lock\n");
    b.ends(0, &["rollback", run]);
    assert_eq!(live(proxysql), before);
    let last = a.history().pop().unwrap();
    assert_eq!(last["end"], "restored", "{last}");
    b.ends(0, &["apply", "--auto-approve"]);
    assert_ne!(live(proxysql), before);
    assert!(!a.0.project().join(".shardwright").exists());
}

#[test]
fn in_mysql_b_ends_what_a_has_begun() {
    let proxysql = AdminPort::start();
    let mariadb = MariaDb::start(Options::default().arg("--innodb-flush-log-at-trx-commit=1")).unwrap();
    mariadb.run("CREATE DATABASE state").unwrap();
    mariadb
        .create_user("swstate", "pass", Some("ALL ON state.*"))
        .unwrap();
    let state = format!(
        "{{mysql: \"{}/state\", user: swstate, password: {{env: STATE_PASSWORD}}, key: {{env: STATE_KEY}}}}",
        mariadb.address()
    );
    ends_what_another_machine_has_begun(&proxysql, &state);
}

#[test]
fn in_etcd_with_certificates_b_ends_what_a_has_begun() {
    let proxysql = AdminPort::start();
    let authority = Authority::new().unwrap();
    let server = authority.issue("etcd", &["127.0.0.1", "localhost"]).unwrap();
    let client = authority.issue("client", &["client"]).unwrap();
    let etcd = Etcd::start(EtcdOptions {
        tls: Some([server.certificate, server.key, authority.certificate()]),
    })
    .unwrap();
    let state = |certificate: &str| {
        format!(
            "{{etcd: [\"{}\"], ca: \"{}\", {certificate}key: {{env: STATE_KEY}}}}",
            etcd.endpoint(),
            authority.certificate().display(),
        )
    };
    let with = state(&format!(
        "certificate: \"{}\", certificate_key: \"{}\", ",
        client.certificate.display(),
        client.key.display()
    ));
    ends_what_another_machine_has_begun(&proxysql, &with);
    // Nobody gets in without a certificate, and the command says where it was refused.
    let stranger = Machine::new("mallory", &state(""));
    stranger.project(&proxysql.admin_address().to_string(), 1);
    let told = stranger.ends(1, &["history"]);
    assert!(
        told.contains("state in https://127.0.0.1:") && told.contains("`certificate` and `certificate_key`"),
        "{told}"
    );
}

#[test]
fn an_etcd_that_asks_who_it_is_gets_an_account() {
    let etcd = Etcd::start(EtcdOptions::default()).unwrap();
    for (path, question) in [
        ("/v3/auth/user/add", r#"{"name": "root", "password": "root"}"#),
        ("/v3/auth/user/grant", r#"{"user": "root", "role": "root"}"#),
        ("/v3/auth/user/add", r#"{"name": "swstate", "password": "pass"}"#),
        ("/v3/auth/role/add", r#"{"name": "state"}"#),
        // From shardwright/ to shardwright0
        (
            "/v3/auth/role/grant",
            r#"{"name": "state", "perm": {"permType": "READWRITE", "key": "c2hhcmR3cmlnaHQv", "range_end": "c2hhcmR3cmlnaHQw"}}"#,
        ),
        ("/v3/auth/user/grant", r#"{"user": "swstate", "role": "state"}"#),
        ("/v3/auth/enable", "{}"),
    ] {
        etcd.ask(path, question, None).unwrap();
    }
    let machine = |account: &str| {
        let state = format!(
            "{{etcd: [\"{}\"], {account}key: {{env: STATE_KEY}}}}",
            etcd.endpoint()
        );
        let machine = Machine::new("alice", &state);
        machine.project("127.0.0.1:1", 1);
        machine
    };
    let known = machine("user: swstate, password: {env: STATE_PASSWORD}, ");
    assert_snapshot!(known.ends(0, &["history"]), @"no runs");
    assert_snapshot!(known.ends(0, &["lock", "show"]), @"nobody holds the lock");
    let unknown = machine("").ends(1, &["history"]);
    assert!(unknown.contains("user name is empty"), "{unknown}");
    let wrong = machine("user: swstate, password: {env: STATE_KEY}, ").ends(1, &["history"]);
    assert!(wrong.contains("authentication failed"), "{wrong}");
    assert!(!wrong.contains(KEY), "{wrong}");
}
