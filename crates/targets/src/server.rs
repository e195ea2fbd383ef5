//! A server that is given another role: what it says of its replication, and what it is told.

mod accounts;

use std::path::PathBuf;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row, SslOpts, Value};
use shardwright_rules::{Address, ServerTls};
use shardwright_secrets::Secret;
use thiserror::Error;

pub use accounts::ServerAccount;

use crate::admin::quoted;
use crate::admin::reason;

/// Where a server is, and how it is reached.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    /// `clusters.NAME.servers.NAME`
    pub server: Address,
    /// Host name, IP address, or the path of a unix socket when `port` is 0.
    pub host: String,
    /// TCP port; 0 for a unix socket.
    pub port: u16,
    /// Encryption towards it.
    pub tls: ServerTls,
    /// The authorities that sign certificates of servers, in PEM; the system's where there is none.
    pub authorities: Option<PathBuf>,
}

impl ServerAddress {
    /// `host:port`, or the path of a unix socket.
    pub(crate) fn endpoint(&self) -> String {
        match self.port {
            0 => self.host.clone(),
            port => format!("{}:{port}", self.host),
        }
    }
}

/// A server cannot be asked, or does not do what it is told.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{server} ({endpoint}): {reason}")]
pub struct ServerError {
    /// `clusters.NAME.servers.NAME`
    pub server: Address,
    /// `host:port`
    pub endpoint: String,
    /// What went wrong, without secrets.
    pub reason: String,
    /// The server has answered: it has not done what it was told.
    pub is_refusal: bool,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Server {
    address: ServerAddress,
    user: String,
    password: Secret,
    patience: Duration,
    connection: Conn,
    is_mariadb: bool,
}

/// From where a server replicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaStatus {
    /// The name of the connection (MariaDB) or channel (MySQL); empty for the default.
    pub channel: String,
    /// `server_id` of its source; `0` or empty where that was never reached.
    pub source_id: String,
    /// It receives what its source writes, and applies it.
    pub is_running: bool,
    /// It follows by GTID.
    pub by_gtid: bool,
    /// What went wrong last, in the server's words; empty where nothing did.
    pub error: String,
}

impl Server {
    /// Connects. No answer may take longer than `patience`.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the account.
    pub fn connect(
        address: ServerAddress,
        user: &str,
        password: Secret,
        patience: Duration,
    ) -> Result<Self, ServerError> {
        let mut connection = open(&address, user, &password, patience)?;
        let version: Option<String> = connection
            .query_first("SELECT @@version")
            .map_err(|failure| error(&address, &failure, ""))?;
        Ok(Self {
            address,
            user: user.to_owned(),
            password,
            patience,
            connection,
            is_mariadb: version.is_some_and(|version| version.contains("MariaDB")),
        })
    }

    /// Connects again, where the connection is not there any more: an answer was too late, or the server has closed it.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn reconnect(&mut self) -> Result<(), ServerError> {
        if self.connection.ping().is_err() {
            self.connection = open(&self.address, &self.user, &self.password, self.patience)?;
        }
        Ok(())
    }

    /// `clusters.NAME.servers.NAME`
    pub fn server(&self) -> &Address {
        &self.address.server
    }

    /// Where it is.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Whether it is a MariaDB server.
    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// Its `server_id`.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn id(&mut self) -> Result<String, ServerError> {
        self.value("SELECT @@global.server_id")
    }

    /// Something that is wrong with it, as its error.
    pub fn failure(&self, reason: &str) -> ServerError {
        failure(&self.address, reason.to_owned(), true)
    }

    /// Whether accounts without privileges can write.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn is_read_only(&mut self) -> Result<bool, ServerError> {
        self.value("SELECT @@global.read_only").map(|value| value == "1")
    }

    /// Ends or allows writes. MySQL's administrators are stopped as well.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn set_read_only(&mut self, is_read_only: bool, patience: Duration) -> Result<(), ServerError> {
        // It waits for commits and for table locks.
        let seconds = patience.as_secs().max(1);
        self.run(&format!("SET SESSION lock_wait_timeout = {seconds}"))?;
        match (self.is_mariadb, is_read_only) {
            (true, _) => self.run(&format!("SET GLOBAL read_only = {}", u8::from(is_read_only))),
            (false, true) => self.run("SET GLOBAL super_read_only = 1"),
            (false, false) => self.run("SET GLOBAL read_only = 0"),
        }
    }

    /// Whether it writes what it replicates to its own binary log, so that others can follow it.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn can_be_followed(&mut self) -> Result<bool, ServerError> {
        let sql = match self.is_mariadb {
            true => "SELECT @@log_bin AND @@log_slave_updates",
            false => "SELECT @@log_bin AND @@log_replica_updates",
        };
        self.value(sql).map(|value| value == "1")
    }

    /// The transactions that it has written, as a GTID position; MySQL's as a set.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn position(&mut self) -> Result<String, ServerError> {
        let sql = match self.is_mariadb {
            true => "SELECT @@global.gtid_binlog_pos",
            false => "SELECT @@global.gtid_executed",
        };
        self.value(sql).map(|position| position.replace('\n', ""))
    }

    /// Waits until it has what a position says; whether it has.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn wait_for_position(&mut self, position: &str, patience: Duration) -> Result<bool, ServerError> {
        let position = quoted(position);
        let seconds = patience.as_secs_f64();
        let sql = match self.is_mariadb {
            true => format!("SELECT MASTER_GTID_WAIT({position}, {seconds:.3})"),
            false => format!("SELECT WAIT_FOR_EXECUTED_GTID_SET({position}, {seconds:.3})"),
        };
        self.value(&sql).map(|value| value == "0")
    }

    /// Waits until it has applied what its Galera cluster had replicated when it was asked.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn wait_for_group(&mut self) -> Result<(), ServerError> {
        self.run("SET SESSION wsrep_sync_wait = 15")?;
        self.value("SELECT 1").map(|_| ())
    }

    /// From where it replicates.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn sources(&mut self) -> Result<Vec<ReplicaStatus>, ServerError> {
        let sql = match self.is_mariadb {
            true => "SHOW ALL SLAVES STATUS",
            false => "SHOW REPLICA STATUS",
        };
        let rows: Vec<Row> = self
            .connection
            .query(sql)
            .map_err(|failure| self.error(&failure))?;
        Ok(rows.iter().map(status).collect())
    }

    /// Stops what it receives from a source, and what it applies.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn stop_replication(&mut self, channel: &str) -> Result<(), ServerError> {
        self.of_channel("STOP", "", channel)
    }

    /// Starts that again.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn start_replication(&mut self, channel: &str) -> Result<(), ServerError> {
        self.of_channel("START", "", channel)
    }

    /// Has it forget a source.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn forget_source(&mut self, channel: &str) -> Result<(), ServerError> {
        self.of_channel("RESET", " ALL", channel)
    }

    /// Has it replicate from another server, by GTID, from where it is. Without an account it keeps the one that it has.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn follow(
        &mut self,
        source: &ServerAddress,
        channel: &str,
        account: Option<(&str, &Secret)>,
    ) -> Result<(), ServerError> {
        let word = if self.is_mariadb { "MASTER" } else { "SOURCE" };
        let mut settings = vec![
            format!("{word}_HOST = {}", self.literal(&source.host)),
            format!("{word}_PORT = {}", source.port),
        ];
        if let Some((user, password)) = account {
            settings.push(format!("{word}_USER = {}", self.literal(user)));
            settings.push(format!("{word}_PASSWORD = {}", self.literal(password.expose())));
            match self.is_mariadb {
                true => settings.push("MASTER_CONNECT_RETRY = 1".to_owned()),
                false => settings.push("SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1".to_owned()),
            }
        }
        settings.push(match self.is_mariadb {
            true => "MASTER_USE_GTID = slave_pos".to_owned(),
            false => "SOURCE_AUTO_POSITION = 1".to_owned(),
        });
        let settings = settings.join(", ");
        let change = match self.is_mariadb {
            true => format!("CHANGE MASTER {} TO {settings}", quoted(channel)),
            false => format!(
                "CHANGE REPLICATION SOURCE TO {settings} FOR CHANNEL {}",
                quoted(channel)
            ),
        };
        self.run(&change)?;
        self.start_replication(channel)
    }

    /// Has it follow from what it has written itself on: it was a primary. MySQL knows that by itself.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn continue_from_own_position(&mut self) -> Result<(), ServerError> {
        match self.is_mariadb {
            true => self.run("SET GLOBAL gtid_slave_pos = @@global.gtid_binlog_pos"),
            false => Ok(()),
        }
    }

    fn of_channel(&mut self, verb: &str, what: &str, channel: &str) -> Result<(), ServerError> {
        let sql = match self.is_mariadb {
            true => format!("{verb} SLAVE {}{what}", quoted(channel)),
            false => format!("{verb} REPLICA{what} FOR CHANNEL {}", quoted(channel)),
        };
        self.run(&sql)
    }

    /// A text as the server reads it.
    fn literal(&self, text: &str) -> String {
        quoted(&text.replace('\\', "\\\\"))
    }

    fn value(&mut self, sql: &str) -> Result<String, ServerError> {
        let row: Option<Row> = self
            .connection
            .query_first(sql)
            .map_err(|failure| self.error(&failure))?;
        let value = row.and_then(|row| row.get::<Option<String>, _>(0)).flatten();
        Ok(value.unwrap_or_default())
    }

    fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        self.connection
            .query_drop(sql)
            .map_err(|failure| self.error(&failure))
    }

    fn error(&self, failure: &mysql::Error) -> ServerError {
        error(&self.address, failure, "")
    }
}

/// Connects, by the encryption that the address asks for.
pub(crate) fn open(
    address: &ServerAddress,
    user: &str,
    password: &Secret,
    patience: Duration,
) -> Result<Conn, ServerError> {
    let options = || {
        let options = OptsBuilder::new()
            .user(Some(user))
            .pass(Some(password.expose()))
            .prefer_socket(false)
            .stmt_cache_size(Some(0))
            .tcp_connect_timeout(Some(patience))
            .read_timeout(Some(patience))
            .write_timeout(Some(patience));
        match address.port {
            0 => options.socket(Some(address.host.as_str())),
            port => options.ip_or_hostname(Some(address.host.as_str())).tcp_port(port),
        }
    };
    let encrypted = |is_verified: bool| {
        let tls = SslOpts::default()
            .with_danger_accept_invalid_certs(!is_verified)
            .with_danger_skip_domain_validation(!is_verified)
            .with_root_cert_path(address.authorities.clone());
        Conn::new(options().ssl_opts(Some(tls)))
    };
    let connection = match address.tls {
        ServerTls::Disabled => Conn::new(options()),
        ServerTls::Preferred => encrypted(false).or_else(|_| Conn::new(options())),
        ServerTls::Required => encrypted(false),
        ServerTls::Verify => encrypted(true),
    };
    let mut connection = connection.map_err(|failure| error(address, &failure, "cannot connect: "))?;
    // From here on, a backslash in a text is what it is in the literals of this module.
    connection
        .query_drop("SET SESSION sql_mode = ''")
        .map_err(|failure| error(address, &failure, ""))?;
    Ok(connection)
}

fn error(address: &ServerAddress, error: &mysql::Error, before: &str) -> ServerError {
    let is_refusal = matches!(error, mysql::Error::MySqlError(_));
    failure(address, format!("{before}{}", reason(error)), is_refusal)
}

fn failure(address: &ServerAddress, reason: String, is_refusal: bool) -> ServerError {
    ServerError {
        server: address.server.clone(),
        endpoint: address.endpoint(),
        reason,
        is_refusal,
    }
}

/// A row of SHOW ALL SLAVES STATUS or SHOW REPLICA STATUS.
fn status(row: &Row) -> ReplicaStatus {
    let text = |names: &[&str]| -> String {
        let columns = row.columns_ref();
        let at = columns
            .iter()
            .position(|column| names.contains(&&*column.name_str()));
        match at.and_then(|at| row.as_ref(at)) {
            Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            Some(Value::Int(number)) => number.to_string(),
            Some(Value::UInt(number)) => number.to_string(),
            _ => String::new(),
        }
    };
    let is_yes = |names: &[&str]| text(names) == "Yes";
    let by_gtid = text(&["Using_Gtid", "Auto_Position"]);
    let errors = [text(&["Last_IO_Error"]), text(&["Last_SQL_Error"])];
    ReplicaStatus {
        channel: text(&["Connection_name", "Channel_Name"]),
        source_id: text(&["Master_Server_Id", "Source_Server_Id"]),
        is_running: is_yes(&["Slave_IO_Running", "Replica_IO_Running"])
            && is_yes(&["Slave_SQL_Running", "Replica_SQL_Running"]),
        by_gtid: !matches!(by_gtid.as_str(), "" | "No" | "0"),
        error: errors
            .into_iter()
            .find(|error| !error.is_empty())
            .unwrap_or_default(),
    }
}
