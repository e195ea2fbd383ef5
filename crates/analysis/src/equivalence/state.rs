//! What rules have said so far about a statement, as values that compare.

use std::collections::{BTreeMap, HashMap};

use shardwright_rules::EngineRule;

use super::graph::RowId;

/// One thing that a rule can say; a later rule overwrites it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    Hostgroup,
    Delay,
    Multiplex,
    CacheTtl,
    CacheEmpty,
    Timeout,
    Retries,
    NextFlag,
    MirrorHostgroup,
    MirrorFlag,
    Log,
    Gtid,
    /// The statement is refused, whatever else.
    Refused,
    /// The statement is answered, whatever else; the value is the text's number.
    Answered,
    /// Which rewrites have been made; the value is the number of their sequence.
    Text,
    /// Which steps of the bundled engine have been taken in what state.
    Steps,
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

    /// The state behind a match of `row`.
    pub(super) fn behind(&mut self, state: StateId, id: RowId, row: &EngineRule) -> StateId {
        let said = [
            (Field::Hostgroup, row.destination_hostgroup),
            (Field::Delay, row.delay_ms),
            (Field::Multiplex, row.multiplex.map(u32::from)),
            (Field::CacheTtl, row.cache_ttl_ms),
            (Field::CacheEmpty, row.cache_empty_result.map(u32::from)),
            (Field::Timeout, row.timeout_ms),
            (Field::Retries, row.retries),
            (Field::NextFlag, row.next_query_flag_in),
            (Field::MirrorHostgroup, row.mirror_hostgroup),
            (Field::MirrorFlag, row.mirror_flag_out),
            (Field::Log, row.log.map(u32::from)),
            (Field::Gtid, row.gtid_from_hostgroup),
            (Field::Refused, row.error_msg.as_ref().map(|_| 1)),
        ];
        let answered = row.ok_msg.as_ref();
        let rewrites =
            row.replace_pattern.is_some() && row.match_pattern.is_some() && !row.negate_match_pattern;
        if said.iter().all(|(_, value)| value.is_none()) && answered.is_none() && !rewrites {
            return state;
        }
        let mut value = self.value(state).clone();
        value.extend(
            said.into_iter()
                .filter_map(|(field, value)| Some((field, u64::from(value?)))),
        );
        if let Some(text) = answered {
            let fresh = self.texts.len() as u64;
            let number = *self.texts.entry(text.clone()).or_insert(fresh);
            value.insert(Field::Answered, number);
        }
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
        for field in [Field::Answered, Field::Refused] {
            if let Some(&said) = value.get(&field)
                && !value.contains_key(&Field::Steps)
            {
                return BTreeMap::from([(field, said)]);
            }
        }
        value.clone()
    }
}
