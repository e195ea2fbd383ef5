//! Rows of a live ProxySQL that no project can say, by their shape. A plan leaves them as they are.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::tables::{
    FAST_ROUTING, FIREWALL_RULES, FIREWALL_USERS, QUERY_RULES, SERVERS, USERS, is_client_addr,
};
use shardwright_rules::{RefusingHostgroup, is_host, is_login};

use super::comment::named_by;
use super::layers::JOINS;
use super::row::{Row, RowName, TableName};
use super::session::{Found, of_table};

/// Hostgroups of a row of [`JOINS`] that a cluster has for its servers that take traffic.
const SERVING: [&str; 2] = ["writer_hostgroup", "reader_hostgroup"];
/// Its other ones.
const OUT: [&str; 2] = ["backup_writer_hostgroup", "offline_hostgroup"];

/// What tells the rows that no project can say from the others.
#[derive(Debug)]
pub(super) struct Beyond {
    /// Hostgroups that the clusters of a project could have, by what is live.
    of_clusters: BTreeSet<i64>,
    /// Hostgroups with a server that a cluster can have.
    with_servers: BTreeSet<i64>,
    /// Hostgroups that a replication row gives to readers.
    of_readers: BTreeSet<i64>,
    /// The users that a project can have, by the names that they log in with.
    users: BTreeSet<String>,
    /// Those of them that are in two rows.
    in_two_rows: BTreeSet<String>,
}

impl Beyond {
    pub(super) fn of(rows: &BTreeMap<RowName, Found>) -> Self {
        let servers = of_table(rows, TableName::of(&SERVERS));
        let with_servers: BTreeSet<i64> = servers
            .filter(|(_, found)| is_server(&found.row) && !refuses(&found.row))
            .filter_map(|(name, _)| name.number(0))
            .collect();
        let joins = || {
            JOINS
                .iter()
                .flat_map(|table| of_table(rows, TableName::of(table)))
        };
        let loaded = || joins().filter(|(_, found)| is_active(&found.row));
        let numbers = |row: &Row, columns: &[&str]| -> Vec<i64> {
            columns.iter().filter_map(|column| row.number(column)).collect()
        };
        let mut of_clusters = with_servers.clone();
        for (_, found) in loaded() {
            let serving = numbers(&found.row, &SERVING);
            if serving.iter().any(|id| with_servers.contains(id)) {
                of_clusters.extend(serving);
            }
        }
        for (_, found) in loaded() {
            for id in numbers(&found.row, &OUT) {
                of_clusters.remove(&id);
            }
        }
        let replication = of_table(rows, TableName::of(JOINS[0]));
        let users = of_table(rows, TableName::of(&USERS)).map(|(_, found)| &found.row);
        let users = users.filter(|row| is_user(row, &of_clusters));
        Self {
            users: users.map(|row| row.text("username").to_owned()).collect(),
            in_two_rows: in_two_rows(rows).into_iter().map(str::to_owned).collect(),
            of_clusters,
            with_servers,
            of_readers: replication
                .filter_map(|(_, found)| found.row.number("reader_hostgroup"))
                .collect(),
        }
    }

    /// Whether no project can have written a row, by its shape; one that names an object in its comment was written by a
    /// project.
    pub(super) fn row(&self, name: &RowName, row: &Row) -> bool {
        if named_by(row).is_some() {
            return false;
        }
        if !is_active(row) || is_dropped(name, row, &self.of_readers) {
            return true;
        }
        if name.is_in(&SERVERS) {
            !is_server(row)
        } else if name.is_in(&USERS) {
            // The row by which servers know a user goes with the one by which it logs in.
            let user = row.text("username");
            let goes_with_it = self.in_two_rows.contains(user) && self.users.contains(user);
            !(is_user(row, &self.of_clusters) || goes_with_it)
        } else if name.is_in(&FIREWALL_USERS) || name.is_in(&FIREWALL_RULES) {
            !row.text("client_address").is_empty() || !self.users.contains(row.text("username"))
        } else if JOINS.iter().any(|table| name.is_in(table)) {
            let hostgroups = SERVING.iter().filter_map(|column| row.number(column));
            !hostgroups.into_iter().any(|id| self.with_servers.contains(&id))
        } else if name.is_in(&FAST_ROUTING) {
            name.number(2).is_some_and(|flag| flag < 0)
        } else {
            false
        }
    }
}

/// Whether a row is loaded, as far as its switch says; tables without one are.
pub(super) fn is_active(row: &Row) -> bool {
    row.number("active").is_none_or(|active| active == 1)
}

/// The users that are in two rows which say the same: one by which clients log in, and one for servers. `SAVE MYSQL USERS FROM
/// RUNTIME` writes them so, and so does a ProxySQL Cluster (2.7.1).
pub(super) fn in_two_rows(rows: &BTreeMap<RowName, Found>) -> BTreeSet<&str> {
    let mut sides: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for (_, found) in of_table(rows, TableName::of(&USERS)) {
        sides
            .entry(found.row.text("username"))
            .or_default()
            .push(&found.row);
    }
    let bare = |row: &Row| {
        let mut row = row.clone();
        row.facts.shift_remove("frontend");
        row.facts.shift_remove("backend");
        row
    };
    let alike = sides.into_iter().filter(|(_, rows)| match rows.as_slice() {
        [one, other] => bare(one) == bare(other),
        _ => false,
    });
    alike.map(|(user, _)| user).collect()
}

/// Whether a project can have a user: clients log in with a name of one line, and its statements go to a cluster.
fn is_user(row: &Row, of_clusters: &BTreeSet<i64>) -> bool {
    let hostgroup = row.number("default_hostgroup");
    is_active(row)
        && row.number("frontend") == Some(1)
        && is_login(row.text("username"))
        && hostgroup.is_some_and(|id| of_clusters.contains(&id))
}

/// Whether a cluster can have a server.
fn is_server(row: &Row) -> bool {
    row.number("port").is_some_and(|port| port > 0) && is_host(row.text("hostname"))
}

fn refuses(row: &Row) -> bool {
    RefusingHostgroup::parse_comment(row.text("comment")).is_some()
}

/// Whether the engine leaves a row out when it loads, which it says in its log only. `of_readers`: the hostgroups that rows
/// of `mysql_replication_hostgroups` give to readers.
pub(super) fn is_dropped(name: &RowName, row: &Row, of_readers: &BTreeSet<i64>) -> bool {
    if name.is_in(&QUERY_RULES) {
        let address = row.text("client_addr");
        return !address.is_empty() && !is_client_addr(address);
    }
    if name.is_in(JOINS[0]) {
        let writer = row.number("writer_hostgroup");
        return writer.is_some_and(|writer| of_readers.contains(&writer));
    }
    name.is_in(&USERS) && row.number("default_hostgroup").is_some_and(|id| id < 0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shardwright_plan::Facts;
    use shardwright_rules::tables::{REPLICATION_HOSTGROUPS, Table};

    use super::*;

    fn found(table: &'static Table, values: Value) -> (RowName, Found) {
        let Value::Object(facts) = values else {
            panic!("a row is an object")
        };
        let facts: Facts = facts;
        let name = RowName::of(TableName::of(table), &facts);
        let row = Row { facts, secret: None };
        (name, Found { row, is_ours: true })
    }

    fn server(hostgroup: i64, host: &str, port: i64) -> (RowName, Found) {
        found(
            &SERVERS,
            json!({"hostgroup_id": hostgroup, "hostname": host, "port": port}),
        )
    }

    fn user(name: &str, hostgroup: i64, active: i64, frontend: i64, comment: &str) -> (RowName, Found) {
        let row = json!({"username": name, "active": active, "default_hostgroup": hostgroup, "backend": 1,
            "frontend": frontend, "comment": comment});
        found(&USERS, row)
    }

    #[test]
    fn rows_of_shapes_that_no_project_has_are_told_from_the_others() {
        let joins = |writer: i64, reader: i64| {
            found(
                &REPLICATION_HOSTGROUPS,
                json!({"writer_hostgroup": writer, "reader_hostgroup": reader}),
            )
        };
        let rule = |id: i64, active: i64, comment: &str| {
            found(
                &QUERY_RULES,
                json!({"rule_id": id, "active": active, "comment": comment}),
            )
        };
        let list = |user: &str, address: &str| {
            found(
                &FIREWALL_USERS,
                json!({"active": 1, "username": user, "client_address": address}),
            )
        };
        let rows = [
            (server(20, "r.db", 3306), false),
            (server(10, "/run/mysqld.sock", 0), true),
            (server(20, "r.db:3307", 3306), true),
            (joins(10, 20), false),
            (joins(50, 60), true),
            // Its cluster has a server, though none writes at the moment.
            (user("writes", 10, 1, 1, ""), false),
            (user("reads", 20, 1, 1, "ask Anna"), false),
            (user("elsewhere", 77, 1, 1, ""), true),
            (user("off", 20, 0, 1, ""), true),
            (user("of servers", 20, 1, 0, ""), true),
            (user("two\nlines", 20, 1, 1, ""), true),
            // A project wrote it, and it goes with the object.
            (user("written", 77, 1, 1, "users.written"), false),
            (rule(1, 1, ""), false),
            (rule(2, 0, ""), true),
            (rule(3, 0, "routes.a"), false),
            // The engine evaluates it before all others, so a plan that leaves it would not be what runs.
            (rule(-5, 1, ""), false),
            (rule(-6, 0, ""), true),
            (list("writes", ""), false),
            (list("writes", "10.0.0.1"), true),
            (list("off", ""), true),
        ];
        let beyond = Beyond::of(&rows.iter().map(|(row, _)| row.clone()).collect());
        for ((name, found), expected) in &rows {
            assert_eq!(
                beyond.row(name, &found.row),
                *expected,
                "{name} {:?}",
                found.row.facts
            );
        }
    }
}
