//! Files of Percona's tools that set up a ProxySQL for a Percona XtraDB Cluster, and the rows that the tools write by them.

pub(crate) mod admin;
mod fields;
pub(crate) mod scheduler;

use rusqlite::ToSql;
use shardwright_diagnostics::{Diagnostic, Problems, Span};

use crate::codes::REFUSED;
use crate::store::Store;

/// Something that a file says, where it says so, and in which setting.
#[derive(Clone, Copy, Debug)]
struct Said<'t> {
    setting: &'t str,
    value: &'t str,
    place: Span,
}

/// A server as the tools write it.
struct Server<'t> {
    host: Said<'t>,
    port: &'t str,
    weight: u32,
    max_connections: &'t str,
    uses_tls: bool,
}

/// The tables that a tool fills.
struct Tables<'s> {
    store: &'s mut Store,
    problems: &'s mut Problems,
}

impl Tables<'_> {
    /// One row, which the engine may refuse.
    fn insert(&mut self, because: Said<'_>, sql: &str, values: &[&dyn ToSql]) {
        let place = because.place;
        if let Err(refused) = self.store.run(sql, values, place, &[place]) {
            let what = format!("the engine refuses what {} leads to: {refused}", because.setting);
            self.problems.push(Diagnostic::error(REFUSED, what).at(place, ""));
        }
    }

    fn server(&mut self, hostgroup: &str, server: &Server<'_>) {
        self.insert(
            server.host,
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight, max_connections, use_ssl) VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6)",
            &[
                &hostgroup,
                &server.host.value,
                &server.port,
                &server.weight,
                &server.max_connections,
                &server.uses_tls,
            ],
        );
    }

    fn user(&mut self, user: Said<'_>, password: &str, hostgroup: &str) {
        self.insert(
            user,
            "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES (?1, ?2, ?3)",
            &[&user.value, &password, &hostgroup],
        );
    }

    /// The rules with which reads of a user go to the readers.
    fn split(&mut self, user: Said<'_>, writer: &str, reader: &str) {
        for (pattern, hostgroup) in [("^SELECT.*FOR UPDATE", writer), ("^SELECT ", reader)] {
            self.insert(
                user,
                "INSERT INTO mysql_query_rules (active, username, match_digest, destination_hostgroup, apply) VALUES \
                 (1, ?1, ?2, ?3, 1)",
                &[&user.value, &pattern, &hostgroup],
            );
        }
    }

    fn variable(&mut self, name: &str, value: Said<'_>) {
        self.insert(
            value,
            "INSERT OR REPLACE INTO global_variables VALUES (?1, ?2)",
            &[&name, &value.value],
        );
    }
}
