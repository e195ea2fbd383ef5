//! What a query rule's regular expression means on each engine.
//!
//! A [`Pattern`] is read by a front end for its [`Dialect`] and translated into the syntax of `regex-automata`, on
//! bytes. What is no regular language (look-around, back references, possessive and atomic groups) is *opaque*: it
//! is matched by backtracking under a step limit and has no [`Automaton`]. Automata answer questions about the set of
//! texts that contain a match: inclusion, intersection, witnesses.

pub mod automata;
mod committed;
mod dialect;
mod error;
mod family;
mod front;
mod literals;
mod matcher;
mod pattern;
mod possessive;
mod rewrite;
mod walk;

pub use automata::{Automaton, Inclusion, Limits, Literal, Undecided, included, intersects, walk, witness};
pub use dialect::{Captures, Dialect, Flags};
pub use error::{ErrorKind, PatternError};
pub use family::Family;
pub use pattern::Pattern;
