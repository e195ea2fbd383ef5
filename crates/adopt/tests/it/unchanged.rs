//! A project that was made of a ProxySQL, with every rule as it is, changes nothing there: on each state of its tables that
//! a ProxySQL 2.7.1 has loaded.
//!
//! `states.jsonl` has one state a line: the numbers of the recordings that end in it, and its rows, as SQLite quotes values,
//! without columns that have their default. `SHARDWRIGHT_ENGINE_ANSWERS` names a file of the same form to run instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use shardwright_adopt::{Options, adopt};
use shardwright_diagnostics::Sources;
use shardwright_import::{Language, read};
use shardwright_rules::EngineId;
use shardwright_secrets::Secret;
use shardwright_targets::emit::{Ownership, Table};
use shardwright_targets::proxysql::{AdminSession, Live};
use shardwright_targets::{AdminAddress, ProxySqlTarget, Timeouts, live_tables};
use shardwright_testkit::AdminPort;

const STATES: &str = include_str!("states.jsonl");
const LOADS: [&str; 4] = [
    "LOAD MYSQL SERVERS TO RUNTIME",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL QUERY RULES TO RUNTIME",
    "LOAD MYSQL FIREWALL TO RUNTIME",
];
/// Servers for states that have none, so that users and rules lead somewhere.
const SERVERS: &str = "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (0, 'h0'), (1, 'h1'), (2, 'h2'), (5, 'h5')";

struct State {
    ids: Vec<u64>,
    statements: Vec<String>,
}

/// The states, each as it is, and with servers where it has none.
fn states(text: &str) -> Vec<State> {
    let mut states = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let ids: Vec<u64> = serde_json::from_value(line["ids"].clone()).unwrap();
        let rows: BTreeMap<String, Vec<BTreeMap<String, String>>> =
            serde_json::from_value(line["rows"].clone()).unwrap();
        let statements: Vec<String> = rows
            .iter()
            .flat_map(|(table, rows)| rows.iter().map(move |row| insertion(table, row)))
            .collect();
        if !rows.contains_key("mysql_servers") {
            let with_servers = statements.iter().cloned().chain([SERVERS.to_owned()]);
            states.push(State {
                ids: ids.clone(),
                statements: with_servers.collect(),
            });
        }
        states.push(State { ids, statements });
    }
    states
}

fn insertion(table: &str, row: &BTreeMap<String, String>) -> String {
    if row.is_empty() {
        return format!("INSERT INTO {table} DEFAULT VALUES");
    }
    let columns: Vec<&str> = row.keys().map(String::as_str).collect();
    let values: Vec<&str> = row.values().map(String::as_str).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), values.join(", "))
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
    let mut target =
        ProxySqlTarget::new("px", engine, address.clone(), "admin", password.clone(), base.to_owned());
    target.manage(Some("shop".to_owned()), Ownership::default());
    let mut session = AdminSession::open(&address, "admin", &password, Timeouts::default()).unwrap();
    let live = Live::read(&mut session, &Ownership::default()).unwrap();
    let differing = target
        .differing(&live, adopted.built.configuration())
        .map_err(|error| error.to_string())?;
    Ok(differing.iter().map(ToString::to_string).collect())
}

#[test]
fn the_first_plan_after_an_exact_import_is_empty() {
    let given = std::env::var("SHARDWRIGHT_ENGINE_ANSWERS").ok();
    let text = given.map(|path| std::fs::read_to_string(path).unwrap());
    let states = states(text.as_deref().unwrap_or(STATES));
    assert!(states.len() > 1000, "{}", states.len());
    let base = tempfile::tempdir().unwrap();
    let port = AdminPort::start();
    let mut failures = String::new();
    for state in &states {
        for table in Table::ALL {
            port.run([format!("DELETE FROM {}", table.name())]).unwrap();
        }
        let load = LOADS.iter().map(|load| (*load).to_owned());
        if let Err(error) = port.run(state.statements.iter().cloned().chain(load)) {
            writeln!(failures, "{:?} {}\n    refused {error:?}", state.ids, state.statements.join("; ")).unwrap();
            continue;
        }
        let told = match first_plan(&port, base.path()) {
            Ok(changes) if changes.is_empty() => continue,
            Ok(changes) => changes.join("; "),
            Err(error) => error,
        };
        writeln!(failures, "{:?} {}\n    {told}", state.ids, state.statements.join("; ")).unwrap();
    }
    if let Ok(path) = std::env::var("UNCHANGED_OUT") { std::fs::write(path, &failures).unwrap(); }
    assert!(failures.is_empty(), "{failures}");
}
