//! The difference between what is live and what is wanted, row by row.

use std::collections::BTreeSet;

use shardwright_rules::tables::{Column, QUERY_RULES};
use shardwright_rules::{Address, left_columns};

use super::alike::{alike, is_unsaid};
use super::change::{Aside, Change};
use super::comment::named_by;
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
        if old == Some(&wish.row) {
            continue;
        }
        let new = old.map_or_else(|| wish.row.clone(), |old| in_place_of(name, old, &wish.row));
        if old != Some(&new) {
            changes.push(Change {
                name: name.clone(),
                address: wish.address.clone(),
                old: old.cloned(),
                new: Some(new),
                reference: wish.reference.clone(),
                is_at_start: wish.is_at_start,
                aside: Aside::Nothing,
            });
        }
    }
    let beyond = live.beyond();
    for (name, found) in live.rows() {
        if found.is_ours && !wanted.rows.contains_key(name) && !beyond.row(name, &found.row) {
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

/// A wanted row in the place of one that is there, which keeps what is no difference to the engine ([`alike`]) and what no
/// project can say ([`left_columns`]). What people have remarked on servers, users and hostgroups stays. A rule that becomes
/// another one gets our comment, as does a row without a comment; but none is a reason to change a row.
fn in_place_of(name: &RowName, old: &Row, new: &Row) -> Row {
    let table = name.table.definition();
    let left = left_columns(table);
    let keeps = |column: &Column| match column.name {
        "comment" => is_remark(old) && !name.is_in(&QUERY_RULES) && !old.text("comment").is_empty(),
        column_name => {
            left.contains(&column_name)
                || alike(table, column, old, new)
                || is_unsaid(table, column, old, new)
        }
    };
    let row = merged(name, old, new, keeps);
    match stays(name, old, &row) {
        true => old.clone(),
        false => row,
    }
}

/// Whether a row stays as it is: nothing differs, or the comment alone, which is not ours.
pub(super) fn stays(name: &RowName, old: &Row, new: &Row) -> bool {
    old == new || (is_remark(old) && with_remark(name, old, new) == *old)
}

/// Whether the comment of a row is not ours: people wrote it, or nobody did.
pub(super) fn is_remark(row: &Row) -> bool {
    named_by(row).is_none()
}

/// A wanted row with the comment of the one that is there.
pub(super) fn with_remark(name: &RowName, old: &Row, new: &Row) -> Row {
    merged(name, old, new, |column| column.name == "comment")
}

/// A row with some columns of the old one, in the order of its table.
fn merged(name: &RowName, old: &Row, new: &Row, keeps: impl Fn(&Column) -> bool) -> Row {
    let columns = name.table.definition().columns.iter();
    let facts = columns.filter_map(|column| {
        let from = if keeps(column) { old } else { new };
        let value = from.facts.get(column.name)?;
        Some((column.name.to_owned(), value.clone()))
    });
    Row {
        facts: facts.collect(),
        secret: new.secret.clone(),
    }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shardwright_rules::tables::{SERVERS, Table, USERS};

    use super::*;
    use crate::proxysql::row::TableName;

    fn row(values: Value) -> Row {
        let Value::Object(facts) = values else {
            panic!("a row is an object")
        };
        Row { facts, secret: None }
    }

    fn placed(table: &'static Table, old: Value, new: Value) -> Row {
        let (old, new) = (row(old), row(new));
        in_place_of(&RowName::of(TableName::of(table), &old.facts), &old, &new)
    }

    #[test]
    fn what_people_have_remarked_stays_and_is_no_difference() {
        let ours = "clusters.a.servers.s1";
        let server = |weight: i64, comment: &str| json!({"hostgroup_id": 1, "hostname": "a", "port": 3306, "weight": weight, "comment": comment});
        let in_place = |old: &str, weight: i64| placed(&SERVERS, server(7, old), server(weight, ours));
        assert_eq!(in_place("ask Anna", 7), row(server(7, "ask Anna")));
        assert_eq!(in_place("ask Anna", 1), row(server(1, "ask Anna")));
        assert_eq!(in_place("", 7), row(server(7, "")));
        assert_eq!(in_place("", 1), row(server(1, ours)));
        assert_eq!(in_place("clusters.b.servers.s1", 7), row(server(7, ours)));
        let rule = |apply: i64, comment: &str| json!({"rule_id": 1, "apply": apply, "comment": comment});
        let rules = |old: &str, apply: i64| placed(&QUERY_RULES, rule(1, old), rule(apply, "routes.a"));
        assert_eq!(rules("reads", 1), row(rule(1, "reads")));
        assert_eq!(rules("reads", 0), row(rule(0, "routes.a")));
    }

    #[test]
    fn modifiers_are_the_same_in_any_order() {
        let rule = |modifiers: &str| json!({"rule_id": 1, "re_modifiers": modifiers, "comment": "routes.a"});
        let placed = |old, new| placed(&QUERY_RULES, rule(old), rule(new));
        assert_eq!(
            placed("GLOBAL,CASELESS", "CASELESS,GLOBAL"),
            row(rule("GLOBAL,CASELESS"))
        );
        assert_eq!(placed("GLOBAL", "CASELESS,GLOBAL"), row(rule("CASELESS,GLOBAL")));
    }

    #[test]
    fn no_default_schema_is_an_empty_one() {
        let old = json!({"username": "app", "backend": 1, "default_schema": "", "comment": ""});
        let new = json!({"username": "app", "backend": 1, "comment": "users.app"});
        assert_eq!(placed(&USERS, old.clone(), new), row(old.clone()));
        let new = json!({"username": "app", "backend": 1, "default_schema": "shop", "comment": "users.app"});
        assert_eq!(placed(&USERS, old, new.clone()), row(new));
    }
}
