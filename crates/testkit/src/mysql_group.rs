//! A group of MySQL servers on loopback (group replication, one primary).

use std::time::Duration;

use crate::eventually::eventually;
use crate::mariadb::{LaunchError, MariaDb, Options};
use crate::replication::ACCOUNT;
use crate::reserved_port::ReservedPort;

/// How long a server may take to join: it fetches what it has missed.
const JOINS_WITHIN: Duration = Duration::from_secs(60);

/// The name that every group of the kit has; its members know each other by their ports.
const NAME: &str = "8a94f357-0000-4000-8000-000000000001";

/// What a server says to join, and what it remembers.
const JOIN: &str = "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'replica', SOURCE_PASSWORD = 'replica' \
                    FOR CHANNEL 'group_replication_recovery'; START GROUP_REPLICATION";

/// Servers of one group. The first made it, and is its primary until it fails.
#[derive(Debug)]
pub struct MySqlGroup {
    /// The servers.
    pub servers: Vec<MariaDb>,
    /// Where members speak to each other; kept from others.
    _ports: Vec<ReservedPort>,
}

impl MySqlGroup {
    /// Starts servers, which join one after the other. The options name a MySQL.
    ///
    /// # Errors
    /// [`LaunchError`]
    ///
    /// # Panics
    /// When there are no free ports, and when a server does not join.
    pub fn start(count: usize, options: &Options) -> Result<Self, LaunchError> {
        let ports: Vec<ReservedPort> = (0..count)
            .map(|_| ReservedPort::new().expect("a free port"))
            .collect();
        let address = |port: &ReservedPort| format!("127.0.0.1:{}", port.number());
        let seeds: Vec<String> = ports.iter().map(address).collect();
        let mut servers = Vec::new();
        for (at, port) in ports.iter().enumerate() {
            let mut options = options.clone();
            let logged = options.flavour.logged().iter().map(|word| (*word).to_owned());
            options.extra_args.extend(logged);
            options.extra_args.extend([
                format!("--server-id={}", at + 1),
                "--report-host=127.0.0.1".to_owned(),
                "--plugin-load-add=group_replication.so".to_owned(),
                format!("--group-replication-group-name={NAME}"),
                format!("--group-replication-local-address={}", address(port)),
                format!("--group-replication-group-seeds={}", seeds.join(",")),
                "--group-replication-start-on-boot=OFF".to_owned(),
                "--group-replication-recovery-get-public-key=ON".to_owned(),
            ]);
            servers.push(MariaDb::start(options)?);
        }
        let group = Self {
            servers,
            _ports: ports,
        };
        for at in 0..count {
            let (before, after) = match at {
                0 => (
                    "SET GLOBAL group_replication_bootstrap_group = ON; ",
                    "; SET GLOBAL group_replication_bootstrap_group = OFF",
                ),
                _ => ("", ""),
            };
            // Accounts are no part of what is replicated.
            group.servers[at]
                .run(format!(
                    "SET sql_log_bin = 0; {ACCOUNT}; GRANT BACKUP_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* \
                     TO 'replica'@'%'; SET sql_log_bin = 1; {before}{JOIN}{after}"
                ))
                .expect("a server that joins the group");
            group.wait_for(at);
        }
        Ok(group)
    }

    /// Has a server that was restarted join again, and waits until it has everything.
    ///
    /// # Panics
    /// When it does not join.
    pub fn join(&self, at: usize) {
        self.servers[at]
            .run("START GROUP_REPLICATION")
            .expect("a server that joins the group again");
        self.wait_for(at);
    }

    /// The member that writes, as one of them sees it.
    #[must_use]
    pub fn primary_seen_by(&self, at: usize) -> Option<u16> {
        let sql = "SELECT MEMBER_PORT FROM performance_schema.replication_group_members WHERE MEMBER_ROLE = 'PRIMARY'";
        let rows = self.servers[at].run(sql).ok()?;
        rows.first()?.first()?.as_deref()?.parse().ok()
    }

    fn wait_for(&self, at: usize) {
        let sql = "SELECT MEMBER_STATE FROM performance_schema.replication_group_members \
                   WHERE MEMBER_ID = @@global.server_uuid";
        eventually(JOINS_WITHIN, || {
            let state = self.servers[at].run(sql);
            state.is_ok_and(|rows| {
                rows.iter()
                    .flatten()
                    .any(|state| state.as_deref() == Some("ONLINE"))
            })
        });
    }
}
