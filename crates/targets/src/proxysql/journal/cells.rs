//! What a shared store is asked: small values by name, and one lock.

use std::fmt::Debug;
use std::time::Duration;

use thiserror::Error;

use super::holder::Holder;

/// Why a store has not done, or may not have done, what it was asked.
#[derive(Debug, Error)]
pub(super) enum CellError {
    /// It cannot be reached, has not answered, or refuses.
    #[error("{0}")]
    Failed(String),
    /// The lock is not ours any more. Nothing was written.
    #[error("{0}")]
    NotLocked(String),
}

/// A store of values by name, in the part of it that belongs to one project. What is put is durable when a call returns.
pub(super) trait Cells: Debug + Send + Sync + 'static {
    /// Where it is, without secrets.
    fn place(&self) -> &str;

    /// Puts a value, where `lock` still holds the lock. Doing it again is harmless.
    fn put(&self, lock: &[u8], name: &str, value: &[u8]) -> Result<(), CellError>;

    /// Takes away the values whose names are from `from` up to `end`, where `lock` still holds the lock. Doing it again is harmless.
    fn remove(&self, lock: &[u8], from: &str, end: &[u8]) -> Result<(), CellError>;

    /// A value.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CellError>;

    /// The values whose names begin so, in the order of the names; `name` is without that beginning.
    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, CellError>;

    /// Takes the lock for so long, where nobody has it; `Some`: who has it.
    fn acquire(&self, lock: &[u8], period: Duration) -> Result<Option<Held>, CellError>;

    /// Keeps the lock for so long from now on.
    fn renew(&self, lock: &[u8], period: Duration) -> Result<(), CellError>;

    /// Gives or takes away a lock; `false`: it is not the lock any more.
    fn release(&self, lock: &[u8]) -> Result<bool, CellError>;

    /// Who holds the lock.
    fn held(&self) -> Result<Option<Held>, CellError>;
}

/// A lock that is held.
#[derive(Debug)]
pub(super) struct Held {
    /// What its holder has written.
    pub(super) lock: Vec<u8>,
    pub(super) expires_in: Duration,
}

impl Held {
    /// Who holds it; `None`: what is written there is not ours.
    pub(super) fn holder(&self) -> Option<Holder> {
        let mut holder: Holder = serde_json::from_slice(&self.lock).ok()?;
        holder.expires_in = Some(self.expires_in);
        Some(holder)
    }
}

/// What comes after every name that begins so.
pub(super) fn after(prefix: &str) -> Vec<u8> {
    let mut after = prefix.as_bytes().to_vec();
    // No byte of UTF-8 is the last one.
    if let Some(last) = after.last_mut() {
        *last += 1;
    }
    after
}
