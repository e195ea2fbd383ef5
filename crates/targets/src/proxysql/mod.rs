//! ProxySQL over its admin port, which has no transactions: a change is staged in memory row by row, loaded module by
//! module, compared with what is live, and only then saved. Whatever goes wrong is taken back.
//!
//! The rows are the truth: an observation reads them, a plan is their difference to the rows of the configuration, and an
//! apply changes exactly these. Which rows are ours says [`Ownership`](crate::emit::Ownership), as for scripts.

mod alike;
mod apply;
mod as_target;
mod beside;
mod beyond;
mod change;
mod changes;
mod comment;
mod digest;
mod drift;
mod effects;
mod ending;
mod finish;
mod gates;
mod hazards;
mod journal;
mod layers;
mod left;
mod left_alone;
mod live;
mod mark;
mod module;
mod monitored;
mod others;
mod passwords;
mod peers;
mod placement;
mod prepared;
mod row;
mod rule_sets;
mod run;
mod running;
mod serving;
mod session;
mod staged;
mod stages;
mod statements;
mod status;
mod take_back;
mod target;
mod told;
mod unloaded;
mod unsaid;
mod wanted;

pub use beside::Sight;
pub use comment::object_in_comment;
pub use drift::{
    Cause, Difference, Drift, DriftReport, Drifted, Former, LeftOut, Look, ReadTarget, Side, TargetReport,
    UnreadTarget,
};
pub use finish::Way;
pub use hazards::codes;
pub use journal::{
    End, EtcdState, Holder, Identity, Journal, JournalError, JournalLock, KeyReference, LOCK_PERIOD,
    MySqlState, Owner, PastRun, Phase, Run, RunHead, RunRecord, Whole,
};
pub use live::Live;
pub use mark::{Applied, Lease};
pub use module::Module;
pub use placement::Mover;
pub use row::{KeyPart, Row, RowName, TableName};
pub use rule_sets::RuleSet;
pub use session::{AdminSession, Found, Layer, SessionError};
pub use status::{ModuleStatus, Status, tell_behind};
pub use target::{LastApplied, ProxySqlTarget, Routing};
