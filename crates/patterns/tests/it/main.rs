//! Patterns as automata, in the dialects of the engines.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod automata;
mod committed;
mod dialects;
mod families;
mod look_behind;
