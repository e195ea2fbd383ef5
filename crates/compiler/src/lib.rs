//! A topology compiled to a configuration for one engine.
//!
//! [`compile`] is pure: a project, an engine and the lock file go in; a [`Configuration`], its problems, the new lock and
//! figures come out. It has three steps:
//!
//! 1. `program` puts the topology into the words of `rules`: hostgroups, users, steps.
//! 2. `map_plans` decides how each map is laid out. Then `bundled` or `proxysql` puts the rules in order; both take chains of
//!    engine rules from `engine_rules`, which words them with `key_patterns` and `statement_patterns`.
//! 3. `numbering` gives ids to rules and flags to chains. `stats` and `explain` count the result.

mod bundled;
mod catalogue;
mod compile;
mod conditions;
mod diagnostics;
mod draft;
mod engine_rules;
mod explain;
mod key_patterns;
mod lowered;
mod map_plans;
mod numbering;
mod program;
mod proxysql;
mod raw_blocks;
mod statement_patterns;
mod stats;
mod summary;
mod traffic;
pub mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_diagnostics::{CodeDoc, Problems};
use shardwright_rules::{Configuration, EngineSettings};

pub use catalogue::{CataloguePattern, catalogue};
pub use compile::compile;
pub use explain::{CandidateCost, Explanation, RuleReference, SplitCost, Splits};
pub use shardwright_ids::{Lock, LockError};
pub use stats::{MapStats, Means, Stats};
pub use traffic::{Traffic, TrafficError};

/// The pages of `explain` for what the compiler reports.
pub const CODES: &[CodeDoc] = diagnostics::CODES;

/// What a caller may ask of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Engine variables instead of those of the project file.
    pub settings: Option<EngineSettings>,
    /// How often keys are asked for; without it all count alike. It shapes trees that are new, and those that `reshape`
    /// lays out again; figures are under it in any case.
    pub traffic: Option<Arc<Traffic>>,
    /// Lays out trees anew that the lock file remembers. Most of their rules change.
    pub reshape: bool,
}

/// A topology compiled for one engine.
#[derive(Debug)]
pub struct Compiled {
    /// What the engine needs. With errors among the problems it is incomplete and must not be applied.
    pub configuration: Arc<Configuration>,
    /// What is wrong, and what the engine does differently.
    pub problems: Problems,
    /// The lock file to write.
    pub lock: Lock,
    /// Figures.
    pub stats: Stats,
    /// Names of chains by flag.
    pub chains: BTreeMap<u32, String>,
    /// The layouts that were compared, by name of the map.
    candidates: BTreeMap<String, Vec<CandidateCost>>,
    /// The positions of the read/write split, by name of the map.
    splits: BTreeMap<String, Splits>,
}
