//! Throttles, pooling exceptions, caches, mirrors and the firewall: what they set, and that they move nothing.

mod support;

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;
use shardwright_compiler::{Compiled, Lock, Options, compile, tree};
use shardwright_diagnostics::Severity;
use shardwright_rules::{Effects, EngineId, Outcome, RegexEngine};
use support::*;

const SERVERS: &str = r#"
version: 1
clusters:
  home: {type: replication, servers: {a: {host: home1}, b: {host: home2}}}
  shard-$(n): {for_each: {n: 1..9}, type: replication, servers: {a: {host: "s$(n)a"}, b: {host: "s$(n)b"}}}
users:
  app: {password: {env: P}, cluster: home, schema: app}
  batch: {password: {env: P}, cluster: shard-1}
"#;

const MAPS: [&str; 6] = [
    r#"
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    missing_key: {statements: {cluster: shard-2}, session_setup: allow, begin: reject}
    unknown_key: {cluster: shard-3}
    shards:
      t$(n): {for_each: {n: 1..9}, keys: [$(n)], cluster: "shard-$(n)"}
read_write_policies:
  default: {reads: {all: true}, writer_hint: {comment: {name: primary}}}
"#,
    r#"
shard_maps:
  accounts:
    applies_to: {users: [app]}
    key: {name: account, type: integer}
    key_from: [{schema: acct_$(key:02)}]
    shards:
      a$(n): {for_each: {n: 1..20}, keys: [$(n)], cluster: "shard-$(n % 9 + 1)"}
read_write_policies:
  default: {reads: {except: [{match_digest: hot}, {functions: [now]}]}, applies_to: {clusters: ["shard-*"]}}
"#,
    r#"
shard_maps:
  regions:
    applies_to: {users: [app]}
    key: {name: region, type: text}
    key_from: [comment: {}]
    shards: {eu: {keys: [eu], cluster: shard-1}, us: {keys: [us], cluster: shard-2}}
  tenants:
    applies_to: {users: [app]}
    logical_schema: world
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], schema: "tenant_$(n)"}
"#,
    r#"
read_write_policies:
  reports: {reads: {all: true}, applies_to: {users: [app], match_digest: report}}
  others: {reads: {only: [{match_digest: "FROM t"}, {statements: [select], functions: [upper]}]}}
"#,
    r#"
shard_maps:
  tenants:
    applies_to: {users: [app], except_match_digest: "^SHOW"}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}, {schema: acct_$(key:02)}]
    rule_layout: flat
    missing_key: {statements: allow, session_setup: allow, begin: reject}
    shards:
      t$(n): {for_each: {n: 1..5}, keys: [$(n)], cluster: "shard-$(n)"}
query_rules:
  early: {rules: [{match_digest: "^DROP ", error_msg: "no drops", apply: 1}]}
  late: {at: after_all, rules: [{match_digest: "^SELECT 7", cluster: shard-9, apply: 1}]}
"#,
    r#"
shard_maps:
  owners:
    key: {name: owner, type: text}
    key_from: [user: $(key)]
    unknown_key: {cluster: shard-3}
    shards: {a: {keys: [app], cluster: shard-4}, b: {keys: [other], cluster: shard-5}}
read_write_policies:
  default: {reads: {all: true}, applies_to: {except_clusters: [shard-5], except_functions: [upper]}}
"#,
];

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

fn told(topology: &str, engine: EngineId, severity: Severity) -> String {
    let project = loaded(&format!("{SERVERS}{topology}"));
    problems(
        &compile(&project, engine, &Lock::default(), &Options::default()),
        severity,
    )
    .join("\n")
}

fn of(topology: &str, engine: EngineId) -> Compiled {
    compiled(&loaded(&format!("{SERVERS}{topology}")), engine)
}

fn effects(compiled: &Compiled, schema: Option<&str>, statement: &str) -> Effects {
    match Decider::new(compiled).decision("app", schema, statement).outcome {
        Outcome::Route(route) => route.effects,
        other => panic!("{statement}: {other:?}"),
    }
}

#[test]
fn a_delay_follows_the_placed_cluster() {
    let topology = format!(
        "{}{}",
        MAPS[0],
        r#"
throttles:
  one: {applies_to: {clusters: [shard-4], statements: [delete, select]}, delay: 7ms}
  every: {applies_to: {statements: [delete]}, delay: 3ms}
"#
    );
    for engine in EngineId::ALL {
        let compiled = of(&topology, engine);
        for (statement, expected) in [
            ("/* tenant=4 */ DELETE FROM t", Some(7)),
            ("/* tenant=4 */ SELECT a FROM t", Some(7)),
            ("/* tenant=5 */ DELETE FROM t", Some(3)),
            ("/* tenant=5 */ SELECT a FROM t", None),
            ("DELETE FROM t", Some(3)),
            ("SET NAMES utf8", None),
        ] {
            assert_eq!(
                effects(&compiled, None, statement).delay_ms,
                expected,
                "{engine}: {statement}"
            );
        }
    }
}

#[test]
fn fast_routing_keeps_its_rows_behind_effects() {
    let topology = format!(
        "{}{}",
        MAPS[1], "throttles: {one: {applies_to: {clusters: [shard-2]}, delay: 7ms}}\n"
    );
    let compiled = of(&topology, EngineId::Proxysql27);
    assert_eq!(compiled.stats.shard_maps["accounts"].layout, "fast_routing");
    for (schema, expected) in [("acct_01", Some(7)), ("acct_10", Some(7)), ("acct_02", None)] {
        assert_eq!(
            effects(&compiled, Some(schema), "UPDATE t SET a=1").delay_ms,
            expected,
            "{schema}"
        );
    }
}

#[test]
fn only_reads_are_cached() {
    let topology = "caches: {rates: {match: {match_digest: rates}, ttl: 2s, cache_empty_result: false}}\n";
    let compiled = of(topology, EngineId::Proxysql27);
    for (statement, expected) in [
        ("SELECT a FROM rates WHERE id=5", Some(2000)),
        ("SELECT a FROM rates FOR UPDATE", None),
        ("SELECT @a FROM rates", None),
        ("SELECT LAST_INSERT_ID() FROM rates", None),
        ("UPDATE rates SET a=1", None),
        ("CALL rates()", None),
        ("SELECT a FROM others", None),
    ] {
        let found = effects(&compiled, None, statement);
        assert_eq!(found.cache_ttl_ms, expected, "{statement}");
        assert_eq!(found.cache_empty_result, expected.map(|_| false), "{statement}");
    }
}

#[test]
fn a_user_variable_is_never_taken_for_a_system_variable() {
    let topology = r#"
pooling:
  exceptions:
    probe: {match: {match_digest: "@"}, multiplex: ignore_sysvar_reads, reason: connector start-up}
    locks: {match: {functions: [get_lock]}, multiplex: never, reason: the lock is the connection's}
"#;
    let compiled = of(topology, EngineId::Proxysql27);
    for (statement, expected) in [
        ("SELECT @@session.auto_increment_increment AS a, @@x", Some(2)),
        ("/* conn */SELECT  @@tx_isolation", Some(2)),
        ("SELECT @@x, @a", None),
        ("SELECT @a", None),
        ("SELECT @a := @@x", None),
        ("SELECT @@x INTO OUTFILE 'y'", None),
        ("SET @@session.sql_mode=''", None),
        ("SELECT GET_LOCK('a', @@x)", Some(0)),
    ] {
        assert_eq!(
            effects(&compiled, None, statement).multiplex,
            expected,
            "{statement}"
        );
    }
    let bundled = of(topology, EngineId::Bundled);
    assert_eq!(effects(&bundled, None, "SELECT @@session.x").multiplex, None);
    assert_eq!(
        effects(&bundled, None, "SELECT get_lock ('a', 1)").multiplex,
        Some(0)
    );
}

#[test]
fn a_share_of_statements_is_copied() {
    let topology = r#"
mirrors:
  canary: {match: {users: [app], statements: [select]}, to: {cluster: shard-9}, percent: 5}
"#;
    insta::assert_snapshot!(tree::render(&of(topology, EngineId::Proxysql27)));
}

#[test]
fn what_ended_slows_nothing() {
    let topology = "throttles: {purge: {delay: 50ms, until: 2027-01-10T06:00:00Z, reason: CHG-77}}\n";
    let end: jiff::Timestamp = "2027-01-10T06:00:00Z".parse().expect("a time");
    for (now, slows) in [
        (None, true),
        (Some(end - jiff::SignedDuration::from_secs(1)), true),
        (Some(end), false),
    ] {
        let project = loaded_at(&format!("{SERVERS}{topology}"), now);
        for engine in EngineId::ALL {
            let compiled = compiled(&project, engine);
            assert_eq!(
                effects(&compiled, None, "SELECT 1").delay_ms.is_some(),
                slows,
                "{now:?}"
            );
        }
    }
}

#[test]
fn the_firewall_lists_every_user_schema_and_flag() {
    let topology = format!(
        "{}{}",
        MAPS[0],
        r#"
throttles: {deletes: {applies_to: {statements: [delete]}, delay: 5ms}}
firewall:
  app:
    mode: protecting
    allow: {digests: ["0x4D7DCFF87DD1A927"], statements: ["DELETE FROM t WHERE id = 5", COMMIT]}
    schemas: [reports]
"#
    );
    let compiled = of(&topology, EngineId::Proxysql27);
    let lists: Vec<String> = compiled
        .configuration
        .firewall
        .iter()
        .map(|own| {
            format!(
                "{} {:?} {:?} {} flags",
                own.user,
                own.mode,
                own.schemas,
                own.flags.len()
            )
        })
        .collect();
    insta::assert_snapshot!(lists.join("\n"), @r#"
    app Protecting ["app", "reports"] 2 flags
    batch Disabled [] 0 flags
    "#);
    let decider = Decider::new(&compiled);
    let refused = shardwright_rules::FIREWALL_MESSAGE
        .split(':')
        .next()
        .expect("a part");
    for (user, schema, statement, expected) in [
        (
            "app",
            "app",
            "/* tenant=4 */ DELETE FROM t WHERE id = 77",
            "shard-4 writer",
        ),
        (
            "app",
            "reports",
            "/* tenant=5 */ DELETE FROM t WHERE id = 1",
            "shard-5 writer",
        ),
        (
            "app",
            "other",
            "/* tenant=4 */ DELETE FROM t WHERE id = 77",
            refused,
        ),
        (
            "app",
            "app",
            "/* tenant=4 */ SELECT   *   FROM t WHERE id = 42 AND name='x'",
            "shard-4 reader",
        ),
        (
            "app",
            "app",
            "/* tenant=4 */ DELETE FROM u WHERE id = 77",
            refused,
        ),
        (
            "app",
            "app",
            "/* tenant=77 */ DELETE FROM t WHERE id = 77",
            "shard-3 writer",
        ),
        ("app", "app", "DELETE FROM t WHERE id = 77", "shard-2 writer"),
        ("app", "app", "COMMIT", "home writer"),
        ("batch", "app", "DELETE FROM u", "shard-1 writer"),
        ("stranger", "app", "DELETE FROM t WHERE id = 77", refused),
    ] {
        assert_eq!(
            decider.short(user, Some(schema), statement),
            expected,
            "{user}: {statement}"
        );
    }
}

#[test]
fn what_engines_cannot_do_is_told_at_its_line() {
    let topology = r#"
throttles:
  lag:
    applies_to: {clusters: ["shard-*"]}
    signal: {replication_lag: {start_above: 3s, stop_below: 1s}}
    delay: {from: 1ms, to: 500ms}
    max_concurrent: 16
  tables: {applies_to: {tables: [orders]}, delay: 5ms}
caches: {rates: {match: {match_digest: rates}, ttl: 2s}}
mirrors: {canary: {match: {statements: [select]}, to: {cluster: shard-9}}}
firewall: {app: {mode: protecting, allow: {statements: [SELECT 1]}}}
"#;
    let report = EngineId::ALL.map(|engine| format!("{engine}\n{}", told(topology, engine, Severity::Error)));
    insta::assert_snapshot!(report.join("\n"), @r"
    bundled
    SW320: bundled cannot regulate a delay by a signal, and neither can another engine yet; `on_unsupported: approximate` or `skip` accepts that statements always wait 1 ms, whatever replication_lag says, and 500 ms is never reached
    SW320: bundled cannot limit how many statements run at once, and neither can another engine yet; `on_unsupported: approximate` or `skip` accepts that any number of these statements run at once
    SW320: bundled cannot keep results; proxysql-2.7 can; `on_unsupported: skip` accepts that every statement goes to a server
    SW320: bundled cannot send statements to a second place; proxysql-2.7 can; `on_unsupported: skip` accepts that no copy is sent
    SW320: bundled cannot limit the statements of a user; proxysql-2.7 can; `on_unsupported: skip` accepts that this user may send every statement
    proxysql-2.7
    SW320: proxysql-2.7 cannot regulate a delay by a signal, and neither can another engine yet; `on_unsupported: approximate` or `skip` accepts that statements always wait 1 ms, whatever replication_lag says, and 500 ms is never reached
    SW320: proxysql-2.7 cannot limit how many statements run at once, and neither can another engine yet; `on_unsupported: approximate` or `skip` accepts that any number of these statements run at once
    SW320: proxysql-2.7 cannot select statements by the tables that they name; bundled can; `on_unsupported: approximate` or `skip` accepts that it has no effect
    ");
    let approximate = r#"
throttles:
  lag:
    signal: {status: {name: Innodb_checkpoint_age, start_above: 1000, stop_below: 10}}
    delay: {from: 1ms, to: 500ms}
    on_unsupported: approximate
  running: {signal: {threads_running: {start_above: 50, stop_below: 20}}, delay: 5ms, on_unsupported: skip}
caches: {rates: {match: {match_digest: rates}, ttl: 2s, on_unsupported: skip}}
"#;
    let report = EngineId::ALL.map(|engine| {
        let told = told(approximate, engine, Severity::Info);
        let lost: Vec<&str> = told.lines().filter(|line| line.starts_with("SW321")).collect();
        format!("{engine}\n{}", lost.join("\n"))
    });
    insta::assert_snapshot!(report.join("\n"), @r"
    bundled
    SW321: bundled cannot regulate a delay by a signal: statements always wait 1 ms, whatever Innodb_checkpoint_age says, and 500 ms is never reached
    SW321: bundled cannot regulate a delay by a signal: statements are not slowed
    SW321: bundled cannot keep results: every statement goes to a server
    proxysql-2.7
    SW321: proxysql-2.7 cannot regulate a delay by a signal: statements always wait 1 ms, whatever Innodb_checkpoint_age says, and 500 ms is never reached
    SW321: proxysql-2.7 cannot regulate a delay by a signal: statements are not slowed
    ");
}
