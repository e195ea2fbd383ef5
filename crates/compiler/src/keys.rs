//! Patterns for the values of a key.

pub(crate) mod integer;
pub(crate) mod name;
pub(crate) mod once;
pub(crate) mod site;
pub(crate) mod text;
