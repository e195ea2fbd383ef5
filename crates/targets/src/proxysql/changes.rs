//! The difference between what is live and what is wanted, row by row.

use std::collections::BTreeSet;

use shardwright_plan::ObjectKind;
use shardwright_rules::Address;

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
        if old != Some(&wish.row) {
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
        if found.is_ours && !wanted.rows.contains_key(name) {
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

/// The object that a live row names in its comment, as the rows that we write do; else the row itself.
pub(super) fn address_of(name: &RowName, row: &Row) -> Address {
    let comment = row.text("comment");
    let path = comment.split_once(": ").map_or(comment, |(path, _)| path);
    let address = Address::from(path);
    let is_path = path.contains('.') && !path.contains(char::is_whitespace);
    if is_path && ObjectKind::of(&address) != ObjectKind::Other {
        return address;
    }
    let key: Vec<String> = name.key.iter().map(ToString::to_string).collect();
    Address::from(format!("{}.{}", name.table, key.join("/")))
}

/// The objects that exist before, and those that exist after.
pub(super) fn objects(live: &Live, wanted: &Wanted) -> (BTreeSet<Address>, BTreeSet<Address>) {
    let before = live.rows().filter(|(_, found)| found.is_ours);
    let variables = wanted.rows.iter().filter(|(name, _)| live.row(name).is_some());
    (
        before
            .map(|(name, found)| address_of(name, &found.row))
            .chain(variables.map(|(_, wish)| wish.address.clone()))
            .collect(),
        wanted.rows.values().map(|wish| wish.address.clone()).collect(),
    )
}
