//! The comments of rules that were lifted: as the reason of the object where it has one, else above it.

use std::collections::BTreeMap;

use super::Lift;
use crate::draft::{Draft, ObjectDraft};
use crate::yaml::{Field, Yaml};

/// The field that says why an object is as it is.
const REASON: &str = "reason";

/// The comments of rules that have one, by the numbers of the rules.
pub(super) fn comments(draft: &Draft) -> BTreeMap<u32, String> {
    let comments = draft.rules.iter().filter_map(|rule| {
        let comment = on_one_line(rule.row.comment.as_deref()?);
        (!comment.is_empty()).then_some((rule.id, comment))
    });
    comments.collect()
}

/// Gives objects the comments of the rules that they were lifted from; whether there are any.
pub(super) fn keep(draft: &mut Draft, lifts: &[Lift], comments: &BTreeMap<u32, String>) -> bool {
    let mut kept = false;
    for object in &mut draft.objects {
        let address = object.address();
        let rules = lifts.iter().filter(|lift| lift.address == address);
        let rules = rules.flat_map(|lift| &lift.rules);
        let said: Vec<String> = rules
            .filter_map(|id| Some(format!("rule {id}: {}", comments.get(id)?)))
            .collect();
        if !said.is_empty() {
            say(object, &said);
            kept = true;
        }
    }
    kept
}

fn say(object: &mut ObjectDraft, said: &[String]) {
    let field = &mut object.field;
    if let Yaml::Map(fields) | Yaml::Block(fields) = &mut field.value
        && let Some(reason) = fields.iter_mut().find(|field| field.key == REASON)
    {
        *reason = Field::new(REASON, Yaml::text(said.join("; ")));
        return;
    }
    field.comment = said.to_vec();
}

fn on_one_line(comment: &str) -> String {
    let words = comment.split(|letter: char| letter.is_control() || letter.is_whitespace());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
