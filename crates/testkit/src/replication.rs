//! A primary with replicas, of MariaDB or MySQL.

use std::time::Duration;

use mysql::Row;
use mysql::prelude::Queryable;

use crate::eventually::eventually;
use crate::mariadb::{LaunchError, MariaDb, Options};
use crate::network::Network;

/// How long a replica may take to apply what it has received.
const APPLIES_WITHIN: Duration = Duration::from_secs(60);

/// A primary and replicas that follow it by GTID, the primary first. The replicas are read-only.
#[derive(Debug)]
pub struct Replication {
    /// The servers.
    pub servers: Vec<MariaDb>,
}

/// The account of replicas; every server lets it in.
pub(crate) const ACCOUNT: &str = "CREATE USER IF NOT EXISTS 'replica'@'%' IDENTIFIED BY 'replica'; \
                       GRANT REPLICATION SLAVE ON *.* TO 'replica'@'%'";

/// When the primary acknowledges a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledges {
    /// When it has committed itself.
    Alone,
    /// When one replica has received it, and before others see it (`AFTER_SYNC`). It waits for ever.
    WithReplica,
}

/// Replicas acknowledge to a primary that asks for it.
const SEMI_SYNCHRONOUS: [&str; 3] = [
    "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
    "--rpl-semi-sync-master-timeout=4294967295",
    "--rpl-semi-sync-slave-enabled=ON",
];

impl Replication {
    /// Starts servers, and has all but the first follow the first.
    ///
    /// # Errors
    /// [`LaunchError`]
    ///
    /// # Panics
    /// When a server does not take what it needs to be a replica.
    pub fn start(count: usize, options: &Options) -> Result<Self, LaunchError> {
        Self::start_as(count, options, Acknowledges::Alone, None)
    }

    /// Starts servers, the first of them on the other side of a network if there is one.
    ///
    /// # Errors
    /// [`LaunchError`]
    ///
    /// # Panics
    /// When a server does not take what it needs to be a replica.
    pub fn start_as(
        count: usize,
        options: &Options,
        acknowledges: Acknowledges,
        network: Option<&Network>,
    ) -> Result<Self, LaunchError> {
        let mut servers = Vec::new();
        for number in 1..=count {
            let mut options = options.clone().arg(format!("--server-id={number}"));
            let logged = options.flavour.logged().iter().map(|word| (*word).to_owned());
            options.extra_args.extend(logged);
            if acknowledges == Acknowledges::WithReplica {
                options.extra_args.extend(SEMI_SYNCHRONOUS.map(str::to_owned));
            }
            if let (Some(network), 1) = (network, number) {
                options = network.beyond(options);
            }
            servers.push(MariaDb::start(options)?);
        }
        let replication = Self { servers };
        for server in &replication.servers {
            // Nothing of it is part of what is replicated.
            server
                .run(format!("SET sql_log_bin = 0; {ACCOUNT}"))
                .expect("the account of replicas");
        }
        for at in 1..count {
            replication.follow(at, 0);
        }
        if acknowledges == Acknowledges::WithReplica {
            // Only the primary: a replica would wait for replicas of its own.
            replication.servers[0]
                .run("SET GLOBAL rpl_semi_sync_master_enabled = ON")
                .expect("a primary that waits for its replicas");
        }
        Ok(replication)
    }

    /// Makes a server a replica of another.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn follow(&self, at: usize, source: usize) {
        let address = self.servers[source].address();
        let (host, port) = (address.ip(), address.port());
        let sql = match self.servers[at].flavour().is_mysql() {
            false => format!(
                "STOP SLAVE; CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, MASTER_USER = 'replica', \
                 MASTER_PASSWORD = 'replica', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1; START SLAVE"
            ),
            true => format!(
                "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, \
                 SOURCE_USER = 'replica', SOURCE_PASSWORD = 'replica', SOURCE_AUTO_POSITION = 1, \
                 GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1; START REPLICA"
            ),
        };
        self.servers[at]
            .run(format!("SET GLOBAL read_only = 1; {sql}"))
            .expect("a server that becomes a replica");
    }

    /// Makes a replica a primary, as tools do after a crash: it applies what it has received, forgets its source, and can
    /// write. It acknowledges alone.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn promote(&self, at: usize) {
        let server = &self.servers[at];
        let (replica, waits) = match server.flavour().is_mysql() {
            false => ("SLAVE", "MASTER_GTID_WAIT"),
            true => ("REPLICA", "WAIT_FOR_EXECUTED_GTID_SET"),
        };
        server
            .run(format!("STOP {replica} IO_THREAD"))
            .expect("a replica that is promoted");
        // What it has received is lost once it forgets its source.
        let received = self.received(at);
        eventually(APPLIES_WITHIN, || {
            let waited = server.run(format!("SELECT {waits}('{received}', 1)"));
            waited.is_ok_and(|rows| rows[0][0].as_deref() == Some("0"))
        });
        server
            .run(format!(
                "STOP {replica}; RESET {replica} ALL; SET GLOBAL read_only = 0"
            ))
            .expect("a replica that is promoted");
    }

    /// The replica among these that has received most.
    ///
    /// # Panics
    /// When there is none, or one does not answer.
    #[must_use]
    pub fn most_advanced(&self, replicas: impl IntoIterator<Item = usize>) -> usize {
        let number = |at: &usize| -> u64 {
            let position = self.received(*at);
            let last = position.rsplit(['-', ':']).next();
            last.and_then(|number| number.parse().ok()).unwrap_or_default()
        };
        replicas.into_iter().max_by_key(number).expect("a replica")
    }

    /// What a replica has received, as a GTID position of one domain or a set of one server.
    fn received(&self, at: usize) -> String {
        let mut root = self.servers[at].root().expect("a replica answers");
        let (sql, column) = match self.servers[at].flavour().is_mysql() {
            false => ("SHOW SLAVE STATUS", "Gtid_IO_Pos"),
            true => ("SHOW REPLICA STATUS", "Retrieved_Gtid_Set"),
        };
        let status: Option<Row> = root.query_first(sql).expect("the state of a replica");
        status
            .and_then(|status| status.get::<String, _>(column))
            .unwrap_or_default()
    }
}
