//! Emitted rules on a real ProxySQL: clients get what the evaluator says, no write reaches a reader, and the engine
//! outlives what it refuses.
//!
//! `SHARDWRIGHT_CONFORMANCE=1000000` sends that many random statements; a usual run sends a few thousand.

use std::collections::BTreeSet;

use proptest::prelude::{Strategy, prop};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_rules::{
    EngineId, Evaluator, Finder, KeyValue, MapStep, Outcome, SentAs, SessionView, Statement as RulesStatement,
};
use shardwright_sql::{LexMode, ReadHazards, Shape};
use shardwright_targets::emit;
use shardwright_testkit::{ClientOptions, EngineClient, ProxySqlOptions, Reply, Rig, real_proxysql};
use shardwright_topology::model::Project;

use super::engines::cases::{CASES, CLUSTERS};
use super::engines::text;
use super::examples::{example, names};
use crate::support::*;

/// Random statements of a usual run.
const USUAL: usize = 3_000;
/// Keys of one map that are tried.
const MOST_KEYS: usize = 24;

fn wanted() -> usize {
    std::env::var("SHARDWRIGHT_CONFORMANCE").map_or(USUAL, |number| number.parse().expect("a number"))
}

/// A compiled project on a real engine, with a numbered server for each of its hostgroups.
struct Loaded {
    rig: Rig,
    compiled: Compiled,
    evaluator: Evaluator,
}

impl Loaded {
    fn start(binary: &std::path::Path, project: &Project, threads: u32) -> Self {
        let compiled = compile(
            project,
            EngineId::Proxysql27,
            &Lock::default(),
            &Options::default(),
        );
        let configuration = &compiled.configuration;
        let hostgroups = configuration.hostgroups.iter().map(|hostgroup| hostgroup.id.0);
        let users: Vec<&str> = configuration
            .users
            .iter()
            .map(|user| user.name.as_str())
            .collect();
        let options = ProxySqlOptions {
            threads,
            ..ProxySqlOptions::default()
        };
        let rig = Rig::start(binary, &options, hostgroups, &users).unwrap();
        let loaded = Self {
            evaluator: Evaluator::new(compiled.configuration.clone()),
            rig,
            compiled,
        };
        loaded.load();
        loaded
    }

    /// The emitted script, but for the addresses of servers and the passwords of users.
    fn load(&self) {
        let script = emit::sql(&self.compiled.configuration).unwrap();
        let statements: Vec<&str> = script.split(";\n").map(without_comments).collect();
        let is_of = |statement: &&str| {
            ["mysql_users", "mysql_query_rules"]
                .iter()
                .any(|table| statement.contains(&format!(" INTO {table}")))
                || statement.starts_with("SET mysql-query_processor")
        };
        let own: Vec<String> = statements.into_iter().filter(is_of).map(str::to_owned).collect();
        let passwords =
            "UPDATE mysql_users SET password='', default_schema=NULLIF(default_schema, '')".to_owned();
        self.rig.load(&[own, vec![passwords]].concat()).unwrap();
        let admin = self.rig.proxysql().admin_address();
        let refusing = self.compiled.configuration.refusing.iter().map(|hostgroup| {
            format!(
                "REPLACE INTO mysql_servers (hostgroup_id, hostname, port) VALUES ({}, '{}', {})",
                hostgroup.id,
                admin.ip(),
                admin.port()
            )
        });
        let load = "LOAD MYSQL SERVERS TO RUNTIME".to_owned();
        self.rig.proxysql().run(refusing.chain([load])).unwrap();
    }

    fn client(&self, user: &str, schema: Option<&str>) -> EngineClient {
        let options = ClientOptions {
            user,
            schema,
            ..ClientOptions::default()
        };
        self.rig.client(0, options).unwrap()
    }

    fn expected(&self, user: &str, schema: Option<&str>, sql: &str, sent_as: SentAs) -> Outcome {
        let session = SessionView {
            user,
            schema: Some(schema.unwrap_or("information_schema")),
            client_addr: Some("127.0.0.1"),
            ..SessionView::default()
        };
        let statement = RulesStatement::new(sql.as_bytes(), LexMode::default()).sent_as(sent_as);
        self.evaluator.decide(&session, &statement).outcome
    }

    /// Sends a statement and compares; what the engine answers by itself says nothing about rules.
    fn check(&self, client: &mut EngineClient, (user, schema): (&str, Option<&str>), sql: &str) -> bool {
        let reply = client.query(sql);
        let expected = self.expected(user, schema, sql, SentAs::Query);
        let what =
            || format!("{user} in {schema:?}: {sql:?}: the engine gave {reply:?}, expected {expected:?}");
        if let Some(hostgroup) = reply.hostgroup() {
            self.is_safe_there(hostgroup, user, sql);
        }
        match (&reply, &expected) {
            (Reply::Ok(_) | Reply::Rows(_), _) => return false,
            // No server runs such a text: the NUL byte stands outside of literals. What it says behind it is obeyed.
            (Reply::Error(9001, _), Outcome::Route(_)) if sql.contains('\0') => return false,
            (Reply::From { hostgroup, text, .. }, Outcome::Route(route)) => {
                assert_eq!(*hostgroup, route.hostgroup.0, "{}", what());
                if let Some(rewritten) = &route.rewritten {
                    assert_eq!(text.as_bytes(), &**rewritten, "{}", what());
                }
            }
            (Reply::Done(hostgroup), Outcome::Route(route)) => {
                assert_eq!(*hostgroup, route.hostgroup.0, "{}", what());
            }
            (Reply::Error(1148, message), Outcome::Reject(rejection)) => {
                assert_eq!(*message, rejection.message, "{}", what());
            }
            _ => panic!("{}", what()),
        }
        true
    }

    /// No write and no lock is where only readers are, but for users who have no other hostgroup and rules that are written
    /// out. A NUL byte outside of a
    /// literal is a syntax error at every server; inside of one, the statement has been refused.
    fn is_safe_there(&self, hostgroup: u32, user: &str, sql: &str) {
        let configuration = &self.compiled.configuration;
        let own = configuration.user(user).map(|user| user.default_hostgroup.0);
        let written = |rule: &shardwright_rules::Rule| rule.address.as_str().starts_with("query_rules.");
        if sql.contains('\0') || own == Some(hostgroup) || configuration.graph.rules.iter().any(written) {
            return;
        }
        let only_readers = configuration
            .clusters
            .iter()
            .any(|cluster| cluster.reader.is_some_and(|reader| reader.0 == hostgroup));
        if only_readers {
            let hazards = Shape::of(sql.as_bytes(), LexMode::default()).read_hazards;
            // Functions that are not built in count as reads there, which a finding says.
            let rest = hazards.without(ReadHazards::UNKNOWN_FUNCTION);
            assert!(rest.is_empty(), "{sql:?} reached readers: {rest:?}");
        }
    }
}

fn without_comments(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    rest
}

/// Statements that name a key in every way that the finders of a map know.
fn keyed(map: &MapStep, key: &str) -> Vec<(Option<String>, String)> {
    let rest = [
        "SELECT a FROM t WHERE id=5",
        "UPDATE t SET a=1",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a -- c\nFROM t",
        "SELECT a --\nINTO @x FROM t",
        "SELECT GET_LOCK --\n('a',1)",
        "INSERT INTO t VALUES ('\0')",
    ];
    let mut statements = Vec::new();
    for finder in &map.finders {
        match finder {
            Finder::Comment { word, .. } => {
                for rest in rest {
                    statements.push((None, format!("/* {word}={key} */ {rest}")));
                    statements.push((None, format!("{rest} /* x, {word}={key} */")));
                }
                statements.push((None, format!("/* {word}={key} {word}={key}1 */ SELECT 1 FROM t")));
                statements.push((None, format!("SELECT 1 FROM t -- /* {word}={key} */")));
            }
            Finder::Schema { template } => {
                let value = key
                    .parse()
                    .map_or_else(|_| KeyValue::Text(key.to_owned()), KeyValue::Integer);
                if let Some(schema) = template.render(&value) {
                    statements.extend(rest.map(|rest| (Some(schema.clone()), rest.to_owned())));
                }
            }
            Finder::Column { column, .. } => {
                let schema = map.logical_schema.as_deref().unwrap_or_default();
                let literal = key
                    .parse::<i64>()
                    .map_or_else(|_| format!("'{key}'"), |number| number.to_string());
                statements.push((None, format!("SELECT a FROM {schema}.t WHERE {column}={literal}")));
                statements.push((
                    None,
                    format!("UPDATE {schema}.t SET a=1 WHERE {column} = {literal} AND b=2"),
                ));
                statements.push((
                    None,
                    format!("SELECT a FROM {schema}.t WHERE {column}={literal} OR 1"),
                ));
            }
            Finder::Table { .. } | Finder::User { .. } => {
                statements.extend(rest.map(|rest| (None, rest.to_owned())));
            }
        }
    }
    statements
}

/// Keys of a map, what is nearly one, and what is none.
fn keys_of(map: &MapStep) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for shard in &map.shards {
        let own = shard.keys.iter().map(ToString::to_string);
        let ranges = shard
            .ranges
            .iter()
            .flat_map(|(low, high)| [low.to_string(), high.to_string()]);
        keys.extend(own.chain(ranges).take(2));
        if keys.len() >= MOST_KEYS {
            break;
        }
    }
    let near: Vec<String> = keys
        .iter()
        .take(4)
        .flat_map(|key| [format!("{key}0"), format!("{key}x")])
        .collect();
    keys.extend(near);
    keys
}

/// Statements without any key: setup, transactions, and what only looks like them.
const KEYLESS: &[&str] = &[
    "SELECT name FROM orders WHERE id=5",
    "SELECT name\n--\nFROM orders WHERE id=5",
    "SELECT name-- c\nFROM orders",
    "SELECT name#c\nFROM orders",
    "SELECT 1;\n--\nDELETE FROM orders",
    "SELECT a FROM t FOR-- x\nUPDATE",
    "SELECT `GET_LOCK`('a',1)",
    "SELECT 1 /*M! FROM t */",
    "SELECT 1 /*! FROM t */",
    "/*! hostgroup=6 */ SELECT a FROM t",
    "SELECT 1 /* /* hostgroup=2 */",
    "UPDATE b SET c='\0' WHERE id=1 /* hostgroup=2 */",
    "SELECT f(1)",
    "DELETE FROM orders",
    "(SELECT 1)",
];

#[test]
fn every_example_is_served_as_the_evaluator_says() {
    let Some(binary) = real_proxysql("the emitted rules of every example") else {
        return;
    };
    for name in names() {
        let project = example(&name);
        let loaded = Loaded::start(&binary, &project, 1);
        let configuration = loaded.compiled.configuration.clone();
        let program: Vec<MapStep> = compiled_maps(&project);
        let mut compared = 0;
        for user in &configuration.users {
            let home = user.default_schema.as_deref();
            let mut statements: Vec<(Option<String>, String)> =
                KEYLESS.iter().map(|sql| (None, (*sql).to_owned())).collect();
            for map in &program {
                for key in keys_of(map) {
                    statements.extend(keyed(map, &key));
                }
            }
            for (schema, sql) in statements {
                let schema = schema.as_deref().or(home);
                let mut client = loaded.client(&user.name, schema);
                compared += usize::from(loaded.check(&mut client, (&user.name, schema), &sql));
            }
        }
        assert!(compared > 10, "{name}: only {compared} statements were routed");
    }
}

/// The maps of a project, as the bundled engine has them.
fn compiled_maps(project: &Project) -> Vec<MapStep> {
    let compiled = compile(project, EngineId::Bundled, &Lock::default(), &Options::default());
    let rules = &compiled.configuration.graph.rules;
    rules
        .iter()
        .filter_map(|rule| match &rule.body {
            shardwright_rules::Body::Native {
                step: shardwright_rules::NativeStep::Map(map),
                ..
            } => Some((**map).clone()),
            _ => None,
        })
        .collect()
}

const HOSTILE: &str = "
version: 1
clusters:
  home: {type: replication, servers: {a: {host: h1, port: 3306}, b: {host: h2, port: 3306}}}
  one: {type: replication, servers: {a: {host: h3, port: 3306}, b: {host: h4, port: 3306}}}
  two: {type: replication, servers: {a: {host: h5, port: 3306}, b: {host: h6, port: 3306}}}
users:
  app: {password: {env: P}, cluster: home, schema: app}
  ops: {password: {env: P}, cluster: home}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t1: {keys: [1], cluster: one}
      t2: {keys: [2, 17], cluster: two}
read_write_policies:
  rw: {reads: {all: true}, writer_hint: {comment: {name: primary}}}
";

/// Pieces of statements with line breaks, comments and quotes between them.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = vec![
        "SELECT ",
        "SELECT",
        "a",
        "name",
        " FROM ",
        "FROM",
        " orders ",
        "UPDATE",
        " FOR ",
        "FOR",
        "SHARE",
        "INTO",
        "@x",
        "@@x",
        "GET_LOCK",
        "(",
        ")",
        "('a',1)",
        "DELETE FROM t",
        "SET ",
        "USE ",
        "SHOW ",
        "BEGIN",
        "COMMIT",
        "x=1",
        ",",
        ";",
        "=",
        "-",
        "--",
        "-- ",
        "#",
        "\n",
        "\t",
        "\x0b",
        " ",
        "/*",
        "*/",
        "/* ",
        " */",
        "/*!",
        "/*M!",
        "tenant=1",
        "tenant=2",
        "tenant=17",
        "/* tenant=1 */ ",
        "/* tenant=2 */ ",
        "primary",
        "hostgroup=2",
        "mirror=1",
        "'",
        "\"",
        "`",
        "\\",
        "\0",
        "'a'",
        "\"b\"",
        "`c`",
        "1",
        "0.5",
        "é",
        " WHERE id=1",
        " LIMIT 1",
        "LOCK IN SHARE MODE",
        "NEXT VALUE FOR s",
    ];
    prop::collection::vec(prop::sample::select(pieces), 1..14).prop_map(|pieces| pieces.concat())
}

#[test]
fn hostile_texts_go_where_the_evaluator_says_and_never_to_readers_with_a_write() {
    let Some(binary) = real_proxysql("random texts through emitted rules") else {
        return;
    };
    let project = loaded(HOSTILE);
    let loaded = Loaded::start(&binary, &project, 1);
    let mut runner = TestRunner::default();
    let mut compared = 0;
    for _ in 0..wanted().div_ceil(50) {
        // A literal that is never closed would hold the client's next text too: clients do not last.
        let mut clients = [loaded.client("app", Some("app")), loaded.client("ops", None)];
        for _ in 0..25 {
            let sql = pieces().new_tree(&mut runner).unwrap().current();
            if leaves_state(&sql) {
                continue;
            }
            let [app, ops] = &mut clients;
            compared += usize::from(loaded.check(app, ("app", Some("app")), &sql));
            compared += usize::from(loaded.check(ops, ("ops", None), &sql));
        }
    }
    assert!(compared > wanted() / 3, "{compared}");
}

#[test]
fn maps_of_every_kind_are_served_as_the_evaluator_says() {
    let Some(binary) = real_proxysql("random statements through maps of every kind") else {
        return;
    };
    let mut runner = TestRunner::default();
    let mut asked: Vec<Vec<(&str, Option<&str>, String)>> = vec![Vec::new(); CASES.len()];
    for _ in 0..wanted() {
        let (at, user, schema, sql) = text().new_tree(&mut runner).unwrap().current();
        asked[at].push((user, schema, sql));
    }
    let mut compared = 0;
    for (case, statements) in CASES.iter().zip(asked) {
        let loaded = Loaded::start(&binary, &loaded(&format!("{CLUSTERS}{}", case.topology)), 1);
        for (user, schema, sql) in statements {
            // Users without a row of their own are of no interest to rules.
            if leaves_state(&sql) || loaded.compiled.configuration.user(user).is_none() {
                continue;
            }
            let home = loaded
                .compiled
                .configuration
                .default_schema(user)
                .map(str::to_owned);
            let schema = schema.or(home.as_deref());
            let mut client = loaded.client(user, schema);
            compared += usize::from(loaded.check(&mut client, (user, schema), &sql));
        }
    }
    assert!(compared > wanted() / 4, "{compared}");
}

/// Statements after which a session is not as it was: transactions, variables, schemas.
fn leaves_state(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    ["BEGIN", "SET ", "USE ", "COMMIT", "GET_LOCK", "@"]
        .iter()
        .any(|word| upper.contains(word))
}

/// What has been prepared is refused when it runs: behind another schema, and behind other rules. Two threads, as the
/// engine has them.
#[test]
fn the_engine_outlives_what_it_refuses_to_run() {
    let Some(binary) = real_proxysql("prepared statements under changing rules") else {
        return;
    };
    let project = loaded(HOSTILE);
    let mut loaded = Loaded::start(&binary, &project, 2);
    let rounds = wanted().div_ceil(100);
    for round in 0..rounds {
        // Without rules everything is prepared.
        let home = loaded.compiled.configuration.hostgroups[0].id;
        let users = format!(
            "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', {home}), ('ops', {home})"
        );
        loaded.rig.load(&[users]).unwrap();
        let texts = [
            "SELECT a FROM t WHERE b=?",
            "UPDATE t SET a=1",
            "/* tenant=9 */ SELECT 1 FROM t",
            "/* tenant=1 */ SELECT 1",
        ];
        let mut clients: Vec<_> = (0..4).map(|_| loaded.client("app", Some("app"))).collect();
        let prepared: Vec<Vec<_>> = clients
            .iter_mut()
            .map(|client| texts.map(|text| client.prepare(text).unwrap()).into())
            .collect();
        loaded.load();
        for (client, handles) in clients.iter_mut().zip(&prepared) {
            for (handle, text) in handles.iter().zip(texts) {
                let reply = client.execute(handle);
                let expected = loaded.expected("app", Some("app"), text, SentAs::Execute);
                match (&reply, &expected) {
                    // After several in a second the engine shuns its admin port for a while, and refuses without it.
                    (Reply::Error(1045 | 9001, _), Outcome::Reject(_)) => {}
                    (reply, Outcome::Route(route)) => {
                        assert_eq!(reply.hostgroup(), Some(route.hostgroup.0), "{text}: {reply:?}");
                    }
                    _ => panic!("{text}: {reply:?} and {expected:?}"),
                }
            }
        }
        assert_eq!(loaded.rig.proxysql_mut().ended().unwrap(), None, "round {round}");
    }
}
