//! Desired minus observed: effects, hazards, saved plans and the apply protocol.
//!
//! A [`Plan`] is plain data: it holds the complete desired configuration of every target, what would change in the
//! words of the files, and the base that it was computed from. [`apply`] does exactly that plan to one [`Target`] or
//! says why not; nothing here does I/O besides the methods of that trait.

mod apply;
mod assessment;
mod beside;
mod capacity;
pub mod codes;
mod counts;
mod diff;
mod digest;
mod effect;
mod fleet;
mod kind;
mod objects;
mod observed;
mod outcome;
mod plan;
pub mod render;
pub mod safety;
mod saved;
mod schema;
mod shard_move;
mod stale_copies;
mod target;

pub use apply::{apply, apply_allowing, cannot_move, check};
pub use assessment::{Assessment, Hazard, Step};
pub use beside::{Subject, beside};
pub use capacity::too_many_connections;
pub use counts::{Count, Counts};
pub use diff::{Difference, compare, diff, sort};
pub use effect::{Action, Effect, Facts, RowChange, RowKey};
pub use fleet::{apply_all, conclusion, conclusion_of_rollback, nothing_begun};
pub use jiff::Timestamp;
pub use kind::ObjectKind;
pub use observed::{Base, Observed};
pub use outcome::{ApplyReport, Outcome, Problem, Trace};
pub use plan::{
    Change, Concern, Cost, Meaning, Plan, SCHEMA_VERSION, Staged, TargetPlan, Unreachable, Witness,
};
pub use saved::{LoadError, MAX_PLAN_BYTES};
pub use schema::{schema_of, schemas};
pub use shard_move::ShardMove;
pub use shardwright_vocabulary::Severity;
pub use stale_copies::LiveServers;
pub use target::{Applied, ApplyError, Target, TargetError};
