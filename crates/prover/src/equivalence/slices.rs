//! What is compared of an outcome, one slice at a time: a column, who answers, the text, the end of the chain.
//!
//! A rule without `apply` overwrites what earlier rules said of one column and leaves the other columns alone. Slice by
//! slice, the diagram of ten such rules has ten branches; of all columns at once it would have every combination.

use std::collections::HashMap;

use shardwright_rules::EngineRule;
use shardwright_rules::tables::{Part, RULE_COLUMNS, Value};

use super::diagrams::{Leaf, RewriteId};
use super::state::Field;

/// What of the outcome is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slice {
    /// What the last rule said of a column.
    Column(usize),
    /// Whether the statement is refused or answered.
    Verdict,
    /// Which rewrites are made.
    Text,
    /// Where the chain ends.
    End,
}

/// What a rule does to a slice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Effect {
    Nothing,
    Says(u64),
    Verdict { answered: Option<u64>, refused: bool },
    Rewrites(RewriteId),
}

impl Effect {
    /// The leaf of a statement on which the rule has this effect before all that the leaf says.
    pub(super) fn before(&self, leaf: &Leaf) -> Leaf {
        match (self, leaf) {
            (Self::Says(value), Leaf::Unchanged) => Leaf::Says(*value),
            (
                Self::Verdict { answered, refused },
                Leaf::Verdict {
                    answered: later,
                    refused: also,
                },
            ) => Leaf::Verdict {
                answered: later.or(*answered),
                refused: *refused || *also,
            },
            (Self::Rewrites(rewrite), Leaf::Rewritten(later)) => {
                Leaf::Rewritten(std::iter::once(*rewrite).chain(later.iter().copied()).collect())
            }
            _ => leaf.clone(),
        }
    }
}

/// Texts by number.
#[derive(Default)]
pub(super) struct Texts {
    numbers: HashMap<String, u64>,
}

impl Texts {
    pub(super) fn number(&mut self, text: &str) -> u64 {
        let fresh = self.numbers.len() as u64;
        *self.numbers.entry(text.to_owned()).or_insert(fresh)
    }

    /// What a match of a row does to a slice. `rewrite`: the row's replacement, if it has one.
    pub(super) fn effect(&mut self, slice: Slice, row: &EngineRule, rewrite: Option<RewriteId>) -> Effect {
        match slice {
            Slice::End => Effect::Nothing,
            Slice::Text => rewrite.map_or(Effect::Nothing, Effect::Rewrites),
            Slice::Verdict => {
                let answered = row.ok_msg.as_deref().map(|text| self.number(text));
                let refused = row.error_msg.is_some();
                match answered.is_some() || refused {
                    true => Effect::Verdict { answered, refused },
                    false => Effect::Nothing,
                }
            }
            Slice::Column(place) => match RULE_COLUMNS[place].get(row) {
                Some(Value::Number(number)) => Effect::Says(number.into()),
                Some(Value::Switch(value)) => Effect::Says(value.into()),
                _ => Effect::Nothing,
            },
        }
    }
}

/// The slices that the rules of both configurations say something of.
pub(super) fn of_rows<'r>(rows: impl Iterator<Item = &'r EngineRule> + Clone) -> Vec<Slice> {
    let mut slices = vec![Slice::Verdict, Slice::End];
    if rows.clone().any(|row| row.replace_pattern.is_some()) {
        slices.push(Slice::Text);
    }
    for (place, column) in RULE_COLUMNS.iter().enumerate() {
        let compared = matches!(column.part, Part::Destination | Part::Effect);
        // Users can have different default hostgroups, so this column is always compared.
        let always = Field::Column(place) == Field::HOSTGROUP;
        if compared && (always || rows.clone().any(|row| column.get(row).is_some())) {
            slices.push(Slice::Column(place));
        }
    }
    slices
}

/// Whether a row changes the text that later rows read.
pub(super) fn rewrites(row: &EngineRule) -> bool {
    row.replace_pattern.is_some() && row.match_pattern.is_some() && !row.negate_match_pattern
}
