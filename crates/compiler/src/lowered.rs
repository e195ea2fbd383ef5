//! The rules of an engine before they have numbers.

use std::collections::BTreeMap;

use crate::draft::Draft;
use crate::engine_rules::{MapOutputs, Reason};
use crate::numbering::Sequence;

/// The rules of an engine before they have numbers, and what figures are counted from.
pub(crate) struct Lowered {
    /// Rules in order.
    pub(crate) sequence: Sequence,
    /// The chains, for their names; their rules are in the sequence.
    pub(crate) draft: Draft,
    /// Why executions of prepared statements are refused; each reason needs a hostgroup.
    pub(crate) reasons: Vec<Reason>,
    /// What maps became besides chains; rows of fast routing are in the sequence.
    pub(crate) outputs: MapOutputs,
    /// The user that the figures of a map are for, by name of the map.
    pub(crate) reference_users: BTreeMap<String, String>,
}
