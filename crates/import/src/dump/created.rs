//! The tables that a dump describes itself: their columns name the values of an INSERT that names none.

use std::collections::BTreeMap;

use shardwright_rules::tables::Table;
use shardwright_sql::TokenKind;

use super::split::Statement;

/// Words that begin a part of a table which is no column.
const CONSTRAINTS: [&str; 5] = ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"];

/// The names of the columns of `CREATE TABLE … (…)`, whose name is the token at `name_at`.
pub(super) fn columns(statement: &Statement, text: &str, name_at: usize) -> Option<Vec<String>> {
    if statement.tokens.get(name_at + 1)?.kind != TokenKind::LeftParen {
        return None;
    }
    let mut columns = Vec::new();
    let (mut depth, mut is_first) = (0_usize, true);
    for at in name_at + 1..statement.tokens.len() {
        match statement.tokens[at].kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Comma if depth == 1 => is_first = true,
            _ if is_first && depth == 1 => {
                is_first = false;
                let is_constraint = CONSTRAINTS.iter().any(|word| statement.is(at, text, word));
                if !is_constraint {
                    columns.push(statement.bare(at, text)?.into_owned());
                }
            }
            _ => {}
        }
        if depth == 0 {
            return Some(columns);
        }
    }
    None
}

/// Tables as the dump describes them, where that is not as ProxySQL 2.7 has them.
#[derive(Default)]
pub(super) struct Created(BTreeMap<&'static str, Vec<String>>);

impl Created {
    pub(super) fn insert(&mut self, table: &'static str, columns: Vec<String>) {
        self.0.insert(table, columns);
    }

    pub(super) fn columns(&self, table: &str) -> Option<&[String]> {
        self.0.get(table).map(Vec::as_slice)
    }
}

/// Which version of ProxySQL has a table with these columns, as far as they tell.
pub(super) fn version(table: &Table, columns: &[String]) -> &'static str {
    let has = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    let is_unknown = |column: &String| table.column(column).is_none();
    // Columns that came with 2.0.
    let later = [
        ("mysql_servers", "gtid_port"),
        ("mysql_replication_hostgroups", "check_type"),
        ("mysql_query_rules", "gtid_from_hostgroup"),
        ("mysql_users", "comment"),
    ];
    if columns.iter().any(is_unknown) {
        "of another version than 2.7"
    } else if later.iter().any(|(of, column)| *of == table.name && !has(column)) {
        "1.4 or an earlier version"
    } else {
        "before 2.7"
    }
}
