//! What a rule set says is what the project compiles to, row for row.

use crate::support::{adopted, assert_same_routing, files, imported, lines};

const SHOP: &str = "
INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight, max_connections, max_replication_lag) VALUES
  (10, 'db1.shop.internal', 3306, 1000, 500, 0),
  (20, 'db2.shop.internal', 3306, 1000, 500, 10), (20, 'db3.shop.internal', 3307, 500, 500, 10),
  (20, 'db1.shop.internal', 3306, 10, 500, 0),
  (30, '10.0.0.7', 3306, 1, 1000, 0), (30, '10.0.0.8', 3306, 1, 1000, 60);
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, comment) VALUES (10, 20, 'shop (prod)');
INSERT INTO mysql_users (username, password, default_hostgroup, default_schema, max_connections, transaction_persistent)
  VALUES ('app', '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19', 10, 'shop', 2000, 1), ('report', 'plain', 20, NULL, 10000, 0),
  ('app.old', 'long-ago', 10, NULL, 10000, 1);
INSERT INTO mysql_query_rules (rule_id, active, username, flagIN, match_digest, match_pattern, negate_match_pattern,
  re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, error_msg, OK_msg, apply, attributes, comment)
VALUES
  (5, 0, NULL, 0, '^SELECT 1$', NULL, 0, 'CASELESS', NULL, NULL, NULL, NULL, NULL, '', 1, '', 'parked'),
  (10, 1, 'app', 0, '^SELECT .* FOR UPDATE$', NULL, 0, 'CASELESS', NULL, NULL, 10, NULL, NULL, NULL, 1, '', NULL),
  (20, 1, NULL, 0, '^SELECT', NULL, 0, 'CASELESS', NULL, NULL, 20, NULL, NULL, NULL, 0, '', 'places and goes on'),
  (30, 1, NULL, 0, NULL, '$(not a template)', 1, '', NULL, NULL, 99, NULL, NULL, NULL, 1, '', NULL),
  (40, 1, NULL, 0, NULL, '/\\* *(.*?) \\*/', 0, 'CASELESS,GLOBAL', 7, '/* \\1 */', NULL, NULL, NULL, NULL, 0, '', NULL),
  (50, 1, NULL, 7, '^DROP ', NULL, 0, 'CASELESS', NULL, NULL, NULL, NULL, 'it''s not allowed: \"no\"', NULL, 1, '', NULL),
  (60, 1, NULL, 7, NULL, NULL, 0, 'CASELESS', NULL, NULL, NULL, 5000, NULL, NULL, 0,
   '{\"flagOUTs\": [{\"id\": 8, \"weight\": 9}, {\"id\": 9, \"weight\": 1}]}', NULL);
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES
  ('app', 'archive', 0, 30, ''), ('', 'shop', 7, 20, ''), ('', 'lost', 0, 77, '');
SET mysql-threads=8;
SET mysql-monitor_username='watch';
SET mysql-monitor_password='monitor-secret';
SET mysql-interfaces='0.0.0.0:6033;/run/proxysql.sock';
SET mysql-default_query_timeout=36000000;
SET mysql-query_processor_iterations=3;
SET mysql-set_query_lock_on_hostgroup=0;
";

#[test]
fn a_rule_set_is_written_so_that_the_same_rows_are_compiled() {
    let file = imported(SHOP);
    let adopted = adopted(&file);
    insta::assert_snapshot!(files(&adopted));
    insta::assert_snapshot!(lines(&adopted.differences));
    insta::assert_debug_snapshot!(adopted.unwritten);
    let paths: Vec<&str> = adopted.secrets.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "secrets/app",
            "secrets/app-old",
            "secrets/report",
            "secrets/monitor.account"
        ]
    );
    let inactive: Vec<u32> = adopted.inactive.iter().map(|(id, _)| *id).collect();
    assert_eq!(inactive, [5]);
}

#[test]
fn no_file_of_the_project_holds_a_password() {
    let adopted = adopted(&imported(SHOP));
    let text = files(&adopted);
    for (_, secret) in &adopted.secrets {
        assert!(!text.contains(secret.expose()), "{text}");
    }
    assert!(adopted.environment.is_empty(), "{:?}", adopted.environment);
}

#[test]
fn a_rule_that_the_compiler_refuses_is_written_and_not_active() {
    let file = imported(
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a');
         INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 1);
         INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES
           (1, 1, '(', 1, 1), (2, 1, '^SELECT', 1, 1);",
    );
    let adopted = adopted(&file);
    insta::assert_snapshot!(files(&adopted));
    insta::assert_snapshot!(lines(&adopted.differences), @"mysql_query_rules 1: only in the source (it is written and not active, because the compiler refuses it)");
    assert_same_routing(&file, &adopted, "a rule that never matches");
}

#[test]
fn a_limit_on_the_lag_of_servers_of_a_group_is_left_out_with_the_reason() {
    for table in ["mysql_galera_hostgroups", "mysql_group_replication_hostgroups"] {
        let file = imported(&format!(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, max_replication_lag) VALUES (1, 'a', 30), (2, 'b', 30), (2, 'a', 0);
             INSERT INTO {table} (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, active,
               max_writers, writer_is_also_reader, max_transactions_behind) VALUES (1, 3, 2, 4, 1, 1, 1, 50);
             INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 1);"
        ));
        let adopted = adopted(&file);
        assert!(!files(&adopted).contains("max_replication_lag"), "{table}");
        let differences = lines(&adopted.differences);
        let told = differences.lines().filter(|line| {
            line.contains("max_replication_lag 30 → 0") && line.contains("by the transactions that wait")
        });
        assert_eq!(told.count(), 2, "{table}: {differences}");
        assert_same_routing(&file, &adopted, table);
    }
}

/// Two nodes have one project, so what belongs to one of them is no part of it, and the report says so.
#[test]
fn variables_of_one_node_are_left_out_and_named() {
    let file = imported(
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a');
         INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 1);
         INSERT INTO mysql_query_rules (rule_id, active, proxy_port, match_digest, destination_hostgroup, apply) VALUES
           (1, 1, 6033, '^SELECT', 1, 1);
         SET admin-mysql_ifaces='10.1.1.1:6032';
         SET admin-web_port='6099';
         SET admin-cluster_username='cluster';
         SET mysql-eventslog_filename='/var/lib/px1/events';
         SET mysql-ssl_p2s_key='/etc/px1/key.pem';
         SET mysql-interfaces='10.1.1.1:6033;0.0.0.0:6034';
         SET mysql-max_connections=4000;",
    );
    let adopted = adopted(&file);
    let text = files(&adopted);
    assert!(text.contains("mysql-max_connections: 4000"), "{text}");
    for of_node in [
        "ifaces",
        "web_port",
        "cluster_username",
        "px1",
        "10.1.1.1",
        "listeners",
    ] {
        assert!(!text.contains(of_node), "{of_node}: {text}");
    }
    let unwritten = adopted.unwritten.iter();
    let unwritten: Vec<String> = unwritten
        .map(|one| format!("{}: {}", one.what, one.why))
        .collect();
    insta::assert_snapshot!(unwritten.join("\n"));
    assert_eq!(lines(&adopted.differences), "");
}

/// What every node has stays: addresses for all networks, loopback addresses and sockets.
#[test]
fn interfaces_that_every_node_has_are_written() {
    let file = imported(
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a');
         SET mysql-interfaces='0.0.0.0:6033;127.0.0.1:6034;/run/proxysql.sock';",
    );
    let adopted = adopted(&file);
    assert!(files(&adopted).contains("port: 6034"), "{}", files(&adopted));
    assert!(adopted.unwritten.is_empty(), "{:?}", adopted.unwritten);
}
