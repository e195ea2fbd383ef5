//! `refuse`: what it needs before it serves, and what clients of a real ProxySQL get from it.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use mysql::Error;
use mysql::prelude::Queryable;
use shardwright_testkit::{
    ClientOptions, CommandEnvironment, MariaDb, Options, ProxySql, ProxySqlOptions, connect, eventually,
    real_proxysql,
};

use crate::support::{PASSWORD, PROGRAM};

/// A project of one map whose refusals are left to `refuser`.
fn project(refuser: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let topology = format!(
        "version: 1\n\
         clusters:\n  one: {{type: single, servers: {{db: {{host: one.db}}}}}}\n\
         users:\n  app: {{password: {{env: APP}}, cluster: one}}\n\
         shard_maps:\n  tenants:\n    key: {{name: tenant, type: integer}}\n    key_from: [{{comment: {{}}}}]\n    \
         shards: {{t1: {{keys: [1], cluster: one}}}}\n\
         engine_settings: {{proxysql: {{{refuser}}}}}\n"
    );
    let file = "version: 1\nengines: [bundled, proxysql-2.7]\n";
    environment.write("shardwright.yaml", file).unwrap();
    environment.write("topology/one.yaml", topology).unwrap();
    environment
}

/// Exit code and message of `refuse` with these arguments.
fn refusal(environment: &CommandEnvironment, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments = ["refuse"].iter().chain(arguments);
    let output = environment.run(arguments).unwrap();
    (output.code(), output.stderr)
}

#[test]
fn a_project_without_a_refuser_is_left_to_the_admin_port() {
    for refuser in ["", "refuser: admin"] {
        let (code, said) = refusal(&project(refuser), &[]);
        assert_eq!(code, Some(78), "{said}");
        assert!(said.starts_with("error: the topology has no refuser"), "{said}");
        assert!(said.contains("help: write engine_settings"), "{said}");
    }
}

#[test]
fn the_ports_are_those_of_the_lock() {
    let environment = project("refuser: {host: 127.0.0.1, port: 6100}");
    let (code, said) = refusal(&environment, &[]);
    assert_eq!(code, Some(9), "{said}");
    assert!(said.contains("shardwright.lock is not up to date"), "{said}");
}

#[test]
fn it_listens_where_proxysql_looks_for_it_or_says_that_it_cannot() {
    // TEST-NET-1 (RFC 5737) is no address of any machine.
    let environment = project("refuser: {host: 192.0.2.1, port: 6100}");
    let compile = ["compile", "--engine", "proxysql-2.7"];
    let _ = environment.run(compile).unwrap().success();
    let (code, said) = refusal(&environment, &[]);
    assert_eq!(code, Some(1), "{said}");
    insta::assert_snapshot!(said, @r"
    error: the refuser's host 192.0.2.1 is not an address of this machine
      = help: --listen IP sets the address to listen on; ProxySQL must reach it at that host
    ");
    let (code, said) = refusal(&environment, &["--engine", "bundled"]);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("the bundled engine refuses by itself"), "{said}");
}

/// The first of sixteen ports that are free: each reason has the next one. They are below those that clients get.
fn free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    // Tests that run at the same time begin elsewhere.
    let own = std::process::id() as usize % 700;
    (20_000..32_000)
        .step_by(16)
        .cycle()
        .skip(own)
        .take(750)
        .find(|&first| (first..first + 16).all(is_free))
        .unwrap()
}

#[test]
fn clients_of_a_real_proxysql_are_told_why_their_executions_are_refused() {
    let Some(binary) = real_proxysql("executions that `shardwright refuse` answers") else {
        return;
    };
    let server = MariaDb::start(Options::default()).unwrap();
    server
        .run("CREATE DATABASE plain; CREATE DATABASE shop; CREATE TABLE plain.t (a INT); INSERT INTO plain.t VALUES (7)")
        .unwrap();
    server.create_user("app", PASSWORD, Some("ALL ON *.*")).unwrap();
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let file = "version: 1\nengines: [proxysql-2.7]\n";
    environment.write("shardwright.yaml", file).unwrap();
    let (database, refuser) = (server.port(), free_ports());
    let topology = format!(
        "version: 1\n\
         clusters:\n  one: {{type: single, servers: {{db: {{host: 127.0.0.1, port: {database}}}}}}}\n\
         users:\n  app: {{password: {{env: APP}}, cluster: one, schema: plain}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{schemas: [shop]}}\n    \
         key: {{name: tenant, type: integer}}\n    key_from: [{{comment: {{}}}}]\n    \
         shards: {{t1: {{keys: [1], cluster: one}}}}\n\
         engine_settings: {{proxysql: {{refuser: {{host: 127.0.0.1, port: {refuser}}}}}}}\n"
    );
    environment.write("topology/one.yaml", topology).unwrap();

    let script = environment
        .run(["compile", "--emit", "sql"])
        .unwrap()
        .success()
        .stdout;
    let mut proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    // Each statement of a script is a line.
    let statements = script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("--"));
    proxysql.run(statements).unwrap();
    let password = format!("UPDATE mysql_users SET password='{PASSWORD}'");
    proxysql.run([&password, "LOAD MYSQL USERS TO RUNTIME"]).unwrap();
    let refusing = environment.start(["refuse"]).unwrap();
    eventually(Duration::from_secs(60), || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, refuser)).is_ok()
    });

    let options = ClientOptions {
        user: "app",
        password: PASSWORD,
        schema: Some("plain"),
    };
    let mut client = connect(proxysql.address(), options).unwrap();
    let statement = client.prep("SELECT a FROM plain.t WHERE a=?").unwrap();
    let rows: Vec<i64> = client.exec(&statement, (7,)).unwrap();
    assert_eq!(rows, [7]);
    client.select_db("shop").unwrap();
    let reason = "SW351: no shard key: shard map tenants needs tenant; write /* tenant=VALUE */";
    match client.exec::<i64, _, _>(&statement, (7,)) {
        Err(Error::MySqlError(error)) => {
            assert_eq!(error.code, 1226, "{error}");
            assert_eq!(error.message, format!("Access denied for user: {reason}"));
        }
        other => panic!("{other:?}"),
    }
    // The session goes on, and so does ProxySQL.
    client.select_db("plain").unwrap();
    let rows: Vec<i64> = client.exec(&statement, (7,)).unwrap();
    assert_eq!(rows, [7]);
    assert_eq!(proxysql.ended().unwrap(), None, "{}", proxysql.log().unwrap());
    let process = refusing.process().id().to_string();
    let ended = Command::new("kill").args(["-TERM", &process]).status().unwrap();
    assert!(ended.success(), "{ended}");
    let output = refusing.finish().unwrap().success();
    assert!(
        output.stderr.contains(&format!("connection: {reason}")),
        "{output}"
    );
}
