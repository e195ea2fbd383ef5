//! Scripts for a proxy that also holds rows of others: theirs stay byte for byte, ours are exactly those of the
//! configuration, and what an earlier script left goes.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_snapshot;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;
use shardwright_rules::*;
use shardwright_targets::emit::{self, Numbers, Ownership, Row, Table};

use super::configuration::everything;
use super::tables;

fn numbers(ranges: &[std::ops::RangeInclusive<u32>]) -> Numbers {
    Numbers::new(ranges.iter().cloned(), &BTreeSet::new())
}

fn partial() -> Ownership {
    Ownership {
        users: Some(vec!["app*".into(), "open".into()]),
        rules: Some(numbers(&[100_000..=199_999])),
        hostgroups: Some(numbers(&[1000..=1001])),
        ..Ownership::default()
    }
}

/// The lines of a script without the rows that it writes.
fn frame(script: &str) -> String {
    let lines = script.lines().filter(|line| {
        !line.starts_with("INSERT")
            && !line.starts_with("-- Configuration")
            && !line.starts_with("-- clusters")
    });
    let lines = lines.filter(|line| !line.starts_with("-- shard_maps") && !line.starts_with("-- users"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn only_what_is_ours_is_replaced() {
    let script = emit::sql_within(&everything(), &partial()).unwrap();
    assert_snapshot!(frame(&script));
}

#[test]
fn what_is_no_longer_written_is_taken_back() {
    let reset = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let ownership = Ownership {
        report: true,
        had_firewall: true,
        resets: BTreeMap::from([
            reset("admin-mysql_ifaces", "0.0.0.0:6032"),
            reset("admin-refresh_interval", "2000"),
            reset("mysql-firewall_whitelist_enabled", "false"),
            reset("mysql-init_connect", ""),
            reset("mysql-interfaces", "0.0.0.0:6033"),
            reset("mysql-monitor_password", "monitor"),
            reset("mysql-query_digests", "true"),
            reset("mysql-threads", "4"),
        ]),
        ..partial()
    };
    let script = emit::sql_within(&everything(), &ownership).unwrap();
    assert_snapshot!(frame(&script));
}

#[test]
fn the_firewall_is_for_all_users_or_for_none() {
    let mut configuration = everything();
    configuration.firewall = vec![Firewall {
        user: "app".into(),
        address: "firewall.app".into(),
        mode: FirewallMode::Protecting,
        schemas: Vec::new(),
        flags: Vec::new(),
        digests: Vec::new(),
    }];
    let ownership = Ownership {
        users: Some(vec!["app".into()]),
        ..Ownership::default()
    };
    assert_snapshot!(
        emit::sql_within(&configuration, &ownership)
            .unwrap_err()
            .to_string()
    );
    assert!(emit::sql_within(&configuration, &Ownership::default()).is_ok());
}

const USERS: [&str; 6] = ["app", "app2", "batch", "open", "geo", "we[i]rd"];
const HOSTGROUPS: [u32; 6] = [5, 6, 1000, 1001, 2000, 2001];
const RULES: [u32; 6] = [7, 100, 101, 100_000, 100_001, 199_999];

/// Rows of others, or left by whoever.
#[derive(Clone, Debug)]
struct Before {
    users: BTreeSet<usize>,
    rules: BTreeSet<usize>,
    servers: BTreeSet<usize>,
    /// Writer, reader.
    pairs: BTreeMap<usize, usize>,
    /// User or everyone, schema, destination; and whether a shard map wrote it.
    routes: BTreeMap<(usize, usize), (usize, bool)>,
}

fn before() -> impl Strategy<Value = Before> {
    let six = || proptest::collection::btree_set(0..6_usize, 0..6);
    let routes = proptest::collection::btree_map((0..7_usize, 0..2_usize), (0..6_usize, any::<bool>()), 0..8);
    (
        six(),
        six(),
        six(),
        proptest::collection::btree_map(0..6_usize, 0..6_usize, 0..4),
        routes,
    )
        .prop_map(|(users, rules, servers, pairs, routes)| Before {
            users,
            rules,
            servers,
            pairs,
            routes,
        })
}

impl Before {
    fn write(&self, database: &Connection) {
        let run = |sql: String| database.execute_batch(&sql).unwrap();
        for &at in &self.users {
            run(format!(
                "INSERT INTO mysql_users (username, password) VALUES ('{}', 'theirs')",
                USERS[at]
            ));
            run(format!(
                "INSERT INTO mysql_firewall_whitelist_users VALUES (1, '{}', '', 'OFF', 'theirs')",
                USERS[at]
            ));
        }
        for &at in &self.rules {
            run(format!(
                "INSERT INTO mysql_query_rules (rule_id, comment) VALUES ({}, 'theirs')",
                RULES[at]
            ));
        }
        for &at in &self.servers {
            run(format!(
                "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES ({}, 'theirs')",
                HOSTGROUPS[at]
            ));
        }
        let mut taken = BTreeSet::new();
        for (&writer, &reader) in &self.pairs {
            if writer != reader && taken.insert(reader) {
                run(format!(
                    "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES ({}, {})",
                    HOSTGROUPS[writer], HOSTGROUPS[reader]
                ));
            }
        }
        for (&(user, schema), &(destination, ours)) in &self.routes {
            run(format!(
                "INSERT INTO mysql_query_rules_fast_routing VALUES ('{}', '{}', 0, {}, '{}')",
                USERS.get(user).copied().unwrap_or_default(),
                ["acct_0001", "elsewhere"][schema],
                HOSTGROUPS[destination],
                if ours {
                    "shard_maps.accounts.shards.a0001"
                } else {
                    "theirs"
                }
            ));
        }
    }
}

/// Rows as they are stored.
type Rows = Vec<Vec<Value>>;

fn stored(database: &Connection, table: Table) -> Rows {
    let mut query = database
        .prepare(&format!("SELECT * FROM {} ORDER BY 1, 2, 3", table.name()))
        .unwrap();
    let columns = query.column_count();
    let rows = query.query_map([], |row| (0..columns).map(|at| row.get(at)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Whether a stored row is ours, said in other words than the script's.
fn is_ours(table: Table, row: &[Value], ownership: &Ownership) -> bool {
    let number = |at: usize| match &row[at] {
        Value::Integer(number) => u64::try_from(*number).unwrap(),
        other => panic!("{other:?}"),
    };
    let text = |at: usize| match &row[at] {
        Value::Text(text) => text.as_str(),
        other => panic!("{other:?}"),
    };
    let hostgroup = |at: usize| {
        ownership
            .hostgroups
            .as_ref()
            .is_none_or(|ours| ours.contains(number(at)))
    };
    let user = |at: usize| {
        let globs = ownership.users.as_ref();
        globs.is_none_or(|globs| globs.iter().any(|glob| glob_matches(glob, text(at))))
    };
    match table {
        Table::Servers => hostgroup(0),
        Table::ReplicationHostgroups => hostgroup(0) || hostgroup(1),
        Table::GaleraHostgroups | Table::GroupReplicationHostgroups => (0..4).any(hostgroup),
        Table::Users => user(0),
        Table::QueryRules => ownership
            .rules
            .as_ref()
            .is_none_or(|ours| ours.contains(number(0))),
        Table::FastRouting if text(0).is_empty() => hostgroup(3),
        Table::FastRouting => user(0) || (hostgroup(3) && text(4).starts_with("shard_maps.")),
        Table::FirewallUsers | Table::FirewallRules => user(1),
    }
}

fn ownership() -> impl Strategy<Value = Ownership> {
    let users = proptest::option::of(proptest::sample::subsequence(
        vec!["app", "app*", "b?tch", "open", "geo", "we[i]rd", "*[*"],
        0..4,
    ));
    let rules = proptest::option::of(proptest::sample::subsequence(
        vec![7..=99, 100..=101, 100_000..=199_999],
        0..3,
    ));
    let hostgroups = proptest::option::of(proptest::sample::subsequence(
        vec![5..=5, 1000..=1001, 2000..=2100],
        0..3,
    ));
    (users, rules, hostgroups, any::<(bool, bool)>()).prop_map(
        |(users, rules, hostgroups, (report, had_firewall))| Ownership {
            users: users.map(|users| users.into_iter().map(str::to_owned).collect()),
            rules: rules.map(|ranges| numbers(&ranges)),
            hostgroups: hostgroups.map(|ranges| numbers(&ranges)),
            report,
            had_firewall,
            ..Ownership::default()
        },
    )
}

/// `everything` without some of it.
fn configuration() -> impl Strategy<Value = Configuration> {
    any::<(bool, bool, bool, bool, bool)>().prop_map(|(users, rules, routes, clusters, raw)| {
        let mut configuration = everything();
        if users {
            configuration.users.remove(0);
        }
        if rules {
            configuration.graph.rules.pop();
        }
        if raw {
            configuration.graph.rules.remove(0);
        }
        if routes {
            configuration.graph.fast_routing.clear();
        }
        if clusters {
            configuration.clusters.clear();
            configuration.hostgroups.clear();
        }
        configuration
    })
}

/// The rows of the configuration as a fresh database stores them, table by table, without those that are left to others.
fn written(configuration: &Configuration, ownership: &Ownership) -> Vec<Rows> {
    let fresh = tables::load(&[&emit::sql(configuration).unwrap()]);
    let of_table = |table| {
        let mut rows = stored(&fresh, table);
        // Rows of fast routing are always written.
        rows.retain(|row| table == Table::FastRouting || is_ours(table, row, ownership));
        rows
    };
    Table::ALL.map(of_table).to_vec()
}

proptest! {
    #[test]
    fn rows_of_others_stay_and_ours_are_exactly_ours(
        before in before(), configuration in configuration(), ownership in ownership(),
    ) {
        let database = tables::database();
        before.write(&database);
        let at_first: Vec<Rows> = Table::ALL.map(|table| stored(&database, table)).to_vec();
        let script = emit::sql_within(&configuration, &ownership).unwrap();
        let written = written(&configuration, &ownership);
        for time in ["once", "twice"] {
            tables::run(&database, &script);
            for ((table, at_first), written) in Table::ALL.into_iter().zip(&at_first).zip(&written) {
                let key = |row: &[Value]| row[..3].to_vec();
                let touched = !table.is_of_firewall() || ownership.had_firewall;
                let mut expected: Rows = at_first
                    .iter()
                    .filter(|row| !touched || !is_ours(table, row, &ownership))
                    .filter(|row| table != Table::FastRouting || written.iter().all(|own| key(own) != key(row)))
                    .cloned()
                    .collect();
                expected.extend(written.iter().cloned());
                let mut found = stored(&database, table);
                let order = |row: &Vec<Value>| format!("{row:?}");
                expected.sort_by_key(order);
                found.sort_by_key(order);
                prop_assert_eq!(found, expected, "{} {}", table.name(), time);
            }
        }
    }

    #[test]
    fn a_file_holds_what_a_script_writes(configuration in configuration(), ownership in ownership()) {
        let mut configuration = configuration;
        configuration.graph.fast_routing.clear();
        configuration.graph.rules.retain(|rule| rule.id != 100);
        let (script, file) = (
            emit::sql_within(&configuration, &ownership).unwrap(),
            emit::cnf_within(&configuration, &ownership).unwrap(),
        );
        let rows: Vec<Row> = emit::rows(&configuration).unwrap();
        for row in rows {
            let comment = format!("'{}'", row.address);
            let quoted = format!("\"{}\"", row.address);
            if row.table != Table::QueryRules {
                prop_assert_eq!(script.contains(&comment), file.contains(&quoted), "{}", row.address);
            }
        }
    }
}
