//! Changes of rows as effects on the objects that people write.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shardwright_plan::{Action, Counts, Difference, Effect, Facts, ObjectKind, RowChange, RowKey};
use shardwright_rules::tables::{FAST_ROUTING, QUERY_RULES, SERVERS};
use shardwright_rules::{Address, Configuration, HostgroupId, SecretReference};

use super::change::{Aside, Change};
use super::changes::{object_of, objects};
use super::live::Live;
use super::row::{Row, RowName, TableName};
use super::wanted::Wanted;

/// What is said of a secret that is another one.
const ANOTHER: &str = "another one";

/// The effects of changes, one for each object, with counts.
pub(super) fn difference(
    changes: &[Change],
    live: &Live,
    wanted: &Wanted,
    configuration: &Configuration,
) -> Difference {
    let (before, after) = objects(live, wanted);
    let mut by_address: BTreeMap<&Address, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        by_address.entry(&change.address).or_default().push(change);
    }
    let destinations = Destinations::new(live, wanted, configuration);
    let mut effects: Vec<Effect> = by_address
        .into_iter()
        .map(|(address, changes)| {
            let action = match (before.contains(address), after.contains(address)) {
                // Rows of others, which somebody has staged.
                (false, false) => action_of(&changes),
                (false, true) => Action::Add,
                (true, false) => Action::Remove,
                (true, true) => Action::Change,
            };
            let mut effect = effect(address, action, &changes);
            destinations.tell(&mut effect);
            effect
        })
        .collect();
    shardwright_plan::sort(&mut effects);
    let mut rows = rows_before_and_after(live, wanted);
    rows.extend(changes.iter().map(|change| change.name.row_key()));
    let counts = Counts::of_rows(&effects, before.union(&after), &rows);
    Difference { effects, counts }
}

/// The effects of changes by themselves, where nothing else is known of their objects.
pub(super) fn of_changes(changes: &[Change]) -> Vec<Effect> {
    let mut by_address: BTreeMap<&Address, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        by_address.entry(&change.address).or_default().push(change);
    }
    let effects = by_address
        .into_iter()
        .map(|(address, changes)| effect(address, action_of(&changes), &changes));
    let mut effects: Vec<Effect> = effects.collect();
    shardwright_plan::sort(&mut effects);
    effects
}

fn action_of(changes: &[&Change]) -> Action {
    let all = |is: fn(&Change) -> bool| changes.iter().all(|change| is(change));
    if all(|change| change.old == change.new) {
        Action::Change
    } else if all(|change| change.old.is_none()) {
        Action::Add
    } else if all(|change| change.new.is_none()) {
        Action::Remove
    } else {
        Action::Change
    }
}

/// What becomes of a row that somebody has staged.
fn staged(changes: &[&Change]) -> Option<String> {
    let said = changes.iter().find_map(|change| match &change.aside {
        Aside::Before(shelved) if shelved.row == change.new => Some("goes live"),
        Aside::Before(_) if change.old == change.new => Some("set back to what is live"),
        Aside::Before(_) => Some("becomes what the files say"),
        Aside::Nothing | Aside::After(_) => None,
    });
    said.map(|what| format!("staged by somebody else, {what}"))
}

fn rows_before_and_after(live: &Live, wanted: &Wanted) -> BTreeSet<RowKey> {
    let before = live
        .rows()
        .filter(|(_, found)| found.is_ours)
        .map(|(name, _)| name);
    before.chain(wanted.rows.keys()).map(RowName::row_key).collect()
}

fn effect(address: &Address, action: Action, changes: &[&Change]) -> Effect {
    let rows: Vec<RowChange> = changes.iter().map(|change| row_change(change)).collect();
    // Rules and rows of fast routing are many and are told by number.
    let told: Vec<(&&Change, &RowChange)> = changes
        .iter()
        .zip(&rows)
        .filter(|(change, _)| !change.name.is_in(&QUERY_RULES) && !change.name.is_in(&FAST_ROUTING))
        .collect();
    Effect {
        action,
        address: address.clone(),
        old: facts(&told, |row| &row.old),
        new: facts(&told, |row| &row.new),
        reason: staged(changes),
        rows,
    }
}

/// The columns of an object's rows: once where the rows agree, else for each row.
fn facts(told: &[(&&Change, &RowChange)], side: impl Fn(&RowChange) -> &Facts) -> Facts {
    let mut facts = Facts::new();
    let comes = |row: &RowChange| row.action != Action::Change && !side(row).is_empty();
    let servers = told
        .iter()
        .filter(|(change, row)| change.name.is_in(&SERVERS) && comes(row));
    let (mut hosts, mut hostgroups) = (BTreeSet::new(), BTreeSet::new());
    for (change, _) in servers {
        hosts.insert(format!(
            "{}:{}",
            change.name.text(1).unwrap_or_default(),
            change.name.number(2).unwrap_or(0)
        ));
        hostgroups.extend(change.name.number(0));
    }
    for host in hosts {
        facts.insert("host".to_owned(), json!(host));
    }
    match hostgroups.into_iter().collect::<Vec<_>>().as_slice() {
        [] => {}
        [one] => {
            facts.insert("hostgroup".to_owned(), json!(one));
        }
        several => {
            facts.insert("hostgroups".to_owned(), json!(several));
        }
    }
    for (change, row) in told {
        for (column, value) in side(row) {
            let name = match change.name.variable_name() {
                Some(variable) => variable.to_owned(),
                None => column.clone(),
            };
            let agree = told
                .iter()
                .filter(|(other, _)| other.name.table == change.name.table)
                .all(|(_, other)| side(other).get(column) == Some(value));
            let name = match agree || change.name.variable_name().is_some() {
                true => name,
                false => format!("{name} of {}", key_of(&change.name)),
            };
            facts.insert(name, value.clone());
        }
    }
    facts
}

fn key_of(name: &RowName) -> String {
    let key: Vec<String> = name.key.iter().map(ToString::to_string).collect();
    key.join("/")
}

fn row_change(change: &Change) -> RowChange {
    let (action, mut old, mut new) = match (&change.old, &change.new) {
        (None, Some(new)) => (Action::Add, Facts::new(), written(change.name.table, new)),
        (Some(old), None) => (Action::Remove, written(change.name.table, old), Facts::new()),
        (Some(old), Some(new)) => (Action::Change, differing(old, new), differing(new, old)),
        (None, None) => (Action::Change, Facts::new(), Facts::new()),
    };
    tell_secret(change, &mut old, &mut new);
    // The comment of a row begins with the object that it is of, which has been said; and a row without a comment gets one.
    let is_said = |facts: &Facts| {
        let comment = facts.get("comment").and_then(Value::as_str).unwrap_or_default();
        comment.split_once(": ").map_or(comment, |(path, _)| path) == change.address.as_str()
    };
    let is_empty = |facts: &Facts| facts.get("comment").and_then(Value::as_str) == Some("");
    let said = [&old, &new].map(is_said);
    for (facts, is_said) in [&mut old, &mut new].into_iter().zip(said) {
        if is_said || (said.contains(&true) && is_empty(facts)) {
            facts.shift_remove("comment");
        }
    }
    RowChange {
        action,
        row: change.name.row_key(),
        old,
        new,
    }
}

/// The columns of a row that are no part of its key and hold another value than their default.
pub(super) fn written(table: TableName, row: &Row) -> Facts {
    let definition = table.definition();
    let is_said = |name: &str, value: &Value| {
        let column = definition.column(name);
        let default = column.and_then(|column| column.default);
        let is_default = default.is_some_and(|default| match value {
            Value::String(text) => default.trim_matches('\'') == text,
            Value::Number(number) => default.parse::<i64>().ok() == number.as_i64(),
            _ => false,
        });
        // Every row that we write is active, and the key is the name of the row.
        let is_plain = name == "active" && *value == json!(1);
        !is_default && !is_plain && !definition.primary_key.contains(&name)
    };
    let facts = row.facts.iter().filter(|(name, value)| is_said(name, value));
    facts.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn differing(one: &Row, other: &Row) -> Facts {
    let differs = |name: &String, value: &Value| other.facts.get(name) != Some(value);
    let facts = one.facts.iter().filter(|(name, value)| differs(name, value));
    facts.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A secret is told by where it is found, never by what it is.
fn tell_secret(change: &Change, old: &mut Facts, new: &mut Facts) {
    let any = change.new.as_ref().or(change.old.as_ref());
    let Some(column) = any.and_then(|row| change.name.table.secret_column(&row.facts)) else {
        return;
    };
    let text = |row: &Option<Row>| {
        let secret = row.as_ref().and_then(|row| row.secret.as_ref());
        secret.map_or("", |secret| secret.expose()).to_owned()
    };
    let (before, after) = (text(&change.old), text(&change.new));
    if change.new.is_none() || before == after {
        return;
    }
    let said = match &change.reference {
        Some(reference) => reference_value(reference),
        None if after.is_empty() => json!("none"),
        None => json!(ANOTHER),
    };
    new.insert(column.to_owned(), said);
    if change.old.is_some() {
        old.insert(
            column.to_owned(),
            json!(if before.is_empty() { "none" } else { ANOTHER }),
        );
    }
}

fn reference_value(reference: &SecretReference) -> Value {
    serde_json::to_value(reference).expect("a reference has string keys only, so JSON can hold it")
}

/// Where the rules of each object lead, before and after.
struct Destinations<'a> {
    before: BTreeMap<Address, BTreeSet<i64>>,
    after: BTreeMap<Address, BTreeSet<i64>>,
    configuration: &'a Configuration,
}

impl<'a> Destinations<'a> {
    fn new(live: &Live, wanted: &Wanted, configuration: &'a Configuration) -> Self {
        let leads = |name: &RowName| name.is_in(&QUERY_RULES) || name.is_in(&FAST_ROUTING);
        let mut before: BTreeMap<Address, BTreeSet<i64>> = BTreeMap::new();
        for (name, found) in live.rows().filter(|(name, found)| found.is_ours && leads(name)) {
            let to = found.row.number("destination_hostgroup");
            let object = object_of(name, &found.row, wanted);
            before.entry(object).or_default().extend(to);
        }
        let mut after: BTreeMap<Address, BTreeSet<i64>> = BTreeMap::new();
        for (_, wish) in wanted.rows.iter().filter(|(name, _)| leads(name)) {
            let to = wish.row.number("destination_hostgroup");
            after.entry(wish.address.clone()).or_default().extend(to);
        }
        Self {
            before,
            after,
            configuration,
        }
    }

    /// A shard or a rule says where it leads, by cluster where the project has one.
    fn tell(&self, effect: &mut Effect) {
        if !matches!(
            effect.kind(),
            ObjectKind::Shard | ObjectKind::QueryRule | ObjectKind::FastRoute
        ) {
            return;
        }
        let empty = BTreeSet::new();
        let before = self.before.get(&effect.address).unwrap_or(&empty);
        let after = self.after.get(&effect.address).unwrap_or(&empty);
        if before == after {
            return;
        }
        for (facts, hostgroups) in [(&mut effect.old, before), (&mut effect.new, after)] {
            let places: BTreeSet<String> = hostgroups.iter().map(|id| self.place(*id)).collect();
            let places: Vec<String> = places.into_iter().collect();
            match places.as_slice() {
                [] => {}
                [one] => {
                    facts.insert("cluster".to_owned(), json!(one));
                }
                several => {
                    facts.insert("cluster".to_owned(), json!(several));
                }
            }
        }
    }

    fn place(&self, hostgroup: i64) -> String {
        let id = u32::try_from(hostgroup).ok().map(HostgroupId);
        match id.and_then(|id| self.configuration.cluster_of(id)) {
            Some(cluster) => cluster.name.to_string(),
            None => format!("hostgroup {hostgroup}"),
        }
    }
}
