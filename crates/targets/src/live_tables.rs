//! What a running ProxySQL has in its tables, as statements that fill the same tables again.
//!
//! The runtime tables are read: what serves clients, not what somebody has staged. Rules that are not active are read from
//! memory, because nothing else has them.

use shardwright_secrets::Secret;
use thiserror::Error;

use crate::admin::{AdminAddress, Timeouts};
use crate::emit::Ownership;
use crate::proxysql::{AdminSession, Layer, Live, SessionError};

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
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: SessionError| LiveTablesError {
            address: address.to_string(),
            reason: format!("{what}{error}"),
        }
    };
    let mut admin = AdminSession::open(address, user, password, timeouts).map_err(failed(""))?;
    let live = Live::of(&mut admin, &Ownership::default(), Layer::Runtime);
    let live = live.map_err(failed("cannot read its tables: "))?;
    let mut beside = Vec::new();
    for name in BESIDE {
        let count = admin.texts(&format!("SELECT COUNT(*) FROM runtime_{name}"));
        let count = count.map_err(failed(&format!("cannot read {name}: ")))?;
        match count.into_iter().flatten().flatten().next().as_deref() {
            None | Some("0") => {}
            Some("1") => beside.push(format!("{name} has a row")),
            Some(count) => beside.push(format!("{name} has {count} rows")),
        }
    }
    Ok(LiveTables {
        statements: live.whole_script(),
        version: live.version().to_owned(),
        beside,
    })
}
