//! Patterns for the values of a key.

pub(crate) mod integer;
pub(crate) mod site;
pub(crate) mod text;
