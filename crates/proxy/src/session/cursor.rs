//! Where a cursor is.

use shardwright_rules::HostgroupId;

use crate::backend_statements::{Bound, PreparedText};

/// A cursor that is open.
pub(crate) struct Cursor {
    pub(crate) hostgroup: HostgroupId,
    /// The connection.
    pub(crate) serial: u64,
    /// The server's number of the statement.
    pub(crate) server_id: u32,
    pub(crate) text: PreparedText,
    pub(crate) bound: Bound,
}
