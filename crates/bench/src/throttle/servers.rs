//! One writer that waits for no disk, and replicas that wait for theirs at each commit.

use std::time::Duration;

use mysql::prelude::Queryable;
use shardwright_ledger::{Ledger, Table};
use shardwright_testkit::{MariaDb, Options, Replication};

use super::{PASSWORD, SCHEMA, USER};
use crate::BenchError;

/// Replicas.
pub(super) const REPLICAS: usize = 2;
/// Rows that replicas have said they have are there.
const IS_THERE: Duration = Duration::from_secs(5);

/// The writer and its replicas.
pub(super) struct Servers {
    replication: Replication,
    tables: u64,
}

impl Servers {
    pub(super) fn start() -> Result<Self, BenchError> {
        let options = Options::default();
        let is_mysql = options.flavour.is_mysql();
        // One thread applies. It waits for two or more writes to the disk in each transaction.
        let options = match is_mysql {
            true => options.arg("--replica-parallel-workers=1"),
            false => options.arg("--slave-parallel-threads=0"),
        };
        let replication = Replication::start(REPLICAS + 1, &options)?;
        let servers = Self {
            replication,
            tables: 0,
        };
        servers
            .writer()
            .run("SET GLOBAL innodb_flush_log_at_trx_commit = 0; SET GLOBAL sync_binlog = 0")?;
        for replica in servers.replicas() {
            replica.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1; SET GLOBAL sync_binlog = 1")?;
        }
        let writer = servers.writer();
        // After the first heartbeat, replicas know the domain or the origin of what they apply.
        writer.run(format!(
            "CREATE DATABASE {SCHEMA}; CREATE TABLE {SCHEMA}.beat \
             (server_id INT UNSIGNED PRIMARY KEY, ts VARCHAR(26) NOT NULL, at_us BIGINT UNSIGNED NOT NULL)"
        ))?;
        writer.create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))?;
        let watches = if is_mysql {
            "REPLICATION CLIENT ON *.*"
        } else {
            "REPLICA MONITOR ON *.*"
        };
        writer.create_user("monitor", PASSWORD, Some(watches))?;
        writer.run(format!("GRANT SELECT ON {SCHEMA}.* TO monitor@'%'"))?;
        Ok(servers)
    }

    pub(super) fn all(&self) -> &[MariaDb] {
        &self.replication.servers
    }

    pub(super) fn writer(&self) -> &MariaDb {
        &self.replication.servers[0]
    }

    pub(super) fn replicas(&self) -> &[MariaDb] {
        &self.replication.servers[1..]
    }

    /// What the servers say they are.
    pub(super) fn version(&self) -> Result<String, BenchError> {
        let rows = self.writer().run("SELECT VERSION()")?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    /// An empty table in place of the last one, and no beat.
    pub(super) fn renew_table(&mut self) -> Result<Table, BenchError> {
        let name = |number: u64| format!("t{number}");
        let mut root = self.writer().root()?;
        root.query_drop(format!("DROP TABLE IF EXISTS {SCHEMA}.{}", name(self.tables)))?;
        root.query_drop(format!("DELETE FROM {SCHEMA}.beat"))?;
        self.tables += 1;
        let table = Table::new(SCHEMA, &name(self.tables));
        table.create(&mut root)?;
        self.wait_for(&table)?;
        Ok(table)
    }

    /// Waits until each replica has a table.
    fn wait_for(&self, table: &Table) -> Result<(), BenchError> {
        for replica in self.replicas() {
            let question = format!("SELECT 1 FROM {table} LIMIT 1");
            let is_there = || replica.run(&question).ok();
            shardwright_testkit::poll_until(Duration::from_secs(60), is_there).map_err(|error| {
                BenchError::Output {
                    what: format!("{table} does not arrive on a replica"),
                    output: error.to_string(),
                }
            })?;
        }
        Ok(())
    }

    /// Commits that were acknowledged and are not on every server, and those that are there twice or not told right.
    pub(super) fn missing(&self, ledger: &Ledger) -> Result<usize, BenchError> {
        let mut missing = 0;
        for server in self.all() {
            let audit = ledger.audit_on(&mut server.root()?, IS_THERE)?;
            missing += audit.lost.len() + audit.doubled.len() + audit.refused_and_there.len();
        }
        Ok(missing)
    }
}
