//! What the analysis says: known answers, hazards and traps, and claims held against the evaluator.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod agreement;
mod clean;
mod common;
mod digests;
mod executions;
mod hazards;
mod known_answers;
mod known_engines;
mod known_graphs;
mod own_words;
mod pages;
mod published;
mod traps;
