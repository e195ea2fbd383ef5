//! A connection, as what a session has left there is found by.

use shardwright_rules::HostgroupId;

use super::held::Held;

/// A connection of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) hostgroup: HostgroupId,
    pub(super) member: u64,
    /// Unique in its worker.
    pub(super) serial: u64,
}

impl Place {
    pub(super) fn of(held: &Held) -> Self {
        Self {
            hostgroup: held.hostgroup,
            member: held.backend.member.number,
            serial: held.backend.serial,
        }
    }
}
