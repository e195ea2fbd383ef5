//! What tells connections of the pool apart.

use std::sync::Arc;

use shardwright_wire::{CapabilityFlags, MariadbCapabilities};

/// What a connection must be for a session to use it.
#[derive(Clone, Debug, Eq)]
pub(crate) struct PoolKey {
    pub(crate) user: Arc<str>,
    /// The part of [`SHAPING`](crate::backend::SHAPING) that the client has.
    pub(crate) shaping: CapabilityFlags,
    /// Column definitions have MariaDB's extended metadata.
    pub(crate) has_extended_metadata: bool,
    /// Collation of the login.
    pub(crate) collation: u8,
    /// Whether a schema is selected: none can be unselected.
    pub(crate) has_schema: bool,
}

/// The same, borrowed: who only looks for a connection does not count a user's name, which all workers share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedKey<'a> {
    pub(crate) user: &'a Arc<str>,
    pub(crate) shaping: CapabilityFlags,
    /// Column definitions have MariaDB's extended metadata.
    pub(crate) has_extended_metadata: bool,
    pub(crate) collation: u8,
    pub(crate) has_schema: bool,
}

impl PoolKey {
    /// MariaDB's further capabilities that the connection must have.
    pub(crate) fn mariadb_capabilities(&self) -> MariadbCapabilities {
        let mut needed = MariadbCapabilities::empty();
        let extended = MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA;
        needed.set(extended, self.has_extended_metadata);
        needed
    }

    pub(crate) fn borrowed(&self) -> WantedKey<'_> {
        WantedKey {
            user: &self.user,
            shaping: self.shaping,
            has_extended_metadata: self.has_extended_metadata,
            collation: self.collation,
            has_schema: self.has_schema,
        }
    }
}

impl WantedKey<'_> {
    pub(crate) fn owned(self) -> PoolKey {
        PoolKey {
            user: self.user.clone(),
            shaping: self.shaping,
            has_extended_metadata: self.has_extended_metadata,
            collation: self.collation,
            has_schema: self.has_schema,
        }
    }
}

impl PartialEq for PoolKey {
    fn eq(&self, other: &Self) -> bool {
        *self == other.borrowed()
    }
}

impl PartialEq<WantedKey<'_>> for PoolKey {
    /// Asked for every statement, nearly always of two keys with one user.
    fn eq(&self, other: &WantedKey<'_>) -> bool {
        let is_same = Arc::ptr_eq(&self.user, other.user) || self.user == *other.user;
        is_same
            && self.shaping == other.shaping
            && self.has_extended_metadata == other.has_extended_metadata
            && self.collation == other.collation
            && self.has_schema == other.has_schema
    }
}
