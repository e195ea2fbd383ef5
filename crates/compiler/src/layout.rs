//! How the keys of a map are laid out in rules, and what that costs.

pub(crate) mod kept;
pub(crate) mod shape;
