//! The difference between what is live and what is wanted, row by row.

use std::collections::BTreeSet;

use shardwright_plan::ObjectKind;
use shardwright_rules::Address;
use shardwright_rules::tables::QUERY_RULES;

use super::change::{Aside, Change};
use super::live::Live;
use super::row::{Row, RowName};
use super::wanted::Wanted;

/// What has to change, in the order of tables and keys.
pub(super) fn changes(live: &Live, wanted: &Wanted) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (name, wish) in &wanted.rows {
        let old = match wish.is_at_start {
            true => live.on_disk(name),
            false => live.row(name),
        };
        let is_kept = old.is_some_and(|old| old == &wish.row || is_another_remark(old, &wish.row));
        if !is_kept {
            changes.push(Change {
                name: name.clone(),
                address: wish.address.clone(),
                old: old.cloned(),
                new: Some(wish.row.clone()),
                reference: wish.reference.clone(),
                is_at_start: wish.is_at_start,
                aside: Aside::Nothing,
            });
        }
    }
    for (name, found) in live.rows() {
        if found.is_ours && !is_parked(name, &found.row) && !wanted.rows.contains_key(name) {
            changes.push(Change {
                name: name.clone(),
                address: address_of(name, &found.row),
                old: Some(found.row.clone()),
                new: None,
                reference: None,
                is_at_start: false,
                aside: Aside::Nothing,
            });
        }
    }
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    changes
}

/// Whether somebody has parked a rule: one that is not active is never loaded.
fn is_parked(name: &RowName, row: &Row) -> bool {
    name.is_in(&QUERY_RULES) && row.number("active") == Some(0) && named_by(row).is_none()
}

/// Whether two rows differ in their comment alone, and the live one has a comment that people wrote, or none. It stays until the
/// row changes: a project that was read from a proxy changes nothing there by saying the same.
fn is_another_remark(old: &Row, new: &Row) -> bool {
    let without_comment = |row: &Row| {
        let mut row = row.clone();
        row.facts.shift_remove("comment");
        row
    };
    named_by(old).is_none() && without_comment(old) == without_comment(new)
}

/// The object that a row names in its comment, as the rows that we write do.
fn named_by(row: &Row) -> Option<Address> {
    let comment = row.text("comment");
    let path = comment.split_once(": ").map_or(comment, |(path, _)| path);
    let address = Address::from(path);
    let is_path = path.contains('.') && !path.contains(char::is_whitespace);
    (is_path && ObjectKind::of(&address) != ObjectKind::Other).then_some(address)
}

/// The object that a live row names in its comment; else the row itself.
pub(super) fn address_of(name: &RowName, row: &Row) -> Address {
    if let Some(address) = named_by(row) {
        return address;
    }
    let key: Vec<String> = name.key.iter().map(ToString::to_string).collect();
    Address::from(format!("{}.{}", name.table, key.join("/")))
}

/// The object that a live row is of: the one in its comment, or the one that wants it; else the row itself.
pub(super) fn object_of(name: &RowName, row: &Row, wanted: &Wanted) -> Address {
    match (named_by(row), wanted.rows.get(name)) {
        (None, Some(wish)) => wish.address.clone(),
        _ => address_of(name, row),
    }
}

/// The objects that exist before, and those that exist after.
pub(super) fn objects(live: &Live, wanted: &Wanted) -> (BTreeSet<Address>, BTreeSet<Address>) {
    let before = live.rows().filter(|(_, found)| found.is_ours);
    let variables = wanted.rows.iter().filter(|(name, _)| live.row(name).is_some());
    (
        before
            .map(|(name, found)| object_of(name, &found.row, wanted))
            .chain(variables.map(|(_, wish)| wish.address.clone()))
            .collect(),
        wanted.rows.values().map(|wish| wish.address.clone()).collect(),
    )
}
