//! Columns that an engine stores and has no means for.

use shardwright_tables::{EngineRule, RuleColumn, Value, rule_column};

use crate::EngineProfile;

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
    lacking("timeout", "end statements after a time", true),
    lacking("mirror_hostgroup", "send copies", false),
    lacking("mirror_flagOUT", "send copies", false),
    lacking("gtid_from_hostgroup", "wait for a GTID", false),
    lacking("log", "write an event log", true),
];

impl EngineProfile {
    /// The columns of a rule that ask for what the engine has no means for.
    pub fn lacks(&self, row: &EngineRule) -> impl Iterator<Item = &'static Lacking> {
        self.lacking.iter().filter(|lacking| {
            let value = lacking.column.get(row);
            let is_zero = matches!(value, Some(Value::Number(0) | Value::Switch(false)));
            value.is_some() && !(is_zero && lacking.zero_is_none)
        })
    }
}
