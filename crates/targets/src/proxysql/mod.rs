//! ProxySQL over its admin port, which has no transactions: a change is staged in memory row by row, loaded module by
//! module, compared with what is live, and only then saved. Whatever goes wrong is taken back.
//!
//! The rows are the truth: an observation reads them, a plan is their difference to the rows of the configuration, and an
//! apply changes exactly these. Which rows are ours says [`Ownership`](crate::emit::Ownership), as for scripts.

mod apply;
mod as_target;
mod change;
mod changes;
mod effects;
mod ending;
mod finish;
mod gates;
mod hazards;
mod journal;
mod layers;
mod live;
mod mark;
mod module;
mod passwords;
mod peers;
mod prepared;
mod row;
mod run;
mod running;
mod session;
mod stages;
mod statements;
mod status;
mod take_back;
mod target;
mod unloaded;
mod wanted;

pub use finish::Way;
pub use hazards::codes;
pub use journal::{End, Identity, Journal, JournalError, JournalLock, Phase, Run, RunRecord};
pub use live::Live;
pub use mark::Lease;
pub use module::Module;
pub use row::{KeyPart, Row, RowName, TableName};
pub use session::{AdminSession, Found, Layer, SessionError};
pub use status::{ModuleStatus, Status};
pub use target::ProxySqlTarget;
