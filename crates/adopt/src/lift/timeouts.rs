//! Rules with nothing but a user and a time, as the user's `statement_timeout`.

use super::matches::only_does;
use super::{Edit, Group, Part};
use crate::draft::Draft;

pub(super) fn groups(draft: &Draft) -> Vec<Group> {
    let mut groups = Vec::new();
    for rule in draft.entry_rules() {
        let row = &rule.row;
        let (Some(user), Some(limit_ms)) = (&row.username, row.timeout_ms) else {
            continue;
        };
        let Some(own) = draft.users.iter().find(|own| own.name == *user) else {
            continue;
        };
        if limit_ms == 0 || !row.is_unconditional_for(user) || !only_does(row, &["timeout"]) {
            continue;
        }
        let user = user.clone();
        groups.push(Group {
            address: format!("users.{}", own.object),
            rules: vec![vec![rule.id]],
            part: Part::Any,
            lifts: None,
            edits: Box::new(move |_, _| {
                let limit = Edit::Timeout {
                    user: user.clone(),
                    limit_ms,
                };
                vec![limit, Edit::BehindEffects]
            }),
        });
    }
    groups
}
