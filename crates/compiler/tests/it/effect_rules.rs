//! What throttles, pooling exceptions, caches, mirrors and the firewall set.

use shardwright_compiler::{Compiled, Lock, Options, compile, tree};
use shardwright_diagnostics::Severity;
use shardwright_rules::{Effects, EngineId, Outcome};

use crate::support::maps::{MAPS, SERVERS};
use crate::support::*;

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
        Outcome::Own { .. } => Effects::default(),
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
    for engine in BOTH {
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
        for engine in BOTH {
            let compiled = compiled(&project, engine);
            assert_eq!(
                effects(&compiled, None, "SELECT 1").certain_delay_ms().is_some(),
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
    app Protecting ["app", "reports"] 8 flags
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
        ("app", "app", "COMMIT", "own"),
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
    let report = BOTH.map(|engine| format!("{engine}\n{}", told(topology, engine, Severity::Error)));
    insta::assert_snapshot!(report.join("\n"), @r"
    bundled
    SW320: bundled cannot measure replication_lag: write a `monitor` section, whose account measures it; `on_unsupported: approximate` or `skip` accepts that statements always wait 1 ms, whatever replication_lag says, and 500 ms is never reached
    SW320: bundled cannot keep results; proxysql-2.7 can; `on_unsupported: skip` accepts that every statement goes to a server
    SW320: bundled cannot send copies of statements to a second cluster; proxysql-2.7 can; `on_unsupported: skip` accepts that no copy is sent
    SW320: bundled cannot limit the statements of a user; proxysql-2.7 can; `on_unsupported: skip` accepts that this user may send every statement
    proxysql-2.7
    SW320: proxysql-2.7 cannot regulate a delay by a signal; bundled can; `on_unsupported: approximate` or `skip` accepts that statements always wait 1 ms, whatever replication_lag says, and 500 ms is never reached
    SW320: proxysql-2.7 cannot limit how many statements run at once; bundled can; `on_unsupported: approximate` or `skip` accepts that any number of these statements run at once
    SW320: proxysql-2.7 cannot select statements by the tables that they name; bundled can; `on_unsupported: approximate` or `skip` accepts that it has no effect
    SW320: proxysql-2.7 cannot mirror statements beside a firewall, whose check of the first copy ends the engine (signal 6): remove the mirror, or the section `firewall`; `on_unsupported: approximate` or `skip` accepts that no copy is sent
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
    let report = BOTH.map(|engine| {
        let told = told(approximate, engine, Severity::Info);
        let lost: Vec<&str> = told.lines().filter(|line| line.starts_with("SW321")).collect();
        format!("{engine}\n{}", lost.join("\n"))
    });
    insta::assert_snapshot!(report.join("\n"), @r"
    bundled
    SW321: bundled cannot measure Innodb_checkpoint_age: statements always wait 1 ms, whatever Innodb_checkpoint_age says, and 500 ms is never reached; write a `monitor` section, whose account measures it
    SW321: bundled cannot measure threads_running: statements are not slowed; write a `monitor` section, whose account measures it
    SW321: bundled cannot keep results: every statement goes to a server
    proxysql-2.7
    SW321: proxysql-2.7 cannot regulate a delay by a signal: statements always wait 1 ms, whatever Innodb_checkpoint_age says, and 500 ms is never reached
    SW321: proxysql-2.7 cannot regulate a delay by a signal: statements are not slowed
    ");
}

/// Throttles of the bundled engine, one a line.
fn throttles(compiled: &Compiled, statement: &str) -> String {
    let effects = effects(compiled, None, statement);
    let throttles = effects.throttles.iter();
    let said = throttles.map(|throttled| format!("{}: {}", throttled.address, throttled.throttle));
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_bundled_engine_has_signals_ranges_and_limits() {
    let topology = r#"
monitor: {user: monitor, password: {env: P}}
throttles:
  lag:
    applies_to: {statements: [delete], clusters: [home]}
    signal: {replication_lag: {start_above: 3s, stop_below: 1s}}
    delay: {from: 1ms, to: 500ms}
    hold: 5s
    on_unsupported: approximate
  busy: {signal: {threads_running: {start_above: 64, stop_below: 32.5}}, delay: 5ms, on_unknown: release, on_unsupported: skip}
  few: {applies_to: {statements: [replace]}, delay: 2ms, max_concurrent: 4, on_unsupported: skip}
  plain: {delay: 3ms}
  nothing: {delay: 0ms}
"#;
    let bundled = of(topology, EngineId::Bundled);
    insta::assert_snapshot!(throttles(&bundled, "DELETE FROM t"), @r"
    throttles.lag: delayed by 1 to 500 ms, from replication_lag above 3 s until below 1 s
    throttles.busy: delayed by 5 ms, from threads_running above 64 until below 32.5
    ");
    insta::assert_snapshot!(throttles(&bundled, "REPLACE INTO t VALUES (1)"), @r"
    throttles.busy: delayed by 5 ms, from threads_running above 64 until below 32.5
    throttles.few: delayed by 2 ms, at most 4 at once
    ");
    let certain = |statement| effects(&bundled, None, statement).certain_delay_ms();
    assert_eq!(certain("REPLACE INTO t VALUES (1)"), Some(3));
    let json = bundled.configuration.to_json();
    let again: shardwright_rules::Configuration = serde_json::from_str(&json).expect("its own form");
    assert_eq!(again, *bundled.configuration);
    assert_eq!(again.to_json(), json);
    // What ProxySQL has instead.
    let proxysql = of(topology, EngineId::Proxysql27);
    assert_eq!(effects(&proxysql, None, "DELETE FROM t").delay_ms, Some(3));
}

#[test]
fn where_a_signal_is_not_measured_is_told() {
    let topology = r#"
version: 1
monitor: {user: monitor, password: {env: P}}
users: {app: {password: {env: P}, cluster: home}}
clusters:
  home: {type: replication, servers: {a: {host: home1}, b: {host: home2}}}
  one: {type: single, servers: {a: {host: one1}}}
  two: {roles_by: external, type: replication, servers: {a: {host: two1}, b: {host: two2}}}
throttles:
  everywhere: {signal: {replication_lag: {start_above: 3s, stop_below: 1s}}, delay: 5ms}
  alone: {applies_to: {clusters: [one]}, signal: {replication_lag: {start_above: 3s, stop_below: 1s}}, delay: 5ms}
  outside: {applies_to: {clusters: [two]}, signal: {threads_running: {start_above: 64, stop_below: 32}}, delay: 5ms}
  elsewhere: {signal: {flow_control: {start_above: 0.2, stop_below: 0.1}}, delay: 5ms, on_unsupported: approximate}
"#;
    let of_throttles = |severity| {
        let compiled = compile(
            &loaded(topology),
            EngineId::Bundled,
            &Lock::default(),
            &Options::default(),
        );
        let mut told = problems(&compiled, severity);
        told.retain(|line| line.contains("measure"));
        told.join("\n")
    };
    insta::assert_snapshot!(of_throttles(Severity::Error), @r"
    SW320: bundled cannot measure replication_lag: the cluster has no replicas that say how far they are behind; `on_unsupported: approximate` or `skip` accepts that statements always wait 5 ms, whatever replication_lag says
    SW320: bundled cannot measure threads_running: write `roles_by: engine` for the cluster, so that it is watched; `on_unsupported: approximate` or `skip` accepts that statements always wait 5 ms, whatever threads_running says
    ");
    insta::assert_snapshot!(of_throttles(Severity::Info), @r"
    SW321: bundled does not measure replication_lag of one, two: the throttle never starts there
    SW321: bundled cannot measure flow_control: statements always wait 5 ms, whatever flow_control says; only clusters of type galera have flow control
    ");
}

/// A firewall checks copies of statements too, and the first one ends ProxySQL.
#[test]
fn mirrors_beside_a_firewall_are_refused_at_their_line() {
    let mirrors = "mirrors:\n  canary: {match: {statements: [select]}, to: {cluster: shard-9}MORE}\n";
    let firewall = "firewall:\n  batch: {mode: disabled}\n";
    let raw = |columns: &str| {
        format!("query_rules:\n  raw: {{rules: [{{match_digest: x, {columns}, apply: 1}}]}}\n")
    };
    let both = |more: &str| format!("{}{firewall}", mirrors.replace("MORE", more));
    for (topology, expected) in [
        (both(""), true),
        (mirrors.replace("MORE", ""), false),
        (firewall.to_owned(), false),
        (format!("{}{firewall}", raw("mirror_hostgroup: 5")), true),
        (format!("{}{firewall}", raw("mirror_flagOUT: 5")), true),
        (raw("mirror_hostgroup: 5"), false),
        // Somebody else's words accept that no copy is sent.
        (both(", on_unsupported: skip"), false),
    ] {
        for engine in [EngineId::Proxysql27, EngineId::Proxysql30] {
            let told = told(&topology, engine, Severity::Error);
            let is_refused = told.contains("SW320") && told.contains("beside a firewall");
            assert_eq!(is_refused, expected, "{engine}\n{topology}\n{told}");
        }
    }
    let skipped = of(&both(", on_unsupported: skip"), EngineId::Proxysql27);
    assert_eq!(effects(&skipped, None, "SELECT a FROM t").mirror_hostgroup, None);
}
