//! A MariaDB primary with replicas.

use crate::mariadb::{LaunchError, MariaDb, Options};

/// A primary and replicas that follow it by GTID, the primary first. The replicas are read-only.
#[derive(Debug)]
pub struct Replication {
    /// The servers.
    pub servers: Vec<MariaDb>,
}

/// The account of replicas; every server lets it in.
const ACCOUNT: &str = "CREATE USER IF NOT EXISTS 'replica'@'%' IDENTIFIED BY 'replica'; \
                       GRANT REPLICATION SLAVE ON *.* TO 'replica'@'%'";

impl Replication {
    /// Starts servers, and has all but the first follow the first.
    ///
    /// # Errors
    /// [`LaunchError`]
    ///
    /// # Panics
    /// When a server does not take what it needs to be a replica.
    pub fn start(count: usize, options: &Options) -> Result<Self, LaunchError> {
        let mut servers = Vec::new();
        for number in 1..=count {
            let options = options
                .clone()
                .arg(format!("--server-id={number}"))
                .arg("--log-bin")
                .arg("--log-slave-updates")
                .arg("--sync-binlog=0");
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
        Ok(replication)
    }

    /// Makes a server a replica of another.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn follow(&self, at: usize, source: usize) {
        let port = self.servers[source].port();
        let sql = format!(
            "SET GLOBAL read_only = 1; STOP SLAVE; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, \
             MASTER_USER = 'replica', MASTER_PASSWORD = 'replica', MASTER_USE_GTID = slave_pos, \
             MASTER_CONNECT_RETRY = 1; START SLAVE"
        );
        self.servers[at]
            .run(sql)
            .expect("a server that becomes a replica");
    }

    /// Makes a replica a primary, as tools do after a crash: it applies what it has, forgets its source, and can write.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn promote(&self, at: usize) {
        let sql = "STOP SLAVE IO_THREAD; STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0";
        self.servers[at].run(sql).expect("a replica that is promoted");
    }
}
