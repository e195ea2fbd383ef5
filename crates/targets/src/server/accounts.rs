//! The accounts of a server, with the hashes of their passwords.

use mysql::prelude::Queryable;
use mysql::{Row, Value};
use shardwright_secrets::Secret;

use super::{Server, ServerError, error};

/// An account: a name from a host.
#[derive(Clone, Debug)]
pub struct ServerAccount {
    /// Its name; empty for an anonymous one.
    pub name: String,
    /// The hosts that it may come from: `%`, `10.0.%`.
    pub host: String,
    /// How it proves its password: `mysql_native_password`.
    pub plugin: String,
    /// The hash of its password; empty where it has none. None where it is no text.
    pub hash: Option<Secret>,
    /// Nobody can log in with it.
    pub is_locked: bool,
    /// It is a role.
    pub is_role: bool,
}

/// MySQL has no mark for roles: they are locked accounts.
const OF_MYSQL: &str =
    "SELECT User, Host, plugin, authentication_string, account_locked = 'Y', 0 FROM mysql.user";
const OF_MARIADB: &str = "SELECT u.User, u.Host, u.plugin, u.authentication_string, \
    IFNULL(JSON_VALUE(g.Priv, '$.account_locked'), '0') IN ('1', 'true'), u.is_role = 'Y' \
    FROM mysql.user u LEFT JOIN mysql.global_priv g ON g.User = u.User AND g.Host = u.Host";

impl Server {
    /// Every account of the server, by name and host. The account of the connection needs SELECT on the schema `mysql`.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn accounts(&mut self) -> Result<Vec<ServerAccount>, ServerError> {
        let statement = if self.is_mariadb { OF_MARIADB } else { OF_MYSQL };
        let rows: Vec<Row> = self
            .connection
            .query(statement)
            .map_err(|failure| error(&self.address, &failure, ""))?;
        let mut accounts: Vec<ServerAccount> = rows.into_iter().map(account).collect();
        accounts.sort_by(|a, b| (&a.name, &a.host).cmp(&(&b.name, &b.host)));
        Ok(accounts)
    }
}

fn account(row: Row) -> ServerAccount {
    let mut values = row.unwrap().into_iter();
    let mut next = || values.next().unwrap_or(Value::NULL);
    let text = |value: Value| match value {
        Value::Bytes(bytes) => String::from_utf8(bytes).ok(),
        _ => Some(String::new()),
    };
    let is_one = |value: Value| match value {
        Value::Int(number) => number == 1,
        Value::UInt(number) => number == 1,
        Value::Bytes(bytes) => bytes == b"1",
        _ => false,
    };
    ServerAccount {
        name: text(next()).unwrap_or_default(),
        host: text(next()).unwrap_or_default(),
        plugin: text(next()).unwrap_or_default(),
        hash: text(next()).map(Secret::new),
        is_locked: is_one(next()),
        is_role: is_one(next()),
    }
}
