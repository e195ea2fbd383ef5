//! Route tests and mutants of them, over small configurations.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod mutants;
mod route_tests;
