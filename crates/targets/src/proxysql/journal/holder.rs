//! Who holds the lock of a state.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Who works with a state, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// `user@host`
    pub by: String,
    /// RFC 3339.
    pub at: String,
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Who, and since when.
    #[serde(flatten)]
    pub owner: Owner,
    /// One of a kind: two locks of one owner differ in it.
    pub token: String,
    /// When it ends unless its holder goes on; `None`: when the process of its holder ends.
    #[serde(skip)]
    pub expires_in: Option<Duration>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} since {}", self.owner.by, self.owner.at)?;
        match self.expires_in {
            Some(left) => write!(f, " (ends in {} s, unless it goes on)", left.as_secs()),
            None => Ok(()),
        }
    }
}
