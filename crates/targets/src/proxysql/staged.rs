//! Rows that somebody has put in memory and nobody has loaded, and what a plan does with them.
//!
//! A LOAD publishes a module whole, so such rows cannot just be left alone. A plan refuses them, publishes them, or sets
//! memory back to what is live. In the latter two cases the changes start from what is live, and remember what memory held:
//! an apply that fails puts that back, not loaded, as its last step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shardwright_plan::{Hazard, Severity, Staged};
use shardwright_rules::tables::{GLOBAL_VARIABLES, USERS};

use super::change::{Aside, Change, Shelved};
use super::changes::address_of;
use super::hazards::{codes, hazard, staged};
use super::live::Live;
use super::module::Module;
use super::row::{Row, RowName, TableName};
use super::run::named;
use super::session::{AdminSession, Layer, SessionError};
use super::unloaded::{NotLive, not_live};
use super::wanted::{Wanted, address_of_variable};
use crate::emit::{Ownership, Table};

/// A row that is another in memory than live, both in the form that memory has.
struct StagedRow {
    name: RowName,
    memory: Option<Row>,
    live: Option<Row>,
    is_ours: bool,
}

/// Turns changes, which start from memory, into changes that start from what is live, and adds those of rows that others
/// have staged. Gives what a reader of the plan should know.
pub(super) fn take_in(
    session: &mut AdminSession,
    ownership: &Ownership,
    live: &Live,
    wanted: &Wanted,
    changes: &mut Vec<Change>,
    mode: Staged,
) -> Result<Vec<Hazard>, SessionError> {
    let mut hazards = Vec::new();
    for module in Module::ALL {
        let found = not_live(session, module)?;
        if found.is_empty() {
            continue;
        }
        let texts: Vec<String> = found.iter().map(NotLive::to_string).collect();
        if found.iter().any(|one| one.name.is_none()) {
            // Of tables that no configuration owns, no row could be put back.
            hazards.push(staged(module.words(), &texts));
            continue;
        }
        for row in rows(session, ownership, live, &found)? {
            take_in_row(row, wanted, changes, mode);
        }
        hazards.push(told(module, &texts, mode));
    }
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(hazards)
}

fn take_in_row(row: StagedRow, wanted: &Wanted, changes: &mut Vec<Change>, mode: Staged) {
    let shelved = Aside::Before(Shelved {
        row: row.memory.clone(),
        is_ours: row.is_ours,
    });
    if let Some(change) = changes.iter_mut().find(|change| change.name == row.name) {
        change.old = row.live;
        change.aside = shelved;
        return;
    }
    let wish = wanted.rows.get(&row.name);
    // Somebody has staged what the files want, or the files do not speak of it.
    let is_published = wish.is_some() || row.is_ours || mode == Staged::Adopt;
    let any = row.memory.as_ref().or(row.live.as_ref());
    let address = match (wish, row.name.variable_name()) {
        (Some(wish), _) => wish.address.clone(),
        (None, Some(variable)) => address_of_variable(variable),
        (None, None) => address_of(&row.name, any.unwrap_or(&Row::default())),
    };
    changes.push(Change {
        address,
        new: if is_published {
            row.memory
        } else {
            row.live.clone()
        },
        old: row.live,
        name: row.name,
        reference: None,
        is_at_start: false,
        aside: shelved,
    });
}

fn told(module: Module, rows: &[String], mode: Staged) -> Hazard {
    let message = match mode {
        Staged::Adopt => format!(
            "LOAD {} publishes what somebody else has staged, as --staged adopt says: {}",
            module.words(),
            named(rows)
        ),
        Staged::Discard => format!(
            "what somebody else has staged in {} is set back to what is live, as --staged discard says: {}",
            module.words(),
            named(rows)
        ),
    };
    hazard(codes::STAGED, Severity::Warning, None, message)
}

/// The rows that are another in memory than live.
fn rows(
    session: &mut AdminSession,
    ownership: &Ownership,
    live: &Live,
    found: &[NotLive],
) -> Result<Vec<StagedRow>, SessionError> {
    let mut by_table: BTreeMap<TableName, BTreeSet<&RowName>> = BTreeMap::new();
    for name in found.iter().filter_map(|one| one.name.as_ref()) {
        by_table.entry(name.table).or_default().insert(name);
    }
    let mut staged = Vec::new();
    for (table, names) in by_table {
        let owned = Table::ALL
            .into_iter()
            .find(|known| TableName::of(known.definition()) == table);
        let condition = match owned {
            Some(owned) => ownership.condition(owned),
            None => Some("0".to_owned()),
        };
        let mut runtime = BTreeMap::new();
        let mut ours = BTreeSet::new();
        for (name, found) in session.rows(table, Layer::Runtime, condition.as_deref())? {
            if found.is_ours {
                ours.insert(name.clone());
            }
            runtime.insert(name, in_memory(found.row));
        }
        let (names, runtime) = match *table.definition() == USERS {
            true => users(live, &names, runtime),
            false => (names.into_iter().cloned().collect(), runtime),
        };
        for name in names {
            let memory = live.rows().find(|(known, _)| **known == name);
            let is_ours = memory.map_or_else(|| ours.contains(&name), |(_, found)| found.is_ours);
            let row = StagedRow {
                memory: memory.map(|(_, found)| found.row.clone()),
                live: runtime.get(&name).cloned(),
                is_ours: is_ours && !name.is_in(&GLOBAL_VARIABLES),
                name,
            };
            if row.memory != row.live {
                staged.push(row);
            }
        }
    }
    Ok(staged)
}

/// A live row as memory has it: that a server does not answer is no part of its row.
fn in_memory(mut row: Row) -> Row {
    if row.text("status") == "SHUNNED" {
        row.facts.insert("status".to_owned(), json!("ONLINE"));
    }
    row
}

/// The rows of users as memory has them: what is live has two for each, one for logging in and one for servers.
fn users(
    live: &Live,
    names: &BTreeSet<&RowName>,
    runtime: BTreeMap<RowName, Row>,
) -> (BTreeSet<RowName>, BTreeMap<RowName, Row>) {
    let users: BTreeSet<&str> = names.iter().filter_map(|name| name.text(0)).collect();
    let table = TableName::of(&USERS);
    let mut joined: BTreeMap<RowName, Row> = BTreeMap::new();
    for user in &users {
        let of_user: Vec<&Row> = runtime
            .iter()
            .filter(|(name, _)| name.text(0) == Some(user))
            .map(|(_, row)| row)
            .collect();
        let both = |row: &Row| {
            let mut row = row.clone();
            row.facts.insert("frontend".to_owned(), json!(1));
            row.facts.insert("backend".to_owned(), json!(1));
            if row.facts.get("default_schema") == Some(&Value::from("")) {
                row.facts.shift_remove("default_schema");
            }
            row
        };
        let rows: Vec<Row> = match of_user.as_slice() {
            [one, other] if both(one) == both(other) => vec![both(one)],
            rows => rows.iter().map(|row| (*row).clone()).collect(),
        };
        joined.extend(rows.into_iter().map(|row| (RowName::of(table, &row.facts), row)));
    }
    let in_memory = live
        .of_table(table)
        .filter(|(name, _)| name.text(0).is_some_and(|user| users.contains(user)))
        .map(|(name, _)| name.clone());
    let names = in_memory.chain(joined.keys().cloned()).collect();
    (names, joined)
}

/// Whether changes take in something that is not live.
pub(super) fn is_taken_in(one: &NotLive, changes: &[Change]) -> bool {
    let Some(name) = &one.name else { return false };
    let is_user = name.is_in(&USERS);
    changes
        .iter()
        .filter(|change| matches!(change.aside, Aside::Before(_)))
        .any(|change| match is_user {
            true => change.name.is_in(&USERS) && change.name.text(0) == name.text(0),
            false => change.name == *name,
        })
}
