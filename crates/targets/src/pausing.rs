//! A bundled proxy while the writer of a cluster changes: its statements wait, and it tells who writes.

use std::time::Duration;

use mysql::Conn;
use mysql::prelude::{FromRow, Queryable};
use shardwright_plan::{Target, TargetError};
use shardwright_rules::Address;

use crate::admin::quoted;
use crate::admin::reason;
use crate::bundled::BundledTarget;

/// A connection to a proxy's admin port.
#[derive(Debug)]
pub struct ProxyAdmin {
    name: String,
    address: String,
    connection: Conn,
}

/// What is left to do in a proxy that is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Sessions with a statement that runs, or with a transaction that is open.
    pub sessions: u64,
    /// Statements that wait.
    pub waiting: u64,
}

/// A server as a proxy's monitor sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedServer {
    /// `clusters.NAME.servers.NAME`
    pub server: Address,
    /// Whether it gets writes, in the proxy's words; `yes` where it does.
    pub writes: String,
}

impl WatchedServer {
    /// Whether it gets writes.
    pub fn is_writer(&self) -> bool {
        self.writes == "yes"
    }
}

impl BundledTarget {
    /// Connects, for several statements.
    ///
    /// # Errors
    /// The proxy cannot be reached, or refuses the account.
    pub fn open(&self) -> Result<ProxyAdmin, TargetError> {
        Ok(ProxyAdmin {
            name: self.name().to_owned(),
            address: self.address().to_string(),
            connection: self.connect()?,
        })
    }
}

impl ProxyAdmin {
    /// The target's name in the project file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has statements for the writer of a cluster wait, so long at most.
    ///
    /// # Errors
    /// The proxy refuses, or was lost: then they may wait until the time is over.
    pub fn pause(&mut self, cluster: &Address, time: Duration) -> Result<(), TargetError> {
        let ms = time.as_millis();
        let sql = format!("SHARDWRIGHT PAUSE {} FOR {ms}", quoted(cluster.as_str()));
        self.rows::<mysql::Row>(&sql).map(|_| ())
    }

    /// Lets them go on; whether they had waited until now.
    ///
    /// # Errors
    /// The proxy was lost: they wait until the time is over.
    pub fn resume(&mut self, cluster: &Address) -> Result<bool, TargetError> {
        let sql = format!("SHARDWRIGHT RESUME {}", quoted(cluster.as_str()));
        let rows: Vec<(String, bool)> = self.rows(&sql)?;
        Ok(rows.first().is_some_and(|(_, was_paused)| *was_paused))
    }

    /// What is left to do before nothing of a paused cluster's writer is begun; `None`: it is not paused any more.
    ///
    /// # Errors
    /// The proxy was lost.
    pub fn unfinished(&mut self, cluster: &Address) -> Result<Option<Unfinished>, TargetError> {
        let sql = format!(
            "SELECT unfinished, waiting FROM stats_shardwright_pauses WHERE cluster = {}",
            quoted(cluster.as_str())
        );
        let rows: Vec<(u64, u64)> = self.rows(&sql)?;
        let unfinished = |&(sessions, waiting): &(u64, u64)| Unfinished { sessions, waiting };
        Ok(rows.first().map(unfinished))
    }

    /// Has a server write in the place of those that do.
    ///
    /// # Errors
    /// The proxy refuses, or was lost.
    pub fn prefer(&mut self, server: &Address) -> Result<(), TargetError> {
        let sql = format!("SHARDWRIGHT PREFER {}", quoted(server.as_str()));
        self.rows::<mysql::Row>(&sql).map(|_| ())
    }

    /// The servers of a cluster; none where no monitor watches them.
    ///
    /// # Errors
    /// The proxy was lost.
    pub fn servers(&mut self, cluster: &Address) -> Result<Vec<WatchedServer>, TargetError> {
        let sql = format!(
            "SELECT server, writes FROM stats_shardwright_servers WHERE cluster = {}",
            quoted(cluster.as_str())
        );
        let rows: Vec<(String, String)> = self.rows(&sql)?;
        let server = |(server, writes): (String, String)| WatchedServer {
            server: Address::new(server),
            writes,
        };
        Ok(rows.into_iter().map(server).collect())
    }

    fn rows<R: FromRow>(&mut self, sql: &str) -> Result<Vec<R>, TargetError> {
        let error = |text: &str| TargetError {
            target: self.name.clone(),
            address: self.address.clone(),
            reason: text.to_owned(),
        };
        let rows = self.connection.query_iter(sql);
        let rows = rows.and_then(|rows| rows.collect::<Result<Vec<mysql::Row>, _>>());
        let rows = rows.map_err(|failure| error(&reason(&failure)))?;
        rows.into_iter()
            .map(|row| R::from_row_opt(row).map_err(|_| error("its answer has other columns than expected")))
            .collect()
    }
}
