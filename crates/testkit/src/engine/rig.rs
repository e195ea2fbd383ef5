//! A real ProxySQL with a numbered server behind each hostgroup.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::client::ClientOptions;
use crate::engine::{EngineClient, NumberedServers};
use crate::proxysql::{ProxySql, ProxySqlError, ProxySqlOptions};

/// A ProxySQL that routes to [`NumberedServers`]; everything ends with this value.
#[derive(Debug)]
pub struct Rig {
    // Declared first: the engine ends before its servers.
    proxysql: ProxySql,
    servers: NumberedServers,
}

impl Rig {
    /// Starts both. The users that rules are loaded with later must be among `users`: the servers let no other in.
    ///
    /// # Errors
    /// [`ProxySqlError`].
    pub fn start(
        binary: &Path,
        options: &ProxySqlOptions,
        hostgroups: impl IntoIterator<Item = u32>,
        users: &[&str],
    ) -> Result<Self, ProxySqlError> {
        let servers = NumberedServers::start(hostgroups, users)?;
        let proxysql = ProxySql::start(binary, options)?;
        // A hostgroup without a server answers after half a second: on a busy machine less is not enough to connect. An idle thread reports its hits once a second, not
        // once in two.
        let before = [
            "SET admin-refresh_interval='100'",
            "SET mysql-connect_timeout_server_max='500'",
            "SET mysql-poll_timeout='100'",
            "LOAD ADMIN VARIABLES TO RUNTIME",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ];
        proxysql.run(before.map(str::to_owned).into_iter().chain(servers.rows()))?;
        proxysql.run(["LOAD MYSQL SERVERS TO RUNTIME"])?;
        Ok(Self { proxysql, servers })
    }

    /// The engine.
    #[must_use]
    pub fn proxysql(&self) -> &ProxySql {
        &self.proxysql
    }

    /// The engine, to ask whether it still runs.
    pub fn proxysql_mut(&mut self) -> &mut ProxySql {
        &mut self.proxysql
    }

    /// What stands behind it.
    #[must_use]
    pub fn servers(&self) -> &NumberedServers {
        &self.servers
    }

    /// Replaces users, rules, fast routing and the firewall's lists by what the statements write, as an operator would load them. Variables
    /// keep the values that earlier statements set.
    ///
    /// # Errors
    /// [`ProxySqlError::Admin`] with the first statement that was refused.
    pub fn load<S: AsRef<str>>(&self, statements: &[S]) -> Result<(), ProxySqlError> {
        let emptied = [
            "mysql_query_rules",
            "mysql_query_rules_fast_routing",
            "mysql_users",
            "mysql_firewall_whitelist_users",
            "mysql_firewall_whitelist_rules",
        ]
        .map(|table| format!("DELETE FROM {table}"));
        let own = statements.iter().map(|statement| statement.as_ref().to_owned());
        let modules = ["VARIABLES", "USERS", "QUERY RULES", "FIREWALL"];
        let loads = modules.map(|what| format!("LOAD MYSQL {what} TO RUNTIME"));
        self.proxysql.run(emptied.into_iter().chain(own).chain(loads))?;
        Ok(())
    }

    /// A client of the listener of this number.
    ///
    /// # Errors
    /// The engine's or the network's.
    pub fn client(&self, listener: usize, options: ClientOptions<'_>) -> mysql::Result<EngineClient> {
        EngineClient::connect(self.proxysql.addresses()[listener], options)
    }

    /// The same from another address of this machine, such as 127.0.0.2.
    ///
    /// # Errors
    /// The engine's or the network's.
    pub fn client_at(
        &self,
        from: Ipv4Addr,
        listener: usize,
        options: ClientOptions<'_>,
    ) -> mysql::Result<EngineClient> {
        EngineClient::connect_from(from, self.proxysql.addresses()[listener], options)
    }

    /// How often each rule has matched since rules were loaded. The engine's threads report up to a second late.
    ///
    /// # Errors
    /// [`ProxySqlError::Admin`].
    pub fn hits(&self) -> Result<BTreeMap<u32, u64>, ProxySqlError> {
        let rows = self
            .proxysql
            .run(["SELECT rule_id, hits FROM stats_mysql_query_rules ORDER BY rule_id"])?;
        let number = |cell: &Option<String>| cell.as_deref().and_then(|text| text.parse::<u64>().ok());
        Ok(rows
            .iter()
            .filter_map(|row| {
                let id = u32::try_from(number(row.first()?)?).ok()?;
                Some((id, number(row.get(1)?)?))
            })
            .filter(|(_, hits)| *hits > 0)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Reply, Via};
    use crate::real_proxysql;

    #[test]
    fn every_answer_tells_where_it_came_from() {
        let Some(binary) = real_proxysql("numbered servers behind a real ProxySQL") else {
            return;
        };
        let mut rig = Rig::start(&binary, &ProxySqlOptions::default(), 0..3, &["app"]).unwrap();
        rig.load(&[
            "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 0)",
            "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, destination_hostgroup, apply) \
             VALUES (1, 1, '^SELECT 1', 'SELECT 2', 2, 1)",
            "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, error_msg) VALUES (2, 1, '^DROP', 'no')",
            "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, OK_msg) VALUES (3, 1, '^DELETE', 'yes')",
        ])
        .unwrap();
        let login = ClientOptions {
            user: "app",
            schema: Some("shop"),
            ..ClientOptions::default()
        };
        let mut client = rig.client(0, login).unwrap();
        let from = |hostgroup, text: &str| Reply::From {
            hostgroup,
            text: text.to_owned(),
            schema: "shop".to_owned(),
        };
        assert_eq!(client.query("SELECT 1 FROM t"), from(2, "SELECT 2 FROM t"));
        assert_eq!(client.query("INSERT INTO t VALUES (1)"), Reply::Done(0));
        assert_eq!(client.query("DROP TABLE t"), Reply::Error(1148, "no".to_owned()));
        assert_eq!(client.query("DELETE FROM t"), Reply::Ok("yes".to_owned()));
        let prepared = client.prepare("SELECT 1 FROM t WHERE a=?").unwrap();
        let arrived = rig.servers().take_arrivals();
        let last = arrived.last().unwrap();
        assert_eq!(
            (last.hostgroup, last.via, &*last.text),
            (2, Via::Prepare, &b"SELECT 2 FROM t WHERE a=?"[..])
        );
        // An execution is routed by the text as it was rewritten, which no rule matches.
        assert_eq!(client.execute(&prepared), from(0, "SELECT 2 FROM t WHERE a=?"));
        crate::eventually(std::time::Duration::from_secs(20), || {
            rig.hits().unwrap() == BTreeMap::from([(1, 2), (2, 1), (3, 1)])
        });
        assert_eq!(rig.proxysql_mut().ended().unwrap(), None);
    }
}
