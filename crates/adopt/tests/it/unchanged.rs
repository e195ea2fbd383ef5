//! A project that was made of a ProxySQL, with every rule as it is, changes nothing there: on each state of its tables that
//! a ProxySQL 2.7.1 has loaded.
//!
//! `states.jsonl` has one state a line: the numbers of the recordings that end in it, and its rows, as SQLite quotes values,
//! without columns that have their default. A part of them is tried, and with `SHARDWRIGHT_ALL_STATES=1` all of them. Where the
//! environment names a ProxySQL (`PROXYSQL_BIN`), they are tried there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use shardwright_adopt::{Options, PARKED, adopt};
use shardwright_diagnostics::Sources;
use shardwright_import::{Language, read};
use shardwright_rules::EngineId;
use shardwright_rules::tables::{self, Column};
use shardwright_secrets::Secret;
use shardwright_targets::emit::{Ownership, Table};
use shardwright_targets::proxysql::{AdminSession, Live};
use shardwright_targets::{AdminAddress, ProxySqlTarget, Timeouts, live_tables};
use shardwright_testkit::AdminPort;

const STATES: &str = include_str!("states.jsonl");
/// One in so many is tried where not all are.
const PART: usize = 7;
const ALL: &str = "SHARDWRIGHT_ALL_STATES";
const LOADS: [&str; 4] = [
    "LOAD MYSQL SERVERS TO RUNTIME",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL QUERY RULES TO RUNTIME",
    "LOAD MYSQL FIREWALL TO RUNTIME",
];
/// Servers for states that have none, so that users and rules lead somewhere.
const SERVERS: &str =
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (0, 'h0'), (1, 'h1'), (2, 'h2'), (5, 'h5')";
/// Why `init` makes no project, and so changes nothing: what it says, and what is behind it.
const REFUSALS: [(&str, &str); 7] = [
    ("past 2147483647", "the engine reads another number"),
    (
        "which only a writer hostgroup may be",
        "a project has no such hostgroup",
    ),
    ("is 2147483648, the most is", "the engine reads another number"),
    (
        "is also the number of another hostgroup",
        "the engine drops one of two rows that join a hostgroup",
    ),
    (
        "two servers of the cluster are at",
        "the names differ in their case only",
    ),
    (
        "would never take out a replica",
        "the monitor cannot measure such a lag",
    ),
    (
        "CHECK constraint failed",
        "the tables of the stand-in take no text there",
    ),
];

type Rows = BTreeMap<String, Vec<BTreeMap<String, String>>>;

struct State {
    ids: Vec<u64>,
    rows: Rows,
    statements: Vec<String>,
}

/// The states, each as it is, and with servers where it has none.
fn states() -> Vec<State> {
    let mut states = Vec::new();
    for line in STATES.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let ids: Vec<u64> = serde_json::from_value(line["ids"].clone()).unwrap();
        let rows: Rows = serde_json::from_value(line["rows"].clone()).unwrap();
        let statements: Vec<String> = rows
            .iter()
            .flat_map(|(table, rows)| rows.iter().map(move |row| insertion(table, row)))
            .collect();
        if !rows.contains_key("mysql_servers") {
            let with_servers = statements.iter().cloned().chain([SERVERS.to_owned()]);
            states.push(State {
                ids: ids.clone(),
                rows: rows.clone(),
                statements: with_servers.collect(),
            });
        }
        states.push(State {
            ids,
            rows,
            statements,
        });
    }
    states
}

impl State {
    /// Whether a user has the name of the admin port's account: an engine that has loaded it lets nobody in there.
    fn has_an_administrator(&self) -> bool {
        let users = self.rows.get("mysql_users").into_iter().flatten();
        users
            .filter_map(|user| user.get("username"))
            .any(|name| name == "'admin'")
    }

    /// Whether a rule is evaluated that no project can hold, as its number is below 1: the first plan removes it, and `init` says so.
    fn has_a_rule_before_the_first(&self) -> bool {
        let rules = self.rows.get("mysql_query_rules").into_iter().flatten();
        rules
            .filter_map(|rule| rule.get("rule_id")?.parse::<i64>().ok())
            .any(|id| id < 1)
    }

    /// Whether a number has more than 32 bits, or a key or a hostgroup is no whole number. A project writes what is read.
    fn has_an_odd_number(&self) -> bool {
        self.rows.iter().any(|(name, rows)| {
            let table = tables::table(name).unwrap();
            let cells = rows.iter().flatten();
            cells.into_iter().any(|(column, value)| {
                let is_number = table.column(column).is_some_and(Column::is_number);
                let places = table.primary_key.contains(&column.as_str()) || column.ends_with("_hostgroup");
                let is_large = value
                    .parse::<f64>()
                    .is_ok_and(|number| number.abs() > f64::from(i32::MAX));
                is_number && (is_large || (places && value != "NULL" && value.parse::<i64>().is_err()))
            })
        })
    }
}

fn insertion(table: &str, row: &BTreeMap<String, String>) -> String {
    if row.is_empty() {
        return format!("INSERT INTO {table} DEFAULT VALUES");
    }
    let columns: Vec<&str> = row.keys().map(String::as_str).collect();
    let values: Vec<&str> = row.values().map(String::as_str).collect();
    format!(
        "INSERT INTO {table} ({}) VALUES ({})",
        columns.join(", "),
        values.join(", ")
    )
}

/// What the first plan after `init --only-exact` changes; an error where nothing can be read or written.
fn first_plan(port: &AdminPort, base: &Path) -> Result<Vec<String>, String> {
    let address = AdminAddress::parse(&port.admin_address().to_string()).unwrap();
    let password = Secret::new("admin".to_owned());
    let tables = live_tables(&address, "admin", &password, Timeouts::default()).unwrap();
    let statements = tables.statements.expose().as_bytes();
    let engine = EngineId::Proxysql27;
    let file = read(&mut Sources::new(), "live", statements, Language::Sql, engine);
    if let Some(error) = file.first_error() {
        return Err(format!("not read: {error}"));
    }
    let options = Options {
        only_exact: true,
        ..Options::default()
    };
    let adopted = adopt(&file, &options).map_err(|error| error.to_string())?;
    for (path, secret) in &adopted.secrets {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, secret.expose()).unwrap();
    }
    let mut target = ProxySqlTarget::new(
        "px",
        engine,
        address.clone(),
        "admin",
        password.clone(),
        base.to_owned(),
    );
    target.manage(Some("shop".to_owned()), Ownership::default());
    let mut session = AdminSession::open(&address, "admin", &password, Timeouts::default()).unwrap();
    let live = Live::read(&mut session, &Ownership::default()).unwrap();
    let differing = target
        .differing(&live, adopted.built.configuration())
        .map_err(|error| error.to_string())?;
    // A rule that the compiler refuses, because its pattern is none, is written as one that is not active, and `init` says so.
    let refused = adopted.inactive.iter().filter(|(_, why)| why != PARKED);
    let refused: Vec<String> = refused
        .map(|(id, _)| format!("mysql_query_rules ({id})"))
        .collect();
    let differing = differing.iter().map(ToString::to_string);
    Ok(differing.filter(|row| !refused.contains(row)).collect())
}

#[test]
fn the_first_plan_after_an_exact_import_is_empty() {
    let all = std::env::var_os(ALL).is_some();
    let states: Vec<State> = states()
        .into_iter()
        .enumerate()
        .filter(|(at, _)| all || at.is_multiple_of(PART))
        .map(|(_, state)| state)
        .filter(|state| !state.has_an_administrator())
        .collect();
    assert!(states.len() > 300, "{}", states.len());
    let base = tempfile::tempdir().unwrap();
    let port = AdminPort::start();
    let mut failures = String::new();
    let (mut tried, mut excused) = (0, 0);
    for state in &states {
        for table in Table::ALL {
            port.run([format!("DELETE FROM {}", table.name())]).unwrap();
        }
        tried += 1;
        let load = LOADS.iter().map(|load| (*load).to_owned());
        let loaded = port.run(state.statements.iter().cloned().chain(load));
        let told = match loaded
            .map_err(|error| format!("{error:?}"))
            .and_then(|_| first_plan(&port, base.path()))
        {
            Ok(changes) if changes.is_empty() => continue,
            Ok(changes) => changes.join("; "),
            Err(error) => error,
        };
        if state.has_an_odd_number()
            || state.has_a_rule_before_the_first()
            || REFUSALS.iter().any(|(says, _)| told.contains(says))
        {
            excused += 1;
            continue;
        }
        writeln!(
            failures,
            "{:?} {}\n    {told}",
            state.ids,
            state.statements.join("; ")
        )
        .unwrap();
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(
        excused * 5 < tried,
        "{excused} of {tried} have a reason not to be empty"
    );
}
