//! What rules have said so far about a statement, as values that compare.

use std::collections::{BTreeMap, HashMap};

use shardwright_rules::EngineRule;
use shardwright_rules::tables::{Part, RULE_COLUMNS, Value, rule_column_place};

use super::rows::RowId;

/// One thing that a rule can say; a later rule overwrites it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    /// What a column holds, by its place in [`RULE_COLUMNS`].
    Column(usize),
    /// Which rewrites have been made; the value is the number of their sequence.
    Text,
    /// Which steps of the bundled engine have been taken in what state.
    Steps,
}

impl Field {
    pub(super) const HOSTGROUP: Self = Self::of("destination_hostgroup");
    pub(super) const GTID: Self = Self::of("gtid_from_hostgroup");
    pub(super) const MIRROR_FLAG: Self = Self::of("mirror_flagOUT");
    /// The statement is refused, whatever else.
    pub(super) const REFUSED: Self = Self::of("error_msg");
    /// The statement is answered, whatever else; the value is the text's number.
    pub(super) const ANSWERED: Self = Self::of("OK_msg");

    /// What a refinement compares besides the hostgroup.
    pub(super) const COMPARED_IN_REFINEMENTS: [Self; 6] = [
        Self::Text,
        Self::ANSWERED,
        Self::of("mirror_hostgroup"),
        Self::MIRROR_FLAG,
        Self::of("next_query_flagIN"),
        Self::GTID,
    ];

    const fn of(column: &str) -> Self {
        Self::Column(rule_column_place(column))
    }
}

pub(super) type StateId = u32;

/// States by number, each made once.
#[derive(Default)]
pub(super) struct States {
    values: Vec<BTreeMap<Field, u64>>,
    numbers: HashMap<BTreeMap<Field, u64>, StateId>,
    texts: HashMap<String, u64>,
    sequences: HashMap<(u64, String), u64>,
}

impl States {
    pub(super) fn id(&mut self, value: BTreeMap<Field, u64>) -> StateId {
        let fresh = self.values.len() as StateId;
        *self.numbers.entry(value.clone()).or_insert_with(|| {
            self.values.push(value);
            fresh
        })
    }

    pub(super) fn value(&self, state: StateId) -> &BTreeMap<Field, u64> {
        &self.values[state as usize]
    }

    /// The number of the text that patterns over the statement read; 0: the client's.
    pub(super) fn text(&self, state: StateId) -> u64 {
        self.value(state).get(&Field::Text).copied().unwrap_or(0)
    }

    fn sequence(&mut self, before: u64, what: String) -> u64 {
        let fresh = self.sequences.len() as u64 + 1;
        *self.sequences.entry((before, what)).or_insert(fresh)
    }

    /// What a row says of a statement that it matches: where it goes, what happens to it besides, who answers.
    fn said(&mut self, row: &EngineRule) -> Vec<(Field, u64)> {
        let says = |part| matches!(part, Part::Destination | Part::Effect | Part::Answer);
        let mut said = Vec::new();
        for (place, column) in RULE_COLUMNS.iter().enumerate() {
            let Some(value) = column.get(row).filter(|_| says(column.part)) else {
                continue;
            };
            let field = Field::Column(place);
            let number = match value {
                Value::Number(number) => number.into(),
                Value::Switch(value) => value.into(),
                Value::Text(text) if field == Field::ANSWERED => self.text_number(text),
                // Each refusal is one, whatever its text.
                _ => 1,
            };
            said.push((field, number));
        }
        said
    }

    fn text_number(&mut self, text: &str) -> u64 {
        let fresh = self.texts.len() as u64;
        *self.texts.entry(text.to_owned()).or_insert(fresh)
    }

    /// The state behind a match of `row`.
    pub(super) fn behind(&mut self, state: StateId, id: RowId, row: &EngineRule) -> StateId {
        let said = self.said(row);
        let rewrites =
            row.replace_pattern.is_some() && row.match_pattern.is_some() && !row.negate_match_pattern;
        if said.is_empty() && !rewrites {
            return state;
        }
        let mut value = self.value(state).clone();
        value.extend(said);
        if rewrites {
            let before = self.text(state);
            let sequence = self.sequence(before, format!("rule {id}"));
            value.insert(Field::Text, sequence);
        }
        self.id(value)
    }

    /// The state behind a step of the bundled engine, which may read and change anything.
    pub(super) fn behind_step(&mut self, state: StateId, step: u32) -> StateId {
        let sequence = self.sequence(u64::from(state), format!("step {step}"));
        let mut value = self.value(state).clone();
        value.insert(Field::Text, sequence);
        value.insert(Field::Steps, sequence);
        self.id(value)
    }

    /// The state without what no longer counts: an answer or a refusal leaves nothing else to compare.
    pub(super) fn outcome(&self, state: StateId) -> BTreeMap<Field, u64> {
        let value = self.value(state);
        for field in [Field::ANSWERED, Field::REFUSED] {
            if let Some(&said) = value.get(&field)
                && !value.contains_key(&Field::Steps)
            {
                return BTreeMap::from([(field, said)]);
            }
        }
        value.clone()
    }
}
