//! What clients were told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::answers::ErrorKind;

/// What clients were told, in the order in which they heard it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) refused: Vec<u64>,
    pub(crate) unknown: Vec<u64>,
    pub(crate) errors: BTreeMap<(ErrorKind, u16), Errors>,
}

/// A commit that was acknowledged, with the time of its statement and of its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) number: u64,
    pub(crate) sent: Instant,
    pub(crate) at: Instant,
}

/// Errors of one kind and code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors {
    /// How many.
    pub count: u64,
    /// The first message.
    pub message: String,
    /// When the first one came, from the beginning.
    pub first: Duration,
    /// When the last one came.
    pub last: Duration,
}

impl Told {
    /// Counts an error.
    pub(crate) fn error(&mut self, kind: ErrorKind, code: u16, message: String, at: Duration) {
        let errors = self.errors.entry((kind, code)).or_insert(Errors {
            count: 0,
            message,
            first: at,
            last: at,
        });
        errors.count += 1;
        errors.last = at;
    }
}
