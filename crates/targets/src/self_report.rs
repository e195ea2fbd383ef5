//! What a bundled proxy says of itself: where it writes, and what is wrong with it.

use std::collections::BTreeMap;

use mysql::prelude::{FromRow, Queryable};
use shardwright_plan::{Target, TargetError};
use shardwright_rules::Address;

use crate::admin::{is_refused, reason};
use crate::bundled::BundledTarget;

/// The servers to which a proxy writes or wrote last, by cluster; none where it does not know.
pub type Writers = BTreeMap<Address, Vec<Address>>;

/// Something that is wrong with a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfProblem {
    /// An object of the topology, or `data_dir`.
    pub address: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

/// Something that an administrator did to a proxy, or tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Seconds since 1970.
    pub at_s: u64,
    /// The account, and where it came from; `None`: a signal of the proxy's machine.
    pub by: Option<String>,
    /// The statement, without a configuration.
    pub operation: String,
    /// The generation that was served afterwards.
    pub generation: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// MySQL's errors for what is not there: a proxy of an earlier version.
const NO_SUCH_COLUMN: u16 = 1054;
const NO_SUCH_TABLE: u16 = 1146;

impl BundledTarget {
    /// The servers to which it writes, or wrote last, in each cluster that it watches. One that does not run writes nowhere. `None`:
    /// an earlier version, which does not say.
    ///
    /// # Errors
    /// It runs, or may run, and cannot be asked.
    pub fn writers(&self) -> Result<Option<Writers>, TargetError> {
        let sql = "SELECT cluster, server, wrote_last FROM stats_shardwright_servers";
        let rows: Vec<(String, String, bool)> = match self.rows(sql) {
            Ok(rows) => rows,
            Err(error) if is_refused(&error) => return Ok(Some(Writers::new())),
            Err(mysql::Error::MySqlError(error)) if error.code == NO_SUCH_COLUMN => return Ok(None),
            Err(error) => return Err(self.failure(&error)),
        };
        let mut writers = Writers::new();
        for (cluster, server, wrote_last) in rows {
            let of_cluster = writers.entry(Address::new(cluster)).or_default();
            of_cluster.extend(wrote_last.then(|| Address::new(server)));
        }
        Ok(Some(writers))
    }

    /// What is wrong with it.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn problems(&self) -> Result<Vec<SelfProblem>, TargetError> {
        let rows: Vec<(String, String)> =
            match self.rows("SELECT address, problem FROM stats_shardwright_problems") {
                Ok(rows) => rows,
                Err(mysql::Error::MySqlError(error)) if error.code == NO_SUCH_TABLE => Vec::new(),
                Err(error) => return Err(self.failure(&error)),
            };
        let problem = |(address, problem)| SelfProblem { address, problem };
        Ok(rows.into_iter().map(problem).collect())
    }

    /// The latest things that administrators did since it was started, the oldest first. `None`: an earlier version, which does
    /// not say.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn operations(&self) -> Result<Option<Vec<Operation>>, TargetError> {
        type Cells = (u64, Option<String>, Option<String>, String, u64, Option<String>);
        let sql = "SELECT at_s, account, address, operation, generation, error FROM stats_shardwright_operations \
                   ORDER BY number";
        let rows: Vec<Cells> = match self.rows(sql) {
            Ok(rows) => rows,
            Err(mysql::Error::MySqlError(error)) if error.code == NO_SUCH_TABLE => return Ok(None),
            Err(error) => return Err(self.failure(&error)),
        };
        let operation = |(at_s, account, address, operation, generation, error): Cells| Operation {
            at_s,
            by: account.map(|account| match address {
                Some(address) => format!("{account}@{address}"),
                None => account,
            }),
            operation,
            generation,
            error,
        };
        Ok(Some(rows.into_iter().map(operation).collect()))
    }

    fn rows<R: FromRow>(&self, sql: &str) -> Result<Vec<R>, mysql::Error> {
        self.try_connect()?.query(sql)
    }

    fn failure(&self, error: &mysql::Error) -> TargetError {
        TargetError {
            target: self.name().to_owned(),
            address: self.address().to_string(),
            reason: format!("cannot be asked: {}", reason(error)),
        }
    }
}
