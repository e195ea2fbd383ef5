//! Tables of ProxySQL that say nothing about routing; the others are [`TABLES`](shardwright_rules::tables::TABLES).

/// Whether the engine has a table of this name that does not affect routing.
pub(crate) fn is_elsewhere(name: &str) -> bool {
    ELSEWHERE.iter().any(|known| known.eq_ignore_ascii_case(name))
        || name.to_ascii_lowercase().starts_with("pgsql_")
}

const ELSEWHERE: [&str; 14] = [
    "sqlite_sequence",
    "global_settings",
    "mysql_servers_ssl_params",
    "mysql_hostgroup_attributes",
    "mysql_collations",
    "mysql_ldap_mapping",
    "mysql_firewall_whitelist_sqli_fingerprints",
    "proxysql_servers",
    "scheduler",
    "restapi_routes",
    "restapi",
    "clickhouse_users",
    "debug_levels",
    "debug_filters",
];
