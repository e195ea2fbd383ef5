//! 200 shards by comment, through the running proxy: as dispatch, and as the tree that ProxySQL gets, loaded as raw
//! rules. Two hundred servers answer with their number.

use std::net::SocketAddr;
use std::sync::Arc;

use mysql::Conn;
use serde_json::{Value, json};
use shardwright_mysqlite::sqlite::SqliteBackend;
use shardwright_mysqlite::{Config, Server, User};
use shardwright_rules::{Body, Configuration, Evaluator, HostgroupId, Outcome, Rule, SessionView, Statement};
use shardwright_testkit::{ClientOptions, CommandEnvironment, ProxyOptions, ProxyProcess, connect};

use crate::support::{PASSWORD, ask, example, lines};

const SHARDS: usize = 200;

/// Two hundred servers on one port of two hundred loopback addresses; each has a table that holds its number.
fn servers() -> (Vec<Server>, u16) {
    for _ in 0..20 {
        let first = server(1, 0).unwrap();
        let port = first.local_addr().port();
        let rest: std::io::Result<Vec<Server>> = (2..=SHARDS).map(|n| server(n, port)).collect();
        // Another process may hold the port on one of the addresses.
        if let Ok(rest) = rest {
            return (std::iter::once(first).chain(rest).collect(), port);
        }
    }
    panic!("no port is free on {SHARDS} loopback addresses");
}

fn server(n: usize, port: u16) -> std::io::Result<Server> {
    let backend = SqliteBackend::new("8.4.0-mysqlite")?;
    backend.add_schema("app").unwrap();
    backend
        .run_script(
            Some("app"),
            &format!("CREATE TABLE me (n INTEGER); INSERT INTO me VALUES ({n});"),
        )
        .unwrap();
    let user = User {
        name: "app".to_owned(),
        password: PASSWORD.to_owned(),
    };
    let address = SocketAddr::from(([127, 0, 1, n as u8], port));
    Server::bind(
        address,
        Config {
            users: vec![user],
            ..Config::default()
        },
        Arc::new(backend),
    )
}

fn project(port: u16) -> (CommandEnvironment, Vec<String>) {
    let mut environment = example("tenants");
    environment.set("APP_PASSWORD", PASSWORD);
    let variables = ["network=127.0.1".to_owned(), format!("port={port}")];
    let variables = variables
        .into_iter()
        .flat_map(|variable| ["--var".to_owned(), variable])
        .collect();
    (environment, variables)
}

fn run(environment: &CommandEnvironment, arguments: &[&str], variables: &[String]) -> String {
    let arguments = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .chain(variables.iter().cloned());
    environment.run(arguments).unwrap().success().stdout
}

/// Starts a proxy for the project and applies it.
fn serve(environment: &CommandEnvironment, variables: &[String]) -> ProxyProcess {
    let proxy = ProxyProcess::start(environment, ProxyOptions::new(environment.outside("data"))).unwrap();
    let admin = format!("admin_port={}", proxy.admin().port());
    let variables = [variables, &["--var".to_owned(), admin]].concat();
    run(environment, &["apply", "--auto-approve"], &variables);
    proxy
}

fn client(proxy: &ProxyProcess) -> Conn {
    let options = ClientOptions {
        user: "app",
        password: PASSWORD,
        schema: Some("app"),
    };
    connect(proxy.listen(), options).unwrap()
}

/// What the topology says about a comment: the number of the shard, or a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Shard(usize),
    Refused,
}

/// Every key, and every neighbour of every key.
fn questions() -> Vec<(String, Expected)> {
    let known = |n: usize| {
        if (1..=SHARDS).contains(&n) {
            Expected::Shard(n)
        } else {
            Expected::Refused
        }
    };
    let sql = |comment: String| format!("{comment} SELECT n FROM me");
    let mut questions = Vec::new();
    for n in 1..=SHARDS {
        questions.push((sql(format!("/* tenant={n} */")), known(n)));
        questions.push((format!("SELECT n FROM me /*tenant={n}*/"), known(n)));
        for digit in [0, 1, 9] {
            questions.push((sql(format!("/* tenant={n}{digit} */")), known(n * 10 + digit)));
        }
        questions.push((sql(format!("/* tenant=0{n} */")), known(n)));
        questions.push((sql(format!("/* Tenant='{n}', trace=abc */")), known(n)));
        for broken in ["a", ".0", "-1", "e0", "_"] {
            questions.push((sql(format!("/* tenant={n}{broken} */")), Expected::Refused));
        }
        for broken in ["x", "-", "0x", "="] {
            questions.push((sql(format!("/* tenant={broken}{n} */")), Expected::Refused));
        }
        questions.push((sql(format!("/* xtenant={n} */")), Expected::Refused));
        questions.push((sql(format!("/* tenant {n} */")), Expected::Refused));
        questions.push((sql(format!("/*! tenant={n} */")), Expected::Refused));
        questions.push((format!("SELECT n, '/* tenant={n} */' FROM me"), Expected::Refused));
        let other = n % SHARDS + 1;
        questions.push((
            sql(format!("/* tenant={n} */ /* tenant={other} */")),
            Expected::Refused,
        ));
        questions.push((sql(format!("/* tenant={n} tenant={other} */")), Expected::Refused));
    }
    for missing in [
        "",
        "/* */",
        "/* tenant= */",
        "/* tenant */",
        "-- tenant=17\n",
        "# tenant=17\n",
        "/* a=1 */",
    ] {
        questions.push((sql(missing.to_owned()), Expected::Refused));
    }
    questions
}

fn check(proxy: &ProxyProcess) {
    let mut client = client(proxy);
    let mut wrong = Vec::new();
    for (sql, expected) in questions() {
        let answer = ask(&mut client, &sql);
        let got = match &answer {
            Ok(rows) => lines(rows).join(",").parse().map(Expected::Shard).ok(),
            Err(message) if message.starts_with("1148: SW35") => Some(Expected::Refused),
            Err(_) => None,
        };
        if got != Some(expected) {
            wrong.push(format!("{sql}\n    {answer:?}, wanted {expected:?}"));
        }
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_key_reaches_its_own_shard_by_dispatch_and_by_the_tree_as_raw_rules() {
    let (_servers, port) = servers();
    let (environment, variables) = project(port);
    check(&serve(&environment, &variables));

    let compiled = run(
        &environment,
        &["compile", "--engine", "proxysql-2.7", "--emit", "json"],
        &variables,
    );
    let configuration: Configuration = serde_json::from_str(&compiled).unwrap();
    let (raw, variables) = project(port);
    let topology = raw.read("topology/tenants.yaml").unwrap();
    let (before_maps, _) = topology.split_once("shard_maps:").unwrap();
    raw.write("topology/tenants.yaml", before_maps).unwrap();
    raw.write("topology/tree.yaml", as_query_rules(&configuration))
        .unwrap();
    let project_file = raw
        .read("shardwright.yaml")
        .unwrap()
        .replace("[bundled, proxysql-2.7]", "[bundled]");
    raw.write("shardwright.yaml", project_file).unwrap();
    raw.write("shardwright.lock", environment.read("shardwright.lock").unwrap())
        .unwrap();
    check(&serve(&raw, &variables));
}

/// The rows of a configuration as a `query_rules` block, written as a person with a dump would. Rows that lead executions
/// to a hostgroup that refuses are left out: the bundled engine answers executions with `error_msg` and has no such
/// hostgroups.
fn as_query_rules(configuration: &Configuration) -> String {
    let refuses = |rule: &Rule| {
        matches!(&rule.body, Body::Engine(row)
            if row.destination_hostgroup.is_some_and(|id| configuration.refusing(HostgroupId(id)).is_some()))
    };
    let rules = configuration.graph.rules.iter();
    let rows = rules.filter(|rule| !refuses(rule)).map(|rule| {
        let rule = serde_json::to_value(rule).unwrap();
        let mut row = rule["body"]["engine"].as_object().unwrap().clone();
        row.insert("rule_id".into(), rule["id"].clone());
        row.insert("flagIN".into(), rule["flag_in"].clone());
        if let Some(flag_out) = row.remove("flag_out") {
            row.insert("flagOUT".into(), flag_out);
        }
        let modifiers = row.remove("re_modifiers").unwrap();
        let words = [("caseless", "CASELESS"), ("global", "GLOBAL")];
        let words: Vec<&str> = words
            .iter()
            .filter(|(key, _)| modifiers[*key] == json!(true))
            .map(|(_, word)| *word)
            .collect();
        row.insert("re_modifiers".into(), json!(words.join(",")));
        for flag in ["apply", "negate_match_pattern"] {
            if let Some(value) = row.get_mut(flag) {
                *value = json!(u8::from(*value == json!(true)));
            }
        }
        row.remove("comment");
        Value::Object(row)
    });
    let rows: Vec<Value> = rows.collect();
    serde_yaml::to_string(
        &json!({"version": 1, "query_rules": {"tree": {"at": "before_all", "rules": rows}}}),
    )
    .unwrap()
}

#[test]
fn stats_print_the_evaluations_that_the_evaluator_counts() {
    let (environment, variables) = project(3306);
    for engine in ["proxysql-2.7", "bundled"] {
        let compiled = run(
            &environment,
            &["compile", "--engine", engine, "--emit", "json"],
            &variables,
        );
        let configuration: Configuration = serde_json::from_str(&compiled).unwrap();
        let evaluator = Evaluator::new(Arc::new(configuration));
        let counts: Vec<u32> = (1..=SHARDS).map(|n| evaluations(&evaluator, n)).collect();
        let mean = f64::from(counts.iter().sum::<u32>()) / SHARDS as f64;
        let stats = run(
            &environment,
            &["compile", "--engine", engine, "--stats", "--format", "json"],
            &variables,
        );
        let stats: Value = serde_json::from_str(&stats).unwrap();
        let map = &stats["shard_maps"]["tenants"];
        assert!(
            (map["mean_evaluations"].as_f64().unwrap() - mean).abs() < 1e-9,
            "{engine}: {map} and {mean}"
        );
        assert_eq!(
            map["worst_evaluations"].as_u64(),
            counts.iter().max().map(|n| u64::from(*n)),
            "{engine}: {map}"
        );
        assert_eq!(map["keys"], json!(SHARDS));
    }
}

fn evaluations(evaluator: &Evaluator, n: usize) -> u32 {
    let session = SessionView {
        user: "app",
        schema: Some("app"),
        ..SessionView::default()
    };
    let sql = format!("/* tenant={n} */ SELECT 1 FROM t");
    let decision = evaluator.decide(&session, &Statement::new(sql.as_bytes(), Default::default()));
    let Outcome::Route(route) = &decision.outcome else {
        panic!("{sql}: {:?}", decision.outcome)
    };
    assert_eq!(
        route.cluster.as_deref(),
        Some(format!("shard-{n:03}").as_str()),
        "{sql}"
    );
    decision.evaluations
}

/// On ProxySQL the rules of a shard place its statements, and every statement passes the chain of the throttles behind them.
#[test]
fn a_throttle_of_other_users_is_no_reason() {
    let topology = "\
version: 1
clusters:
  even: {type: single, servers: {a: {host: a.db}}}
  odd: {type: single, servers: {a: {host: b.db}}}
users:
  app: {password: {env: APP}, cluster: even, schema: app}
  purge: {password: {env: PURGE}, cluster: even, schema: app}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t1: {keys: [1], cluster: odd}
      t2: {keys: [2], cluster: even}
throttles:
  purge: {applies_to: {users: [purge]}, delay: 5ms}
";
    let tests = "\
version: 1
route_tests:
  tenant 1 is elsewhere:
    session: {user: app}
    query: /* tenant=1 */ UPDATE t SET a=1
    expect: {cluster: even}
";
    let files = [("topology/shop.yaml", topology), ("tests/routes.yaml", tests)];
    let environment = crate::support::project("proxysql-2.7", &files);
    let statement = "/* tenant=1 */ UPDATE t SET a=1";
    let route = |user: &str, format: &str| {
        let arguments = ["route", "--user", user, "--format", format, statement];
        environment.run(arguments).unwrap().success().stdout
    };
    let json: serde_json::Value = serde_json::from_str(&route("app", "json")).unwrap();
    assert_eq!(json["shard"], "shard_maps.tenants.shards.t1", "{json:#}");
    let shown = route("app", "human");
    let mut reasons = shown.lines().filter(|line| line.starts_with("  rule "));
    let last = reasons.next_back().unwrap();
    assert!(last.contains("shard_maps.tenants.shards.t1"), "{shown}");
    assert!(route("purge", "human").contains("throttles.purge"));
    let output = environment.run(["test"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(
        output
            .stdout
            .contains("goes to: odd writer, by shard_maps.tenants.shards.t1 (")
            && !output.stdout.contains("throttles"),
        "{output}"
    );
}
