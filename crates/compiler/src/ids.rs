//! Ids of hostgroups, rules and flags.

mod entries;
pub(crate) mod lock;
pub(crate) mod place;
pub(crate) mod probe;
pub(crate) mod sequence;
