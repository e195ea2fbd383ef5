//! The sessions for which fast routing says different things at two ends of chains.
//!
//! # Invariant
//!
//! No session whose look-ups differ is left out. The engine takes the row of the user; without one, the row
//! of every user (the empty name). So in one schema all users without a row of their own on either side get
//! the same two answers: one question stands for all of them, and it excludes the users who have a row. A
//! schema whose rows are equal on both sides needs no question.
//!
//! # Example
//!
//! | side | user | schema | hostgroup |
//! |---|---|---|---|
//! | left | every | `shop` | 20 |
//! | right | every | `shop` | 21 |
//! | right | `app` | `shop` | 20 |
//!
//! `app` gets 20 on both sides, on the left from the row of every user: no question. All other users get 20
//! and 21. The solver is asked for a statement that comes here in schema `shop`, of a user who is not `app`.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::EngineRule;

use super::ends::ChainEnd;
use super::path::ExtraConditions;

/// Rows of fast routing that are asked about at one end.
const MOST_ROWS: usize = 64;

/// Sessions to ask about; false if there are more.
pub(super) fn differing(ends: [&ChainEnd; 2]) -> (Vec<ExtraConditions>, bool) {
    let (keys, complete) = differing_keys(ends);
    let questions = keys.into_iter().map(|(user, schema)| {
        let row = |username: Option<String>| EngineRule {
            username,
            schemaname: Some(schema.clone()),
            ..EngineRule::default()
        };
        match user {
            Some(user) => ExtraConditions {
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
                ExtraConditions {
                    must: vec![row(None)],
                    must_not: own.into_iter().map(|user| row(Some(user.clone()))).collect(),
                }
            }
        }
    });
    (questions.collect(), complete)
}

/// Users (`None`: those without a row) and schemas with different rows; false if there are more.
fn differing_keys(ends: [&ChainEnd; 2]) -> (Vec<(Option<String>, String)>, bool) {
    let [left, right] = ends.map(|end| {
        // From the last to the first: of rows with one key the first stays in the map.
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
        // Every user with a row counts, not only those whose rows differ: the row of every user stands in for
        // a missing one.
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
