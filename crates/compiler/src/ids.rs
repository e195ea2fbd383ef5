//! Ids of hostgroups, rules and flags.

pub(crate) mod lock;
pub(crate) mod probe;
pub(crate) mod sequence;
