//! Columns that an engine stores and has no means for.

use shardwright_tables::{EngineRule, RuleColumn, Value, rule_column};

/// A column that an engine has no means for.
#[derive(Clone, Copy, Debug)]
pub struct Lacking {
    /// The column.
    pub column: &'static RuleColumn,
    /// What the engine cannot do, behind "cannot".
    pub what: &'static str,
    /// Whether 0 asks for nothing.
    zero_is_none: bool,
}

impl Lacking {
    /// Whether a row says something in the column.
    pub(crate) fn is_asked_by(&self, row: &EngineRule) -> bool {
        let value = self.column.get(row);
        let is_zero = matches!(value, Some(Value::Number(0) | Value::Switch(false)));
        value.is_some() && !(is_zero && self.zero_is_none)
    }
}

impl PartialEq for Lacking {
    fn eq(&self, other: &Self) -> bool {
        self.column.name() == other.column.name()
    }
}

const fn lacking(column: &str, what: &'static str, zero_is_none: bool) -> Lacking {
    Lacking {
        column: rule_column(column),
        what,
        zero_is_none,
    }
}

/// What the bundled proxy lacks.
pub(crate) const OF_BUNDLED: &[Lacking] = &[
    lacking("cache_ttl", "keep results", true),
    lacking("mirror_hostgroup", "send copies", false),
    lacking("mirror_flagOUT", "send copies", false),
    lacking("gtid_from_hostgroup", "wait for a GTID", false),
    lacking("log", "write an event log", true),
];
