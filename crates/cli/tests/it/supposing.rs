//! `route --if`, and the `if` of route tests: who takes a statement when servers are in another state.

use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

const TOPOLOGY: &str = "
version: 1
clusters:
  pay:
    type: galera
    writer_preference: [pxc2]
    servers: {pxc1: {host: pxc1.db}, pxc2: {host: pxc2.db}, pxc3: {host: pxc3.db, read_weight: 3}}
  shop:
    type: replication
    servers: {db1: {host: db1.db}, db2: {host: db2.db, max_replication_lag: 5s}, db3: {host: db3.db}}
users:
  pay: {password: {env: PASSWORD}, cluster: pay}
  shop: {password: {env: PASSWORD}, cluster: shop}
read_write_policies:
  all: {applies_to: {clusters: [pay, shop]}, reads: {all: true}}
monitor: {user: monitor, password: {env: PASSWORD}}
";
const READ: &str = "SELECT a FROM t";
const WRITE: &str = "UPDATE t SET a = 1";

/// What is said of servers.
fn told(project: &CommandEnvironment, user: &str, suppose: &[&str], statement: &str) -> String {
    let mut arguments = vec!["route", "--user", user];
    suppose.iter().for_each(|one| arguments.extend(["--if", one]));
    arguments.push(statement);
    let output = project.run(&arguments).unwrap();
    assert_eq!(output.code(), Some(0), "{output:?}");
    let is_about_servers = |line: &&str| {
        ["  served by", "  not by", "  waits"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let lines: Vec<&str> = output
        .stdout
        .lines()
        .filter(is_about_servers)
        .map(str::trim)
        .collect();
    lines
        .join("\n")
        .replace("clusters.", "")
        .replace(".servers.", " ")
}

fn project() -> CommandEnvironment {
    let project = CommandEnvironment::new(PROGRAM).unwrap();
    project
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [bundled, proxysql-2.7]\n",
        )
        .unwrap();
    project.write("topology/t.yaml", TOPOLOGY).unwrap();
    project
}

#[test]
fn the_servers_that_take_a_statement_are_named_with_the_others_and_why() {
    let project = project();
    insta::assert_snapshot!(told(&project, "pay", &["pxc2=down"], WRITE), @r"
    served by pay pxc1
    not by    pay pxc2: it does not answer: supposed
    not by    pay pxc3: it could write, and another server does
    ");
    insta::assert_snapshot!(told(&project, "pay", &["pxc1=queue:7"], READ), @r"
    served by pay pxc1 (1 of 4)
    served by pay pxc3 (3 of 4)
    not by    pay pxc2: it serves when nobody else can
    ");
    insta::assert_snapshot!(told(&project, "pay", &["pxc1=minority", "pxc3=minority"], READ), @r"
    served by pay pxc2
    not by    pay pxc1: it is not in the majority of the cluster (wsrep_cluster_status)
    not by    pay pxc3: it is not in the majority of the cluster (wsrep_cluster_status)
    ");
    insta::assert_snapshot!(told(&project, "shop", &["db2=lag:20s"], READ), @r"
    served by shop db3
    not by    shop db1: it serves when nobody else can
    not by    shop db2: it is up to 20 s behind, its limit is 5 s
    ");
    insta::assert_snapshot!(told(&project, "shop", &["clusters.shop.servers.db1=down"], WRITE), @r"
    waits     until a server serves, then error 9001
    not by    shop db1: it does not answer: supposed
    not by    shop db2: it is read-only
    not by    shop db3: it is read-only
    ");
    insta::assert_snapshot!(told(&project, "shop", &["shop/db1=down", "db2=promoted"], WRITE), @r"
    served by shop db2
    not by    shop db1: it does not answer: supposed
    not by    shop db3: it is read-only
    ");
    assert_eq!(told(&project, "shop", &[], WRITE), "", "nothing is supposed");
}

#[test]
fn what_cannot_be_supposed_is_an_error_of_use() {
    let project = project();
    for (arguments, expected) in [
        (["--if", "db1"].as_slice(), "write SERVER=STATE"),
        (&["--if", "db9=down"], "no server that is watched is named db9"),
        (
            &["--if", "pay/db1=down"],
            "no server that is watched is named pay/db1",
        ),
        (&["--if", "db1=broken"], "broken is no state of a server"),
        (&["--if", "db1=lag:soon"], "is no state of a server"),
        (
            &["--engine", "proxysql-2.7", "--if", "db1=down"],
            "proxysql-2.7 watches no servers",
        ),
    ] {
        let output = project
            .run(["route", "--user", "shop", WRITE].iter().chain(arguments))
            .unwrap();
        assert_eq!(output.code(), Some(64), "{output:?}");
        assert!(output.stderr.contains(expected), "{output:?}");
    }
}

/// The result of `test`, for tests about the topology above.
fn tested(tests: &str) -> (i32, String) {
    tested_in(&project(), tests)
}

fn tested_in(project: &CommandEnvironment, tests: &str) -> (i32, String) {
    project
        .write(
            "tests/servers.yaml",
            format!("version: 1\nsession: {{user: pay}}\nroute_tests:\n{tests}"),
        )
        .unwrap();
    let output = project.run(["test"]).unwrap();
    (output.code().unwrap(), output.stdout + &output.stderr)
}

#[test]
fn route_tests_suppose_the_same() {
    let (code, output) = tested(
        "
  another writes:
    if: pxc2=down
    query: UPDATE t SET a = 1
    expect: {role: writer, served_by: pay/pxc1}
  readers share:
    if: pxc1=queue:7
    query: SELECT a FROM t
    expect: {served_by: [pxc3, pxc1]}
  nobody writes:
    script:
      - query: UPDATE t SET a = 1
        if: [pxc1=down, pxc2=down, pxc3=down]
        expect: {served_by: []}
      - query: UPDATE t SET a = 1
        expect: {served_by: clusters.pay.servers.pxc2}
  replicas that lag are left:
    if: [db2=lag:20s]
    session: {user: shop}
    query: SELECT a FROM t
    expect: {served_by: db3, throttled_by: []}
",
    );
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("bundled: 4 cases"), "{output}");
    assert!(output.contains("proxysql-2.7: 0 cases"), "{output}");
}

#[test]
fn a_server_that_does_not_serve_is_shown() {
    let (code, output) = tested(
        "
  the wrong one:
    if: pxc2=down
    query: UPDATE t SET a = 1
    expect: {served_by: [pxc2, pxc3]}
",
    );
    assert_eq!(code, 3, "{output}");
    let told = "expected clusters.pay.servers.pxc2, clusters.pay.servers.pxc3";
    assert!(
        output.contains(told) && output.contains("clusters.pay.servers.pxc1"),
        "{output}"
    );
}

#[test]
fn what_route_tests_cannot_suppose_is_told_at_its_place() {
    let (code, output) = tested(
        "
  states:
    if: [pxc2=dwon, pxc9=down, pxc1]
    query: SELECT a FROM t
    expect: {served_by: pxc3}
  another engine:
    engines: [proxysql-2.7]
    query: SELECT a FROM t
    expect: {served_by: pxc3}
",
    );
    assert_eq!(code, 65, "{output}");
    for told in [
        "`pxc2=dwon` supposes nothing of a server",
        "`pxc1` supposes nothing of a server",
        "states: down, read-only",
        "pxc9",
        "did you mean `pxc",
        "proxysql-2.7 watches servers by itself",
    ] {
        assert!(output.contains(told), "{told}: {output}");
    }
}

#[test]
fn servers_that_nobody_watches_are_told_with_what_it_takes() {
    let project = project();
    let external = TOPOLOGY.replace("type: galera", "type: galera\n    roles_by: external");
    project.write("topology/t.yaml", external).unwrap();
    let (code, output) = tested_in(
        &project,
        "
  nobody knows:
    query: UPDATE t SET a = 1
    expect: {served_by: pxc2}
",
    );
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("`roles_by: engine` of the cluster"), "{output}");
}
