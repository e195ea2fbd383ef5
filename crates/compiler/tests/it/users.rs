//! Maps by the name of the user, on both engines.

use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;

use crate::support::*;

const TOPOLOGY: &str = r#"
version: 1
clusters:
  home: {type: single, servers: {a: {host: home.db}}}
  c$(n): {for_each: {n: 1..3}, type: replication, servers: {w: {host: "w$(n).db"}, r: {host: "r$(n).db"}}}
users:
  u_$(n:02): {for_each: {n: [1, 2, 3, 9]}, password: {env: P}, cluster: home}
  ops: {password: {env: P}, cluster: home}
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: KEY_FROM
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], cluster: c$(n)}
read_write_policies:
  default: {reads: {all: true}}
"#;

fn check(key_from: &str, table: &[(&str, &str, &str)]) {
    let project = loaded(&TOPOLOGY.replace("KEY_FROM", key_from));
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        for (user, statement, expected) in table {
            let found = decider.short(user, None, statement);
            assert_goes(&found, expected, &format!("{engine}: {user}: {statement}"));
        }
    }
}

#[test]
fn the_user_alone() {
    check(
        r#"[{user: "u_$(key:02)"}]"#,
        &[
            ("u_01", "SELECT a FROM t", "c1 reader"),
            ("u_03", "UPDATE t SET a = 1", "c3 writer"),
            ("u_02", "BEGIN", "c2 writer"),
            ("u_02", "SET NAMES utf8", "c2 writer"),
            ("u_09", "SELECT a FROM t", "SW352"),
            ("ops", "SELECT a FROM t", "SW351"),
            ("ops", "SET NAMES utf8", "home writer"),
            ("ops", "BEGIN", "SW359"),
        ],
    );
}

#[test]
fn a_comment_must_name_the_key_of_the_user() {
    check(
        r#"[{user: "u_$(key:02)"}, {comment: {}}]"#,
        &[
            ("u_01", "SELECT a FROM t", "c1 reader"),
            ("u_01", "/* tenant=1 */ SELECT a FROM t", "c1 reader"),
            ("u_01", "/* tenant=01 */ DELETE FROM t", "c1 writer"),
            ("u_01", "/* tenant=2 */ SELECT a FROM t", "SW353"),
            ("u_01", "/* tenant=11 */ SELECT a FROM t", "SW353"),
            ("ops", "/* tenant=2 */ SELECT a FROM t", "c2 reader"),
            ("ops", "/* tenant=9 */ SELECT a FROM t", "SW352"),
            ("ops", "SELECT a FROM t", "SW351"),
        ],
    );
}

#[test]
fn what_an_engine_cannot_find_is_said_at_the_finder() {
    for (key_from, expected) in [
        (r#"[{table: "t_$(key)"}]"#, "find a key in the names of tables"),
        (
            r#"[{user: "u_$(key)"}, {schema: "s_$(key)"}]"#,
            "compare the keys of users with those of schemas",
        ),
    ] {
        let project = loaded(&TOPOLOGY.replace("KEY_FROM", key_from));
        let engine = EngineId::Proxysql27;
        let compiled =
            shardwright_compiler::compile(&project, engine, &Default::default(), &Default::default());
        let told = problems(&compiled, Severity::Error);
        let expected = format!("SW320: proxysql-2.7 cannot {expected}; the bundled engine can");
        assert!(told.contains(&expected), "{told:?}");
    }
}
