//! Emitted SQL and configuration files, loaded into tables with the constraints of ProxySQL's own.

mod cnf;
pub(crate) mod configuration;
mod ownership;
mod tables;

use std::collections::BTreeSet;

use insta::assert_snapshot;
use rusqlite::types::Value;
use shardwright_rules::*;
use shardwright_targets::emit::{self, Cell, PLACEHOLDER_PASSWORD, Row, Table};

use configuration::{columns_of, everything};

/// What SQLite holds of a row in the columns that the row sets.
fn stored(database: &rusqlite::Connection, row: &Row, position: usize) -> Vec<Value> {
    let names: Vec<&str> = row.columns.iter().map(|(name, _)| *name).collect();
    let query = format!(
        "SELECT {} FROM {} ORDER BY rowid LIMIT 1 OFFSET {position}",
        names.join(", "),
        row.table.name()
    );
    let read = |found: &rusqlite::Row<'_>| (0..names.len()).map(|at| found.get(at)).collect();
    database.query_row(&query, [], read).unwrap()
}

fn expected(row: &Row) -> Vec<Value> {
    let values = row.columns.iter().map(|(_, cell)| match cell {
        Cell::Integer(number) => Value::Integer(i64::try_from(*number).unwrap()),
        Cell::Text(text) => Value::Text(text.clone()),
    });
    values.collect()
}

/// Loads the emitted SQL twice and compares every table with the rows that it was made from.
fn round_trip(configuration: &Configuration) {
    let sql = emit::sql(configuration).unwrap();
    assert_eq!(sql, emit::sql(&configuration.clone()).unwrap());
    let database = tables::load(&[&sql, &sql]);
    let rows = emit::rows(configuration).unwrap();
    for table in Table::ALL {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.table == table).collect();
        let count = format!("SELECT count(*) FROM {}", table.name());
        let count: u32 = database.query_row(&count, [], |found| found.get(0)).unwrap();
        assert_eq!(count as usize, rows.len(), "{}", table.name());
        for (position, row) in rows.iter().enumerate() {
            assert_eq!(stored(&database, row, position), expected(row), "{row:?}");
        }
    }
}

/// Columns that every row has alike, which the engine fills: a user of a project can log in.
const FILLED: [(Table, &str); 1] = [(Table::Users, "frontend")];

#[test]
fn every_column_is_filled_by_objects_or_left_as_it_is() {
    let group = Group {
        backup_writer: HostgroupId(2),
        offline: HostgroupId(3),
        writers: 1,
        max_transactions_behind: 5,
        failback: Failback::Automatic,
    };
    let mut all = everything();
    all.users[0].default_schema = Some("shop".into());
    all.users[0].tls = ClientTls::Required;
    all.firewall = vec![Firewall {
        user: "app".into(),
        address: "firewall.app".into(),
        mode: FirewallMode::Protecting,
        schemas: vec!["shop".into()],
        flags: vec![0],
        digests: vec![1],
    }];
    let mut rows = emit::rows(&all).unwrap();
    for rule in &mut all.graph.rules {
        if let Body::Engine(row) = &mut rule.body {
            row.flag_out = Some(1);
        }
    }
    rows.extend(emit::rows(&all).unwrap());
    for kind in [
        ClusterKind::Galera(group.clone()),
        ClusterKind::GroupReplication(group),
    ] {
        let mut configuration = everything();
        let cluster = configuration
            .clusters
            .iter_mut()
            .find(|cluster| cluster.reader.is_some());
        cluster.unwrap().kind = kind;
        rows.extend(emit::rows(&configuration).unwrap());
    }
    for table in Table::ALL {
        let of_table = rows.iter().filter(|row| row.table == table);
        let filled: BTreeSet<&str> = of_table
            .flat_map(|row| row.columns.iter().map(|(name, _)| *name))
            .collect();
        let filled: BTreeSet<&str> = FILLED
            .iter()
            .filter(|(known, _)| *known == table)
            .map(|(_, column)| *column)
            .chain(filled)
            .collect();
        let left = BTreeSet::from_iter(left_columns(table.definition()).iter().copied());
        assert!(filled.is_disjoint(&left), "{}: {filled:?} {left:?}", table.name());
        let all = table.definition().columns.iter().map(|column| column.name);
        let all: BTreeSet<&str> = all.collect();
        assert_eq!(
            filled.union(&left).copied().collect::<BTreeSet<_>>(),
            all,
            "{}",
            table.name()
        );
    }
}

#[test]
fn the_script() {
    let script = emit::sql(&everything()).unwrap();
    let script = script.replacen(&everything().fingerprint()[..8], "[digest]", 1);
    assert_snapshot!(script, @r#"
    -- Configuration [digest] for proxysql-2.7.
    -- Replaces every server, replication, Galera and group replication hostgroup, user and query rule.
    -- Replace the placeholder passwords first: with them, users cannot log in.
    SET mysql-query_processor_iterations='0';
    SET mysql-query_processor_regex='1';
    SET mysql-query_digests='true';
    SET mysql-query_digests_lowercase='false';
    SET mysql-query_digests_replace_null='false';
    SET mysql-query_digests_no_digits='false';
    SET mysql-query_digests_keep_comment='false';
    SET mysql-monitor_writer_is_also_reader='false';

    DELETE FROM mysql_servers;
    -- clusters.shop.servers.s1
    INSERT INTO mysql_servers (hostgroup_id, hostname, port, status, weight, max_connections, max_replication_lag, use_ssl, comment) VALUES (1000, 's1.db', 3306, 'ONLINE', 1, 400, 5, 1, 'clusters.shop.servers.s1');
    -- clusters.shop.servers.s2
    INSERT INTO mysql_servers (hostgroup_id, hostname, port, status, weight, max_connections, max_replication_lag, use_ssl, comment) VALUES (1001, 's2.db', 3306, 'OFFLINE_SOFT', 100, 400, 5, 1, 'clusters.shop.servers.s2');
    -- clusters.shop.servers.s3
    INSERT INTO mysql_servers (hostgroup_id, hostname, port, status, weight, max_connections, max_replication_lag, use_ssl, comment) VALUES (1001, 's3.db', 3306, 'OFFLINE_HARD', 0, 400, 5, 1, 'clusters.shop.servers.s3');
    -- clusters.shop.servers.s1
    INSERT INTO mysql_servers (hostgroup_id, hostname, port, status, weight, max_connections, max_replication_lag, use_ssl, comment) VALUES (1001, 's1.db', 3306, 'ONLINE', 1, 400, 5, 1, 'clusters.shop.servers.s1');

    DELETE FROM mysql_replication_hostgroups;
    -- clusters.shop
    INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES (1000, 1001, 'super_read_only', 'clusters.shop');

    DELETE FROM mysql_galera_hostgroups;

    DELETE FROM mysql_group_replication_hostgroups;

    DELETE FROM mysql_users;
    -- users.app
    -- password: placeholder for env APP_PASSWORD
    INSERT INTO mysql_users (username, password, active, default_hostgroup, transaction_persistent, max_connections, comment) VALUES ('app', '*0000000000000000000000000000000000000000', 1, 1000, 1, 2000, 'users.app');
    -- users.batch
    -- password: placeholder for command vault read x
    INSERT INTO mysql_users (username, password, active, default_hostgroup, transaction_persistent, max_connections, comment) VALUES ('batch', '*0000000000000000000000000000000000000000', 1, 1000, 1, 2000, 'users.batch');
    -- users.open
    INSERT INTO mysql_users (username, password, active, default_hostgroup, transaction_persistent, max_connections, comment) VALUES ('open', '', 1, 1000, 1, 2000, 'users.open');

    DELETE FROM mysql_query_rules;
    -- query_rules.legacy.rules[0]
    INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (100, 1, 'app', 'shop', 0, '10.1.%', '0.0.0.0', 6033, '0x4D7DCFF87DD1A927', '^SELECT', '\btenant=''(\d+)''', 1, 'GLOBAL', '\1', 1001, 2000, 0, 5, 1, 0, 2, 5, 7, 8, 9, '', 'fine', 0, 2, 1000, 1, 1, '{"flagOUTs":[{"id":20000,"weight":3},{"id":20001,"weight":1}]}', 'query_rules.legacy.rules[0]');
    -- shard_maps.tenants
    INSERT INTO mysql_query_rules (rule_id, active, flagIN, error_msg, apply, comment) VALUES (100000, 1, 20000, 'SW352: unknown shard key: shard map tenants has no tenant; don''t guess', 1, 'my own words');
    INSERT INTO mysql_query_rules (rule_id, active, flagIN, apply, comment) VALUES (100001, 1, 20001, 0, 'shard_maps.tenants');

    DELETE FROM mysql_query_rules_fast_routing;
    -- shard_maps.accounts.shards.a0001
    INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES ('', 'acct_0001', 0, 1000, 'shard_maps.accounts.shards.a0001');

    LOAD MYSQL VARIABLES TO RUNTIME;
    LOAD MYSQL SERVERS TO RUNTIME;
    LOAD MYSQL QUERY RULES TO RUNTIME;
    LOAD MYSQL USERS TO RUNTIME;
    SAVE MYSQL VARIABLES TO DISK;
    SAVE MYSQL SERVERS TO DISK;
    SAVE MYSQL QUERY RULES TO DISK;
    SAVE MYSQL USERS TO DISK;
    "#);
}

#[test]
fn what_sqlite_reads_is_what_was_meant() {
    round_trip(&everything());
    round_trip(&Configuration::empty(EngineId::Proxysql27));
}

#[test]
fn texts_of_every_kind() {
    let texts = [
        "",
        "'",
        "''",
        r"\",
        r"\\",
        r"\'",
        r"a\'b\\'c\",
        "'; DELETE FROM mysql_users; --",
        "two\nlines",
        "tab\t and \u{1f600}",
        "/* not a comment */ -- nor this",
        "\"quoted\" `names` %s ?1 :a $b",
    ];
    for text in texts {
        let mut configuration = everything();
        *columns_of(&mut configuration, 100) = EngineRule {
            username: Some(text.into()),
            match_pattern: Some(text.into()),
            replace_pattern: Some(text.into()),
            error_msg: Some(text.into()),
            comment: Some(text.into()),
            ..EngineRule::default()
        };
        configuration.users[0].name = format!("user {text}");
        configuration.users[0].default_schema = Some(text.into());
        configuration.graph.fast_routing[0].schemaname = text.into();
        round_trip(&configuration);
    }
}

/// How the `mysql` client finds the end of a statement: backslashes escape inside quotes, `-- ` starts a comment.
fn statements_as_the_client_splits_them(script: &str) -> usize {
    let (mut ends, mut quote, mut chars) = (0, None, script.chars().peekable());
    let mut line_start = true;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '-') if line_start && chars.peek() == Some(&'-') => {
                chars.by_ref().find(|&c| c == '\n');
                continue;
            }
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, ';') => ends += 1,
            (None, _) => {}
        }
        line_start = c == '\n';
    }
    assert_eq!(quote, None, "a quote is left open");
    ends
}

#[test]
fn the_mysql_client_sees_the_same_statements() {
    let plain = statements_as_the_client_splits_them(&emit::sql(&everything()).unwrap());
    for text in [r"\", r"\'", r"it's \", r"\\\", r"a';b\';c"] {
        let mut configuration = everything();
        columns_of(&mut configuration, 100).error_msg = Some(text.into());
        let sql = emit::sql(&configuration).unwrap();
        assert_eq!(statements_as_the_client_splits_them(&sql), plain, "{text}");
        round_trip(&configuration);
    }
}

#[test]
fn passwords_are_placeholders() {
    let database = tables::load(&[&emit::sql(&everything()).unwrap()]);
    let read = |name: &str| -> String {
        let query = "SELECT password FROM mysql_users WHERE username = ?1";
        database.query_row(query, [name], |row| row.get(0)).unwrap()
    };
    assert_eq!(read("app"), PLACEHOLDER_PASSWORD);
    assert_eq!(read("open"), "");
}

/// Why a change of the fixture cannot be emitted.
fn refusal(change: impl FnOnce(&mut Configuration)) -> String {
    let mut configuration = everything();
    change(&mut configuration);
    let error = emit::sql(&configuration).unwrap_err();
    error.to_string()
}

#[test]
fn what_the_tables_cannot_hold_is_refused() {
    let rule = |change: fn(&mut EngineRule)| refusal(|c| change(columns_of(c, 100)));
    let native = |c: &mut Configuration| {
        c.graph.rules[1].body = Body::Native {
            scope: Box::default(),
            step: NativeStep::Delay(DelayStep { delay_ms: 5 }),
        };
    };
    let refusals = [
        refusal(native),
        refusal(|c| c.graph.rules[0].id = 1 << 31),
        refusal(|c| c.hostgroups[0].members[0].weight = 10_000_001),
        refusal(|c| c.hostgroups[0].members[0].max_replication_lag_s = u32::MAX),
        refusal(|c| c.users[0].name = "a\0b".into()),
        rule(|rule| rule.cache_ttl_ms = Some(0)),
        rule(|rule| rule.retries = Some(1001)),
        rule(|rule| rule.multiplex = Some(3)),
        rule(|rule| rule.timeout_ms = Some(3_000_000_000)),
        rule(|rule| rule.mirror_flag_out = Some(1 << 31)),
        refusal(|c| c.users[0].max_connections = u32::MAX),
        refusal(|c| c.graph.fast_routing[0].flag_in = 1 << 31),
        rule(|rule| rule.match_pattern = None),
        rule(|rule| rule.client_addr = Some("10.%.1".into())),
        rule(|rule| rule.digest = Some(0)),
    ];
    assert_snapshot!(refusals.join("\n"), @"
    shard_maps.tenants: rule 100000 is a delay step, which only the bundled engine has; compile with --engine proxysql-2.7
    query_rules.legacy.rules[0]: rule_id is 2147483648, the most is 2147483647
    clusters.shop.servers.s1: weight is 10000001, the most is 10000000
    clusters.shop.servers.s1: max_replication_lag is 4294967295, the most is 126144000
    users.app: username holds a zero byte, which ends a text in SQLite
    query_rules.legacy.rules[0]: cache_ttl is 0, the least is 1
    query_rules.legacy.rules[0]: retries is 1001, the most is 1000
    query_rules.legacy.rules[0]: multiplex is 3, the most is 2
    query_rules.legacy.rules[0]: timeout is 3000000000, the most is 2147483647
    query_rules.legacy.rules[0]: mirror_flagOUT is 2147483648, the most is 2147483647
    users.app: max_connections is 4294967295, the most is 2147483647
    shard_maps.accounts.shards.a0001: flagIN is 2147483648, the most is 2147483647
    query_rules.legacy.rules[0]: replace_pattern needs match_pattern
    query_rules.legacy.rules[0]: client_addr is an address, or a prefix that ends in %, of at most 45 bytes
    query_rules.legacy.rules[0]: digest is a value that ProxySQL reads as no value
    ");
}

#[test]
fn a_hostgroup_that_refuses_has_one_server_that_says_why() {
    let mut configuration = everything();
    let refusing = |id, refuser, port| RefusingHostgroup {
        id: HostgroupId(id),
        address: "shard_maps.tenants".into(),
        reason: "SW352: unknown shard key: it's none".into(),
        refuser,
        host: "127.0.0.1".into(),
        port,
    };
    configuration.refusing = vec![
        refusing(2000, Refuser::Admin, 6032),
        refusing(2001, Refuser::Service, 6101),
    ];
    round_trip(&configuration);
    let script = emit::sql(&configuration).unwrap();
    let rows: Vec<&str> = script
        .lines()
        .filter(|line| line.contains("refuses by"))
        .collect();
    assert_snapshot!(rows.join("\n"), @r"
    INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (2000, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW352: unknown shard key: it''s none');
    INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (2001, '127.0.0.1', 6101, 100, 'refuses by shardwright refuse: SW352: unknown shard key: it''s none');
    ");
    assert!(emit::json(&configuration).contains("\"refuser\": \"service\""));
}

#[test]
fn json_is_the_configuration() {
    let json = emit::json(&everything());
    assert_eq!(
        serde_json::from_str::<Configuration>(&json).unwrap(),
        everything()
    );
    assert_eq!(json, emit::json(&everything()));
}

#[test]
fn a_firewall_is_loaded_before_it_is_switched_on() {
    let mut configuration = everything();
    let own = |user: &str, mode, digests: &[u64]| Firewall {
        user: user.into(),
        address: format!("firewall.{user}").into(),
        mode,
        schemas: vec!["app".into(), "it's".into()],
        flags: vec![0, 20_000],
        digests: digests.into(),
    };
    configuration.firewall = vec![
        own("app", FirewallMode::Protecting, &[0xA, u64::MAX - 1]),
        own("batch", FirewallMode::Disabled, &[]),
        own("open", FirewallMode::Detecting, &[1]),
    ];
    round_trip(&configuration);
    let script = emit::sql(&configuration).unwrap();
    let of_firewall: Vec<&str> = script
        .lines()
        .filter(|line| line.to_lowercase().contains("firewall") && !line.starts_with("--"))
        .collect();
    assert_snapshot!(of_firewall.join("\n"), @r"
    DELETE FROM mysql_firewall_whitelist_users;
    INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES (1, 'app', '', 'PROTECTING', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES (1, 'batch', '', 'OFF', 'firewall.batch');
    INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES (1, 'open', '', 'DETECTING', 'firewall.open');
    DELETE FROM mysql_firewall_whitelist_rules;
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'app', 0, '0x000000000000000A', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'app', 0, '0xFFFFFFFFFFFFFFFE', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'app', 20000, '0x000000000000000A', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'app', 20000, '0xFFFFFFFFFFFFFFFE', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'it''s', 0, '0x000000000000000A', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'it''s', 0, '0xFFFFFFFFFFFFFFFE', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'it''s', 20000, '0x000000000000000A', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'app', '', 'it''s', 20000, '0xFFFFFFFFFFFFFFFE', 'firewall.app');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'open', '', 'app', 0, '0x0000000000000001', 'firewall.open');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'open', '', 'app', 20000, '0x0000000000000001', 'firewall.open');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'open', '', 'it''s', 0, '0x0000000000000001', 'firewall.open');
    INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES (1, 'open', '', 'it''s', 20000, '0x0000000000000001', 'firewall.open');
    LOAD MYSQL FIREWALL TO RUNTIME;
    SET mysql-firewall_whitelist_errormsg='the firewall of this proxy does not allow this statement to its user';
    SET mysql-firewall_whitelist_enabled='true';
    SAVE MYSQL FIREWALL TO DISK;
    ");
}

/// A script is for a node that runs; a file is for one that starts.
#[test]
fn a_script_sets_no_variable_of_the_node() {
    let mut configuration = Configuration::empty(EngineId::Proxysql27);
    let address = ("admin-mysql_ifaces".to_owned(), "10.1.1.1:6032".to_owned());
    configuration.variables.extend([address]);
    let script = emit::sql(&configuration).unwrap();
    assert!(
        script.contains("-- admin-mysql_ifaces stays as it is: it belongs to the node."),
        "{script}"
    );
    assert!(!script.contains("SET admin-mysql_ifaces"), "{script}");
    let file = emit::cnf(&configuration).unwrap();
    assert!(file.contains("mysql_ifaces = \"10.1.1.1:6032\""), "{file}");
}
