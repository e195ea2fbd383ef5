//! Routes and users of one server, on both engines.

use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, Outcome};
use shardwright_topology::model::Project;

use crate::support::*;

const TOPOLOGY: &str = r#"
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}, c: {host: c.db, max_replication_lag: 5s}}}
  dwh: {type: replication, servers: {a: {host: d1.db}, b: {host: d2.db}}}
  logs: {type: single, servers: {a: {host: l.db}}}
users:
  app: {password: {env: P}, cluster: shop, schema: shop}
  batch: {password: {env: P}, cluster: dwh}
  reports: {password: {env: P}, cluster: shop, role: reader}
  backup: {password: {env: P}, cluster: shop, server: c}
routes:
  no-ddl: {match: {statements: [ddl], except_users: [batch]}, refuse: "ask a DBA"}
  facts: {match: {match_digest: ["FROM facts_", "FROM dim_"]}, cluster: dwh, role: reader}
  stock: {match: {match_digest: "FROM stock", except_match_digest: "FOR UPDATE"}, cluster: shop}
  logs: {match: {clusters: [dwh], match_digest: "INTO log_"}, cluster: logs}
shard_maps:
  tenants:
    applies_to: {users: [app, reports]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards: {one: {keys: [1], cluster: dwh}}
    missing_key: {statements: allow}
read_write_policies:
  default: {reads: {all: true}}
throttles:
  facts: {applies_to: {users: [app], match_digest: "FROM facts_"}, delay: 7ms}
  of-dwh: {applies_to: {clusters: [dwh], match_digest: "FROM dim_"}, delay: 9ms}
"#;

const TABLE: &[(&str, &str, &str)] = &[
    ("app", "ALTER TABLE t ADD b INT", "ask a DBA"),
    ("batch", "ALTER TABLE t ADD b INT", "dwh writer"),
    ("app", "SELECT a FROM facts_2026", "dwh reader"),
    ("app", "/* tenant=1 */ SELECT a FROM facts_2026", "dwh reader"),
    ("app", "/* tenant=1 */ SELECT a FROM t", "dwh reader"),
    ("app", "/* tenant=1 */ UPDATE t SET a=1", "dwh writer"),
    ("app", "SELECT a FROM dim_x, stock", "dwh reader"),
    ("app", "SELECT a FROM stock", "shop writer"),
    ("app", "SELECT a FROM t", "shop reader"),
    ("app", "INSERT INTO log_x VALUES (1)", "shop writer"),
    ("batch", "INSERT INTO log_x VALUES (1)", "logs writer"),
    ("batch", "SELECT a FROM stock FOR UPDATE", "dwh writer"),
    ("reports", "SELECT a FROM stock", "shop reader"),
    ("reports", "SELECT a FROM facts_1", "dwh reader"),
    ("reports", "UPDATE stock SET a=1", "SW363"),
    ("reports", "INSERT INTO log_x VALUES (1)", "SW363"),
    ("backup", "SELECT a FROM t", "shop.c writer"),
    ("backup", "UPDATE t SET a=1", "shop.c writer"),
    ("backup", "BEGIN", "shop.c writer"),
    ("backup", "SELECT a FROM dim_x", "dwh reader"),
];

/// What a project decides on an engine, where statements go as a table of users, statements and places says.
fn decided(project: &Project, engine: EngineId, table: &[(&str, &str, &str)]) -> Decider {
    let compiled = compiled(project, engine);
    assert_eq!(
        problems(&compiled, Severity::Error),
        Vec::<String>::new(),
        "{engine}"
    );
    let decider = Decider::new(&compiled);
    for (user, statement, expected) in table {
        let found = decider.short(user, None, statement);
        assert_goes(&found, expected, &format!("{engine}: {user}: {statement}"));
    }
    decider
}

#[test]
fn a_route_decides_before_maps_and_policies() {
    let project = loaded(TOPOLOGY);
    for engine in BOTH {
        decided(&project, engine, TABLE);
    }
}

#[test]
fn effects_apply_to_what_a_route_takes() {
    let project = loaded(TOPOLOGY);
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        let delay = |user: &str, statement: &str| match decider.decision(user, None, statement).outcome {
            Outcome::Route(route) => route.effects.delay_ms,
            other => panic!("{engine}: {statement}: {other:?}"),
        };
        assert_eq!(delay("app", "SELECT a FROM facts_1"), Some(7), "{engine}");
        assert_eq!(delay("batch", "SELECT a FROM facts_1"), None, "{engine}");
        assert_eq!(delay("app", "SELECT a FROM dim_1"), Some(9), "{engine}");
        assert_eq!(delay("app", "SELECT a FROM stock"), None, "{engine}");
    }
}

#[test]
fn the_text_of_a_refusal_is_the_one_that_is_written() {
    let project = loaded(TOPOLOGY);
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        match decider.decision("app", None, "DROP TABLE t").outcome {
            Outcome::Reject(rejection) => {
                assert_eq!(
                    (rejection.code, &*rejection.message),
                    (1148, "ask a DBA"),
                    "{engine}"
                );
            }
            other => panic!("{engine}: {other:?}"),
        }
    }
}

#[test]
fn what_rules_cannot_ask_for_is_an_error_on_every_engine() {
    let text = TOPOLOGY.replace(
        "{statements: [ddl], except_users: [batch]}",
        "{tables: [\"old_*\"]}",
    );
    for engine in BOTH {
        let compiled =
            shardwright_compiler::compile(&loaded(&text), engine, &Default::default(), &Default::default());
        let told = problems(&compiled, Severity::Error);
        assert_eq!(
            told,
            [
                "SW320: a route is compiled to rules on every engine, and rules cannot select statements by the tables that they name"
            ],
            "{engine}"
        );
    }
}

#[test]
fn a_user_of_one_server_has_a_hostgroup_with_that_server() {
    for engine in BOTH {
        let compiled = compiled(&loaded(TOPOLOGY), engine);
        let configuration = &compiled.configuration;
        let home = Decider::new(&compiled).home("backup");
        let hostgroup = configuration
            .hostgroups
            .iter()
            .find(|one| one.id == home)
            .unwrap();
        let [member] = hostgroup.members.as_slice() else {
            panic!("{engine}: {:?}", hostgroup.members)
        };
        assert_eq!(member.server.as_str(), "clusters.shop.servers.c", "{engine}");
        assert_eq!(
            (&*member.host, member.max_replication_lag_s),
            ("c.db", 0),
            "{engine}"
        );
        assert_eq!(
            compiled.lock.get("hostgroups.shop.servers.c"),
            Some(home.0),
            "{engine}"
        );
    }
}

#[test]
fn two_users_of_one_server_share_its_hostgroup_and_the_lock_keeps_its_number() {
    let text = TOPOLOGY.replace(
        "  backup: {",
        "  other: {password: {env: P}, cluster: shop, server: c}\n  backup: {",
    );
    let project = loaded(&text);
    let first = compiled(&project, EngineId::Proxysql27);
    let decider = Decider::new(&first);
    assert_eq!(decider.home("backup"), decider.home("other"));
    let lock = &first.lock;
    let again = shardwright_compiler::compile(
        &loaded(&text.replace(
            "  logs: {type",
            "  a-new-one: {type: single, servers: {a: {host: n.db}}}\n  logs: {type",
        )),
        EngineId::Proxysql27,
        lock,
        &Default::default(),
    );
    assert_eq!(Decider::new(&again).home("backup"), decider.home("backup"));
}

/// Blocks among the routes of [`AMONG`], by what they are asked behind.
const AMONG: &str = r#"
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
  dwh: {type: single, servers: {a: {host: d.db}}}
users:
  app: {password: {env: P}, cluster: shop, schema: shop}
  batch: {password: {env: P}, cluster: dwh}
routes:
  facts: {match: {match_digest: ["FROM facts_", "FROM dim_"]}, cluster: dwh}
  stock: {match: {match_digest: "FROM stock"}, cluster: shop, role: reader}
  no-ddl: {match: {match_digest: "^DROP"}, refuse: "ask a DBA"}
query_rules:
  marks:
    at: {after: routes.facts}
    rules:
      - {match_digest: "FROM stock_history", cluster: dwh, timeout: 60000, apply: 1}
      - {match_digest: "FROM stock_now", delay: 5}
      - {flagIN: 7, match_digest: "a", cluster: dwh, apply: 1}
  chain:
    at: {before: routes.no-ddl}
    rules:
      - {username: batch, match_digest: "^DROP TABLE tmp_", flagOUT: 9}
      - {flagIN: 9, cluster: dwh, apply: 1}
  behind:
    at: {after: routes.no-ddl}
    rules:
      - {match_pattern: "^SELECT 7", cluster: dwh, apply: 1}
throttles:
  slow: {applies_to: {match_digest: "FROM (stock|facts_)"}, delay: 7ms}
read_write_policies:
  default: {reads: {all: true}}
"#;

#[test]
fn blocks_keep_their_places_among_routes() {
    let project = loaded(AMONG);
    let places = [
        ("app", "SELECT a FROM facts_1, stock_history", "dwh writer"),
        ("app", "SELECT a FROM stock_history", "dwh writer"),
        ("app", "SELECT a FROM stock", "shop reader"),
        ("app", "DROP TABLE tmp_1", "ask a DBA"),
        ("batch", "DROP TABLE tmp_1", "dwh writer"),
        ("batch", "DROP TABLE t", "ask a DBA"),
        ("app", "SELECT 7", "dwh writer"),
        ("app", "SELECT a FROM t", "shop reader"),
        ("app", "UPDATE t SET a = 1", "shop writer"),
    ];
    for engine in BOTH {
        let decider = decided(&project, engine, &places);
        let effects = |statement: &str| match decider.decision("app", None, statement).outcome {
            Outcome::Route(route) => (route.effects.delay_ms, route.effects.timeout_ms),
            other => panic!("{engine}: {statement}: {other:?}"),
        };
        assert_eq!(effects("SELECT a FROM facts_1"), (Some(7), None), "{engine}");
        assert_eq!(
            effects("SELECT a FROM stock_history"),
            (None, Some(60_000)),
            "{engine}"
        );
        assert_eq!(effects("SELECT a FROM stock_now"), (Some(7), None), "{engine}");
    }
}

#[test]
fn no_block_stands_where_rules_would_not_reach_it() {
    let chains = AMONG.replace(
        "facts: {match: {",
        "facts: {match: {except_match_digest: \"FOR UPDATE\", ",
    );
    let readers = AMONG.replace(
        "  batch:",
        "  reports: {password: {env: P}, cluster: shop, role: reader}\n  batch:",
    );
    let mut told = Vec::new();
    for topology in [chains, readers] {
        let project = loaded(&topology);
        let compiled = compile(
            &project,
            EngineId::Proxysql27,
            &Lock::default(),
            &Options::default(),
        );
        told.extend(problems(&compiled, Severity::Error));
        told.push(String::new());
    }
    told.dedup();
    insta::assert_snapshot!(told.join("\n"), @r"
    SW326: on proxysql-2.7, no rules can stand behind a route whose `match` needs chains of rules: one with `except_…`, or with several lists

    SW320: proxysql-2.7 cannot refuse what user reports, who only reads (role: reader), sends and this rule takes; a `username` leaves the rule to other users; the bundled engine can
    ");
}
