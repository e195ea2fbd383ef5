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
//! No session whose look-ups differ is left out ([`fast_rows`]). What the solver cannot decide, and what is
//! beyond a limit, is noted in `undecided`.

use std::collections::BTreeMap;

use super::{Exploration, Explorer, PositionPair};
use crate::equivalence::Comparison;
use crate::equivalence::ends::{ChainEnd, ChainEndId, allowed_at_one};
use crate::equivalence::fast_rows;
use crate::equivalence::path::ExtraConditions;
use crate::equivalence::relation::{Relation, is_refusal};
use crate::equivalence::state::Field;

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
    let relation = explorer.pair.relation;
    let both = [0, 1].map(|side| explorer.pair.configuration(side));
    if relation == Relation::Refines && final_word(&left) && left.contains_key(&Field::REFUSED) {
        if !is_refusal(both[1], &right) {
            explorer.note_stricter(at, exploration, comparison);
        }
        return;
    }
    let [first, second] = ends.map(|end| explorer.chain_end(end).clone());
    let questions = allowed_at_one([&first, &second]);
    if questions
        .iter()
        .any(|extra| explorer.ask(at, extra, false, exploration, comparison))
    {
        comparison
            .undecided
            .insert("the flags that the firewall allows".to_owned());
    }
    if !relation.holds_of_words(both, [&left, &right], &explorer.users_at(at, exploration)) {
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
    if relation == Relation::Refines && is_refusal(both[0], &left) && !is_refusal(both[1], &right) {
        explorer.note_stricter(at, exploration, comparison);
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
    let (questions, complete) = fast_rows::differing(ends);
    if !complete && !explorer.ask(at, &ExtraConditions::default(), false, exploration, comparison) {
        // No statement of any session ends here.
        return;
    }
    if !complete {
        comparison
            .undecided
            .insert("the number of rows of fast routing that differ".to_owned());
    }
    for extra in &questions {
        explorer.ask(at, extra, true, exploration, comparison);
        if comparison.is_full() || explorer.pair.spending.check().is_err() {
            return;
        }
    }
}
