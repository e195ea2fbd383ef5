//! Prepared statements of the binary protocol in `route` and `test`.

use std::collections::HashMap;

use mysql::prelude::Queryable;
use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::{self, PROGRAM};

#[test]
fn a_script_prepares_and_executes() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write(
            "rules.sql",
            "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 1);\n\
             INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, destination_hostgroup, apply)\n  \
             VALUES (10, 1, 'legacy_', '', 7, 1);\n\
             INSERT INTO mysql_query_rules (rule_id, active, match_pattern, destination_hostgroup, apply)\n  \
             VALUES (20, 1, 'tenant = 17', 8, 1);\n\
             INSERT INTO mysql_query_rules (rule_id, active, match_digest, delay, retries) VALUES (30, 1, '^SELECT', 500, 2);\n",
        )
        .unwrap();
    let route = |arguments: &[&str]| {
        let fixed = ["route", "--rules", "rules.sql"];
        environment.run(fixed.iter().chain(arguments)).unwrap()
    };
    let script =
        "COM_STMT_PREPARE s FROM SELECT a FROM legacy_t WHERE tenant = ?; COM_STMT_EXECUTE s USING 17";
    insta::assert_snapshot!(route(&[script]).success().stdout, @r"
    COM_STMT_PREPARE s FROM SELECT a FROM legacy_t WHERE tenant = ?
    goes to hostgroup 7
      sent as   SELECT a FROM t WHERE tenant = ?
      1 patterns evaluated, 1 rules visited
    because
      rule 10 mysql_query_rules.10  rules.sql:3
           match_pattern legacy_

    COM_STMT_EXECUTE s USING 17
      executes SELECT a FROM t WHERE tenant = ?
    goes to hostgroup 1
      3 patterns evaluated, 3 rules visited
    because
      - rule 10 mysql_query_rules.10  rules.sql:3: match_pattern does not match: legacy_
      - rule 20 mysql_query_rules.20  rules.sql:5: match_pattern does not match: tenant = 17; it would match with the values in the text, where an execution has `?`
      rule 30 mysql_query_rules.30  rules.sql:6
           match_digest ^SELECT; executions of prepared statements do not get its delay and retries
    ");
    let answers: Value =
        serde_json::from_str(&route(&["--format", "json", script]).success().stdout).unwrap();
    let seen: Vec<[&Value; 4]> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| {
            let session = &answer["session"];
            [
                &session["command"],
                &answer["hostgroup"],
                &answer["query"],
                &answer["delay_ms"],
            ]
        })
        .collect();
    let rewritten = "SELECT a FROM t WHERE tenant = ?";
    assert_eq!(
        serde_json::json!(seen),
        serde_json::json!([
            ["COM_STMT_PREPARE", 7, rewritten, 0],
            ["COM_STMT_EXECUTE", 1, rewritten, 0]
        ])
    );
    let wrong = route(&["COM_STMT_PREPARE s FROM SELECT ?; COM_STMT_EXECUTE s USING 1, 2"]);
    assert_eq!(wrong.code(), Some(64));
    let told = "error: COM_STMT_EXECUTE of s gives another number of values (2) than its statement has parameters (1)\n";
    assert_eq!(wrong.stderr, told);
    let unknown = route(&["COM_STMT_EXECUTE s"]);
    assert_eq!(unknown.code(), Some(64));
    let told = "error: COM_STMT_EXECUTE of s, which no COM_STMT_PREPARE before it has prepared\n";
    assert_eq!(unknown.stderr, told);
}

const TOPOLOGY: &str = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
users:
  app: {password: {env: APP}, cluster: shop, schema: app}
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      all: {keys: [1..9], cluster: shop}
read_write_policies:
  reads: {applies_to: {clusters: [shop]}, reads: {all: true}}
throttles:
  reports: {applies_to: {match_digest: FROM report}, delay: 5ms}
";

const TESTS: &str = "\
version: 1
route_tests:
  an execution goes where the comment of its preparation says:
    script:
      - {prepare: read, query: /* tenant=2 */ SELECT a FROM t WHERE id = ?, expect: {shard: tenants/all, role: reader}}
      - {execute: read, values: [17], expect: {shard: tenants/all, role: reader}}
      - query: /* tenant=2 */ BEGIN
      - {execute: read, expect: {role: writer}}
      - query: COMMIT
      - {execute: read, values: [x], expect: {role: reader}}
  a value is no key:
    script:
      - {prepare: read, query: SELECT a FROM t WHERE tenant = ?, expect: {error: SW351}}
      - {execute: read, values: [1], expect: {error: Unknown prepared statement}}
  what changes the session is executed as text:
    engines: [bundled]
    script:
      - {prepare: begin, query: /* tenant=2 */ BEGIN}
      - {prepare: read, query: /* tenant=2 */ SELECT a FROM t WHERE id = ?}
      - {execute: read, values: [1], expect: {role: reader}}
      - {execute: begin}
      - {execute: read, values: [1], expect: {role: writer}}
      - {prepare: set, query: SET time_zone = ?, expect: {role: writer}}
  the bundled engine delays executions:
    engines: [bundled]
    script:
      - {prepare: report, query: /* tenant=2 */ SELECT a FROM report, expect: {delay: 0ms}}
      - {execute: report, expect: {delay: 5ms}}
  ProxySQL does not:
    engines: [proxysql-2.7]
    script:
      - {query: /* tenant=2 */ SELECT a FROM report, expect: {delay: 5ms}}
      - {prepare: report, query: /* tenant=2 */ SELECT a FROM report, expect: {delay: 0ms}}
      - {execute: report, expect: {delay: 0ms}}
";

#[test]
fn sessions_of_tests_prepare_and_execute() {
    let run = |tests: &str| {
        let files = [("topology/shop.yaml", TOPOLOGY), ("tests/routes.yaml", tests)];
        let environment = support::project("bundled, proxysql-2.7", &files);
        environment.run(["test"]).unwrap()
    };
    let output = run(TESTS);
    assert_eq!(output.code(), Some(0), "{output}");
    let wrong = run("\
version: 1
route_tests:
  what does not hold is shown with the text that was executed:
    engines: [proxysql-2.7]
    script:
      - {prepare: read, query: /* tenant=2 */ SELECT a FROM report WHERE id = ?}
      - {execute: read, values: [1], expect: {delay: 5ms}}
      - {execute: read, values: [1, 2]}
");
    assert_eq!(wrong.code(), Some(3), "{wrong}");
    insta::assert_snapshot!(wrong.stdout, @r"
    error[SW801]: `what does not hold is shown with the text that was executed` does not hold on proxysql-2.7
       ╭▸ tests/routes.yaml:7:54
       │
     7 │       - {execute: read, values: [1], expect: {delay: 5ms}}
       │                                                      ━━━ expected 5ms, got 0ms
       │
       ⸬  topology/shop.yaml:15:3
       │
    15 │   reports: {applies_to: {match_digest: FROM report}, delay: 5ms}
       │   ─────── decided here: match_digest FROM report; executions of prepared statements do not get its delay
       │
       ├ example: user=app schema=app  /* tenant=2 */ SELECT a FROM report WHERE id = ?
       ├ note:    this is an execution of read, in the binary protocol
       ├ goes to: shop reader, by shard_maps.tenants.shards.all (topology/shop.yaml:11)
       ╰ more:    shardwright explain SW801

    error[SW801]: `what does not hold is shown with the text that was executed` does not hold on proxysql-2.7
      ╭▸ tests/routes.yaml:8:19
      │
    8 │       - {execute: read, values: [1, 2]}
      │                   ━━━━ expected no refusal, got a refusal
      │
      ├ example: user=app schema=app  /* tenant=2 */ SELECT a FROM report WHERE id = ?
      ├ note:    this is an execution of read, in the binary protocol
      ├ goes to: nowhere: Incorrect arguments to mysqld_stmt_execute (values: 2, parameters: 1), by no rule
      ╰ more:    shardwright explain SW801
    ");
}

enum Sent {
    Text(&'static str),
    Prepare(&'static str, &'static str),
    Execute(&'static str),
    /// With this text for its parameter.
    ExecuteWith(&'static str, &'static str),
}

/// A session that prepares and executes in every state that decides about it. A statement with a row answers with the
/// port of its server.
const SESSION: [Sent; 28] = [
    Sent::Prepare(
        "asia",
        "/* continent=Asia */ SELECT @@port FROM City WHERE ID <> ? LIMIT 1",
    ),
    Sent::Execute("asia"),
    Sent::Prepare(
        "europe",
        "SELECT @@port FROM world.City WHERE Continent = 'Europe' AND ID <> ? LIMIT 1",
    ),
    Sent::Execute("europe"),
    Sent::Prepare(
        "by value",
        "SELECT @@port FROM world.City WHERE Continent = ? LIMIT 1",
    ),
    Sent::ExecuteWith("by value", "Asia"),
    Sent::ExecuteWith("by value", "Africa"),
    Sent::ExecuteWith("by value", "Atlantis"),
    Sent::Prepare("no key", "SELECT @@port FROM world.City WHERE ID <> ? LIMIT 1"),
    Sent::Prepare("set", "SET @a = ?"),
    Sent::Prepare("begin", "BEGIN"),
    Sent::Prepare("use", "USE world"),
    Sent::Prepare("text", "PREPARE s FROM 'SELECT 1'"),
    Sent::Prepare("commit", "COMMIT"),
    Sent::Text("BEGIN"),
    Sent::Execute("asia"),
    Sent::Execute("europe"),
    Sent::Execute("commit"),
    Sent::Execute("europe"),
    Sent::Text("BEGIN"),
    Sent::Execute("commit"),
    Sent::Execute("asia"),
    Sent::Execute("europe"),
    Sent::Text("USE information_schema"),
    Sent::Execute("asia"),
    Sent::Execute("begin"),
    Sent::Execute("europe"),
    Sent::Execute("asia"),
];

#[test]
fn the_proxy_prepares_and_executes_as_route_says() {
    let world = support::WorldOnServers::start();
    let topology = world.environment.read("topology/world.yaml").unwrap();
    let deferred = "    applies_to: {users: [geo]}\n    missing_key: {begin: first_statement}\n";
    let topology = topology.replacen("    applies_to: {users: [geo]}\n", deferred, 1);
    world.environment.write("topology/world.yaml", topology).unwrap();
    world.run(&["apply", "--auto-approve"]);
    let script: Vec<String> = SESSION
        .iter()
        .map(|sent| match sent {
            Sent::Text(sql) => (*sql).to_owned(),
            Sent::Prepare(name, sql) => format!("COM_STMT_PREPARE `{name}` FROM {sql}"),
            Sent::Execute(name) => format!("COM_STMT_EXECUTE `{name}`"),
            Sent::ExecuteWith(name, value) => format!("COM_STMT_EXECUTE `{name}` USING '{value}'"),
        })
        .collect();
    let script = script.join(";\n");
    let arguments = [
        "route", "--engine", "bundled", "--user", "geo", "--format", "json", &script,
    ];
    let told: Vec<Value> = serde_json::from_str(&world.run(&arguments)).unwrap();
    let mut client = world.client("geo");
    let mut prepared = HashMap::new();
    let mut differ = Vec::new();
    for (sent, told) in SESSION.iter().zip(&told) {
        let (expected, actual) = match sent {
            Sent::Text(sql) => (
                place(told, false),
                client.query_drop(sql).map(|()| "sent".to_owned()),
            ),
            Sent::Prepare(name, sql) => {
                let statement = client.prep(sql).map(|statement| {
                    prepared.insert(*name, statement);
                    "sent".to_owned()
                });
                (place(told, false), statement)
            }
            Sent::Execute(name) | Sent::ExecuteWith(name, _) => {
                let statement = &prepared[name];
                let value = match sent {
                    Sent::ExecuteWith(_, value) => mysql::Value::from(*value),
                    _ => mysql::Value::Int(0),
                };
                let values = vec![value; usize::from(statement.num_params())];
                let port = client.exec_first::<u16, _, _>(statement, values);
                (
                    place(told, !matches!(*name, "commit" | "begin")),
                    port.map(|port| world.name_of(port)),
                )
            }
        };
        let actual = actual.unwrap_or_else(|error| match error {
            mysql::Error::MySqlError(error) => format!("{}: {}", error.code, error.message),
            other => panic!("{}: {other}", told["session"]["statement"]),
        });
        if actual != expected {
            let statement = &told["session"]["statement"];
            differ.push(format!("{statement}\n  route: {expected}\n  proxy: {actual}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    let places = told.iter().map(|told| place(told, true));
    let places: Vec<String> = places
        .map(|place| place.chars().take(11).collect::<String>().trim_end().to_owned())
        .collect();
    assert_eq!(
        places.join(", "),
        "asia, asia, europe, europe, europe, asia, africa, 1148: SW352, 1148: SW351, europe, sent, europe, 1295: This, europe, \
         sent, asia, 1148: SW356, asia, europe, sent, sent, asia, europe, europe, asia, sent, europe, 1148: SW356"
    );
}

/// What became of a statement, by `route`: its cluster where `names_cluster`, or the error.
fn place(told: &Value, names_cluster: bool) -> String {
    match (&told["error"], &told["cluster"]) {
        (Value::Null, Value::String(cluster)) if names_cluster => cluster.clone(),
        (Value::Null, _) => "sent".to_owned(),
        (error, _) => format!("{}: {}", error["code"], error["message"].as_str().unwrap()),
    }
}

impl support::WorldOnServers {
    /// The cluster of the server with this port; `sent` where no row came.
    fn name_of(&self, port: Option<u16>) -> String {
        let Some(port) = port else {
            return "sent".to_owned();
        };
        let names = ["europe", "asia", "africa"];
        let at = self.servers.iter().position(|server| server.port() == port);
        names[at.unwrap()].to_owned()
    }
}
