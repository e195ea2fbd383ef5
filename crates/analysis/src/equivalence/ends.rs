//! Two ends compared: what the rules said, and what fast routing adds.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::EngineRule;

use super::Found;
use super::explore::{Errand, Explorer, Visit};
use super::graph::{End, EndId};
use super::path::Beside;
use super::state::Field;

/// Rows of fast routing that are asked about at one end.
const MOST_ROWS: usize = 64;
/// What the evaluator does not show in a decision.
const UNSEEN: [Field; 2] = [Field::GTID, Field::MIRROR_FLAG];

pub(super) fn compare(
    explorer: &mut Explorer<'_, '_>,
    at: Visit,
    ends: [EndId; 2],
    errand: &mut Errand<'_>,
    found: &mut Found,
) {
    let [left, right] = explorer.outcomes(at);
    let final_word = |said: &BTreeMap<Field, u64>| {
        said.len() == 1 && (said.contains_key(&Field::REFUSED) || said.contains_key(&Field::ANSWERED))
    };
    if left == right && (ends[0] == ends[1] || final_word(&left)) {
        return;
    }
    let [first, second] = ends.map(|end| explorer.end(end).clone());
    if first.allowed != second.allowed && explorer.ask(at, &Beside::default(), false, errand, found) {
        found
            .undecided
            .insert("the flags that the firewall allows".to_owned());
    }
    if left != right {
        let visible = |said: &BTreeMap<Field, u64>| -> BTreeMap<Field, u64> {
            let seen = said.iter().filter(|(field, _)| !UNSEEN.contains(field));
            seen.map(|(&field, &value)| (field, value)).collect()
        };
        let seen = visible(&left) != visible(&right);
        if explorer.ask(at, &Beside::default(), seen, errand, found) && !seen {
            found.undecided.insert(
                "`gtid_from_hostgroup` or `mirror_flagOUT`, which a decision does not show".to_owned(),
            );
        }
    }
    rows(explorer, at, [&first, &second], errand, found);
}

/// Asks about the users and schemas for which fast routing says different things.
fn rows(
    explorer: &mut Explorer<'_, '_>,
    at: Visit,
    ends: [&End; 2],
    errand: &mut Errand<'_>,
    found: &mut Found,
) {
    let (keys, complete) = differing(ends);
    if !complete {
        found
            .undecided
            .insert("the number of rows of fast routing that differ".to_owned());
    }
    for (user, schema) in keys {
        let row = |username: Option<String>| EngineRule {
            username,
            schemaname: Some(schema.clone()),
            ..EngineRule::default()
        };
        let beside = match user {
            Some(user) => Beside {
                must: vec![row(Some(user))],
                must_not: Vec::new(),
            },
            // Of every user without a row of its own.
            None => {
                let own = ends.iter().flat_map(|end| &end.routes);
                let own: BTreeSet<&String> = own
                    .filter(|(user, of, _)| !user.is_empty() && *of == schema)
                    .map(|(user, _, _)| user)
                    .collect();
                Beside {
                    must: vec![row(None)],
                    must_not: own.into_iter().map(|user| row(Some(user.clone()))).collect(),
                }
            }
        };
        explorer.ask(at, &beside, true, errand, found);
        if found.is_full() || errand.questions == 0 {
            return;
        }
    }
}

/// Users (`None`: those without a row) and schemas with different rows; false if there are more.
fn differing(ends: [&End; 2]) -> (Vec<(Option<String>, String)>, bool) {
    let [left, right] = ends.map(|end| {
        let rows = end.routes.iter().rev();
        rows.map(|(user, schema, hostgroup)| ((schema.as_str(), user.as_str()), *hostgroup))
            .collect::<BTreeMap<_, _>>()
    });
    let mut schemas: BTreeSet<&str> = BTreeSet::new();
    schemas.extend(
        left.iter()
            .filter(|(key, hostgroup)| right.get(*key) != Some(*hostgroup))
            .map(|(key, _)| key.0),
    );
    schemas.extend(
        right
            .keys()
            .filter(|key| !left.contains_key(*key))
            .map(|key| key.0),
    );
    let mut keys = Vec::new();
    for schema in schemas {
        let users: BTreeSet<&str> = [&left, &right]
            .into_iter()
            .flat_map(|rows| rows.range((schema, "")..).take_while(|(key, _)| key.0 == schema))
            .map(|(key, _)| key.1)
            .collect();
        let says = |rows: &BTreeMap<(&str, &str), u32>, user: &str| {
            rows.get(&(schema, user))
                .or_else(|| rows.get(&(schema, "")))
                .copied()
        };
        for user in users {
            if says(&left, user) != says(&right, user) {
                keys.push(((!user.is_empty()).then(|| user.to_owned()), schema.to_owned()));
            }
            if keys.len() >= MOST_ROWS {
                return (keys, false);
            }
        }
    }
    (keys, true)
}
