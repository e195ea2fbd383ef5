//! Engine rules by number: rules that are written alike are one.

use std::collections::{BTreeSet, HashMap};

use shardwright_rules::{Body, Configuration, EngineRule};

pub(super) type RowId = u32;

/// Where a rule or a step stands first.
#[derive(Clone, Copy)]
pub(super) struct RulePosition {
    /// 0 for the first configuration, 1 for the second.
    pub(super) side: usize,
    /// Among the rules of that configuration.
    pub(super) position: usize,
}

/// The engine rules of both configurations, each made once.
#[derive(Default)]
pub(super) struct Rows {
    numbers: HashMap<String, RowId>,
    positions: Vec<RulePosition>,
    /// Rows whose pattern every query matches that comes to them.
    asks_nothing: BTreeSet<RowId>,
}

impl Rows {
    /// The number of the row with this text.
    pub(super) fn id(&mut self, key: String, first: RulePosition) -> RowId {
        let fresh = self.positions.len() as RowId;
        *self.numbers.entry(key).or_insert_with(|| {
            self.positions.push(first);
            fresh
        })
    }

    /// Every query that comes to the row matches its pattern.
    pub(super) fn set_asks_nothing(&mut self, row: RowId) {
        self.asks_nothing.insert(row);
    }

    /// Whether every query that comes to the row matches its pattern.
    pub(super) fn asks_nothing(&self, row: RowId) -> bool {
        self.asks_nothing.contains(&row)
    }

    pub(super) fn count(&self) -> usize {
        self.positions.len()
    }

    /// Where the row stands first.
    pub(super) fn position(&self, row: RowId) -> RulePosition {
        self.positions[row as usize]
    }

    /// The engine rule of a row.
    pub(super) fn row_in<'c>(&self, row: RowId, configurations: [&'c Configuration; 2]) -> &'c EngineRule {
        let RulePosition { side, position } = self.position(row);
        match &configurations[side].graph.rules[position].body {
            Body::Engine(row) => row,
            Body::Native { .. } => unreachable!("rows are made of engine rules"),
        }
    }
}
