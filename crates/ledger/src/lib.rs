//! Inserts while servers fail: clients note what they are told, and afterwards the servers are asked what became of it.
//!
//! Each client commits numbers of its own, one after the other, and each commit is told apart by its answer:
//!
//! | answer | what must be found later |
//! |---|---|
//! | acknowledged | all of its rows, once |
//! | refused: the error says that nothing was executed | nothing |
//! | anything else, or no answer | all of its rows once, or nothing: unknown |
//!
//! A row carries the number of its commit and no unique key but its own, so that a commit that was executed twice shows.

mod answers;
mod audit;
mod client;
mod ledger;
mod load;
mod pace;
mod running;
mod shared;
mod table;
mod told;

pub use answers::{ErrorKind, reason};
pub use audit::{Audit, Found};
pub use ledger::{Gap, Ledger};
pub use load::Load;
pub use running::Running;
pub use table::Table;
pub use told::Errors;
