//! The rows of ProxySQL's tables that a configuration stands for.
//!
//! Ranges are those of the tables' CHECK constraints (2.7.1): a row that the engine would refuse or read differently
//! is an error here.

mod firewall;
mod servers;

use shardwright_rules::tables::{self, Cell, Column, is_client_addr};
use shardwright_rules::{Address, Body, Cells, Configuration, EngineRule, Rule, SecretReference, User};

use super::EmitError;

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

    /// Its columns.
    pub fn definition(self) -> &'static tables::Table {
        match self {
            Table::Servers => &tables::SERVERS,
            Table::ReplicationHostgroups => &tables::REPLICATION_HOSTGROUPS,
            Table::GaleraHostgroups => &tables::GALERA_HOSTGROUPS,
            Table::GroupReplicationHostgroups => &tables::GROUP_REPLICATION_HOSTGROUPS,
            Table::Users => &tables::USERS,
            Table::QueryRules => &tables::QUERY_RULES,
            Table::FastRouting => &tables::FAST_ROUTING,
            Table::FirewallUsers => &tables::FIREWALL_USERS,
            Table::FirewallRules => &tables::FIREWALL_RULES,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.definition().name
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
    pub columns: Cells,
    /// What a reader of the file has to know about the row.
    pub note: Option<String>,
}

impl Row {
    fn new(table: Table, address: &Address) -> Self {
        Self {
            table,
            address: address.clone(),
            columns: Cells::new(),
            note: None,
        }
    }

    fn filled(table: Table, address: &Address, columns: Cells) -> Self {
        Self {
            columns,
            ..Self::new(table, address)
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

    fn error(&self, column: &'static str, reason: impl Into<String>) -> EmitError {
        EmitError::Value {
            address: self.address.clone(),
            column,
            reason: reason.into(),
        }
    }

    /// The row, where the engine takes all of it and reads it as it is.
    fn checked(self) -> Result<Self, EmitError> {
        for (name, cell) in &self.columns {
            let range = self.table.definition().column(name).and_then(Column::range);
            match (cell, range) {
                (Cell::Integer(number), Some(range)) => {
                    if u64::try_from(*range.start()).is_ok_and(|least| *number < least) {
                        return Err(self.error(name, format!("is {number}, the least is {}", range.start())));
                    }
                    if u64::try_from(*range.end()).is_ok_and(|most| *number > most) {
                        return Err(self.error(name, format!("is {number}, the most is {}", range.end())));
                    }
                }
                (Cell::Text(text), _) if text.contains('\0') => {
                    return Err(self.error(name, "holds a zero byte, which ends a text in SQLite"));
                }
                _ => {}
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
        rows.push(Row::filled(Table::FastRouting, &route.address, route.cells()).checked()?);
    }
    firewall::rows(configuration, &mut rows)?;
    Ok(rows)
}

fn user(user: &User) -> Result<Row, EmitError> {
    let mut row = Row::filled(Table::Users, &user.address, user.cells());
    let reference = user.password.as_ref().map(reference_text);
    row.note = reference.map(|reference| format!("password: placeholder for {reference}"));
    row.checked()
}

/// A reference to a secret, human-readable.
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
                step: step.name(),
            });
        }
    };
    check(rule, engine)?;
    let mut row = Row::filled(
        Table::QueryRules,
        &rule.address,
        engine.cells(rule.id, rule.flag_in),
    );
    if engine.comment.is_none() {
        row.set("comment", rule.comment().as_str());
    }
    row.checked()
}

/// What the engine would read otherwise or not load, besides what its table refuses.
fn check(rule: &Rule, engine: &EngineRule) -> Result<(), EmitError> {
    let row = Row::new(Table::QueryRules, &rule.address);
    if engine
        .client_addr
        .as_deref()
        .is_some_and(|address| !is_client_addr(address))
    {
        return Err(row.error(
            "client_addr",
            "is an address, or a prefix that ends in %, of at most 45 bytes",
        ));
    }
    if matches!(engine.digest, Some(0 | u64::MAX)) {
        return Err(row.error("digest", "is a value that ProxySQL reads as no value"));
    }
    if engine.replace_pattern.is_some() && engine.match_pattern.is_none() {
        return Err(row.error("replace_pattern", "needs match_pattern"));
    }
    Ok(())
}
