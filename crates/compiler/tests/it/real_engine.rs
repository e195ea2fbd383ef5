//! Emitted rules on a real ProxySQL: clients get what the evaluator says, no write reaches a reader, and the engine
//! outlives what it refuses.
//!
//! `SHARDWRIGHT_CONFORMANCE=1000000` sends that many random statements; a usual run sends a few thousand.

mod composed;
mod executions;
mod keys;
mod loaded;
mod pairs;
mod topologies;

use proptest::prelude::{Strategy, prop};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use shardwright_compiler::{Lock, Options, compile};
use shardwright_rules::{Body, EngineId, MapStep, NativeStep, RegexEngine};
use shardwright_testkit::real_proxysql;
use shardwright_topology::model::Project;

use self::keys::{KEYLESS, every_key, keyed, keys_of};
use self::loaded::Loaded;
use super::engines::cases::{CASES, CLUSTERS};
use super::engines::text;
use super::examples::{example, names};
use crate::support::*;

/// Random statements of a usual run.
const USUAL: usize = 3_000;

/// Both libraries that ProxySQL matches patterns with.
const LIBRARIES: [RegexEngine; 2] = [RegexEngine::Pcre, RegexEngine::Re2];

/// The variable that asks for a long run.
const CONFORMANCE: &str = "SHARDWRIGHT_CONFORMANCE";
/// Statements after which an engine is replaced by a new one.
const MOST_CONNECTIONS: usize = 4_000;

fn wanted() -> usize {
    std::env::var(CONFORMANCE).map_or(USUAL, |number| number.parse().expect("a number"))
}

#[test]
fn every_example_is_served_as_the_evaluator_says() {
    let Some(binary) = real_proxysql("the emitted rules of every example") else {
        return;
    };
    let is_long = std::env::var_os(CONFORMANCE).is_some();
    for name in names() {
        let project = example(&name);
        let program = compiled_maps(&project);
        let mut statements: Vec<(Option<String>, String)> =
            KEYLESS.iter().map(|sql| (None, (*sql).to_owned())).collect();
        for map in &program {
            for key in keys_of(map) {
                statements.extend(keyed(map, &key));
            }
            if is_long {
                statements.extend(every_key(map));
            }
        }
        let mut compared = 0;
        // Each hostgroup keeps the connection that a statement made.
        for part in statements.chunks(MOST_CONNECTIONS) {
            let loaded = Loaded::start(&binary, &project, 1);
            loaded.be_patient();
            let configuration = loaded.compiled.configuration.clone();
            for user in &configuration.users {
                let home = user.default_schema.as_deref();
                for (schema, sql) in part {
                    let schema = schema.as_deref().or(home);
                    let mut client = loaded.client(&user.name, schema);
                    compared += usize::from(loaded.check(&mut client, (&user.name, schema), sql));
                }
            }
        }
        println!(
            "{name}: {} statements, {compared} routed or refused",
            statements.len()
        );
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
            Body::Native {
                step: NativeStep::Map(map),
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
    let loaded = LIBRARIES.map(|library| Loaded::start_with(&binary, &project, 1, library));
    let mut runner = TestRunner::default();
    let mut compared = 0;
    for turn in 0..wanted().div_ceil(50) {
        let loaded = &loaded[turn % loaded.len()];
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
fn an_annotation_in_front_of_a_long_comment_is_refused() {
    let Some(binary) = real_proxysql("annotations in long comments") else {
        return;
    };
    let loaded = Loaded::start(&binary, &loaded(HOSTILE), 1);
    let mut client = loaded.client("app", Some("app"));
    let filler = "x".repeat(3_000_000);
    for sql in [
        format!("/* hostgroup=2 ;{filler}*/ SELECT 1"),
        format!("SELECT '/*', 'a*/' /* hostgroup=2 ;{filler}*/"),
        format!("SELECT '/* {}' /* hostgroup=2 */, '{filler}'", "*x".repeat(40)),
    ] {
        assert!(loaded.check(&mut client, ("app", Some("app")), &sql));
    }
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
    let libraries = LIBRARIES.into_iter().cycle();
    for ((case, statements), library) in CASES.iter().zip(asked).zip(libraries) {
        let project = loaded(&format!("{CLUSTERS}{}", case.topology));
        let loaded = Loaded::start_with(&binary, &project, 1, library);
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
