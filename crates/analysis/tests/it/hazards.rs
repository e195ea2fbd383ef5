//! The table of hazards: complete, and nothing in it that does not exist.

use std::fs;
use std::path::{Path, PathBuf};

use shardwright_rules::MemberStatus;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Number and the last column of every row that begins with `letter`.
fn rows(letter: char) -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("docs/rules/hazards.md")).expect("the page of hazards");
    let cells = page
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .filter(|cells| cells.len() == 5 && cells[1].starts_with(letter) && cells[1].len() <= 3)
        .map(|cells| (cells[1].to_owned(), cells[3].to_owned()))
        .collect()
}

#[test]
fn every_hazard_and_every_trap_is_in_the_table() {
    for (letter, count, width) in [('L', 82, 2), ('E', 18, 1)] {
        let numbers: Vec<String> = rows(letter).into_iter().map(|(number, _)| number).collect();
        let expected: Vec<String> = (1..=count).map(|n| format!("{letter}{n:0width$}")).collect();
        assert_eq!(numbers, expected);
    }
}

#[test]
fn what_the_table_names_exists() {
    let mut missing = Vec::new();
    for (number, named) in rows('L').into_iter().chain(rows('E')) {
        for one in named.split(", ") {
            let exists = match one.trim_matches('`').split_once("::") {
                Some((file, test)) => fs::read_to_string(root().join(file))
                    .is_ok_and(|text| text.contains(&format!("fn {test}("))),
                None => root().join(format!("docs/rules/{one}.md")).exists(),
            };
            if !exists {
                missing.push(format!("{number}: {one}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// L58, L59: the engine's own settings of hostgroups override global ones as soon as there is a row.
#[test]
fn no_row_of_hostgroup_attributes_is_written() {
    // Every row that is written is one of these tables'; others are only read.
    let tables = shardwright_rules::tables::TABLES;
    assert!(tables.len() > 5);
    assert!(
        tables
            .iter()
            .all(|table| table.name != "mysql_hostgroup_attributes")
    );
}

/// L60: what operators set is never the state that only the engine gives.
#[test]
fn no_server_is_shunned_by_a_configuration() {
    let read = |text: &str| serde_json::from_str::<MemberStatus>(text);
    assert!(read("\"online\"").is_ok());
    assert!(read("\"shunned\"").is_err());
}
