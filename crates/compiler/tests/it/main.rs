//! Topologies compiled for both engines: rules, ids, costs and diagnostics.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod clusters;
mod columns;
mod composed;
mod effect_rules;
mod effects;
mod engines;
mod examples;
mod fast_routing;
mod fields;
mod figures;
#[path = "../../../cli/tests/it/generator.rs"]
#[allow(
    dead_code,
    reason = "the statement for the unsharded server is not asked here"
)]
mod generator;
mod hostile_keys;
mod layouts;
mod lock;
mod logins;
mod merges;
mod pairs;
mod patterns;
mod placements;
mod real_engine;
mod routes;
mod sections;
mod sessions;
mod splits;
mod summaries;
mod support;
mod tree;
mod users;
mod wordings;
mod yaml;
