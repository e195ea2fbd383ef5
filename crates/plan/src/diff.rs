//! Desired minus observed, object by object.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shardwright_rules::{Address, Configuration};

use crate::kind::listing_order;
use crate::objects::clusters::{SERVER_ORDER, aligned};
use crate::objects::{Object, Objects, objects};
use crate::{Action, Counts, Effect, Facts, ObjectKind, RowChange, RowKey};

/// What would be different, and how much of the whole that is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// One entry per object, in listing order; empty only when the two configurations are equal.
    pub effects: Vec<Effect>,
    /// How much changes, per sort of thing.
    pub counts: Counts,
}

/// The effects of going from `observed` to `desired`; empty only when the two are equal.
pub fn diff(observed: &Configuration, desired: &Configuration) -> Vec<Effect> {
    compare(observed, desired).effects
}

/// [`diff`] with counts.
pub fn compare(observed: &Configuration, desired: &Configuration) -> Difference {
    let (old, new) = (objects(observed), objects(desired));
    let mut effects = effects(&old, &new);
    if effects.is_empty() && observed != desired {
        effects.push(arrangement(observed, desired));
    }
    sort(&mut effects);
    let counts = Counts::new((observed, &old), (desired, &new), &effects);
    Difference { effects, counts }
}

/// The order in which effects are listed.
pub fn sort(effects: &mut [Effect]) {
    effects.sort_unstable_by(|a, b| listing_order(&a.address, &b.address));
}

/// What objects do not show, such as the order in which shards are listed to clients, still makes a difference.
fn arrangement(observed: &Configuration, desired: &Configuration) -> Effect {
    let fingerprint = |configuration: &Configuration| {
        Facts::from_iter([("fingerprint".to_owned(), json!(configuration.fingerprint()))])
    };
    Effect {
        action: Action::Change,
        address: "configuration".into(),
        old: fingerprint(observed),
        new: fingerprint(desired),
        reason: Some("every object is the same; their arrangement differs".into()),
        rows: Vec::new(),
    }
}

fn effects(old: &Objects, new: &Objects) -> Vec<Effect> {
    let removed = old
        .iter()
        .filter(|(address, _)| !new.contains_key(*address))
        .map(|(address, object)| removal(address, object));
    let others = new.iter().filter_map(|(address, after)| match old.get(address) {
        None => Some(addition(address, after)),
        Some(before) => change(address, before, after),
    });
    removed.chain(others).collect()
}

fn addition(address: &Address, object: &Object) -> Effect {
    Effect {
        action: Action::Add,
        address: address.clone(),
        old: Facts::new(),
        new: object.facts.clone(),
        reason: None,
        rows: object
            .rows
            .iter()
            .map(|(row, columns)| row_change(row, None, Some(columns)))
            .collect(),
    }
}

fn removal(address: &Address, object: &Object) -> Effect {
    Effect {
        action: Action::Remove,
        address: address.clone(),
        old: object.facts.clone(),
        new: Facts::new(),
        reason: None,
        rows: object
            .rows
            .iter()
            .map(|(row, columns)| row_change(row, Some(columns), None))
            .collect(),
    }
}

fn change(address: &Address, before: &Object, after: &Object) -> Option<Effect> {
    let (mut old, mut new) = match ObjectKind::of(address) {
        ObjectKind::Server => differing(
            &aligned(&before.facts, &after.facts),
            &aligned(&after.facts, &before.facts),
        ),
        _ => differing(&before.facts, &after.facts),
    };
    for key in SERVER_ORDER {
        if order_follows(old.get(key), new.get(key)) {
            old.shift_remove(key);
            new.shift_remove(key);
        }
    }
    let rows = row_changes(before, after);
    (!old.is_empty() || !new.is_empty() || !rows.is_empty()).then(|| Effect {
        action: Action::Change,
        address: address.clone(),
        old,
        new,
        reason: None,
        rows,
    })
}

fn row_changes(before: &Object, after: &Object) -> Vec<RowChange> {
    let keys: BTreeSet<&RowKey> = before.rows.keys().chain(after.rows.keys()).collect();
    keys.into_iter()
        .filter_map(|key| {
            let (old, new) = (before.rows.get(key), after.rows.get(key));
            (old != new).then(|| row_change(key, old, new))
        })
        .collect()
}

fn row_change(row: &RowKey, old: Option<&Facts>, new: Option<&Facts>) -> RowChange {
    let (action, old, new) = match (old, new) {
        (None, new) => (Action::Add, Facts::new(), new.cloned().unwrap_or_default()),
        (Some(old), None) => (Action::Remove, old.clone(), Facts::new()),
        (Some(old), Some(new)) => {
            let (old, new) = differing(old, new);
            (Action::Change, old, new)
        }
    };
    RowChange {
        action,
        row: row.clone(),
        old,
        new,
    }
}

/// The entries of each side that the other does not have alike.
fn differing(old: &Facts, new: &Facts) -> (Facts, Facts) {
    let only = |own: &Facts, other: &Facts| -> Facts {
        own.iter()
            .filter(|(key, value)| other.get(*key) != Some(value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    (only(old, new), only(new, old))
}

/// Whether an order of servers changed only because servers went, or because one came at the end: their own effects
/// say that already.
fn order_follows(old: Option<&Value>, new: Option<&Value>) -> bool {
    let (Some(old), Some(new)) = (old.and_then(Value::as_array), new.and_then(Value::as_array)) else {
        return false;
    };
    let stayed: Vec<&Value> = old.iter().filter(|name| new.contains(name)).collect();
    let kept = new.iter().filter(|name| old.contains(name));
    let come = new.len() - stayed.len();
    kept.eq(stayed.iter().copied())
        && (come == 0 || (come == 1 && new.last().is_some_and(|last| !old.contains(last))))
}
