//! What plans and applies take for granted of the admin port: held against a real ProxySQL, and against the stand-in that
//! takes its place where there is none.

use shardwright_testkit::{
    ClientOptions, ProxySql, ProxySqlOptions, StandIn, TextRow, connect, real_proxysql, text_rows,
};

/// Statements, and what a query answers after them. Memory and what is live are empty before.
struct Fact {
    says: &'static str,
    statements: &'static [&'static str],
    query: &'static str,
    rows: &'static [&'static str],
}

const EMPTY: &[&str] = &[
    "DELETE FROM mysql_servers",
    "DELETE FROM mysql_replication_hostgroups",
    "DELETE FROM mysql_galera_hostgroups",
    "DELETE FROM mysql_users",
    "DELETE FROM mysql_query_rules",
    "DELETE FROM mysql_query_rules_fast_routing",
    "DELETE FROM mysql_firewall_whitelist_users",
    "DELETE FROM mysql_firewall_whitelist_rules",
    "LOAD MYSQL SERVERS TO RUNTIME",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL QUERY RULES TO RUNTIME",
    "LOAD MYSQL FIREWALL TO RUNTIME",
    "SAVE MYSQL SERVERS TO DISK",
    "SAVE MYSQL USERS TO DISK",
    "SAVE MYSQL QUERY RULES TO DISK",
];

const FACTS: &[Fact] = &[
    Fact {
        says: "a transaction is accepted and does nothing",
        statements: &[
            "BEGIN",
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a')",
            "ROLLBACK",
        ],
        query: "SELECT hostgroup_id, hostname, port, status, weight FROM mysql_servers",
        rows: &["1 a 3306 ONLINE 1"],
    },
    Fact {
        says: "what is staged is not live before it is loaded",
        statements: &["INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a')"],
        query: "SELECT count(*) FROM runtime_mysql_servers",
        rows: &["0"],
    },
    Fact {
        says: "a text that is a number is one where a column is of numbers, and another text stays one",
        statements: &[
            "INSERT INTO mysql_query_rules (rule_id, destination_hostgroup, delay, match_digest) \
             VALUES (1, '5', 1.5, 7), (2, 'abc', '08', NULL)",
        ],
        query: "SELECT quote(destination_hostgroup), quote(delay), quote(match_digest) FROM mysql_query_rules ORDER BY rule_id",
        rows: &["5 1.5 '7'", "'abc' 8 NULL"],
    },
    Fact {
        says: "servers that are offline for good are not live, and states are in capitals",
        statements: &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname, status, weight) VALUES (1, 'a', 'online', 5), \
             (1, 'b', 'OFFLINE_HARD', 1), (2, 'c', 'OFFLINE_SOFT', '7')",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ],
        query: "SELECT quote(hostgroup_id), hostname, status, quote(weight) FROM runtime_mysql_servers ORDER BY hostname",
        rows: &["1 a ONLINE 5", "2 c OFFLINE_SOFT 7"],
    },
    Fact {
        says: "a server that is gone from memory is not live after a load",
        statements: &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a'), (1, 'b')",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "DELETE FROM mysql_servers WHERE hostname = 'a'",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ],
        query: "SELECT hostname FROM runtime_mysql_servers",
        rows: &["b"],
    },
    Fact {
        says: "a join of hostgroups is dropped whose writers are the readers of another one",
        statements: &[
            "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (1, 2), (2, 3)",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ],
        query: "SELECT * FROM runtime_mysql_replication_hostgroups",
        rows: &["1 2 read_only "],
    },
    Fact {
        says: "inactive Galera hostgroups are live too",
        statements: &[
            "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, \
             offline_hostgroup, active) VALUES (100, 101, 102, 103, 0)",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ],
        query: "SELECT writer_hostgroup, active FROM runtime_mysql_galera_hostgroups",
        rows: &["100 0"],
    },
    Fact {
        says: "only active rules are live, and one with an address that it cannot read is dropped",
        statements: &[
            "INSERT INTO mysql_query_rules (rule_id, active, client_addr) VALUES (1, 1, '10.0.0.%'), (2, 1, 'bad%addr'), \
             (3, 1, '300.1.1.1'), (4, 0, NULL), (5, 1, NULL)",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ],
        query: "SELECT rule_id FROM runtime_mysql_query_rules ORDER BY rule_id",
        rows: &["1", "3", "5"],
    },
    Fact {
        says: "what is live of a rule is printed anew",
        statements: &[
            "INSERT INTO mysql_query_rules (rule_id, active, username, digest, re_modifiers, destination_hostgroup, delay, \
             attributes) VALUES (1, 1, '', '0x1c46ae529dd5a40e', 'caseless, GLOBAL', 'abc', 1.5, '{}'), \
             (2, 1, NULL, NULL, 'GLOBAL,CASELESS', NULL, NULL, ''), (3, 1, NULL, NULL, 'x', NULL, NULL, ''), \
             (4, 1, NULL, NULL, 'global,globally,caseless', NULL, NULL, '')",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ],
        query: "SELECT quote(username), quote(digest), quote(re_modifiers), quote(destination_hostgroup), quote(delay), \
                quote(attributes), quote(comment) FROM runtime_mysql_query_rules ORDER BY rule_id",
        rows: &[
            "'' '0x1C46AE529DD5A40E' 'CASELESS' 0 1 '{}' NULL",
            "NULL NULL 'CASELESS,GLOBAL' NULL NULL '' NULL",
            "NULL NULL '' NULL NULL '' NULL",
            "NULL NULL 'CASELESS,GLOBAL' NULL NULL '' NULL",
        ],
    },
    Fact {
        says: "a pattern that is none is loaded all the same",
        statements: &[
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (1, 1, '[')",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ],
        query: "SELECT match_digest FROM runtime_mysql_query_rules",
        rows: &["["],
    },
    Fact {
        says: "rules and fast routing are loaded together",
        statements: &[
            "INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) \
             VALUES ('u', 's', 0, 3, 'c')",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ],
        query: "SELECT * FROM runtime_mysql_query_rules_fast_routing",
        rows: &["u s 0 3 c"],
    },
    Fact {
        says: "a user is live twice, once for clients and once for servers",
        statements: &[
            "INSERT INTO mysql_users (username, password, default_hostgroup, comment) VALUES ('u', 'p', 1, 'x'), \
             ('none', NULL, 2, '')",
            "INSERT INTO mysql_users (username, password, backend, frontend) VALUES ('split', 'p', 1, 0), ('split', 'q', 0, 1)",
            "LOAD MYSQL USERS TO RUNTIME",
        ],
        query: "SELECT username, quote(password), quote(default_schema), backend, frontend, quote(comment) \
                FROM runtime_mysql_users ORDER BY username, backend",
        rows: &[
            "none '' '' 0 1 ''",
            "none '' '' 1 0 ''",
            "split 'q' '' 0 1 ''",
            "split 'p' '' 1 0 ''",
            "u 'p' '' 0 1 'x'",
            "u 'p' '' 1 0 'x'",
        ],
    },
    Fact {
        says: "users that are inactive, or whose hostgroup is below zero, are not live",
        statements: &[
            "INSERT INTO mysql_users (username, password, active, default_hostgroup) VALUES ('off', 'p', 0, 1), ('below', 'p', 1, -1)",
            "LOAD MYSQL USERS TO RUNTIME",
        ],
        query: "SELECT count(*) FROM runtime_mysql_users",
        rows: &["0"],
    },
    Fact {
        says: "the firewall is live as it is written",
        statements: &[
            "INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) \
             VALUES (1, 'u', '', 'DETECTING', 'c'), (0, 'v', '', 'OFF', 'c')",
            "INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) \
             VALUES (0, 'u', '', 's', 0, '0x1c46ae529dd5a40e', 'c')",
            "LOAD MYSQL FIREWALL TO RUNTIME",
        ],
        query: "SELECT username, active, mode FROM runtime_mysql_firewall_whitelist_users UNION ALL \
                SELECT username, active, digest FROM runtime_mysql_firewall_whitelist_rules",
        rows: &["u 1 DETECTING", "v 0 OFF", "u 0 0x1c46ae529dd5a40e"],
    },
    Fact {
        says: "the disk gets what is in memory, and not what is live",
        statements: &[
            "INSERT INTO mysql_query_rules (rule_id, active, digest, destination_hostgroup) VALUES (1, 1, '0x1c46', 'abc'), (2, 0, NULL, 1)",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "SAVE MYSQL QUERY RULES TO DISK",
        ],
        query: "SELECT rule_id, quote(digest), quote(destination_hostgroup) FROM disk.mysql_query_rules ORDER BY rule_id",
        rows: &["1 '0x1c46' 'abc'", "2 NULL 1"],
    },
    Fact {
        says: "memory gets back what the disk has",
        statements: &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a')",
            "SAVE MYSQL SERVERS TO DISK",
            "DELETE FROM mysql_servers",
            "LOAD MYSQL SERVERS FROM DISK",
        ],
        query: "SELECT hostname FROM mysql_servers",
        rows: &["a"],
    },
    Fact {
        says: "a row with another one's key replaces it where the statement says so",
        statements: &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname, weight) VALUES (1, 'a', 1)",
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight) VALUES (1, 'a', 3306, 9), (1, 'b', 3306, 2) \
             ON CONFLICT (hostgroup_id, hostname, port) DO UPDATE SET weight = excluded.weight",
            "DELETE FROM mysql_servers WHERE (hostgroup_id, hostname) IN (VALUES (1, 'b'))",
        ],
        query: "SELECT hostname, weight FROM mysql_servers",
        rows: &["a 9"],
    },
    Fact {
        says: "variables are live after their load, and switches are words then",
        statements: &[
            "UPDATE global_variables SET variable_value = '2222' WHERE variable_name = 'mysql-max_connections'",
            "UPDATE global_variables SET variable_value = '1' WHERE variable_name = 'mysql-autocommit_false_is_transaction'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ],
        query: "SELECT variable_value FROM runtime_global_variables WHERE variable_name IN \
                ('mysql-autocommit_false_is_transaction', 'mysql-max_connections') ORDER BY variable_name",
        rows: &["true", "2222"],
    },
    Fact {
        says: "values that the engine does not take are set back in memory",
        statements: &[
            "UPDATE global_variables SET variable_value = '2000' WHERE variable_name = 'mysql-max_connections'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
            "UPDATE global_variables SET variable_value = 'many' WHERE variable_name = 'mysql-max_connections'",
            "UPDATE global_variables SET variable_value = 'banana' WHERE variable_name = 'mysql-monitor_enabled'",
            "UPDATE global_variables SET variable_value = '8' WHERE variable_name = 'mysql-threads'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ],
        query: "SELECT count(*) FROM global_variables WHERE (variable_name = 'mysql-max_connections' AND variable_value = '2000') \
                OR (variable_name = 'mysql-monitor_enabled' AND variable_value IN ('true', 'false')) \
                OR (variable_name = 'mysql-threads' AND variable_value <> '8')",
        rows: &["3"],
    },
    Fact {
        says: "variables that the engine does not know are gone after a load, and those that it knows are back",
        statements: &[
            "INSERT INTO global_variables VALUES ('mysql-no_such_one', '5')",
            "DELETE FROM global_variables WHERE variable_name = 'mysql-max_connections'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ],
        query: "SELECT variable_name FROM global_variables WHERE variable_name IN ('mysql-no_such_one', 'mysql-max_connections')",
        rows: &["mysql-max_connections"],
    },
    Fact {
        says: "one load does not make another module live",
        statements: &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a')",
            "INSERT INTO mysql_users (username, password) VALUES ('u', 'p')",
            "LOAD MYSQL USERS TO RUNTIME",
        ],
        query: "SELECT (SELECT count(*) FROM runtime_mysql_servers), (SELECT count(*) FROM runtime_mysql_users)",
        rows: &["0 2"],
    },
];

/// Statements that are refused, and a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    (
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (-1, 'a')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO mysql_servers (hostgroup_id, hostname, status) VALUES (1, 'a', 'AWAY')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO mysql_servers (hostgroup_id) VALUES (1)",
        "NOT NULL constraint failed: mysql_servers.hostname",
    ),
    (
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a'), (1, 'a')",
        "UNIQUE constraint failed: mysql_servers.hostgroup_id, mysql_servers.hostname, mysql_servers.port",
    ),
    (
        "INSERT INTO mysql_users (username, backend, frontend) VALUES ('u', 1, 1), ('u', 0, 1)",
        "UNIQUE constraint failed: mysql_users.username, mysql_users.frontend",
    ),
    (
        "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (1, 2), (3, 2)",
        "UNIQUE constraint failed: mysql_replication_hostgroups.reader_hostgroup",
    ),
    (
        "INSERT INTO mysql_query_rules (replace_pattern) VALUES ('x')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO mysql_query_rules (attributes) VALUES ('no JSON')",
        "CHECK constraint failed",
    ),
    (
        "INSERT INTO mysql_query_rules (cache_ttl) VALUES (0)",
        "CHECK constraint failed",
    ),
    ("INSERT INTO no_such_table VALUES (1)", ""),
    ("LOAD NOTHING TO RUNTIME", "syntax error"),
    ("SELEC 1", "syntax error"),
];

fn lines(rows: Vec<TextRow>) -> Vec<String> {
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "NULL".to_owned());
    let line = |row: TextRow| row.into_iter().map(cell).collect::<Vec<_>>().join(" ");
    rows.into_iter().map(line).collect()
}

/// Holds every fact against an admin port.
fn check(what: &str, address: std::net::SocketAddr) {
    let admin = ClientOptions {
        user: "admin",
        password: "admin",
        schema: None,
    };
    let mut admin = connect(address, admin).unwrap();
    for fact in FACTS {
        for statement in EMPTY.iter().chain(fact.statements) {
            let done = text_rows(&mut admin, statement);
            assert!(done.is_ok(), "{what}: {}: {statement}: {done:?}", fact.says);
        }
        let rows = text_rows(&mut admin, fact.query).unwrap();
        assert_eq!(lines(rows), fact.rows, "{what}: {}", fact.says);
    }
    for (statement, reason) in REFUSED {
        for emptying in EMPTY {
            text_rows(&mut admin, emptying).unwrap();
        }
        match text_rows(&mut admin, statement) {
            Err(mysql::Error::MySqlError(error)) => {
                assert!(
                    error.message.starts_with("ProxySQL Admin Error: "),
                    "{what}: {error}"
                );
                assert!(error.message.contains(reason), "{what}: {statement}: {error}");
            }
            other => panic!("{what}: {statement}: {other:?}"),
        }
        // A statement that is refused does nothing, even where some of its rows are right.
        let left = text_rows(&mut admin, "SELECT count(*) FROM mysql_servers").unwrap();
        assert_eq!(lines(left), ["0"], "{what}: {statement}");
    }
}

#[test]
fn the_stand_in_does_what_is_taken_for_granted() {
    let stand_in = StandIn::start().unwrap();
    check("the stand-in", stand_in.admin_address());
}

#[test]
fn a_real_proxysql_does_what_is_taken_for_granted() {
    let Some(binary) = real_proxysql("facts of the admin port") else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    check("ProxySQL", proxysql.admin_address());
}

/// Their tables are the same, column by column, and so are the variables with their values.
#[test]
fn the_stand_in_has_the_tables_and_variables_of_a_real_proxysql() {
    let Some(binary) = real_proxysql("tables and variables of the stand-in") else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    let stand_in = StandIn::start().unwrap();
    let of_both = |query: &str| {
        let real = lines(proxysql.run([query]).unwrap());
        (real, lines(stand_in.run([query]).unwrap()))
    };
    for place in ["main", "disk"] {
        let (real, ours) = of_both(&format!(
            "SELECT sql FROM {place}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ));
        assert!(real.len() > 15, "{real:?}");
        assert_eq!(real, ours, "{place}");
    }
    // Each build names itself.
    let own =
        "'admin-version', 'admin-mysql_ifaces', 'mysql-interfaces', 'mysql-threads', 'mysql-max_connections'";
    let (real, ours) = of_both(&format!(
        "SELECT variable_name, variable_value FROM global_variables WHERE variable_name NOT IN ({own}) ORDER BY 1"
    ));
    assert!(real.len() > 200, "{real:?}");
    assert_eq!(real, ours);
}
