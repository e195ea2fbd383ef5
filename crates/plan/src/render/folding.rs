//! Many objects of a kind in a few lines: those that change alike share one.
//!
//! Example: 40 servers get another weight, and two of them another host as well. That is one line for 38 servers and one for each
//! of the others. Where nearly every object changes in its own way, one line names the fields that change.

use std::collections::{BTreeMap, HashMap};

use super::{Line, View, describe, line, subject, value};
use crate::{Action, Effect, ObjectKind};

/// More objects than this that share kind and action are folded, and more ways to change than this are one line.
const FOLD_OVER: usize = 12;

/// The lines of a listing; in full, one for each object.
pub(super) fn lines(effects: &[Effect], view: &View<'_>) -> Vec<Line> {
    let mut kinds: BTreeMap<(ObjectKind, Action), Vec<&Effect>> = BTreeMap::new();
    for effect in effects {
        let kind = (effect.kind(), effect.action);
        kinds.entry(kind).or_default().push(effect);
    }
    let mut lines = Vec::new();
    for effect in effects {
        let key = (effect.kind(), effect.action);
        let Some(many) = kinds.get(&key) else { continue };
        if view.full || many.len() <= FOLD_OVER {
            lines.push(line(effect, view));
        } else {
            lines.extend(folded(key.0, many, view));
            kinds.remove(&key);
        }
    }
    lines
}

/// Many objects that share kind and action.
fn folded(kind: ObjectKind, many: &[&Effect], view: &View<'_>) -> Vec<Line> {
    if many[0].action != Action::Change {
        return vec![together(kind, many, None)];
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut alike: Vec<Vec<&Effect>> = Vec::new();
    for effect in many {
        let place = *places.entry(describe(effect)).or_insert(alike.len());
        if place == alike.len() {
            alike.push(Vec::new());
        }
        alike[place].push(effect);
    }
    if alike.len() > FOLD_OVER {
        return vec![together(kind, many, Some(fields(many)))];
    }
    let lines = alike.iter().map(|alike| match alike.as_slice() {
        [only] => line(only, view),
        several => together(kind, several, Some(describe(several[0]))),
    });
    lines.collect()
}

/// One line for several objects: what they have in common, and the first and the last of them.
fn together(kind: ObjectKind, many: &[&Effect], what: Option<String>) -> Line {
    let name =
        |effect: Option<&&Effect>| value::plain(&effect.map(|effect| subject(effect)).unwrap_or_default());
    let names = format!("{} … {}", name(many.first()), name(many.last()));
    Line {
        sign: many[0].action.sign(),
        subject: format!("{} {}", many.len(), kind.noun(many.len())),
        what: match what.filter(|what| !what.is_empty()) {
            Some(what) => format!("{what}: {names}"),
            None => names,
        },
        origin: String::new(),
    }
}

/// The fields that differ, each with the number of its objects: `host of 40, weight of 3`.
fn fields(many: &[&Effect]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for effect in many {
        let keys = effect
            .new
            .keys()
            .chain(effect.old.keys().filter(|key| !effect.new.contains_key(*key)));
        for key in keys.filter(|key| effect.old.get(*key) != effect.new.get(*key)) {
            match counts.iter_mut().find(|(known, _)| known == key) {
                Some((_, count)) => *count += 1,
                None => counts.push((key, 1)),
            }
        }
    }
    let counts = counts.iter().map(|(key, count)| format!("{key} of {count}"));
    counts.collect::<Vec<_>>().join(", ")
}
