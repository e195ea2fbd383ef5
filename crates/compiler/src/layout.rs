//! How the keys of a map are laid out in rules, and what that costs.

pub(crate) mod build;
pub(crate) mod choice;
pub(crate) mod cost;
pub(crate) mod kept;
pub(crate) mod order;
pub(crate) mod repair;
pub(crate) mod shape;
pub(crate) mod split;
