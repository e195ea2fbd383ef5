//! ProxySQL's tables: their columns, and the row of `mysql_query_rules`.
//!
//! Everything that reads, writes or shows a table of the engine takes names, types, defaults and ranges from here. A
//! test compares them with a real ProxySQL 2.7.1.

mod cell;
mod column;
mod engine;
mod engine_rule;
mod node_variables;

pub use cell::Cell;
pub use column::{Check, Column, SqlType, Table};
pub use engine::{
    CONNECTION_POOL, FAST_ROUTING, FIREWALL_RULES, FIREWALL_USERS, GALERA_HOSTGROUPS, GLOBAL_VARIABLES,
    GROUP_REPLICATION_HOSTGROUPS, QUERY_DIGEST, QUERY_RULES, REPLICATION_HOSTGROUPS, RULE_HITS, SERVERS,
    TABLES, TOTALS, USERS, table,
};
pub use engine_rule::columns::{
    Part, RULE_COLUMNS, RowSource, RuleColumn, Value, rule_column, rule_column_place,
};
pub use engine_rule::{
    EngineRule, FlagOutChoice, Modifiers, digest_text, is_client_addr, is_no_address, read_digest,
};
pub use node_variables::{NodeVariable, interface_of_one_node};
