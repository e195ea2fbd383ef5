//! The tables of ProxySQL 2.7.1 that say something about routing, and the statistics that the admin port shows.

use crate::column::{Check, Column, Table};

const JSON: Check = Check::Expression("attributes = '' OR json_valid(attributes)");

/// `mysql_servers`
pub const SERVERS: Table = Table {
    name: "mysql_servers",
    columns: &[
        Column::int("hostgroup_id").at_least(0).filled().or("0"),
        Column::text("hostname").filled(),
        Column::int("port").between(0, 65_535).filled().or("3306"),
        Column::int("gtid_port")
            .check(Check::Expression(
                "gtid_port BETWEEN 0 AND 65535 AND (gtid_port <> port OR gtid_port = 0)",
            ))
            .filled()
            .or("0"),
        Column::text("status")
            .check(Check::Expression(
                "UPPER(status) IN ('ONLINE', 'SHUNNED', 'OFFLINE_SOFT', 'OFFLINE_HARD')",
            ))
            .filled()
            .or("'ONLINE'"),
        Column::int("weight").between(0, 10_000_000).filled().or("1"),
        Column::switch("compression", "0"),
        Column::int("max_connections").at_least(0).filled().or("1000"),
        Column::int("max_replication_lag")
            .between(0, 126_144_000)
            .filled()
            .or("0"),
        Column::switch("use_ssl", "0"),
        Column::unsigned("max_latency_ms").at_least(0).filled().or("0"),
        Column::text("comment").filled().or("''"),
    ],
    primary_key: &["hostgroup_id", "hostname", "port"],
    unique: &[],
    file_keys: Some(&["hostname", "hostgroup_id"]),
    is_numbered: false,
};

/// `mysql_replication_hostgroups`
pub const REPLICATION_HOSTGROUPS: Table = Table {
    name: "mysql_replication_hostgroups",
    columns: &[
        Column::int("writer_hostgroup").at_least(0).filled(),
        Column::int("reader_hostgroup")
            .check(Check::Expression(
                "reader_hostgroup <> writer_hostgroup AND reader_hostgroup >= 0",
            ))
            .filled(),
        Column::text("check_type")
            .check(Check::Expression(
                "LOWER(check_type) IN ('read_only', 'innodb_read_only', 'super_read_only', \
                 'read_only|innodb_read_only', 'read_only&innodb_read_only')",
            ))
            .filled()
            .or("'read_only'"),
        Column::text("comment").filled().or("''"),
    ],
    primary_key: &["writer_hostgroup"],
    unique: &[&["reader_hostgroup"]],
    file_keys: Some(&["writer_hostgroup", "reader_hostgroup"]),
    is_numbered: false,
};

const GROUP_COLUMNS: &[Column] = &[
    Column::int("writer_hostgroup").at_least(0).filled(),
    Column::int("backup_writer_hostgroup")
        .check(Check::Expression(
            "backup_writer_hostgroup >= 0 AND backup_writer_hostgroup <> writer_hostgroup",
        ))
        .filled(),
    Column::int("reader_hostgroup")
        .check(Check::Expression(
            "reader_hostgroup <> writer_hostgroup AND backup_writer_hostgroup <> reader_hostgroup AND reader_hostgroup > 0",
        ))
        .filled(),
    Column::int("offline_hostgroup")
        .check(Check::Expression(
            "offline_hostgroup <> writer_hostgroup AND offline_hostgroup <> reader_hostgroup AND \
             backup_writer_hostgroup <> offline_hostgroup AND offline_hostgroup >= 0",
        ))
        .filled(),
    // The file's reader takes every row for an active one.
    Column::switch("active", "1").not_in_file(),
    Column::int("max_writers").at_least(0).filled().or("1"),
    Column::int("writer_is_also_reader")
        .check(Check::OneOf(&[0, 1, 2]))
        .filled()
        .or("0"),
    Column::int("max_transactions_behind").at_least(0).filled().or("0"),
    Column::text("comment"),
];

const fn group(name: &'static str) -> Table {
    Table {
        name,
        columns: GROUP_COLUMNS,
        primary_key: &["writer_hostgroup"],
        unique: &[
            &["reader_hostgroup"],
            &["offline_hostgroup"],
            &["backup_writer_hostgroup"],
        ],
        file_keys: Some(&[
            "writer_hostgroup",
            "backup_writer_hostgroup",
            "reader_hostgroup",
            "offline_hostgroup",
        ]),
        is_numbered: false,
    }
}

/// `mysql_galera_hostgroups`
pub const GALERA_HOSTGROUPS: Table = group("mysql_galera_hostgroups");

/// `mysql_group_replication_hostgroups`
pub const GROUP_REPLICATION_HOSTGROUPS: Table = group("mysql_group_replication_hostgroups");

/// `mysql_users`
pub const USERS: Table = Table {
    name: "mysql_users",
    columns: &[
        Column::text("username").filled(),
        Column::text("password"),
        Column::switch("active", "1"),
        Column::switch("use_ssl", "0"),
        Column::int("default_hostgroup").filled().or("0"),
        Column::text("default_schema"),
        Column::switch("schema_locked", "0"),
        Column::switch("transaction_persistent", "1"),
        Column::switch("fast_forward", "0"),
        Column::switch("backend", "1").not_in_file(),
        Column::switch("frontend", "1").not_in_file(),
        Column::int("max_connections").at_least(0).filled().or("10000"),
        Column::text("attributes").check(JSON).filled().or("''"),
        Column::text("comment").filled().or("''"),
    ],
    primary_key: &["username", "backend"],
    unique: &[&["username", "frontend"]],
    file_keys: Some(&["username"]),
    is_numbered: false,
};

/// `mysql_query_rules`
pub const QUERY_RULES: Table = Table {
    name: "mysql_query_rules",
    columns: &[
        Column::integer("rule_id").filled(),
        Column::switch("active", "0"),
        Column::text("username"),
        Column::text("schemaname"),
        Column::int("flagIN").at_least(0).filled().or("0"),
        Column::text("client_addr"),
        Column::text("proxy_addr"),
        Column::int("proxy_port").between(0, 65_535),
        Column::text("digest"),
        Column::text("match_digest"),
        Column::text("match_pattern"),
        Column::switch("negate_match_pattern", "0"),
        Column::text("re_modifiers").or("'CASELESS'"),
        Column::int("flagOUT").at_least(0),
        Column::text("replace_pattern").check(Check::Expression(
            "replace_pattern IS NULL OR match_pattern IS NOT NULL",
        )),
        Column::int("destination_hostgroup"),
        Column::int("cache_ttl").check(Check::Above(0)),
        Column::int("cache_empty_result").bit(),
        Column::int("cache_timeout").at_least(0),
        Column::int("reconnect").bit(),
        Column::unsigned("timeout").at_least(0),
        Column::int("retries").between(0, 1_000),
        Column::unsigned("delay").at_least(0),
        Column::unsigned("next_query_flagIN"),
        Column::unsigned("mirror_flagOUT"),
        Column::unsigned("mirror_hostgroup"),
        Column::text("error_msg"),
        Column::text("OK_msg"),
        Column::int("sticky_conn").bit(),
        Column::int("multiplex").check(Check::OneOf(&[0, 1, 2])),
        Column::unsigned("gtid_from_hostgroup"),
        Column::int("log").bit(),
        Column::switch("apply", "0"),
        Column::text("attributes").check(JSON).filled().or("''"),
        Column::text("comment"),
    ],
    primary_key: &["rule_id"],
    unique: &[],
    file_keys: Some(&["rule_id"]),
    is_numbered: true,
};

/// `mysql_query_rules_fast_routing`
pub const FAST_ROUTING: Table = Table {
    name: "mysql_query_rules_fast_routing",
    columns: &[
        Column::text("username").filled(),
        Column::text("schemaname").filled(),
        Column::int("flagIN").filled().or("0"),
        Column::int("destination_hostgroup").at_least(0).filled(),
        Column::text("comment").filled(),
    ],
    primary_key: &["username", "schemaname", "flagIN"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// `mysql_firewall_whitelist_users`
pub const FIREWALL_USERS: Table = Table {
    name: "mysql_firewall_whitelist_users",
    columns: &[
        Column::switch("active", "1"),
        Column::text("username").filled(),
        Column::text("client_address").filled(),
        Column::text("mode")
            .check(Check::Expression("mode IN ('OFF', 'DETECTING', 'PROTECTING')"))
            .filled()
            .or("'OFF'"),
        Column::text("comment").filled(),
    ],
    primary_key: &["username", "client_address"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// `mysql_firewall_whitelist_rules`
pub const FIREWALL_RULES: Table = Table {
    name: "mysql_firewall_whitelist_rules",
    columns: &[
        Column::switch("active", "1"),
        Column::text("username").filled(),
        Column::text("client_address").filled(),
        Column::text("schemaname").filled(),
        Column::int("flagIN").filled().or("0"),
        Column::text("digest").filled(),
        Column::text("comment").filled(),
    ],
    primary_key: &["username", "client_address", "schemaname", "flagIN", "digest"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// `global_variables`
pub const GLOBAL_VARIABLES: Table = Table {
    name: "global_variables",
    columns: &[
        Column::text("variable_name").filled(),
        Column::text("variable_value").filled(),
    ],
    primary_key: &["variable_name"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// Every table that says something about routing.
pub const TABLES: &[&Table] = &[
    &SERVERS,
    &REPLICATION_HOSTGROUPS,
    &GALERA_HOSTGROUPS,
    &GROUP_REPLICATION_HOSTGROUPS,
    &USERS,
    &QUERY_RULES,
    &FAST_ROUTING,
    &FIREWALL_USERS,
    &FIREWALL_RULES,
    &GLOBAL_VARIABLES,
];

/// The table of this name that says something about routing; names compare without case.
pub fn table(name: &str) -> Option<&'static Table> {
    let mut tables = TABLES.iter().copied();
    tables.find(|table| table.name.eq_ignore_ascii_case(name))
}

/// `stats_mysql_query_rules`
pub const RULE_HITS: Table = Table {
    name: "stats_mysql_query_rules",
    columns: &[Column::integer("rule_id"), Column::int("hits").filled()],
    primary_key: &["rule_id"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// `stats_mysql_connection_pool`
pub const CONNECTION_POOL: Table = Table {
    name: "stats_mysql_connection_pool",
    columns: &[
        Column::int("hostgroup"),
        Column::text("srv_host"),
        Column::int("srv_port"),
        Column::text("status"),
        Column::int("ConnUsed"),
        Column::int("ConnFree"),
        Column::int("ConnOK"),
        Column::int("ConnERR"),
        Column::int("MaxConnUsed"),
        Column::int("Queries"),
        Column::int("Queries_GTID_sync"),
        Column::int("Bytes_data_sent"),
        Column::int("Bytes_data_recv"),
        Column::int("Latency_us"),
    ],
    primary_key: &[],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// `stats_mysql_query_digest`
pub const QUERY_DIGEST: Table = Table {
    name: "stats_mysql_query_digest",
    columns: &[
        Column::int("hostgroup"),
        Column::text("schemaname").filled(),
        Column::text("username").filled(),
        Column::text("client_address").filled(),
        Column::text("digest").filled(),
        Column::text("digest_text").filled(),
        Column::integer("count_star").filled(),
        Column::integer("first_seen").filled(),
        Column::integer("last_seen").filled(),
        Column::integer("sum_time").filled(),
        Column::integer("min_time").filled(),
        Column::integer("max_time").filled(),
        Column::integer("sum_rows_affected").filled(),
        Column::integer("sum_rows_sent").filled(),
    ],
    primary_key: &["hostgroup", "schemaname", "username", "client_address", "digest"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};

/// `stats_mysql_global`
pub const TOTALS: Table = Table {
    name: "stats_mysql_global",
    columns: &[
        Column::text("Variable_Name").filled(),
        Column::text("Variable_Value").filled(),
    ],
    primary_key: &["Variable_Name"],
    unique: &[],
    file_keys: None,
    is_numbered: false,
};
