//! Why a pattern cannot be used.

use thiserror::Error;

/// What is wrong with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The engine does not compile it. ProxySQL accepts such a rule silently: it never matches, or always if negated.
    Invalid,
    /// The engine compiles it, but what it matches cannot be computed here.
    Unsupported,
    /// It exceeds a size limit of this crate.
    TooLarge,
}

/// A pattern that cannot be used, with the place of the reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PatternError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// For people, without the pattern itself.
    pub message: String,
    /// Byte offset in the pattern.
    pub offset: usize,
}
