//! What tells connections of the pool apart.

use std::sync::Arc;

use shardwright_wire::CapabilityFlags;

/// What a connection must be for a session to use it.
#[derive(Clone, Debug, Eq)]
pub(crate) struct PoolKey {
    pub(crate) user: Arc<str>,
    /// The part of [`SHAPING`](crate::backend::SHAPING) that the client has.
    pub(crate) shaping: CapabilityFlags,
    /// Collation of the login.
    pub(crate) collation: u8,
    /// Whether a schema is selected: none can be unselected.
    pub(crate) has_schema: bool,
}

impl PartialEq for PoolKey {
    /// Asked for every statement, nearly always of two keys with one user.
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.user, &other.user) || self.user == other.user;
        is_same
            && self.shaping == other.shaping
            && self.collation == other.collation
            && self.has_schema == other.has_schema
    }
}
