//! A project that is made of a ProxySQL holds what is there, and its plans leave alone what no project can say.

use shardwright_testkit::{AdminPort, CommandEnvironment, CommandOutput};

use crate::support::PROGRAM;

const SERVERS: &str = "INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, max_latency_ms) VALUES
    (10, 'w.db', 3306, 3307, 0), (20, 'r.db', 3306, 0, 80), (30, 'dwh.db', 3306, 0, 0), (10, '/run/mysqld.sock', 0, 0, 0);
  INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, comment) VALUES (10, 20, 'shop');
  INSERT INTO mysql_users (username, password, default_hostgroup, active, backend, frontend, fast_forward, attributes) VALUES
    ('app', 'app-password', 10, 1, 1, 1, 0, ''), ('svc.api@eu', 'api-password', 10, 1, 1, 1, 1, '{\"a\": 1}'),
    ('gone', 'x-password', 10, 0, 1, 1, 0, ''), ('lost', 'x-password', 77, 1, 1, 1, 0, ''),
    ('split', 'x-password', 10, 1, 0, 1, 0, ''), ('split', 'x-password', 10, 1, 1, 0, 0, '')";
const RULES: &str = "INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, apply, comment) VALUES
    (3, 0, NULL, '^SELECT 1$', 30, 1, 'parked'), (4, 1, '', '^SELECT .* FROM facts', 30, 1, 'facts are in the DWH (CHG-7)'),
    (5, 1, 'svc.api@eu', '^SELECT', 20, 1, NULL)";
const MODULES: [&str; 4] = [
    "MYSQL VARIABLES",
    "MYSQL SERVERS",
    "MYSQL USERS",
    "MYSQL QUERY RULES",
];

/// A ProxySQL with these rows, live and saved.
fn proxysql(rows: &[&str]) -> (AdminPort, CommandEnvironment) {
    let port = AdminPort::start();
    let statements = rows.iter().flat_map(|rows| rows.split(";\n"));
    let statements: Vec<String> = statements.map(|statement| statement.trim().to_owned()).collect();
    let loads = MODULES.map(|module| {
        [
            format!("LOAD {module} TO RUNTIME"),
            format!("SAVE {module} TO DISK"),
        ]
    });
    port.run(statements.into_iter().chain(loads.into_iter().flatten()))
        .unwrap();
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.set("PX_ADMIN", "admin");
    (port, environment)
}

fn init(port: &AdminPort, environment: &CommandEnvironment, more: &[&str]) -> CommandOutput {
    let source = format!("mysql://admin@{}", port.admin_address());
    let base = ["init", "--from", &source, "--password-env", "PX_ADMIN"];
    let made = environment.run(base.iter().chain(more).chain(&["shop"])).unwrap();
    assert_eq!(made.code(), Some(0), "{made}");
    made
}

fn read(environment: &CommandEnvironment, path: &str) -> String {
    std::fs::read_to_string(environment.project().join("shop").join(path)).unwrap()
}

fn count(port: &AdminPort, query: &str) -> String {
    port.run([query]).unwrap()[0][0].clone().unwrap()
}

#[test]
fn the_first_plan_changes_nothing_and_says_what_it_leaves() {
    let (port, environment) = proxysql(&[SERVERS, RULES]);
    init(&port, &environment, &["--only-exact"]);
    let users = read(&environment, "topology/users.yaml");
    assert!(users.contains(r#"svc-api-eu: {login: "svc.api@eu","#), "{users}");
    let diff = environment.run(["-C", "shop", "diff"]).unwrap();
    assert_eq!(diff.code(), Some(0), "{diff}");
    let plan = environment.run(["-C", "shop", "plan"]).unwrap().success();
    let left = plan
        .stdout
        .lines()
        .find(|line| line.contains("SW842"))
        .unwrap_or_default();
    insta::assert_snapshot!(left.trim());
    let rows = "SELECT count(*) FROM mysql_users";
    let before = count(&port, rows);
    let applied = environment
        .run(["-C", "shop", "apply", "--auto-approve"])
        .unwrap();
    assert_eq!(applied.code(), Some(0), "{applied}");
    assert_eq!(count(&port, rows), before);

    // A user that changes keeps what no project can say.
    let changed = users.replace(r#"login: "svc.api@eu""#, r#"login: "svc.api@eu", schema: shop"#);
    std::fs::write(environment.project().join("shop/topology/users.yaml"), changed).unwrap();
    let applied = environment
        .run(["-C", "shop", "apply", "--auto-approve"])
        .unwrap();
    assert_eq!(applied.code(), Some(0), "{applied}");
    let kept = "SELECT count(*) FROM mysql_users WHERE username='svc.api@eu' AND default_schema='shop' AND fast_forward=1 \
                AND attributes<>''";
    assert_eq!(count(&port, kept), "1");

    // What was there by a user of the project goes with it.
    let without: String = users
        .lines()
        .filter(|line| !line.starts_with("  app:"))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(environment.project().join("shop/topology/users.yaml"), without).unwrap();
    let plan = environment.run(["-C", "shop", "plan"]).unwrap();
    assert!(
        plan.stdout.contains("- mysql_users.app") || plan.stdout.contains("users.app"),
        "{plan}"
    );
}

#[test]
fn comments_and_numbers_of_lifted_rules_are_held() {
    let (port, environment) = proxysql(&[SERVERS, RULES]);
    init(&port, &environment, &[]);
    let routing = read(&environment, "topology/routing.yaml");
    assert!(
        routing.contains("rule 4: facts are in the DWH (CHG-7)"),
        "{routing}"
    );
    let told = environment
        .run(["-C", "shop", "explain", "rule:4"])
        .unwrap()
        .success();
    assert!(
        told.stdout.contains("routes.") && told.stdout.contains("imported"),
        "{told}"
    );
    let unknown = environment.run(["-C", "shop", "explain", "rule:3000"]).unwrap();
    assert_eq!(unknown.code(), Some(64), "{unknown}");
}

#[test]
fn servers_of_a_group_stay_as_they_are() {
    let rows = "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a.db');
      INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup)
        VALUES (1, 11, 20, 99)";
    let (port, environment) = proxysql(&[rows]);
    init(&port, &environment, &["--only-exact"]);
    let diff = environment.run(["-C", "shop", "diff"]).unwrap();
    assert_eq!(
        diff.code(),
        Some(0),
        "{diff}{}",
        read(&environment, "topology/clusters.yaml")
    );
}
