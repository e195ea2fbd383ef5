//! The modules of ProxySQL: what is loaded and saved together.

use shardwright_rules::tables::{
    FAST_ROUTING, FIREWALL_RULES, FIREWALL_USERS, GALERA_HOSTGROUPS, GROUP_REPLICATION_HOSTGROUPS,
    QUERY_RULES, REPLICATION_HOSTGROUPS, SERVERS, Table, USERS,
};

use super::row::{RowName, TableName};

/// What one LOAD and one SAVE are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// `admin-…`
    AdminVariables,
    /// `mysql-…`
    MysqlVariables,
    /// Servers, and the tables that join hostgroups.
    Servers,
    /// Rules and fast routing.
    QueryRules,
    /// Users.
    Users,
    /// The firewall.
    Firewall,
}

impl Module {
    /// Every module that a configuration can own something of.
    pub const ALL: [Self; 6] = [
        Self::AdminVariables,
        Self::MysqlVariables,
        Self::Servers,
        Self::QueryRules,
        Self::Users,
        Self::Firewall,
    ];

    /// The module of a row.
    pub(super) fn of(row: &RowName) -> Self {
        let is = |tables: &[&Table]| tables.iter().any(|table| row.is_in(table));
        match row.variable_name() {
            Some(name) if name.starts_with("admin-") => return Self::AdminVariables,
            Some(_) => return Self::MysqlVariables,
            None => {}
        }
        if is(&[&QUERY_RULES, &FAST_ROUTING]) {
            Self::QueryRules
        } else if is(&[&USERS]) {
            Self::Users
        } else if is(&[&FIREWALL_USERS, &FIREWALL_RULES]) {
            Self::Firewall
        } else {
            Self::Servers
        }
    }

    /// As the admin port calls it.
    pub fn words(self) -> &'static str {
        match self {
            Self::AdminVariables => "ADMIN VARIABLES",
            Self::MysqlVariables => "MYSQL VARIABLES",
            Self::Servers => "MYSQL SERVERS",
            Self::QueryRules => "MYSQL QUERY RULES",
            Self::Users => "MYSQL USERS",
            Self::Firewall => "MYSQL FIREWALL",
        }
    }

    pub(super) fn load(self) -> String {
        format!("LOAD {} TO RUNTIME", self.words())
    }

    pub(super) fn save(self) -> String {
        format!("SAVE {} TO DISK", self.words())
    }

    /// Its name among the checksums that the nodes of a ProxySQL Cluster compare; `None`: they do not follow each other in it.
    pub(super) fn checksum(self) -> Option<&'static str> {
        match self {
            Self::AdminVariables => Some("admin_variables"),
            Self::MysqlVariables => Some("mysql_variables"),
            // What was loaded. `mysql_servers` is what the monitor of each node has made of it.
            Self::Servers => Some("mysql_servers_v2"),
            Self::QueryRules => Some("mysql_query_rules"),
            Self::Users => Some("mysql_users"),
            Self::Firewall => None,
        }
    }

    /// The tables that it has besides variables, of those that a configuration can own.
    pub(super) fn tables(self) -> Vec<TableName> {
        let tables: &[&'static Table] = match self {
            Self::AdminVariables | Self::MysqlVariables => &[],
            Self::Servers => &[
                &SERVERS,
                &REPLICATION_HOSTGROUPS,
                &GALERA_HOSTGROUPS,
                &GROUP_REPLICATION_HOSTGROUPS,
            ],
            Self::QueryRules => &[&QUERY_RULES, &FAST_ROUTING],
            Self::Users => &[&USERS],
            Self::Firewall => &[&FIREWALL_USERS, &FIREWALL_RULES],
        };
        tables.iter().map(|table| TableName::of(table)).collect()
    }

    /// The tables that are loaded with them, which no configuration owns.
    pub(super) fn tables_of_others(self) -> &'static [&'static str] {
        match self {
            Self::Servers => &[
                "mysql_aws_aurora_hostgroups",
                "mysql_hostgroup_attributes",
                "mysql_servers_ssl_params",
            ],
            Self::Firewall => &["mysql_firewall_whitelist_sqli_fingerprints"],
            _ => &[],
        }
    }

    /// The beginning of the names of its variables.
    pub(super) fn variables(self) -> Option<&'static str> {
        match self {
            Self::AdminVariables => Some("admin-"),
            Self::MysqlVariables => Some("mysql-"),
            _ => None,
        }
    }
}
