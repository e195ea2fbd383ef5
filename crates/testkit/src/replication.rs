//! A MariaDB primary with replicas.

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
const ACCOUNT: &str = "CREATE USER IF NOT EXISTS 'replica'@'%' IDENTIFIED BY 'replica'; \
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
            let mut options = options
                .clone()
                .arg(format!("--server-id={number}"))
                .arg("--log-bin")
                .arg("--log-slave-updates")
                .arg("--sync-binlog=0");
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
        let sql = format!(
            "SET GLOBAL read_only = 1; STOP SLAVE; CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_PORT = {port}, \
             MASTER_USER = 'replica', MASTER_PASSWORD = 'replica', MASTER_USE_GTID = slave_pos, \
             MASTER_CONNECT_RETRY = 1; START SLAVE"
        );
        self.servers[at]
            .run(sql)
            .expect("a server that becomes a replica");
    }

    /// Makes a replica a primary, as tools do after a crash: it applies what it has received, forgets its source, and can
    /// write. It acknowledges alone.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn promote(&self, at: usize) {
        let server = &self.servers[at];
        server
            .run("STOP SLAVE IO_THREAD")
            .expect("a replica that is promoted");
        // What it has received is lost once it forgets its source.
        let received = self.received(at);
        eventually(APPLIES_WITHIN, || {
            let waited = server.run(format!("SELECT MASTER_GTID_WAIT('{received}', 1)"));
            waited.is_ok_and(|rows| rows[0][0].as_deref() == Some("0"))
        });
        server
            .run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0")
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
            let last = position.rsplit('-').next();
            last.and_then(|number| number.parse().ok()).unwrap_or_default()
        };
        replicas.into_iter().max_by_key(number).expect("a replica")
    }

    /// What a replica has received, as a GTID position of one domain.
    fn received(&self, at: usize) -> String {
        let mut root = self.servers[at].root().expect("a replica answers");
        let status: Option<Row> = root
            .query_first("SHOW SLAVE STATUS")
            .expect("the state of a replica");
        status
            .and_then(|status| status.get::<String, _>("Gtid_IO_Pos"))
            .unwrap_or_default()
    }
}
