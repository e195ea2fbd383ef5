//! The tables of the admin port.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mysql::Row;
use mysql::prelude::Queryable;
use shardwright_rules::{EngineRule, FlagOutChoice, tables};

use crate::support::{Setup, apply, configuration, error, rule, start, value, write_secret};

#[test]
fn the_admin_tables_answer_sql() {
    let proxy = start(&Setup::default());
    let mut admin = proxy.admin();
    let mut client = proxy.connect(None);
    client.query_drop("SELECT /* b */ 17").unwrap();
    for (sql, expected) in [
        (
            "SELECT hostgroup_id FROM mysql_servers ORDER BY 1 LIMIT 1",
            "10".to_owned(),
        ),
        (
            "SELECT hostname FROM main.runtime_mysql_servers LIMIT 1",
            "127.0.0.1".into(),
        ),
        (
            "SELECT COUNT(*) FROM mysql_users WHERE username = 'app'",
            "1".into(),
        ),
        ("SELECT match_pattern FROM mysql_query_rules", r"/\* b \*/".into()),
        (
            "SELECT address FROM runtime_mysql_query_rules",
            "query_rules.test.rules[100]".into(),
        ),
        ("SELECT hits FROM stats.stats_mysql_query_rules", "1".into()),
        (
            "SELECT Queries FROM stats_mysql_connection_pool WHERE hostgroup = 20",
            "1".into(),
        ),
        (
            "SELECT digest_text FROM stats_mysql_query_digest WHERE hostgroup = 20",
            "SELECT ?".into(),
        ),
        (
            "SELECT variable_value FROM global_variables WHERE variable_name = 'mysql-max_connections'",
            "10000".into(),
        ),
        (
            "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Generation'",
            "1".into(),
        ),
    ] {
        assert_eq!(value(&mut admin, sql), expected, "{sql}");
    }
    assert_eq!(error(&mut admin, "DELETE FROM mysql_servers").0, 1290);
    let rows =
        shardwright_testkit::text_rows(&mut admin, "EXPLAIN ROUTE 'SELECT /* b */ 1' FOR 'app'").unwrap();
    let text: Vec<String> = rows
        .into_iter()
        .map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" = "))
        .collect();
    insta::assert_snapshot!(text.join("\n"), @r"
    outcome = route
    hostgroup = 20
    cluster = b
    role = writer
    evaluations = 1
    step = rule 100 query_rules.test.rules[100]: match_pattern /\* b \*/
    ");
}

/// Whoever reads a ProxySQL's admin port reads this one with the same statements.
#[test]
fn the_admin_tables_have_the_columns_of_the_engine() {
    let setup = Setup::default();
    let proxy = start(&setup);
    let mut admin = proxy.admin();
    let mut changed = configuration(&setup, &write_secret(&proxy.directory));
    let columns = EngineRule {
        match_digest: Some("^NEVER".into()),
        retries: Some(2),
        cache_empty_result: Some(false),
        flag_outs: vec![FlagOutChoice { id: 7, weight: 3 }],
        ..EngineRule::default()
    };
    changed.graph.rules.insert(0, rule(50, columns));
    apply(&mut admin, &changed).unwrap();
    proxy.connect(None).query_drop("SELECT /* b */ 17").unwrap();
    for (name, table) in [
        ("mysql_servers", &tables::SERVERS),
        ("runtime_mysql_servers", &tables::SERVERS),
        ("mysql_users", &tables::USERS),
        ("mysql_query_rules", &tables::QUERY_RULES),
        ("runtime_mysql_query_rules", &tables::QUERY_RULES),
        ("stats_mysql_query_rules", &tables::RULE_HITS),
        ("stats_mysql_connection_pool", &tables::CONNECTION_POOL),
        ("stats_mysql_query_digest", &tables::QUERY_DIGEST),
        ("stats_mysql_global", &tables::TOTALS),
        ("global_variables", &tables::GLOBAL_VARIABLES),
    ] {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let query = format!("SELECT {} FROM {name}", columns.join(", "));
        let rows = shardwright_testkit::text_rows(&mut admin, &query).unwrap();
        assert!(!rows.is_empty(), "{name}");
        // Nothing is NULL that never is in the engine.
        for (column, at) in table.columns.iter().zip(0..) {
            let has_null = rows.iter().any(|row| row[at].is_none());
            assert!(column.is_nullable || !has_null, "{name}.{}", column.name);
        }
    }
    for (sql, expected) in [
        ("SELECT retries FROM mysql_query_rules WHERE rule_id = 50", "2"),
        (
            "SELECT cache_empty_result FROM mysql_query_rules WHERE rule_id = 50",
            "0",
        ),
        (
            "SELECT attributes FROM mysql_query_rules WHERE rule_id = 50",
            r#"{"flagOUTs":[{"id":7,"weight":3}]}"#,
        ),
        (
            "SELECT COUNT(*) FROM mysql_query_rules WHERE cache_ttl IS NULL AND re_modifiers = 'CASELESS'",
            "2",
        ),
        (
            "SELECT backend + frontend FROM mysql_users WHERE username = 'app'",
            "2",
        ),
        (
            "SELECT client_address FROM stats_mysql_query_digest WHERE hostgroup = 20",
            "",
        ),
        (
            "SELECT Queries_GTID_sync FROM stats_mysql_connection_pool LIMIT 1",
            "0",
        ),
    ] {
        assert_eq!(value(&mut admin, sql), expected, "{sql}");
    }
}

/// The end of a proxy that takes longer does not come.
const HANGS_AFTER: Duration = Duration::from_secs(120);

#[test]
fn a_statement_of_an_administrator_does_not_hold_up_the_end() {
    let proxy = start(&Setup::default());
    let mut admin = proxy.admin();
    // The rows before the last one fill what the admin port collects before it writes: when the first arrives, the
    // statement is about to sleep.
    let mut rows = admin
        .query_iter(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) \
             SELECT hex(zeroblob(600)), CASE i WHEN 60 THEN SLEEP(3600) END FROM n",
        )
        .unwrap();
    let first: Row = rows.next().unwrap().unwrap();
    assert_eq!(first.len(), 2);
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        drop(proxy);
        sender.send(()).unwrap();
    });
    ended.recv_timeout(HANGS_AFTER).expect("the proxy ends");
}
