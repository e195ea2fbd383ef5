//! Configurations decided by the evaluator.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod access;
mod common;
mod engine_rules;
mod finders;
mod flow_control;
mod own_answers;
mod prepared;
mod regulated;
mod roles;
mod shard_maps;
mod sisters;
mod trust;
mod uneven;
mod unknown_lag;
mod watched;
