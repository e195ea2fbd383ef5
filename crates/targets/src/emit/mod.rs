//! Configurations as files: SQL for the admin port of ProxySQL, its configuration file, and JSON.

mod cnf;
mod literal;
mod ownership;
mod rows;
mod sql;
pub(crate) mod variables;

use shardwright_rules::{Address, Configuration};
use thiserror::Error;

pub use cnf::{cnf, cnf_within};
pub use ownership::{Numbers, Ownership};
pub use rows::{Row, Table, rows};
pub use shardwright_rules::PLACEHOLDER_PASSWORD;
pub use shardwright_rules::tables::Cell;
pub(crate) use sql::FirewallUse;
pub use sql::{sql, sql_within};
pub use variables::written as written_variables;

/// Why a configuration cannot be written for ProxySQL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EmitError {
    /// It is for an engine that has more than rules.
    #[error(
        "{address}: rule {rule_id} is a {step} step, which only the bundled engine has; compile with --engine proxysql-2.7"
    )]
    NativeStep {
        /// The object that the rule came from.
        address: Address,
        /// The rule.
        rule_id: u32,
        /// The sort of step.
        step: &'static str,
    },
    /// A value is outside what the engine's table accepts.
    #[error("{address}: {column} {reason}")]
    Value {
        /// The object that the row came from.
        address: Address,
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that tables hold and the configuration file does not.
    #[error("{address}: proxysql.cnf cannot hold {what}; --emit sql can")]
    NotInFile {
        /// The object that it came from.
        address: Address,
        /// What it is.
        what: &'static str,
    },
    /// A firewall for some of the users.
    #[error(
        "{address}: the firewall of ProxySQL is one switch: with it on, a user that is not listed can send nothing, and \
         manage.users leaves users to others; manage all users, or leave out firewall"
    )]
    FirewallOfAll {
        /// A user that the configuration lists.
        address: Address,
    },
    /// A variable that the configuration file cannot hold.
    #[error("{name} {reason}; --emit sql can")]
    Variable {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The configuration as indented JSON, with a line break at its end.
pub fn json(configuration: &Configuration) -> String {
    let mut text = serde_json::to_string_pretty(configuration)
        .expect("a configuration has string keys only, so JSON can hold it");
    text.push('\n');
    text
}
