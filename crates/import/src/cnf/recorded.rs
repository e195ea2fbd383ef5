//! Files as a ProxySQL 2.7.1 has read them when it started.

use rusqlite::types::Value as Cell;
use serde_json::Value;
use shardwright_diagnostics::{Problems, Sources};
use shardwright_testkit::recorded;

use super::{run, sections};
use crate::codes::SYNTAX;
use crate::store::{Row, Store, Tables};

/// Differences that a failure shows.
const MOST_SHOWN: usize = 20;

/// A value as SQLite's `quote()` prints it.
fn quoted(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Cell::Blob(bytes) => format!("{bytes:?}"),
    }
}

fn columns(row: &Row) -> Vec<String> {
    row.cells.iter().map(quoted).collect()
}

/// The engine's rows of a table, in the order of our columns.
fn engine_rows(record: &Value, table: &'static shardwright_rules::tables::Table) -> Vec<Vec<String>> {
    let rows = record["memory"].get(table.name).and_then(Value::as_array);
    let rows = rows.into_iter().flatten().map(|row| {
        let cell = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        table.columns.iter().map(|column| cell(column.name)).collect()
    });
    rows.collect()
}

/// How one file is read otherwise than by the engine.
fn difference(record: &Value) -> Option<String> {
    let text = record["cnf"].as_str().unwrap();
    let mut sources = Sources::new();
    let file = sources.add("proxysql.cnf", text);
    let mut store = Store::open().unwrap();
    let mut problems = Problems::new();
    run(text, file, &mut store, &mut problems);
    let sorted = problems.sorted();
    let fatal = sorted
        .iter()
        .find(|problem| problem.code == SYNTAX || problem.message.contains("does not start"));
    let starts = record["starts"].as_bool().unwrap();
    match fatal {
        Some(problem) if starts => return Some(format!("the engine starts; here: {}", problem.message)),
        None if !starts => return Some(format!("the engine does not start: {}", record["says"])),
        Some(_) => return None,
        None => {}
    }
    for (table, _) in sections() {
        let mut engine = engine_rows(record, table);
        let mut ours: Vec<Vec<String>> = store.rows(table.name).unwrap().iter().map(columns).collect();
        engine.sort();
        ours.sort();
        if engine != ours {
            return Some(format!(
                "{}\n    engine {engine:?}\n    ours   {ours:?}",
                table.name
            ));
        }
    }
    None
}

#[test]
fn files_are_read_as_the_engine_reads_them() {
    let mut compared = 0;
    let mut differences = Vec::new();
    for record in recorded("cnf") {
        let is_include = record["cnf"].as_str().unwrap().contains("@include");
        if is_include {
            // Other files are not read, by design; the message says so.
            continue;
        }
        compared += 1;
        if let Some(what) = difference(&record) {
            differences.push(format!("{}: {what}", record["what"]));
        }
    }
    println!("{compared} files compared, {} different", differences.len());
    let shown: Vec<&str> = differences.iter().take(MOST_SHOWN).map(String::as_str).collect();
    assert!(
        shown.is_empty(),
        "{} differ\n{}",
        differences.len(),
        shown.join("\n")
    );
}
