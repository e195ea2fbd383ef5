//! The rows of ProxySQL's tables that a configuration stands for.
//!
//! Ranges are those of the tables' CHECK constraints (2.7.1): a row that the engine would refuse or read differently
//! is an error here.

mod firewall;
mod servers;

use serde_json::json;
use shardwright_rules::tables::is_client_addr;
use shardwright_rules::{
    Address, Body, Configuration, EngineRule, FlagOutChoice, Modifiers, NativeStep, Rule, SecretReference,
    User,
};

use super::EmitError;

/// The password of a user whose password is a reference: a hash that no known password has, so that nobody logs in
/// until it is replaced. (An empty text would let everyone in; any other text would be a password in a file.)
pub const PLACEHOLDER_PASSWORD: &str = "*0000000000000000000000000000000000000000";

const MAX_RETRIES: u32 = 1000;

/// A table of the admin port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// `mysql_servers`
    Servers,
    /// `mysql_replication_hostgroups`
    ReplicationHostgroups,
    /// `mysql_galera_hostgroups`
    GaleraHostgroups,
    /// `mysql_group_replication_hostgroups`
    GroupReplicationHostgroups,
    /// `mysql_users`
    Users,
    /// `mysql_query_rules`
    QueryRules,
    /// `mysql_query_rules_fast_routing`
    FastRouting,
    /// `mysql_firewall_whitelist_users`
    FirewallUsers,
    /// `mysql_firewall_whitelist_rules`
    FirewallRules,
}

impl Table {
    /// Every table that a configuration can own, in the order in which they are written.
    pub const ALL: [Table; 9] = [
        Table::Servers,
        Table::ReplicationHostgroups,
        Table::GaleraHostgroups,
        Table::GroupReplicationHostgroups,
        Table::Users,
        Table::QueryRules,
        Table::FastRouting,
        Table::FirewallUsers,
        Table::FirewallRules,
    ];

    /// Whether the table is the firewall's; a configuration without one leaves these as they are.
    pub fn is_of_firewall(self) -> bool {
        matches!(self, Table::FirewallUsers | Table::FirewallRules)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Servers => "mysql_servers",
            Table::ReplicationHostgroups => "mysql_replication_hostgroups",
            Table::GaleraHostgroups => "mysql_galera_hostgroups",
            Table::GroupReplicationHostgroups => "mysql_group_replication_hostgroups",
            Table::Users => "mysql_users",
            Table::QueryRules => "mysql_query_rules",
            Table::FastRouting => "mysql_query_rules_fast_routing",
            Table::FirewallUsers => "mysql_firewall_whitelist_users",
            Table::FirewallRules => "mysql_firewall_whitelist_rules",
        }
    }
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A number.
    Integer(u64),
    /// Text.
    Text(String),
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// A row of a table. Columns that are not listed keep their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The table.
    pub table: Table,
    /// The object that the row came from.
    pub address: Address,
    /// Columns in the order of the table.
    pub columns: Vec<(&'static str, Cell)>,
    /// What a reader of the file has to know about the row.
    pub note: Option<String>,
}

impl Row {
    fn new(table: Table, address: &Address) -> Self {
        Self {
            table,
            address: address.clone(),
            columns: Vec::new(),
            note: None,
        }
    }

    /// The value of a column that the row sets.
    pub(super) fn cell(&self, column: &str) -> Option<&Cell> {
        let found = self.columns.iter().find(|(name, _)| *name == column);
        found.map(|(_, cell)| cell)
    }

    fn set(&mut self, column: &'static str, value: impl Into<Cell>) {
        self.columns.push((column, value.into()));
    }

    fn set_some(&mut self, column: &'static str, value: Option<impl Into<Cell>>) {
        if let Some(value) = value {
            self.set(column, value);
        }
    }

    fn at_most(&self, column: &'static str, value: Option<u32>, most: u32) -> Result<(), EmitError> {
        match value {
            Some(value) if value > most => Err(self.error(column, format!("is {value}, the most is {most}"))),
            _ => Ok(()),
        }
    }

    fn error(&self, column: &'static str, reason: impl Into<String>) -> EmitError {
        EmitError::Value {
            address: self.address.clone(),
            column,
            reason: reason.into(),
        }
    }

    fn checked(self) -> Result<Self, EmitError> {
        for (column, cell) in &self.columns {
            if matches!(cell, Cell::Text(text) if text.contains('\0')) {
                return Err(self.error(column, "holds a zero byte, which ends a text in SQLite"));
            }
        }
        Ok(self)
    }
}

/// Every row of a configuration, table by table in the order of [`Table::ALL`].
pub fn rows(configuration: &Configuration) -> Result<Vec<Row>, EmitError> {
    let mut rows = Vec::new();
    rows.extend(servers::servers(configuration)?);
    rows.extend(servers::hostgroups(configuration)?);
    for user in &configuration.users {
        rows.push(self::user(user)?);
    }
    for rule in &configuration.graph.rules {
        rows.push(query_rule(rule)?);
    }
    for route in &configuration.graph.fast_routing {
        let mut row = Row::new(Table::FastRouting, &route.address);
        row.set("username", route.username.as_str());
        row.set("schemaname", route.schemaname.as_str());
        row.set("flagIN", route.flag_in);
        row.set("destination_hostgroup", route.hostgroup.0);
        row.set("comment", route.address.as_str());
        rows.push(row.checked()?);
    }
    firewall::rows(configuration, &mut rows)?;
    Ok(rows)
}

fn user(user: &User) -> Result<Row, EmitError> {
    let mut row = Row::new(Table::Users, &user.address);
    row.set("username", user.name.as_str());
    match &user.password {
        None => row.set("password", ""),
        Some(reference) => {
            row.set("password", PLACEHOLDER_PASSWORD);
            row.note = Some(format!("password: placeholder for {}", reference_text(reference)));
        }
    }
    row.set("active", true);
    row.set("default_hostgroup", user.default_hostgroup.0);
    row.set_some("default_schema", user.default_schema.as_deref());
    row.set("transaction_persistent", user.transaction_persistent);
    row.set("max_connections", user.max_connections);
    row.set("comment", user.address.as_str());
    row.checked()
}

/// A reference to a secret, for people.
pub(super) fn reference_text(reference: &SecretReference) -> String {
    match reference {
        SecretReference::Env(name) => format!("env {name}"),
        SecretReference::File(path) => format!("file {path}"),
        SecretReference::Command(words) => format!("command {}", words.join(" ")),
    }
}

fn query_rule(rule: &Rule) -> Result<Row, EmitError> {
    let engine = match &rule.body {
        Body::Engine(engine) => engine,
        Body::Native { step, .. } => {
            return Err(EmitError::NativeStep {
                address: rule.address.clone(),
                rule_id: rule.id,
                step: match step {
                    NativeStep::Map(_) => "map",
                    NativeStep::Role(_) => "role",
                    NativeStep::Delay(_) => "delay",
                    NativeStep::NoMultiplex => "no_multiplex",
                    NativeStep::StopIfPlaced => "stop_if_placed",
                },
            });
        }
    };
    let mut row = Row::new(Table::QueryRules, &rule.address);
    // Larger ids wrap when ProxySQL reads them.
    row.at_most("rule_id", Some(rule.id), i32::MAX as u32)?;
    row.set("rule_id", rule.id);
    row.set("active", true);
    criteria(&mut row, rule, engine)?;
    actions(&mut row, engine)?;
    row.set("apply", engine.apply);
    if !engine.flag_outs.is_empty() {
        row.set("attributes", attributes(&engine.flag_outs).as_str());
    }
    row.set(
        "comment",
        engine.comment.as_deref().unwrap_or(rule.address.as_str()),
    );
    row.checked()
}

fn criteria(row: &mut Row, rule: &Rule, engine: &EngineRule) -> Result<(), EmitError> {
    if let Some(address) = &engine.client_addr {
        if !is_client_addr(address) {
            return Err(row.error(
                "client_addr",
                "is an address, or a prefix that ends in %, of at most 45 bytes",
            ));
        }
    }
    if matches!(engine.digest, Some(0 | u64::MAX)) {
        return Err(row.error("digest", "is a value that ProxySQL takes for none"));
    }
    row.set_some("username", engine.username.as_deref());
    row.set_some("schemaname", engine.schemaname.as_deref());
    row.set("flagIN", rule.flag_in);
    row.set_some("client_addr", engine.client_addr.as_deref());
    row.set_some("proxy_addr", engine.proxy_addr.as_deref());
    row.set_some("proxy_port", engine.proxy_port.map(u32::from));
    row.set_some(
        "digest",
        engine.digest.map(|digest| format!("0x{digest:016X}")).as_deref(),
    );
    row.set_some("match_digest", engine.match_digest.as_deref());
    row.set_some("match_pattern", engine.match_pattern.as_deref());
    if engine.negate_match_pattern {
        row.set("negate_match_pattern", true);
    }
    if engine.re_modifiers != Modifiers::default() {
        row.set("re_modifiers", modifiers(engine.re_modifiers));
    }
    Ok(())
}

fn actions(row: &mut Row, engine: &EngineRule) -> Result<(), EmitError> {
    if engine.replace_pattern.is_some() && engine.match_pattern.is_none() {
        return Err(row.error("replace_pattern", "needs match_pattern"));
    }
    if engine.cache_ttl_ms == Some(0) {
        return Err(row.error("cache_ttl", "is 0, the least is 1"));
    }
    row.at_most("retries", engine.retries, MAX_RETRIES)?;
    row.at_most("multiplex", engine.multiplex.map(u32::from), 2)?;
    row.set_some("flagOUT", engine.flag_out);
    row.set_some("replace_pattern", engine.replace_pattern.as_deref());
    row.set_some("destination_hostgroup", engine.destination_hostgroup);
    row.set_some("cache_ttl", engine.cache_ttl_ms);
    row.set_some("cache_empty_result", engine.cache_empty_result);
    row.set_some("cache_timeout", engine.cache_timeout_ms);
    row.set_some("reconnect", engine.reconnect);
    row.set_some("timeout", engine.timeout_ms);
    row.set_some("retries", engine.retries);
    row.set_some("delay", engine.delay_ms);
    row.set_some("next_query_flagIN", engine.next_query_flag_in);
    row.set_some("mirror_flagOUT", engine.mirror_flag_out);
    row.set_some("mirror_hostgroup", engine.mirror_hostgroup);
    row.set_some("error_msg", engine.error_msg.as_deref());
    row.set_some("OK_msg", engine.ok_msg.as_deref());
    row.set_some("sticky_conn", engine.sticky_conn);
    row.set_some("multiplex", engine.multiplex.map(u32::from));
    row.set_some("gtid_from_hostgroup", engine.gtid_from_hostgroup);
    row.set_some("log", engine.log);
    Ok(())
}

/// `re_modifiers` as ProxySQL writes it itself.
fn modifiers(modifiers: Modifiers) -> &'static str {
    match (modifiers.caseless, modifiers.global) {
        (true, true) => "CASELESS,GLOBAL",
        (true, false) => "CASELESS",
        (false, true) => "GLOBAL",
        (false, false) => "",
    }
}

fn attributes(choices: &[FlagOutChoice]) -> String {
    json!({ "flagOUTs": choices }).to_string()
}
