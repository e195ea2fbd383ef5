//! Two ends compared: what the rules said, and what fast routing adds.
//!
//! # Idea
//!
//! Both walks are at an end, so two things can differ: the states, which hold what the rules said, and the
//! ends, which hold rows of fast routing and flags that the firewall allows. For states that differ, and for
//! flags of the firewall that differ, the solver is asked once for a statement that comes here. For fast
//! routing it is asked once for each user and schema whose look-ups differ.
//!
//! # Invariant
//!
//! No session whose look-ups differ is left out. The engine takes the row of the user; without one, the row
//! of every user (the empty name). So in one schema all users without a row of their own on either side get
//! the same two answers: one question stands for all of them, and it excludes the users who have a row. A
//! schema whose rows are equal on both sides needs no question. What the solver cannot decide, and what is
//! beyond a limit, is noted in `undecided`.
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

use super::{Exploration, Explorer, PositionPair};
use crate::equivalence::Comparison;
use crate::equivalence::ends::{ChainEnd, ChainEndId};
use crate::equivalence::path::ExtraConditions;
use crate::equivalence::state::Field;

/// Rows of fast routing that are asked about at one end.
const MOST_ROWS: usize = 64;
/// What the evaluator does not show in a decision.
const UNSEEN: [Field; 2] = [Field::GTID, Field::MIRROR_FLAG];

pub(super) fn compare(
    explorer: &mut Explorer<'_, '_>,
    at: PositionPair,
    ends: [ChainEndId; 2],
    exploration: &mut Exploration<'_>,
    comparison: &mut Comparison,
) {
    let [left, right] = explorer.outcomes(at);
    let final_word = |said: &BTreeMap<Field, u64>| {
        said.len() == 1 && (said.contains_key(&Field::REFUSED) || said.contains_key(&Field::ANSWERED))
    };
    // Fast routing and the firewall change nothing of a refusal or an answer.
    if left == right && (ends[0] == ends[1] || final_word(&left)) {
        return;
    }
    let [first, second] = ends.map(|end| explorer.chain_end(end).clone());
    if first.allowed != second.allowed
        && explorer.ask(at, &ExtraConditions::default(), false, exploration, comparison)
    {
        comparison
            .undecided
            .insert("the flags that the firewall allows".to_owned());
    }
    if left != right {
        let visible = |said: &BTreeMap<Field, u64>| -> BTreeMap<Field, u64> {
            let seen = said.iter().filter(|(field, _)| !UNSEEN.contains(field));
            seen.map(|(&field, &value)| (field, value)).collect()
        };
        // No decision can show what is unseen, so such a difference is never refuted, only left open.
        let seen = visible(&left) != visible(&right);
        if explorer.ask(at, &ExtraConditions::default(), seen, exploration, comparison) && !seen {
            comparison.undecided.insert(
                "`gtid_from_hostgroup` or `mirror_flagOUT`, which a decision does not show".to_owned(),
            );
        }
    }
    rows(explorer, at, [&first, &second], exploration, comparison);
}

/// Asks about the users and schemas for which fast routing says different things.
fn rows(
    explorer: &mut Explorer<'_, '_>,
    at: PositionPair,
    ends: [&ChainEnd; 2],
    exploration: &mut Exploration<'_>,
    comparison: &mut Comparison,
) {
    let (keys, complete) = differing(ends);
    if !complete {
        comparison
            .undecided
            .insert("the number of rows of fast routing that differ".to_owned());
    }
    for (user, schema) in keys {
        let row = |username: Option<String>| EngineRule {
            username,
            schemaname: Some(schema.clone()),
            ..EngineRule::default()
        };
        let extra = match user {
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
        };
        explorer.ask(at, &extra, true, exploration, comparison);
        if comparison.is_full() || exploration.questions == 0 {
            return;
        }
    }
}

/// Users (`None`: those without a row) and schemas with different rows; false if there are more.
fn differing(ends: [&ChainEnd; 2]) -> (Vec<(Option<String>, String)>, bool) {
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
