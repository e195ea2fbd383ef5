//! ProxySQL's tables: columns, defaults and constraints of 2.7.1, and what the file of a configuration may say of them.

/// A table that says something about routing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns in order, as SQLite is told of them.
    columns: &'static [Column],
    /// Constraints of several columns.
    constraints: &'static str,
}

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: &'static str,
    /// Type and constraints, for SQLite.
    definition: &'static str,
}

impl Column {
    /// Whether the engine reads a number from it.
    pub(crate) fn is_number(&self) -> bool {
        self.definition.starts_with("INT")
    }

    /// Whether it holds a password.
    pub(crate) fn is_secret(&self) -> bool {
        self.name == "password"
    }
}

impl Table {
    /// The statement that makes it.
    pub(crate) fn definition(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{} {}", column.name, column.definition))
            .collect();
        format!(
            "CREATE TABLE {} ({}{})",
            self.name,
            columns.join(", "),
            self.constraints
        )
    }

    /// Its columns, in order.
    pub(crate) fn columns(&self) -> &'static [Column] {
        self.columns
    }

    /// The column of this name; names compare without case.
    pub(crate) fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    }
}

/// The table of this name; names compare without case.
pub(crate) fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(name))
}

/// Whether the engine has a table of this name that says nothing about where statements go.
pub(crate) fn is_elsewhere(name: &str) -> bool {
    ELSEWHERE.iter().any(|known| known.eq_ignore_ascii_case(name))
        || name.to_ascii_lowercase().starts_with("pgsql_")
}

const ELSEWHERE: [&str; 15] = [
    "sqlite_sequence",
    "global_settings",
    "mysql_servers_ssl_params",
    "mysql_hostgroup_attributes",
    "mysql_aws_aurora_hostgroups",
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

macro_rules! columns {
    ($($name:ident: $definition:literal),* $(,)?) => {
        &[$(Column { name: stringify!($name), definition: $definition }),*]
    };
}

const GROUP_COLUMNS: &[Column] = columns![
    writer_hostgroup: "INT NOT NULL PRIMARY KEY CHECK (writer_hostgroup >= 0)",
    backup_writer_hostgroup: "INT NOT NULL UNIQUE CHECK (backup_writer_hostgroup >= 0 AND backup_writer_hostgroup <> writer_hostgroup)",
    reader_hostgroup: "INT NOT NULL UNIQUE CHECK (reader_hostgroup <> writer_hostgroup AND backup_writer_hostgroup <> reader_hostgroup AND reader_hostgroup > 0)",
    offline_hostgroup: "INT NOT NULL UNIQUE CHECK (offline_hostgroup <> writer_hostgroup AND offline_hostgroup <> reader_hostgroup AND backup_writer_hostgroup <> offline_hostgroup AND offline_hostgroup >= 0)",
    active: "INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1))",
    max_writers: "INT NOT NULL DEFAULT 1 CHECK (max_writers >= 0)",
    writer_is_also_reader: "INT NOT NULL DEFAULT 0 CHECK (writer_is_also_reader IN (0, 1, 2))",
    max_transactions_behind: "INT NOT NULL DEFAULT 0 CHECK (max_transactions_behind >= 0)",
    comment: "VARCHAR",
];

/// Every table that says something about routing.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "mysql_servers",
        columns: columns![
            hostgroup_id: "INT NOT NULL DEFAULT 0 CHECK (hostgroup_id >= 0)",
            hostname: "VARCHAR NOT NULL",
            port: "INT NOT NULL DEFAULT 3306 CHECK (port BETWEEN 0 AND 65535)",
            gtid_port: "INT NOT NULL DEFAULT 0 CHECK (gtid_port BETWEEN 0 AND 65535 AND (gtid_port <> port OR gtid_port = 0))",
            status: "VARCHAR NOT NULL DEFAULT 'ONLINE' CHECK (UPPER(status) IN ('ONLINE', 'SHUNNED', 'OFFLINE_SOFT', 'OFFLINE_HARD'))",
            weight: "INT NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0 AND 10000000)",
            compression: "INT NOT NULL DEFAULT 0 CHECK (compression IN (0, 1))",
            max_connections: "INT NOT NULL DEFAULT 1000 CHECK (max_connections >= 0)",
            max_replication_lag: "INT NOT NULL DEFAULT 0 CHECK (max_replication_lag BETWEEN 0 AND 126144000)",
            use_ssl: "INT NOT NULL DEFAULT 0 CHECK (use_ssl IN (0, 1))",
            max_latency_ms: "INT NOT NULL DEFAULT 0 CHECK (max_latency_ms >= 0)",
            comment: "VARCHAR NOT NULL DEFAULT ''",
        ],
        constraints: ", PRIMARY KEY (hostgroup_id, hostname, port)",
    },
    Table {
        name: "mysql_replication_hostgroups",
        columns: columns![
            writer_hostgroup: "INT NOT NULL PRIMARY KEY CHECK (writer_hostgroup >= 0)",
            reader_hostgroup: "INT NOT NULL UNIQUE CHECK (reader_hostgroup <> writer_hostgroup AND reader_hostgroup >= 0)",
            check_type: "VARCHAR NOT NULL DEFAULT 'read_only' CHECK (LOWER(check_type) IN ('read_only', 'innodb_read_only', 'super_read_only', 'read_only|innodb_read_only', 'read_only&innodb_read_only'))",
            comment: "VARCHAR NOT NULL DEFAULT ''",
        ],
        constraints: "",
    },
    Table {
        name: "mysql_galera_hostgroups",
        columns: GROUP_COLUMNS,
        constraints: "",
    },
    Table {
        name: "mysql_group_replication_hostgroups",
        columns: GROUP_COLUMNS,
        constraints: "",
    },
    Table {
        name: "mysql_users",
        columns: columns![
            username: "VARCHAR NOT NULL",
            password: "VARCHAR",
            active: "INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1))",
            use_ssl: "INT NOT NULL DEFAULT 0 CHECK (use_ssl IN (0, 1))",
            default_hostgroup: "INT NOT NULL DEFAULT 0",
            default_schema: "VARCHAR",
            schema_locked: "INT NOT NULL DEFAULT 0 CHECK (schema_locked IN (0, 1))",
            transaction_persistent: "INT NOT NULL DEFAULT 1 CHECK (transaction_persistent IN (0, 1))",
            fast_forward: "INT NOT NULL DEFAULT 0 CHECK (fast_forward IN (0, 1))",
            backend: "INT NOT NULL DEFAULT 1 CHECK (backend IN (0, 1))",
            frontend: "INT NOT NULL DEFAULT 1 CHECK (frontend IN (0, 1))",
            max_connections: "INT NOT NULL DEFAULT 10000 CHECK (max_connections >= 0)",
            attributes: "VARCHAR NOT NULL DEFAULT '' CHECK (attributes = '' OR json_valid(attributes))",
            comment: "VARCHAR NOT NULL DEFAULT ''",
        ],
        constraints: ", PRIMARY KEY (username, backend), UNIQUE (username, frontend)",
    },
    Table {
        name: "mysql_query_rules",
        columns: columns![
            rule_id: "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
            active: "INT NOT NULL DEFAULT 0 CHECK (active IN (0, 1))",
            username: "VARCHAR",
            schemaname: "VARCHAR",
            flagIN: "INT NOT NULL DEFAULT 0 CHECK (flagIN >= 0)",
            client_addr: "VARCHAR",
            proxy_addr: "VARCHAR",
            proxy_port: "INT CHECK (proxy_port BETWEEN 0 AND 65535)",
            digest: "VARCHAR",
            match_digest: "VARCHAR",
            match_pattern: "VARCHAR",
            negate_match_pattern: "INT NOT NULL DEFAULT 0 CHECK (negate_match_pattern IN (0, 1))",
            re_modifiers: "VARCHAR DEFAULT 'CASELESS'",
            flagOUT: "INT CHECK (flagOUT >= 0)",
            replace_pattern: "VARCHAR CHECK (replace_pattern IS NULL OR match_pattern IS NOT NULL)",
            destination_hostgroup: "INT",
            cache_ttl: "INT CHECK (cache_ttl > 0)",
            cache_empty_result: "INT CHECK (cache_empty_result IN (0, 1))",
            cache_timeout: "INT CHECK (cache_timeout >= 0)",
            reconnect: "INT CHECK (reconnect IN (0, 1))",
            timeout: "INT CHECK (timeout >= 0)",
            retries: "INT CHECK (retries BETWEEN 0 AND 1000)",
            delay: "INT CHECK (delay >= 0)",
            next_query_flagIN: "INT",
            mirror_flagOUT: "INT",
            mirror_hostgroup: "INT",
            error_msg: "VARCHAR",
            OK_msg: "VARCHAR",
            sticky_conn: "INT CHECK (sticky_conn IN (0, 1))",
            multiplex: "INT CHECK (multiplex IN (0, 1, 2))",
            gtid_from_hostgroup: "INT",
            log: "INT CHECK (log IN (0, 1))",
            apply: "INT NOT NULL DEFAULT 0 CHECK (apply IN (0, 1))",
            attributes: "VARCHAR NOT NULL DEFAULT '' CHECK (attributes = '' OR json_valid(attributes))",
            comment: "VARCHAR",
        ],
        constraints: "",
    },
    Table {
        name: "mysql_query_rules_fast_routing",
        columns: columns![
            username: "VARCHAR NOT NULL",
            schemaname: "VARCHAR NOT NULL",
            flagIN: "INT NOT NULL DEFAULT 0",
            destination_hostgroup: "INT NOT NULL CHECK (destination_hostgroup >= 0)",
            comment: "VARCHAR NOT NULL",
        ],
        constraints: ", PRIMARY KEY (username, schemaname, flagIN)",
    },
    Table {
        name: "mysql_firewall_whitelist_users",
        columns: columns![
            active: "INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1))",
            username: "VARCHAR NOT NULL",
            client_address: "VARCHAR NOT NULL",
            mode: "VARCHAR NOT NULL DEFAULT 'OFF' CHECK (mode IN ('OFF', 'DETECTING', 'PROTECTING'))",
            comment: "VARCHAR NOT NULL",
        ],
        constraints: ", PRIMARY KEY (username, client_address)",
    },
    Table {
        name: "mysql_firewall_whitelist_rules",
        columns: columns![
            active: "INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1))",
            username: "VARCHAR NOT NULL",
            client_address: "VARCHAR NOT NULL",
            schemaname: "VARCHAR NOT NULL",
            flagIN: "INT NOT NULL DEFAULT 0",
            digest: "VARCHAR NOT NULL",
            comment: "VARCHAR NOT NULL",
        ],
        constraints: ", PRIMARY KEY (username, client_address, schemaname, flagIN, digest)",
    },
    Table {
        name: "global_variables",
        columns: columns![
            variable_name: "VARCHAR NOT NULL PRIMARY KEY",
            variable_value: "VARCHAR",
        ],
        constraints: "",
    },
];
