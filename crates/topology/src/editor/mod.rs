//! What tools ask about a loaded project: where names are defined and meant ([`symbols`]), and what holds at each
//! address and why ([`resolved`]).
//!
//! In: the documents of a [`crate::Loaded`], with or without errors. Nothing below knows of it.

pub mod resolved;
pub mod symbols;
