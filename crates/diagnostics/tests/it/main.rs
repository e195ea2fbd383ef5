//! Problems as people and programs read them.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod problems;
mod reports;
