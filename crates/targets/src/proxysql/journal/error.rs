//! Why the state of runs cannot be used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::holder::Holder;

/// Why the state of runs cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file or directory cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store cannot be reached, or refuses.
    #[error("state in {place}: {reason}")]
    Store {
        /// Its address.
        place: String,
        /// Why.
        reason: String,
    },
    /// What is stored is not what it should be.
    #[error("{place} cannot be read as the state of a run: {reason}")]
    Unreadable {
        /// The file, or the place in the store.
        place: String,
        /// Why.
        reason: String,
    },
    /// Somebody else applies.
    #[error("the state in {place} is locked by {holder}; `shardwright lock show` tells more")]
    Locked {
        /// The state.
        place: String,
        /// Who.
        holder: Holder,
    },
    /// The lock has gone to somebody else, or has expired.
    #[error("the lock of the state in {place} was lost: {reason}")]
    LockLost {
        /// The state.
        place: String,
        /// What is there now.
        reason: String,
    },
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(String),
    /// The rows of runs cannot be sealed or opened.
    #[error("{what}: {reason}")]
    Sealed {
        /// The run, or the key.
        what: String,
        /// Why.
        reason: String,
    },
}
