//! What the prover claims: known answers, and claims held against the evaluator.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod across_engines;
mod budget;
mod change_kinds;
mod equivalence;
mod properties;
mod published;
mod refinement;
mod witnesses;
