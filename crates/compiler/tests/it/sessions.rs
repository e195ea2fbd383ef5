//! What ProxySQL gives sessions at a map that the bundled engine does not, and comments that it would always refuse.

use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;

use super::clusters::compile_with_problems;
use crate::support::*;

const SERVERS: &str = r#"
version: 1
clusters:
  c$(n): {for_each: {n: 0..2}, type: single, servers: {db: {host: "c$(n).db"}}}
users:
  app: {password: {env: P}, cluster: c0, schema: app}
shard_maps:
"#;

fn told(map: &str, severity: Severity) -> Vec<String> {
    let project = loaded(&format!("{SERVERS}{map}"));
    let bundled = problems(&compiled(&project, EngineId::Bundled), severity);
    assert_eq!(bundled, Vec::<String>::new());
    problems(&compile_with_problems(&project, EngineId::Proxysql27), severity)
}

fn with(told: &[String], part: &str) -> usize {
    told.iter().filter(|one| one.contains(part)).count()
}

#[test]
fn open_transactions_and_unnamed_schemas_are_told_once() {
    let map = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [comment: {}, schema: "tenant_$(key:03)"]
    shards: {t$(n): {for_each: {n: 1..40}, keys: [$(n)], cluster: "c$(n % 3)"}}
"#;
    let told = told(map, Severity::Info);
    assert_eq!(with(&told, "open transaction"), 1, "{told:?}");
    assert_eq!(
        with(&told, "does not name; the bundled engine takes the key"),
        1,
        "{told:?}"
    );
}

#[test]
fn one_cluster_and_one_finder_differ_in_nothing() {
    let map = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards: {all: {keys: [1..40], cluster: c1}}
"#;
    let told = told(map, Severity::Info);
    assert_eq!(
        with(&told, "open transaction") + with(&told, "does not name"),
        0,
        "{told:?}"
    );
}

#[test]
fn a_comment_that_would_always_be_refused_is_an_error() {
    let column = r#"
  tenants:
    logical_schema: app
    key: {name: tenant, type: integer}
    key_from: [comment: {}, column: {name: Tenant}]
    shards: {all: {keys: [1..40], cluster: c1}}
"#;
    let said = told(column, Severity::Error);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(
        with(
            &said,
            "takes the word `tenant` of comments for the column `Tenant`"
        ),
        1,
        "{said:?}"
    );
    let own_word = column.replace("comment: {}", "comment: {name: t}");
    assert_eq!(told(&own_word, Severity::Error), Vec::<String>::new());
    let key = r#"
  tenants:
    key: {name: k, type: text}
    key_from: [comment: {}]
    shards: {odd: {keys: ["k=1"], cluster: c1}, plain: {keys: ["xk", "k1=2"], cluster: c2}}
"#;
    let said = told(key, Severity::Error);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(with(&said, "the key `k=1`: it holds `k=`"), 1, "{said:?}");
}

#[test]
fn what_rules_cannot_see_is_said() {
    let map = "  tenants: {key: {name: tenant, type: integer}, key_from: [{comment: {format: sqlcommenter}}], MORE\
               shards: {a: {keys: [1], cluster: c1}}}\n";
    for more in ["missing_key: {statements: allow}, ", ""] {
        let told = told(&map.replace("MORE", more), Severity::Info);
        assert_eq!(
            told,
            [
                "SW322: on proxysql-2.7, a statement is refused when its key, or the word before it, has a percent sign",
                "SW334: on proxysql-2.7, a client whose prepared statement is refused when it runs gets error 1045 without the \
                 reason",
            ]
        );
    }
}
