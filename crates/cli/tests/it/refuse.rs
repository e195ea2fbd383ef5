//! `refuse`: what it needs before it serves.

use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

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
        assert!(said.starts_with("error: the topology names no refuser"), "{said}");
        assert!(said.contains("help: write engine_settings"), "{said}");
    }
}

#[test]
fn the_ports_are_those_of_the_lock() {
    let environment = project("refuser: {host: 127.0.0.1, port: 6100}");
    let (code, said) = refusal(&environment, &[]);
    assert_eq!(code, Some(2), "{said}");
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
    error: the refuser's host 192.0.2.1 is no address of this machine
      = help: --listen IP says where to listen; ProxySQL must reach it as that host
    ");
    let (code, said) = refusal(&environment, &["--engine", "bundled"]);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("the bundled engine refuses by itself"), "{said}");
}
