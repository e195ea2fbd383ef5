//! What a running ProxySQL has in its tables, as statements that fill the same tables again.
//!
//! The runtime tables are read: what serves clients, not what somebody has staged. Rules that are not active are read from
//! memory, because nothing else has them.

use mysql::prelude::Queryable;
use mysql::{Row, Value};
use shardwright_rules::tables::{GLOBAL_VARIABLES, QUERY_RULES, SERVERS, TABLES, Table, USERS};
use shardwright_secrets::Secret;
use thiserror::Error;

use crate::admin::{AdminAddress, Timeouts, open, quoted, reason};
use crate::proxysql::marks_and_leases;

/// Tables that change what a ProxySQL does and that no project holds.
const BESIDE: [&str; 5] = [
    "mysql_aws_aurora_hostgroups",
    "mysql_hostgroup_attributes",
    "mysql_servers_ssl_params",
    "proxysql_servers",
    "scheduler",
];

/// The tables of a running ProxySQL.
#[derive(Debug)]
pub struct LiveTables {
    /// `INSERT` statements for the admin port. They hold passwords.
    pub statements: Secret,
    /// `admin-version`, such as `2.7.1-0-g…`.
    pub version: String,
    /// What else it holds, in words.
    pub beside: Vec<String>,
}

/// The admin port cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{address}: {reason}")]
pub struct LiveTablesError {
    /// `host:port`
    pub address: String,
    /// What went wrong, without secrets.
    pub reason: String,
}

/// Reads the tables of a running ProxySQL. It changes nothing there.
///
/// # Errors
/// The admin port cannot be reached, refuses the account, or is not a ProxySQL's.
pub fn live_tables(
    address: &AdminAddress,
    user: &str,
    password: &Secret,
    timeouts: Timeouts,
) -> Result<LiveTables, LiveTablesError> {
    let failed = |error: &mysql::Error, what: &str| LiveTablesError {
        address: address.to_string(),
        reason: format!("{what}{}", reason(error)),
    };
    let mut admin =
        open(address, user, password, timeouts).map_err(|error| failed(&error, "cannot connect: "))?;
    let mut statements = String::new();
    for table in TABLES {
        for query in queries(table) {
            let rows: Vec<Row> = admin
                .query(&query)
                .map_err(|error| failed(&error, &format!("cannot read {}: ", table.name)))?;
            rows.into_iter()
                .for_each(|row| insert(table, row, &mut statements));
        }
    }
    let version = "SELECT variable_value FROM runtime_global_variables WHERE variable_name = 'admin-version'";
    let version: Option<String> = admin.query_first(version).map_err(|error| failed(&error, ""))?;
    let mut beside = Vec::new();
    for name in BESIDE {
        let count: Option<u64> = admin
            .query_first(format!("SELECT COUNT(*) FROM runtime_{name}"))
            .map_err(|error| failed(&error, &format!("cannot read {name}: ")))?;
        match count {
            None | Some(0) => {}
            Some(1) => beside.push(format!("{name} has a row")),
            Some(count) => beside.push(format!("{name} has {count} rows")),
        }
    }
    Ok(LiveTables {
        statements: Secret::new(statements),
        version: version.unwrap_or_default(),
        beside,
    })
}

/// What is asked for a table's rows.
fn queries(table: &Table) -> Vec<String> {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match (table.name, column.name) {
            // What the monitor thinks of a server at the moment is no setting.
            (name, "status") if name == SERVERS.name => {
                "CASE status WHEN 'SHUNNED' THEN 'ONLINE' ELSE status END AS status".to_owned()
            }
            (_, column) => column.to_owned(),
        })
        .collect();
    let columns = columns.join(", ");
    let runtime = format!("SELECT {columns} FROM runtime_{}", table.name);
    if table.name == USERS.name {
        // Runtime has a row for the client's side of each user, and one for the server's.
        return vec![format!("{runtime} WHERE frontend = 1")];
    }
    if table.name == GLOBAL_VARIABLES.name {
        // The version cannot be set; `(null)` is how a variable without a value is shown.
        let settable = "variable_name <> 'admin-version' AND variable_value <> '(null)'";
        return vec![format!("{runtime} WHERE {settable}")];
    }
    if table.name == QUERY_RULES.name {
        // How projects that apply here know each other is no part of a rule set.
        let others = format!("NOT ({})", marks_and_leases());
        let inactive = format!(
            "SELECT {columns} FROM {} WHERE active = 0 AND {others}",
            table.name
        );
        return vec![format!("{runtime} WHERE {others}"), inactive];
    }
    vec![runtime]
}

/// Adds the statement that makes a row.
fn insert(table: &Table, row: Row, statements: &mut String) {
    let values: Vec<String> = row.unwrap().iter().map(literal).collect();
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let verb = if table.name == GLOBAL_VARIABLES.name {
        "REPLACE"
    } else {
        "INSERT"
    };
    statements.push_str(&format!(
        "{verb} INTO {} ({}) VALUES ({});\n",
        table.name,
        columns.join(", "),
        values.join(", ")
    ));
}

/// A value as SQLite reads it; the admin port sends every value as a text.
fn literal(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Date(..) | Value::Time(..) => quoted(&value.as_sql(true)),
    }
}
