//! Tables and rules, held to a real ProxySQL and to each other.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod engine;
mod rules;
