//! Ids of hostgroups, rules and flags.

pub(crate) mod lock;
pub(crate) mod place;
pub(crate) mod probe;
pub(crate) mod sequence;
