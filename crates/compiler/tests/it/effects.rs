//! Throttles, pooling exceptions, caches, mirrors and the firewall move nothing, and engines agree on what they set.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;
use shardwright_diagnostics::Severity;
use shardwright_rules::{Effects, EngineId, Outcome, RegexEngine};

use crate::support::maps::{MAPS, SERVERS};
use crate::support::*;

const EFFECTS: [&str; 6] = [
    r#"
throttles:
  deletes: {applies_to: {statements: [delete]}, delay: 5ms}
  some: {applies_to: {clusters: [shard-1, shard-4, home], except_match_digest: hot}, delay: 9ms}
  others: {applies_to: {clusters: ["shard-*"], except_clusters: [shard-2], statements: [other, select]}, delay: 2ms}
"#,
    r#"
pooling:
  exceptions:
    locks: {match: {functions: [GET_LOCK, RELEASE_LOCK], statements: [select], match_digest: lock}, multiplex: never, reason: r}
    unlock: {match: {users: [app], match_pattern: unlock}, multiplex: default, reason: r}
    probe: {match: {match_digest: "^SELECT @@"}, multiplex: ignore_sysvar_reads, reason: r}
"#,
    r#"
caches:
  rates: {match: {match_digest: "FROM t"}, ttl: 2s, cache_empty_result: false, on_unsupported: skip}
  hot: {match: {clusters: [shard-3, shard-4], match_digest: hot, except_functions: [upper]}, ttl: 500ms, on_unsupported: skip}
"#,
    r#"
mirrors:
  canary: {match: {users: [app], statements: [select]}, to: {cluster: shard-9}, percent: 60, on_unsupported: skip}
  all: {match: {clusters: [shard-2]}, to: {cluster: shard-8, role: reader}, on_unsupported: skip}
  few: {match: {client_addr: "10.%"}, to: {cluster: shard-9}, percent: 5, on_unsupported: skip}
"#,
    r#"
firewall:
  batch: {mode: disabled}
  app: {mode: detecting, allow: {statements: [SELECT 1 FROM t]}, on_unsupported: skip}
"#,
    r#"
throttles:
  first: {applies_to: {users: ["*"], schemas: [acct_01, acct_02, app]}, delay: 1ms}
  twice: {applies_to: {except_schemas: [acct_03], except_client_addr: ["127.%"]}, delay: 3ms}
caches:
  rates: {match: {match_digest: "FROM t"}, ttl: 2s, on_unsupported: skip}
mirrors:
  canary: {match: {statements: [select]}, to: {cluster: shard-9}, percent: 50, on_unsupported: skip}
"#,
];

const BODIES: [&str; 22] = [
    "SELECT 1 FROM t",
    "SELECT a FROM t FOR UPDATE",
    "SELECT @@session.x",
    "SELECT @@x, @a",
    "SELECT a INTO @b FROM t",
    "SELECT GET_LOCK('a', 1)",
    "SELECT upper(a) FROM hot",
    "SELECT now() FROM report_x",
    "SELECT 7",
    "SELECT * FROM world.City WHERE a='unlock'",
    "INSERT INTO t VALUES (1)",
    "DELETE FROM t",
    "DELETE FROM hot",
    "UPDATE world.City SET a=1",
    "DROP TABLE t",
    "CALL p()",
    "SHOW TABLES",
    "SET NAMES utf8",
    "BEGIN",
    "COMMIT",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "HANDLER t OPEN",
];

const COMMENTS: [&str; 9] = [
    "",
    "/* tenant=1 */ ",
    "/* tenant=4 */ ",
    "/* tenant=77 */ ",
    "/* region=eu */ ",
    "/* region=us, tenant=2 */ ",
    "/* tenant=3 */ /* primary */ ",
    "/* tenant=2, tenant=3 */ ",
    "/* region=xx */ ",
];

const SCHEMAS: [Option<&str>; 6] = [
    None,
    Some("app"),
    Some("acct_01"),
    Some("acct_09"),
    Some("acct_99"),
    Some("information_schema"),
];

/// Deciders of a map alone and with each effect: bundled, ProxySQL in one pass, ProxySQL with restarts.
type Row = Vec<(Decider, Vec<Decider>)>;

static DECIDERS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let engines = [
        (EngineId::Bundled, 0),
        (EngineId::Proxysql27, 0),
        (EngineId::Proxysql27, 100),
    ];
    let decider = |text: String, (engine, iterations): (EngineId, u32)| {
        let compiled = compiled_with(&loaded(&text), engine, iterations, RegexEngine::Pcre);
        assert_eq!(
            problems(&compiled, Severity::Error),
            Vec::<String>::new(),
            "{text}"
        );
        Decider::new(&compiled)
    };
    let row = |map: &&str| {
        engines
            .map(|engine| {
                let with = EFFECTS.map(|effect| decider(format!("{SERVERS}{map}{effect}"), engine));
                (decider(format!("{SERVERS}{map}"), engine), with.into())
            })
            .into()
    };
    MAPS.iter().map(row).collect()
});

/// What is decided besides effects.
fn placement(decider: &Decider, user: &str, schema: Option<&str>, statement: &str) -> Outcome {
    match decider.decision(user, schema, statement).outcome {
        Outcome::Route(mut route) => {
            route.effects = Effects::default();
            Outcome::Route(route)
        }
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn effects_move_nothing(
        map in 0..MAPS.len(),
        effect in 0..EFFECTS.len(),
        user in select(vec!["app", "batch"]),
        schema in select(SCHEMAS.to_vec()),
        comment in select(COMMENTS.to_vec()),
        body in select(BODIES.to_vec()),
    ) {
        let statement = format!("{comment}{body}");
        for (without, with) in &DECIDERS[map] {
            let expected = placement(without, user, schema, &statement);
            let found = placement(&with[effect], user, schema, &statement);
            prop_assert_eq!(found, expected, "{}: {} with {}", without.configuration.engine, statement, EFFECTS[effect]);
        }
    }

    /// Delays and kept connections are the same on both engines, wherever both place a statement.
    #[test]
    fn engines_agree_on_effects(
        map in 0..MAPS.len(),
        effect in select(vec![0usize, 1, 5]),
        // Fast routing cannot tell a schema that no shard has from one that the topology does not name.
        schema in select(vec![Some("app"), Some("acct_01"), Some("acct_09"), Some("information_schema")]),
        comment in select(COMMENTS.to_vec()),
        body in select(BODIES.to_vec()),
    ) {
        // It goes where the transaction is, and is never slowed there.
        prop_assume!(body != "COMMIT");
        let statement = format!("{comment}{body}");
        let effects: Vec<_> = DECIDERS[map]
            .iter()
            .filter_map(|(_, with)| match with[effect].decision("app", schema, &statement).outcome {
                Outcome::Route(route) => Some((route.hostgroup, route.effects.delay_ms, route.effects.multiplex == Some(0))),
                _ => None,
            })
            .collect();
        for found in &effects {
            prop_assert!(found.0 != effects[0].0 || found == &effects[0], "{}: {:?}", statement, effects);
        }
    }
}

#[test]
fn statements_of_clients_that_went_end_as_the_engine_can() {
    let variables = |engine, word: &str| {
        let text = format!("{SERVERS}\npooling: {{on_client_gone: {word}}}\n");
        let compiled = compiled(&loaded(&text), engine);
        let variables = compiled.configuration.variables.clone();
        let notes = problems(&compiled, Severity::Info);
        let is_told = notes.iter().any(|note| note.contains("kills writes as well"));
        (variables.into_iter().collect::<Vec<_>>(), is_told)
    };
    let said = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    for (word, kills, is_told) in [
        ("finish", "false", false),
        ("kill", "true", false),
        ("kill_reads", "true", true),
    ] {
        assert_eq!(
            variables(EngineId::Bundled, word),
            (said("on_client_gone", word), false)
        );
        let kills = said("mysql-kill_backend_connection_when_disconnect", kills);
        assert_eq!(variables(EngineId::Proxysql27, word), (kills, is_told));
    }
}

#[test]
fn statements_of_a_user_have_their_time() {
    let limits = |engine| {
        let users = "users:\n  app: {password: {env: A}, cluster: a, statement_timeout: 30s}\n  batch: {password: {env: B}, cluster: a}\n";
        let text =
            format!("version: 1\nclusters:\n  a: {{type: single, servers: {{s: {{host: a.db}}}}}}\n{users}");
        let compiled = compiled(&loaded(&text), engine);
        let of_users: Vec<_> = compiled
            .configuration
            .users
            .iter()
            .map(|user| user.statement_timeout_ms)
            .collect();
        let decider = Decider::new(&compiled);
        let of_rules = ["app", "batch"].map(|user| match decider.decision(user, None, "SELECT 1").outcome {
            Outcome::Route(route) => route.effects.timeout_ms,
            other => panic!("{other:?}"),
        });
        (of_users, of_rules)
    };
    assert_eq!(
        limits(EngineId::Bundled),
        (vec![Some(30_000), None], [None, None])
    );
    assert_eq!(
        limits(EngineId::Proxysql27),
        (vec![None, None], [Some(30_000), None])
    );
}
