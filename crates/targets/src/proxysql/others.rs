//! Rows of others that a plan leaves alone, where the project asked to be told (`unmanaged: report`).

use std::collections::BTreeSet;

use shardwright_plan::{Hazard, Severity};
use shardwright_rules::tables::{FAST_ROUTING, GLOBAL_VARIABLES, QUERY_RULES, SERVERS, USERS};

use super::change::Change;
use super::hazards::{codes, hazard};
use super::live::Live;
use super::row::{Row, RowName};
use super::run::named;
use super::wanted::Wanted;

/// What is said of the rows of others that are there after changes; `None`: there are none.
pub(super) fn of_others(live: &Live, wanted: &Wanted, changes: &[Change]) -> Option<Hazard> {
    let others: Vec<(&RowName, &Row)> = live
        .after(changes)
        .into_iter()
        .filter(|(name, (_, is_ours))| {
            !is_ours && !wanted.rows.contains_key(*name) && !name.is_in(&GLOBAL_VARIABLES)
        })
        .map(|(name, (row, _))| (name, row))
        .collect();
    if others.is_empty() {
        return None;
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for (name, _) in &others {
        let table = name.table.as_str();
        match counts.iter_mut().find(|(known, _)| *known == table) {
            Some((_, count)) => *count += 1,
            None => counts.push((table, 1)),
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(table, count)| format!("{count} of {table}"))
        .collect();
    let mut message = format!("rows of others stay: {}", counts.join(", "));
    let matter = that_matter(&others, wanted);
    if !matter.is_empty() {
        message.push_str(&format!("; among them {}", named(&matter)));
    }
    Some(hazard(codes::ROWS_OF_OTHERS, Severity::Info, None, message))
}

/// Those that statements of ours may meet: rules that are evaluated before the last one of ours, users and fast routing
/// that lead to our hostgroups.
fn that_matter(others: &[(&RowName, &Row)], wanted: &Wanted) -> Vec<String> {
    let ours = |table| wanted.rows.keys().filter(move |name| name.is_in(table));
    let last = ours(&QUERY_RULES).filter_map(|name| name.number(0)).max();
    let hostgroups: BTreeSet<i64> = ours(&SERVERS).filter_map(|name| name.number(0)).collect();
    let leads = |row: &Row, column: &str| row.number(column).is_some_and(|id| hostgroups.contains(&id));
    let is_active = |row: &Row| row.number("active") != Some(0);
    let mut said = Vec::new();
    for (name, row) in others.iter().filter(|(_, row)| is_active(row)) {
        if name.is_in(&QUERY_RULES) && name.number(0) < last && row.number("flagIN").unwrap_or(0) == 0 {
            said.push(format!("{name} before rules of this project"));
        } else if name.is_in(&USERS) && leads(row, "default_hostgroup") {
            said.push(format!("{name} in a hostgroup of this project"));
        } else if name.is_in(&FAST_ROUTING) && leads(row, "destination_hostgroup") {
            said.push(format!("{name} to a hostgroup of this project"));
        }
    }
    said
}
