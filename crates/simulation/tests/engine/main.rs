//! The evaluator and the simulated session, held to a real ProxySQL; see `docs/conformance.md`, Rules and sessions.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod annotations;
mod changes;
mod claims;
mod compare;

mod random;
mod recorded;
mod regressions;
mod replay;
mod rule_sets;
mod statements;
